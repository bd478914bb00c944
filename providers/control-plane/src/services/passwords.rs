//! Passwords of the services: made once, or given by whoever runs the server.

use c5c3_api::control_plane::Infrastructure;
use c5c3_api::credential_rotation::RotationType;
use provider_composer::{DesiredState, Lookup, Progress, Reason, SecretValues};
use provider_openstack::{ServiceDefinition, progress, user_credentials};

use crate::credentials::{self, ADMIN, by_name};
use crate::graph::{Node, Step, definition};
use crate::recipe::Recipe;

/// Where a Secret comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// It is made here, for a user that rotations of this type replace, unless its user was faster.
    Made(RotationType),
    /// Its user makes it, for the server is theirs.
    Given(&'static str),
}

/// A Secret with a password that a node needs.
struct Password {
    secret: String,
    key: String,
    username: String,
    origin: Origin,
}

impl Recipe<'_> {
    /// Wants the passwords that a node needs. What is wrong with one, if anything is.
    pub(crate) fn passwords(&self, node: Node, desired: &mut DesiredState) -> Progress {
        let mut progress = match node {
            Node::Keystone => self.admin_password(desired),
            _ => Progress::Ready,
        };
        for password in self.needed_passwords(node) {
            if let Origin::Made(type_) = password.origin {
                let generated = user_credentials(type_, &password.username);
                desired.generate(self.namespace(), &password.secret, generated);
            }
            // Each is looked up, so that the runtime fetches all of them at once.
            let checked = self.checked(&password);
            if progress.is_ready() {
                progress = checked;
            }
        }
        progress
    }

    /// A service's application credential, where the catalogue isn't ours and doesn't bring it.
    pub(crate) fn credential(&self, step: &Step) -> Progress {
        let user = by_name(step.name).filter(|_| !self.korc.enabled);
        user.map_or(Progress::Ready, |user| user.progress(self))
    }

    /// Wants the password of Keystone's first user.
    fn admin_password(&self, desired: &mut DesiredState) -> Progress {
        let password = match credentials::Password::of_admin(self.observed, self.namespace()) {
            Ok(password) => password,
            Err(progress) => return progress,
        };
        password.generate(desired);
        let needed = Password {
            secret: password.wanted(),
            key: "password".to_owned(),
            username: ADMIN.to_owned(),
            origin: Origin::Made(RotationType::UserPassword),
        };
        self.checked(&needed)
    }

    fn needed_passwords(&self, node: Node) -> Vec<Password> {
        let infrastructure = &self.spec().infrastructure;
        let mut needed = definition(node)
            .map(|service| of_service(service, infrastructure))
            .unwrap_or_default();
        let database = self.cortex_component().database;
        if node == Node::Cortex && database.server.cluster_ref.is_none() {
            let secret = self.cortex_database_secret();
            needed.push(Password {
                secret: secret.name,
                key: secret.key,
                username: "cortex".to_owned(),
                origin: Origin::Given("Cortex's PostgreSQL is managed externally"),
            });
        }
        needed
    }

    /// A Secret that exists has to have a password of one line; one that is given has to exist.
    fn checked(&self, password: &Password) -> Progress {
        let Password { secret, key, .. } = password;
        let found = self.observed.body::<SecretValues>(self.namespace(), secret);
        match (found, password.origin) {
            (Lookup::Found(values), _) => progress(&values.line(key)),
            (Lookup::Missing, Origin::Made(_)) => Progress::Ready,
            (Lookup::Missing, Origin::Given(why)) => Progress::failed(
                Reason::WaitingFor("Secret"),
                format!("{why}, and Secret {secret} is missing: create it with the key {key}"),
            ),
            (Lookup::Unknown(message), _) => Progress::Unknown { message },
        }
    }
}

/// The passwords of a service's databases and message buses.
fn of_service(service: &ServiceDefinition, infrastructure: &Infrastructure) -> Vec<Password> {
    let mariadb = match infrastructure.mariadb.external {
        Some(_) => Origin::Given("infrastructure.mariadb is external"),
        None => Origin::Made(RotationType::DatabaseUser),
    };
    let rabbitmq = match infrastructure.rabbitmq.external {
        Some(_) => Origin::Given("infrastructure.rabbitmq is external"),
        None => Origin::Made(RotationType::MessagingUser),
    };
    let databases = service.databases.iter().map(|suffix| Password {
        secret: service.database_credentials(suffix),
        key: "password".to_owned(),
        username: service.database_name(suffix),
        origin: mariadb,
    });
    let buses = service.buses.iter().map(|suffix| Password {
        secret: service.bus_credentials(suffix),
        key: "password".to_owned(),
        username: service.part(suffix),
        origin: rabbitmq,
    });
    databases.chain(buses).collect()
}

#[cfg(test)]
mod tests {
    use provider_openstack_fixtures::TOY;

    use super::*;

    #[test]
    fn toy_service_has_the_passwords_of_its_database_and_bus() {
        let passwords = of_service(&TOY, &Infrastructure::default());
        let each = passwords.iter();
        let each = each.map(|one| (&*one.secret, &*one.username, one.origin));
        let made = Origin::Made;
        assert_eq!(
            each.collect::<Vec<_>>(),
            [
                (
                    "toy-db-credentials",
                    "toy",
                    made(RotationType::DatabaseUser)
                ),
                (
                    "toy-rabbitmq-credentials",
                    "toy",
                    made(RotationType::MessagingUser)
                ),
            ]
        );
    }
}
