//! Databases, message bus and caches of a control plane.

#[cfg(test)]
mod tests;

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MaxScale, OvnInfrastructure, RunningInfrastructure};
use crate::{
    parts::{HostPort, Kept, Members, Resources, Size, Switch, host::HOST, is_default},
    pattern::NAME,
    rule::Rule,
};

const ODD_MARIADB: Rule = Rule::new(
    "self % 2 == 1",
    "an even number of MariaDB members has no majority when it is split: make replicas odd, for instance 3",
);

const ODD_RABBITMQ: Rule = Rule::new(
    "self % 2 == 1",
    "an even number of RabbitMQ members has no majority when it is split: make replicas odd, for instance 3",
);

/// Databases, message bus and caches of a control plane. Each may be external: not managed by the operator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Infrastructure {
    /// MariaDB; a Galera cluster from three replicas on.
    pub mariadb: Mariadb,
    /// RabbitMQ.
    pub rabbitmq: Rabbitmq,
    /// Valkey.
    pub valkey: Valkey,
    /// Memcached.
    pub memcached: Memcached,
    /// OVN, which runs with Neutron.
    #[serde(skip_serializing_if = "is_default")]
    pub ovn: OvnInfrastructure,
}

impl Infrastructure {
    /// This infrastructure over what runs. Nothing is kept where nothing runs, and external pieces run elsewhere.
    #[must_use]
    pub fn kept(self, running: &RunningInfrastructure) -> Kept<Self> {
        let is_external = self.mariadb.external.is_some();
        let mariadb = match running.mariadb.as_ref().filter(|_| !is_external) {
            Some(members) => self.mariadb.kept(members, running.max_scale.as_ref()),
            None => Kept::nothing(self.mariadb),
        };
        let is_external = self.rabbitmq.external.is_some();
        let rabbitmq = match running.rabbitmq.as_ref().filter(|_| !is_external) {
            Some(members) => self.rabbitmq.kept(members),
            None => Kept::nothing(self.rabbitmq),
        };
        let sentences = [mariadb.sentence("MariaDB"), rabbitmq.sentence("RabbitMQ")];
        Kept {
            fields: sentences.into_iter().flatten().collect(),
            value: Self {
                mariadb: mariadb.value,
                rabbitmq: rabbitmq.value,
                ..self
            },
        }
    }
}

/// MariaDB of a control plane.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Mariadb {
    /// Members: one, or an odd number that becomes a Galera cluster.
    #[educe(Default = 3)]
    #[schemars(range(min = 1, max = 9), extend("x-kubernetes-validations" = [ODD_MARIADB]))]
    pub replicas: u32,
    /// Size of each member's volume, for instance 100Gi.
    #[educe(Default = Size::gibibytes(100))]
    pub storage_size: Size,
    /// StorageClass of the volumes. Without it the cluster's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub storage_class: Option<String>,
    /// CPU and memory of each member.
    #[serde(skip_serializing_if = "is_default")]
    pub resources: Resources,
    /// MaxScale before the members, which sends writes to one and reads to all. Without it there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_scale: Option<MaxScale>,
    /// An external server. With it, none is created, and all other fields are ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalDatabase>,
}

/// Members from which MariaDB is a Galera cluster.
const GALERA: u32 = 3;

impl Mariadb {
    /// Whether the members are a Galera cluster.
    pub fn is_galera(&self) -> bool {
        self.replicas >= GALERA
    }

    /// The members.
    pub fn members(&self) -> Members {
        Members {
            replicas: self.replicas,
            storage_size: self.storage_size.clone(),
            storage_class: self.storage_class.clone(),
        }
    }

    /// This MariaDB over members that exist and the MaxScale before them: a Galera cluster gets and loses members, but a single member
    /// never becomes one, or the reverse; and MaxScale stays.
    ///
    /// mariadb-operator would add what members of a Galera cluster mount to the pods and not to the volumes of a StatefulSet, so that
    /// no pod could be replaced. Its webhook refuses smaller volumes and other classes. It doesn't remove a MaxScale, and `maxScaleRef`,
    /// which it sets itself, still names it (mariadb-operator 0.38).
    #[must_use]
    pub fn kept(self, existing: &Members, max_scale: Option<&MaxScale>) -> Kept<Self> {
        let is_galera = |replicas: u32| replicas >= GALERA;
        let scales = |running: u32, desired: u32| is_galera(running) == is_galera(desired);
        let members = self.members().kept(existing, scales);
        let mut kept = members.map(|members| Self {
            replicas: members.replicas,
            storage_size: members.storage_size,
            storage_class: members.storage_class,
            ..self
        });
        if max_scale.is_some() && kept.value.max_scale().is_none() {
            let field = "maxScale: enabled instead of disabled";
            kept.fields.push(field.to_owned());
            kept.value.max_scale = max_scale.cloned();
        }
        kept
    }

    /// MaxScale, if there is one.
    pub fn max_scale(&self) -> Option<&MaxScale> {
        let max_scale = self.max_scale.as_ref();
        max_scale.filter(|max_scale| max_scale.enabled)
    }
}

/// An external database server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalDatabase {
    /// Name or address of the server.
    #[schemars(length(min = 1, max = 253), regex(pattern = HOST))]
    pub host: String,
    /// Port of the server.
    #[serde(default = "mysql")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: u16,
}

fn mysql() -> u16 {
    3306
}

/// RabbitMQ of a control plane.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Rabbitmq {
    /// Members, an odd number.
    #[educe(Default = 3)]
    #[schemars(range(min = 1, max = 9), extend("x-kubernetes-validations" = [ODD_RABBITMQ]))]
    pub replicas: u32,
    /// Size of each member's volume, for instance 20Gi.
    #[educe(Default = Size::gibibytes(20))]
    pub storage_size: Size,
    /// StorageClass of the volumes. Without it the cluster's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub storage_class: Option<String>,
    /// CPU and memory of each member.
    #[serde(skip_serializing_if = "is_default")]
    pub resources: Resources,
    /// External members. With them, none are created, and all other fields are ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalBus>,
}

impl Rabbitmq {
    /// The members.
    pub fn members(&self) -> Members {
        Members {
            replicas: self.replicas,
            storage_size: self.storage_size.clone(),
            storage_class: self.storage_class.clone(),
        }
    }

    /// This RabbitMQ over members that exist: it gets members, and loses none.
    ///
    /// RabbitMQ's cluster operator stops to reconcile a cluster that is to lose members, or whose volumes are to shrink, and doesn't
    /// change the class of volumes (cluster-operator 2.16).
    #[must_use]
    pub fn kept(self, existing: &Members) -> Kept<Self> {
        let scales = |running: u32, desired: u32| desired > running;
        let members = self.members().kept(existing, scales);
        members.map(|members| Self {
            replicas: members.replicas,
            storage_size: members.storage_size,
            storage_class: members.storage_class,
            ..self
        })
    }
}

/// An external message bus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalBus {
    /// Its members, each host:port.
    #[schemars(length(min = 1, max = 16))]
    pub hosts: Vec<HostPort>,
}

/// Valkey of a control plane.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Valkey {
    /// Members.
    #[educe(Default = 3)]
    #[schemars(range(min = 1, max = 9))]
    pub replicas: u32,
    /// Fail-over by Sentinel.
    pub sentinel: Switch<true>,
    /// Encryption between clients and members, also where global.tls is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<Switch<true>>,
    /// CPU and memory of each member.
    #[serde(skip_serializing_if = "is_default")]
    pub resources: Resources,
    /// External members. With them, none are created, and all other fields are ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalCache>,
}

/// Memcached of a control plane.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(default)]
pub struct Memcached {
    /// Members.
    #[educe(Default = 3)]
    #[schemars(range(min = 1, max = 16))]
    pub replicas: u32,
    /// Size of each member's cache, for instance 1Gi.
    #[educe(Default = Size::gibibytes(1))]
    pub memory: Size,
    /// External members. With them, none are created, and all other fields are ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalCache>,
}

/// An external cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalCache {
    /// Its members, each host:port.
    #[schemars(length(min = 1, max = 16))]
    pub servers: Vec<HostPort>,
}
