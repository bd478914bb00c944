//! What Keystone's bootstrap made, and K-ORC finds: the domain Default, the projects service and admin, the roles, and
//! Keystone's first user.

use c5c3_api::control_plane::BootstrapResource;
use c5c3_kinds::korc::{Domain, Import, InDomain, Named, Project, Role, User};
use provider_composer::{Key, Lookup, Progress};

use super::access::Admin;
use super::first_unready;
use super::korc::{Korc, PROJECT};
use crate::credentials::ADMIN;

/// The Domain that stands for Default.
const DOMAIN: &str = "default";
/// The roles that every Keystone has after its bootstrap, from 2023.1 on
/// (<https://docs.openstack.org/keystone/latest/admin/service-api-protection.html>).
const ROLES: [&str; 4] = ["admin", "member", "reader", "service"];

/// What was found.
pub(super) struct Imports {
    /// How far it has come.
    pub(super) progress: Progress,
    /// Whether Keystone's first user is found.
    pub(super) admin: bool,
    /// The Domain, if it is imported.
    pub(super) domain: Option<&'static str>,
    /// The services' Project, if it is imported.
    pub(super) project: Option<&'static str>,
}

/// Composes the imports that `bootstrapResources` lists, and Keystone's first user where K-ORC's own credential needs it.
pub(super) fn compose(korc: &mut Korc<'_>) -> Imports {
    let listed = &korc.recipe.korc.bootstrap_resources;
    let is_listed = |resource| listed.contains(&resource);
    let domain = is_listed(BootstrapResource::Domains).then_some(DOMAIN);
    let project = is_listed(BootstrapResource::Projects).then_some(PROJECT);
    let roles = is_listed(BootstrapResource::Roles);
    let is_own = korc.recipe.korc.cloud_credentials_ref.is_none();
    let admin = is_own || is_listed(BootstrapResource::Users);

    let mut progress = Vec::new();
    if let Some(name) = domain {
        let import = Import::<Domain>::of(&korc.cloud, Named { name: "Default" });
        progress.push(korc.want(name, &import, true).progress);
    }
    if project.is_some() {
        for name in [PROJECT, ADMIN] {
            let import = Import::<Project>::of(&korc.cloud, named(name, domain));
            progress.push(korc.want(name, &import, true).progress);
        }
    }
    if roles {
        for name in ROLES {
            let import = Import::<Role>::of(&korc.cloud, Named { name });
            progress.push(korc.want(name, &import, true).progress);
        }
    }
    let found = admin.then(|| first_user(korc, domain));
    let is_found = found.as_ref().is_some_and(Progress::is_ready);
    progress.extend(found);
    Imports {
        progress: first_unready(progress),
        admin: is_found,
        domain,
        project,
    }
}

fn first_user(korc: &mut Korc<'_>, domain: Option<&'static str>) -> Progress {
    let name = match Admin::read(korc.recipe) {
        Ok(admin) => admin.name,
        Err(progress) => {
            let key = Key::of::<Import<User>>(korc.recipe.namespace(), ADMIN);
            if !matches!(korc.observed.object(&key), Lookup::Missing) {
                korc.desired.keep(key);
            }
            return progress;
        }
    };
    let import = Import::<User>::of(&korc.cloud, named(&name, domain));
    korc.want(ADMIN, &import, true).progress
}

fn named(name: &str, domain_ref: Option<&'static str>) -> InDomain {
    InDomain {
        name: name.to_owned(),
        domain_ref,
    }
}
