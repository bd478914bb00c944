//! The catalogue while the control plane is deleted, and after it has become external.

use c5c3_kinds::Spec;
use c5c3_kinds::external_secrets::{ExternalSecret, PushSecret};
use c5c3_kinds::korc::{ApplicationCredential, Domain, Managed, User};
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{DesiredState, Key, Resource, ResourceKind, SecretValues};

use super::KINDS;
use super::access::{BOOTSTRAP, OWN};
use super::korc::CLOUDS;
use crate::Recipe;
use crate::credentials::{ADMIN, write};

/// What is kept beside K-ORC's objects.
const SECRETS: [ResourceKind; 3] = [Secret::KIND, PushSecret::KIND, ExternalSecret::KIND];

/// For a control plane that is being deleted, when nothing needs the catalogue any more: composes what has to stay until
/// the rest is gone, and says whether any of it remains. What can't be read remains.
///
/// K-ORC deletes with the credentials that it works with, so its own application credential goes last, and the Secrets
/// after that. What the credential refers to is deleted after it, with the password.
pub fn remains(recipe: &Recipe<'_>, desired: &mut DesiredState) -> bool {
    let Ok(objects) = recipe.composed(KINDS) else {
        keep(recipe, desired);
        return true;
    };
    if objects.is_empty() {
        return false;
    }
    let (last, rest): (Vec<Key>, Vec<Key>) = objects.into_iter().partition(is_own);
    let is_credential = |key: &Key| key.kind == ApplicationCredential::KIND;
    if !rest.is_empty() {
        desired.kept.extend(last);
    } else if !last.iter().any(is_credential) {
        log_in_with_password(recipe, desired);
    }
    keep_kinds(recipe, desired, &SECRETS);
    true
}

/// Has K-ORC log in as it did for its own application credential, which Keystone doesn't have any more. K-ORC logs in again when it is
/// restarted, and after half the life of a token.
fn log_in_with_password(recipe: &Recipe<'_>, desired: &mut DesiredState) {
    let bootstrap = recipe
        .observed
        .body::<SecretValues>(recipe.namespace(), BOOTSTRAP);
    if let Some(bootstrap) = bootstrap.found() {
        write(recipe, desired, CLOUDS, bootstrap.into_values());
    }
}

/// Leaves everything of the catalogue as it is.
pub fn keep(recipe: &Recipe<'_>, desired: &mut DesiredState) {
    keep_kinds(recipe, desired, &KINDS);
    keep_kinds(recipe, desired, &SECRETS);
}

/// Whether anything of the catalogue may be there.
pub fn may_exist(recipe: &Recipe<'_>) -> bool {
    let objects = recipe.composed(KINDS);
    objects.map_or(true, |objects| !objects.is_empty())
}

/// K-ORC's own application credential, and what that needs.
fn is_own(key: &Key) -> bool {
    let is = |kind: ResourceKind, name: &str| key.kind == kind && key.name == name;
    is(ApplicationCredential::KIND, OWN) || is(User::KIND, ADMIN) || key.kind == Domain::KIND
}

fn keep_kinds(recipe: &Recipe<'_>, desired: &mut DesiredState, kinds: &[ResourceKind]) {
    for kind in kinds {
        desired
            .kept
            .extend(recipe.composed([*kind]).unwrap_or_default());
    }
}
