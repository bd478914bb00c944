//! The service users, and what each may do.

use c5c3_api::{
    CustomResource, cinder::CinderSpec, cortex::CortexSpec, glance::GlanceSpec,
    neutron::NeutronSpec, nova::NovaSpec, placement::PlacementSpec, tempest::TempestSpec,
};
use provider_composer::ResourceKind;
use provider_openstack::{CINDER, GLANCE, NEUTRON, NOVA, PLACEMENT, keystone_credentials};

use crate::Recipe;

/// Key of an application credential's ID in a `<service>-keystone-credentials`.
pub const ID: &str = "application_credential_id";
/// Key of an application credential's secret in a `<service>-keystone-credentials`.
pub const SECRET: &str = "application_credential_secret";

/// A user of Keystone that a service authenticates as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceUser {
    /// Its name, and that of the resource whose pods use it.
    pub name: &'static str,
    /// The kind of that resource.
    pub consumer: ResourceKind,
    /// Its roles in the project service.
    pub roles: &'static [&'static str],
}

/// Validates tokens, and calls other services with the user's token and its own.
const SERVICE: &[&str] = &["service"];
/// Calls what other services let only admins call besides: Nova's ports in Neutron and allocations in Placement, the events
/// that Neutron and Cinder send to Nova.
const ADMIN: &[&str] = &["admin", "service"];
/// Creates domains, and deletes what is left in any project. No service sends it a user's token.
const TESTER: &[&str] = &["admin"];

const fn user<S: CustomResource>(
    name: &'static str,
    roles: &'static [&'static str],
) -> ServiceUser {
    ServiceUser {
        name,
        consumer: ResourceKind::of::<S>(),
        roles,
    }
}

const ALL: [ServiceUser; 7] = [
    user::<GlanceSpec>(GLANCE.name, SERVICE),
    user::<PlacementSpec>(PLACEMENT.name, SERVICE),
    user::<NovaSpec>(NOVA.name, ADMIN),
    user::<NeutronSpec>(NEUTRON.name, ADMIN),
    user::<CinderSpec>(CINDER.name, ADMIN),
    user::<CortexSpec>("cortex", ADMIN),
    user::<TempestSpec>("tempest", TESTER),
];

/// The service users of a control plane.
pub fn service_users(recipe: &Recipe<'_>) -> impl Iterator<Item = &'static ServiceUser> {
    let spec = &recipe.subject.spec;
    let cortex = spec.cortex.as_ref().is_some_and(|cortex| cortex.enabled);
    let tempest = spec.tempest.as_ref().is_some_and(|tempest| tempest.enabled);
    ALL.iter().filter(move |user| match user.name {
        "cortex" => cortex,
        "tempest" => tempest,
        name => recipe.enabled().any(|service| service.name == name),
    })
}

/// A service user by its name.
pub(crate) fn by_name(name: &str) -> Option<&'static ServiceUser> {
    ALL.iter().find(|user| user.name == name)
}

/// The kinds of all resources whose pods use a service user.
pub(crate) fn consumers() -> impl Iterator<Item = ResourceKind> {
    ALL.iter().map(|user| user.consumer)
}

impl ServiceUser {
    /// Secret with its application credential, for the service: the keys [`ID`] and [`SECRET`].
    pub fn credentials(&self) -> String {
        keystone_credentials(self.name)
    }

    /// Secret with its password, made once.
    pub fn password(&self) -> String {
        format!("{}-keystone-user", self.name)
    }

    /// Secret with the secret of its application credential of a number, for K-ORC.
    pub(crate) fn secret(&self, number: u32) -> String {
        format!("{}-credential-{number}", self.name)
    }

    /// Secret with the clouds.yaml by which K-ORC makes its application credentials.
    pub fn clouds(&self) -> String {
        format!("k-orc-{}-clouds", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the role `service` it could also call what services call among themselves.
    #[test]
    fn tempest_has_the_role_admin_only() {
        let roles = by_name("tempest").map(|user| user.roles);
        assert_eq!(roles, Some(&["admin"][..]));
    }
}
