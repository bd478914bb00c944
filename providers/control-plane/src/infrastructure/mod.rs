//! Databases, message bus and caches: what is made, and what services are told of it.

mod alarms;
pub(crate) mod authority;
mod backup;
mod hypervisor_access;
mod mariadb;
mod memcached;
mod network;
mod ovn;
mod placement;
mod rabbitmq;
mod sizes;
mod valkey;
mod volumes;

use c5c3_api::parts::{
    Cache, CredentialsRef, Database, DatabaseServer, Messaging, NamedRef, Resources,
};
use k8s_openapi::api::core::v1::{LocalObjectReference, ResourceRequirements};

use crate::recipe::Recipe;
use provider_openstack::{ServiceDefinition, amounts};

pub(crate) use alarms::{RABBITMQ_UNBLOCKED, is_alarm};
pub(crate) use ovn::OvnVolume;
pub(crate) use provider_openstack::graph::{MARIADB, MEMCACHED, RABBITMQ, VALKEY};
pub(crate) use sizes::Sizes;

impl Recipe<'_> {
    /// Where a service keeps its data.
    pub(crate) fn database(&self, service: &ServiceDefinition) -> Database {
        let external = self.spec().infrastructure.mariadb.external.as_ref();
        Database {
            server: DatabaseServer {
                cluster_ref: external.is_none().then(|| named(MARIADB)),
                host: external.map(|server| server.host.clone()),
                port: external.map(|server| server.port),
            },
            database: None,
            secret_ref: Some(credentials(service.database_credentials(""))),
        }
    }

    /// Where a service's parts talk to each other.
    pub(crate) fn messaging(&self, service: &ServiceDefinition) -> Messaging {
        let external = self.spec().infrastructure.rabbitmq.external.as_ref();
        Messaging {
            cluster_ref: external.is_none().then(|| named(RABBITMQ)),
            hosts: external.map(|bus| bus.hosts.clone()).unwrap_or_default(),
            vhost: None,
            secret_ref: Some(credentials(service.bus_credentials(""))),
        }
    }

    /// Where services keep what they would otherwise compute or ask again.
    pub(crate) fn cache(&self) -> Cache {
        let external = self.spec().infrastructure.memcached.external.as_ref();
        Cache {
            cluster_ref: external.is_none().then(|| named(MEMCACHED)),
            servers: external
                .map(|cache| cache.servers.clone())
                .unwrap_or_default(),
            ..Cache::default()
        }
    }

    /// Secrets with the registry's credentials, as pods have them.
    fn pull_secrets(&self) -> Vec<LocalObjectReference> {
        let secrets = self.spec().global.images.pull_secrets.iter();
        secrets
            .map(|secret| LocalObjectReference {
                name: secret.name.clone(),
            })
            .collect()
    }
}

pub(crate) fn named(name: &str) -> NamedRef {
    NamedRef {
        name: name.to_owned(),
    }
}

fn credentials(name: String) -> CredentialsRef {
    CredentialsRef {
        name,
        key: "password".to_owned(),
    }
}

/// CPU and memory as Kubernetes has them; none where nothing is said.
fn requirements(resources: &Resources) -> Option<ResourceRequirements> {
    let is_said = *resources != Resources::default();
    is_said.then(|| provider_openstack::requirements(resources))
}

/// Requests and limits of CPU and memory.
fn bounds(cpu: &str, cpu_limit: &str, memory: &str, memory_limit: &str) -> ResourceRequirements {
    ResourceRequirements {
        requests: amounts([("cpu", cpu), ("memory", memory)]),
        limits: amounts([("cpu", cpu_limit), ("memory", memory_limit)]),
        ..ResourceRequirements::default()
    }
}
