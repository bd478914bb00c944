//! The credentials of the services: whose they are, where they are kept, how they travel, and which of a user's is in use.

mod clouds;
mod delivery;
pub mod flavors;
pub mod keystone;
pub mod neutron;
mod password;
pub mod rabbitmq;
mod standing;
mod users;

pub(crate) use clouds::{CA, CLOUD, CLOUDS_YAML, DEFAULT, Login, Site, VOLUMES};
pub(crate) use delivery::{deliver, hold, write};
pub(crate) use password::{ADMIN, Password};
#[cfg(test)]
pub(crate) use standing::Used;
pub(crate) use standing::{Credential, SERVICE_USER, Standing};
pub use users::{ID, SECRET, ServiceUser, service_users};
pub(crate) use users::{by_name, consumers, removed_users};
