//! What several kinds are made of. Each part is one room, and means the same wherever it stands.

pub mod agent_endpoint;
pub mod autoscaling;
pub mod bucket;
pub mod cache;
pub mod common;
pub mod component;
pub mod database;
pub mod deleted_rows;
pub mod dependency;
pub mod exposure;
pub mod host;
pub mod image;
pub mod kept;
pub mod keystone_access;
pub mod messaging;
pub mod monitoring;
pub mod operator_namespaces;
pub mod policy;
pub mod pool_agents;
pub mod rbd;
pub mod reference;
pub mod resources;
pub mod schedule;
pub mod size;
pub mod status;
pub mod switch;
pub mod tls;
pub mod topology;

use serde::Serialize;
use serde_json::Value;

pub use self::{
    agent_endpoint::AgentEndpoint,
    autoscaling::Autoscaling,
    bucket::Bucket,
    cache::{Cache, CacheBackend},
    common::{Common, ExtraConfig, GivenOption, SecretOption},
    component::{ApiComponent, Component},
    database::{Database, DatabaseServer},
    deleted_rows::DeletedRows,
    dependency::Dependency,
    exposure::{Exposure, Gateway, Ingress, RequestTimeout},
    host::{HostPort, HostPortError},
    image::{Fork, Image, PullPolicy},
    kept::{Kept, Members, Storage},
    keystone_access::{AppCredentialRef, KeystoneAccess},
    messaging::Messaging,
    monitoring::Monitoring,
    operator_namespaces::OperatorNamespaces,
    policy::PolicyOverrides,
    pool_agents::PoolAgents,
    rbd::Rbd,
    reference::{CredentialsRef, NamedRef, NamespacedRef, SecretKeyRef},
    resources::{Quantity, QuantityError, Resources},
    schedule::{Schedule, ScheduleError},
    size::{Size, SizeError, Volume},
    status::{ServiceStatus, Users},
    switch::Switch,
    tls::{IssuerKind, IssuerRef, Tls},
    topology::{Toleration, Topology},
};

pub(crate) use self::common::given_options;

/// Whether a value is what it would be if it were left out, and so need not be written.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A number that a field has by default.
pub(crate) fn number<const NUMBER: u32>() -> u32 {
    NUMBER
}

/// The name of a variant without fields, as documents have it.
pub fn name_of(variant: impl Serialize) -> String {
    match serde_json::to_value(variant) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}
