//! How a Secret gets to whom it is for: written directly, or through a store of External Secrets.

use std::collections::BTreeMap;

use c5c3_api::control_plane::{SecretStore, SecretStoreRef};
use c5c3_kinds::external_secrets::{
    ExternalData, ExternalRemoteRef, ExternalSecret, PushMatch, PushRemoteRef, PushSecret, Target,
};
use c5c3_kinds::{Manifest, Spec};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use provider_composer::{
    DesiredState, Key, Lookup, Metadata, Owner, Progress, Reason, Resource, SecretValues,
};
use provider_openstack::opaque;

use crate::Recipe;
use crate::recipe::ControlPlane;

/// How often values are compared.
const REFRESH: &str = "5m";

/// What a Secret that is pushed to a store is called, by the name of the one that comes back.
pub(crate) fn source(name: &str) -> String {
    format!("{name}-source")
}

/// Wants a Secret with these values in whichever namespace it is needed. With a store they travel `<name>-source` -> PushSecret ->
/// store -> ExternalSecret -> Secret, under a path with the control plane's site, cluster, namespace and name.
pub(crate) fn deliver(
    recipe: &Recipe<'_>,
    desired: &mut DesiredState,
    name: &str,
    values: BTreeMap<String, Vec<u8>>,
) -> Progress {
    let Some(SecretStore { store, path }) = &recipe.subject.spec.secret_store_ref else {
        return write(recipe, desired, name, values);
    };
    let (namespace, source) = (recipe.namespace(), source(name));
    let keys: Vec<String> = values.keys().cloned().collect();
    let written = write(recipe, desired, &source, values);
    match &written {
        Progress::Ready => {
            let path = format!("{path}/{namespace}/{}/{name}", recipe.subject.name());
            let push = push(store, &source, &path, &keys);
            desired.apply(namespace, name, &Manifest::of(push));
            let pull = pull(store, name, &path, &keys);
            desired.apply(namespace, name, &Manifest::of(pull));
        }
        _ => keep_secret(recipe, desired, name),
    }
    written
}

/// These keys of a Secret, each to a property of one path. They go with the PushSecret.
fn push(store: &SecretStoreRef, secret: &str, path: &str, keys: &[String]) -> PushSecret {
    let matching = keys.iter().map(|key| PushMatch {
        secret_key: Some(key.clone()),
        remote_ref: PushRemoteRef {
            remote_key: path.to_owned(),
            property: Some(key.clone()),
        },
    });
    PushSecret::of(secret.to_owned(), matching, store, REFRESH)
}

/// A Secret with these keys, each from a property of one path. It goes with the ExternalSecret.
fn pull(store: &SecretStoreRef, secret: &str, path: &str, keys: &[String]) -> ExternalSecret {
    let data = keys.iter().map(|key| ExternalData {
        secret_key: key.clone(),
        remote_ref: ExternalRemoteRef {
            key: path.to_owned(),
            property: key.clone(),
        },
    });
    ExternalSecret {
        refresh_interval: REFRESH,
        secret_store_ref: store.clone(),
        target: Target {
            name: secret.to_owned(),
            creation_policy: "Owner",
            deletion_policy: None,
            template: None,
        },
        data: data.collect(),
        data_from: Vec::new(),
    }
}

/// Wants a Secret with these values in the control plane's namespace. Somebody else's Secret is never touched.
pub(crate) fn write(
    recipe: &Recipe<'_>,
    desired: &mut DesiredState,
    name: &str,
    values: BTreeMap<String, Vec<u8>>,
) -> Progress {
    let namespace = recipe.namespace();
    match recipe.observed.get::<SecretValues>(namespace, name) {
        Lookup::Unknown(message) => {
            keep_secret(recipe, desired, name);
            Progress::Unknown { message }
        }
        Lookup::Found(secret) if !is_ours(recipe, &secret.metadata) => Progress::failed(
            Reason::NameTaken,
            format!(
                "there is a Secret {name} that isn't this control plane's: delete or rename it, or set korc.enabled to false \
                 and keep the catalogue yourself"
            ),
        ),
        Lookup::Found(_) | Lookup::Missing => {
            let secret = opaque(ObjectMeta::default(), values);
            desired.apply(namespace, name, &secret);
            Progress::Ready
        }
    }
}

/// Leaves a Secret, and what delivers it, as they are.
pub(crate) fn keep_secret(recipe: &Recipe<'_>, desired: &mut DesiredState, name: &str) {
    let namespace = recipe.namespace();
    desired.kept.extend([
        Key::of::<Secret>(namespace, name),
        Key::of::<Secret>(namespace, &source(name)),
        Key::new(PushSecret::KIND, namespace, name),
        Key::new(ExternalSecret::KIND, namespace, name),
    ]);
}

/// Whether a Secret was written for this control plane.
fn is_ours(recipe: &Recipe<'_>, secret: &Metadata) -> bool {
    let owner = Owner::of(ControlPlane::KIND, &recipe.subject.metadata);
    Owner::from_labels(&secret.labels) == Some(owner)
}
