//! The service users, and what each may do.

use std::sync::LazyLock;

use c5c3_api::cortex::CortexSpec;
use provider_composer::{Progress, ResourceKind, SecretValues};
use provider_openstack::{SERVICES, ServiceDefinition, TEMPEST, keystone_credentials, progress};

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

/// The user of Cortex, which has no definition. It calls Nova and others as an admin.
const CORTEX: ServiceUser = ServiceUser {
    name: "cortex",
    consumer: ResourceKind::of::<CortexSpec>(),
    roles: &["admin", "service"],
};

static ALL: LazyLock<Vec<ServiceUser>> = LazyLock::new(|| {
    let services = SERVICES.into_iter().filter_map(ServiceUser::of);
    let tests = ServiceUser::of(&TEMPEST);
    services.chain([CORTEX]).chain(tests).collect()
});

/// The service users of a control plane.
pub fn service_users(recipe: &Recipe<'_>) -> impl Iterator<Item = &'static ServiceUser> {
    let is_part =
        move |user: &&ServiceUser| recipe.graph.steps().any(|step| step.name == user.name);
    ALL.iter().filter(is_part)
}

/// The service users of parts that are being deleted: pods of these may still use them.
pub(crate) fn removed_users(recipe: &Recipe<'_>) -> impl Iterator<Item = &'static ServiceUser> {
    let removed = recipe.graph.removed().iter();
    removed.filter_map(|node| by_name(node.step().name))
}

/// A service user by its name.
pub(crate) fn by_name(name: &str) -> Option<&'static ServiceUser> {
    ALL.iter().find(|user| user.name == name)
}

/// Whether a Secret of this name has the clouds.yaml of a service user.
pub(crate) fn has_clouds(secret: &str) -> bool {
    ALL.iter().any(|user| user.clouds() == secret)
}

/// The kinds of all resources whose pods use a service user.
pub(crate) fn consumers() -> impl Iterator<Item = ResourceKind> {
    ALL.iter().map(|user| user.consumer)
}

impl ServiceUser {
    /// The user of a service, if it has one.
    pub fn of(service: &ServiceDefinition) -> Option<Self> {
        (!service.roles.is_empty()).then_some(Self {
            name: service.name,
            consumer: service.kind,
            roles: service.roles,
        })
    }

    /// Secret with its application credential, for the service: the keys [`ID`] and [`SECRET`].
    pub fn credentials(&self) -> String {
        keystone_credentials(self.name)
    }

    /// How far its application credential has come: its service may go ahead as soon as that is there, whatever else the catalogue
    /// lacks.
    pub(crate) fn progress(&self, recipe: &Recipe<'_>) -> Progress {
        let purpose = match recipe.korc.enabled {
            true => "the application credential, which comes with the service catalogue".to_owned(),
            false => format!(
                "the keys {ID} and {SECRET}: create it, because with korc.enabled: false the catalogue is managed externally"
            ),
        };
        let read = SecretValues::read(
            recipe.observed,
            recipe.namespace(),
            &self.credentials(),
            &purpose,
        );
        let whole = read.and_then(|values| {
            values.line(ID)?;
            values.line(SECRET).map(drop)
        });
        progress(&whole)
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
    use provider_openstack_fixtures::TOY;

    use super::*;

    #[test]
    fn toy_service_has_a_user_with_the_roles_of_its_definition() {
        let user = ServiceUser {
            name: "toy",
            consumer: TOY.kind,
            roles: &["service"],
        };
        assert_eq!(ServiceUser::of(&TOY), Some(user));
    }

    /// With the role `service` it could also call what services call among themselves.
    #[test]
    fn tempest_has_the_role_admin_only() {
        let roles = by_name("tempest").map(|user| user.roles);
        assert_eq!(roles, Some(&["admin"][..]));
    }
}
