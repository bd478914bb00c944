//! What is asked of a RabbitMQ that its operator doesn't report: its alarms. A driver understands this.

use std::collections::BTreeSet;

use c5c3_api::pool::is_label;
use serde::{Deserialize, Serialize};

/// The driver that is meant.
pub const SYSTEM: &str = "rabbitmq";

/// How many seconds an answer is valid.
pub const VALID: u32 = 60;

/// The longest name of a host.
const LONGEST_HOST: usize = 253;

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
    /// The member.
    pub node: Member,
}

/// A member of a RabbitMQ, by its name in the Erlang cluster: `rabbit@` and the name of its host. No other text is one, because conditions
/// name members.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Member(String);

impl Member {
    /// Returns the host that a name has, if it is one of a member.
    fn host(name: &str) -> Option<&str> {
        let host = name.strip_prefix("rabbit@")?;
        (host.len() <= LONGEST_HOST && host.split('.').all(is_label)).then_some(host)
    }

    /// Its pod: `openstack-rabbitmq-server-0`, of
    /// `rabbit@openstack-rabbitmq-server-0.openstack-rabbitmq-nodes.openstack`.
    pub fn pod(&self) -> &str {
        let host = Self::host(&self.0).unwrap_or_default();
        host.split_once('.').map_or(host, |(pod, _)| pod)
    }
}

impl TryFrom<String> for Member {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        match Self::host(&name) {
            Some(_) => Ok(Self(name)),
            None => Err("a member of RabbitMQ must be named rabbit@HOST"),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_name_is_rabbit_at_a_host() {
        let read = |name: &str| Member::try_from(name.to_owned());
        let member = read("rabbit@openstack-rabbitmq-server-0.openstack-rabbitmq-nodes.openstack");
        assert_eq!(member.unwrap().pod(), "openstack-rabbitmq-server-0");
        assert_eq!(read("rabbit@a").unwrap().pod(), "a");
        let long = format!("rabbit@{}", ["a"; 128].join("."));
        for name in [
            "",
            "a",
            "rabbit@",
            "other@a",
            "rabbit@a.",
            "rabbit@a b",
            "rabbit@a@b",
            &long,
        ] {
            assert!(read(name).is_err(), "{name}");
        }
    }

    #[test]
    fn alarm_of_a_member_with_another_name_is_not_read() {
        let alarm = r#"{ "resource": "memory", "node": "rabbit@a, see https://example.com" }"#;
        assert!(serde_json::from_str::<Alarm>(alarm).is_err());
    }
}
