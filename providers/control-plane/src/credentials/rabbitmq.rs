//! What is asked of a RabbitMQ that its operator doesn't report: its alarms. A driver understands this.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The driver that is meant.
pub const SYSTEM: &str = "rabbitmq";

/// How many seconds an answer is valid.
pub const VALID: u32 = 60;

/// How to reach the management API of a RabbitMQ. It can't be printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// Its URL, for instance `https://openstack-rabbitmq.openstack.svc:15671`.
    pub url: String,
    /// The user and its password as Basic authentication has them: with a colon between, in Base64.
    pub login: String,
    /// Certificates in PEM that RabbitMQ's is checked against; without it those of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
}

/// Which alarms are in effect. The answer is an [`Answer`].
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Query {
    /// Which RabbitMQ.
    pub access: Access,
}

/// The alarms of a RabbitMQ. A RabbitMQ that doesn't answer is an answer too, so that it isn't asked again by every reconcile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// The alarms in effect, of all members.
    Alarms(BTreeSet<Alarm>),
    /// Why they aren't known.
    Unknown(String),
}

impl Default for Answer {
    /// No alarms.
    fn default() -> Self {
        Self::Alarms(BTreeSet::new())
    }
}

/// An alarm for which RabbitMQ blocks publishers (<https://www.rabbitmq.com/docs/alarms>).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Alarm {
    /// What a member lacks.
    pub resource: AlarmResource,
    /// The member, by its name in the Erlang cluster.
    pub node: String,
}

/// What a member of RabbitMQ lacks, by RabbitMQ's own names (deps/rabbit/src/rabbit_alarm.erl).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum AlarmResource {
    /// Free space on its volume.
    #[serde(rename = "disk space")]
    Disk,
    /// Memory below its high watermark.
    #[serde(rename = "memory")]
    Memory,
}

impl Alarm {
    /// The member's pod: `openstack-rabbitmq-server-0`, of
    /// `rabbit@openstack-rabbitmq-server-0.openstack-rabbitmq-nodes.openstack`.
    pub fn pod(&self) -> &str {
        let host = self
            .node
            .split_once('@')
            .map_or(&*self.node, |(_, host)| host);
        host.split_once('.').map_or(host, |(pod, _)| pod)
    }
}
