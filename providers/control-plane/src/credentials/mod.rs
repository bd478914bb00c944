//! The credentials of the services: whose they are, where they are kept, how they travel, and which of a user's is in use.

mod clouds;
mod credential_set;
mod delivery;
pub mod flavors;
pub mod keystone;
pub mod neutron;
mod password;
mod plan;
pub mod rabbitmq;
mod users;

pub(crate) use clouds::{CA, CLOUD, CLOUDS_YAML, DEFAULT, Login, Site, VOLUMES};
pub(crate) use credential_set::{Credential, CredentialSet, SERVICE_USER};
pub(crate) use delivery::{deliver, keep_secret, write};
pub(crate) use password::{ADMIN, Password};
#[cfg(test)]
pub(crate) use plan::tests::usable_set;
pub(crate) use plan::{MOST, Plan};
pub use users::{ID, SECRET, ServiceUser, service_users};
pub(crate) use users::{by_name, consumers, has_clouds, removed_users};
