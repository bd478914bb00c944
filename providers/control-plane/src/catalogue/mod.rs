//! The service catalogue: what K-ORC imports and makes in Keystone, and the credentials that come of it.
//!
//! What has to exist before something else may be made only gates its making: what exists already is composed as it is,
//! so a Keystone that can't be reached for a while takes nothing away.

mod access;
mod entries;
mod exemptions;
mod images;
mod imports;
mod korc;
mod networks;
mod offers;
mod retry;
mod teardown;
mod tenant;
mod traits;
mod users;

use std::collections::BTreeMap;

use c5c3_kinds::Spec;
use c5c3_kinds::external_secrets::{ExternalSecret, PushSecret};
use c5c3_kinds::korc::{
    ApplicationCredential, Domain, Endpoint, Managed, Project, Role, Service, User,
};
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{DesiredState, Failure, Progress, Resource, ResourceKind, Use};

use self::korc::Korc;
use crate::Recipe;
use crate::credentials::service_users;
use crate::graph::Node;

pub use networks::{Networks, compose as networks};
pub use offers::{KINDS as OFFERS, compose as offers, remain as offers_remain};
pub use teardown::{keep, may_exist, remains};
pub use tenant::compose as tenant;
pub(crate) use tenant::{PASSWORD as TENANT_PASSWORD, TENANT};

/// Everything of K-ORC that is composed here.
const KINDS: [ResourceKind; 7] = [
    ApplicationCredential::KIND,
    Endpoint::KIND,
    Service::KIND,
    User::KIND,
    Role::KIND,
    Project::KIND,
    Domain::KIND,
];

/// How far the catalogue has come.
pub struct Catalogue {
    /// The progress of what services wait for.
    pub progress: Progress,
    /// The progress of the public endpoints of exposed services, for which services don't wait.
    pub public: BTreeMap<Node, Progress>,
}

impl Catalogue {
    /// A catalogue without public endpoints of exposed services.
    pub(crate) fn of(progress: Progress) -> Self {
        Self {
            progress,
            public: BTreeMap::new(),
        }
    }
}

/// The kinds that the catalogue composes and looks at.
pub fn uses() -> Vec<Use> {
    use c5c3_api::{credential_rotation::CredentialRotationSpec, keystone::KeystoneSpec};
    let composed = [Secret::KIND, PushSecret::KIND, ExternalSecret::KIND];
    let read = [
        ResourceKind::of::<CredentialRotationSpec>(),
        ResourceKind::of::<KeystoneSpec>(),
    ];
    let consumers = crate::credentials::consumers();
    let composed = KINDS.into_iter().chain(composed).map(Use::composes);
    composed
        .chain(read.into_iter().chain(consumers).map(Use::reads))
        .collect()
}

/// Composes the catalogue, and says how far it has come. It is called only once Keystone is ready, or what it makes is
/// there already.
///
/// # Errors
/// The user has to change something; the failure says what.
pub fn compose(recipe: &Recipe<'_>, desired: &mut DesiredState) -> Result<Catalogue, Failure> {
    if !recipe.korc.enabled {
        // What was created while K-ORC was enabled stays: it may be in use.
        keep(recipe, desired);
        let credentials = service_users(recipe).map(|user| user.progress(recipe));
        return Ok(Catalogue::of(first_unready(credentials)));
    }
    let mut korc = Korc::new(recipe, desired);
    let imports = imports::compose(&mut korc);
    let access = access::compose(&mut korc, imports.admin)?;
    let users = users::with_credentials(&korc);
    let credentials = users::handed_out(&korc, &users);
    let exempt = exemptions::wanted(&korc, &users);
    let answer = korc.answer(credentials, exempt);
    let entries = entries::compose(&mut korc, &imports, &answer);
    let users = users::compose(&mut korc, &imports, &answer, users)?;
    Ok(Catalogue {
        progress: first_unready([access, imports.progress, entries.progress, users]),
        public: entries.public,
    })
}

/// The first that isn't ready: a failure before anything that is only waited for.
fn first_unready(all: impl IntoIterator<Item = Progress>) -> Progress {
    let mut first = Progress::Ready;
    for progress in all {
        if first.is_ready() || !first.is_failed() && progress.is_failed() {
            first = progress;
        }
    }
    first
}
