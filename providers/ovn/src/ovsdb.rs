//! What is asked of OVN's databases and changed there, as the driver of OVSDB understands it.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use provider_composer::{ExternalRequest, Lookup, ObservedState};
use serde::{Deserialize, Serialize};

/// The system, as [`ExternalRequest`] names it.
pub const SYSTEM: &str = "ovsdb";

/// The certificate of a client of OVSDB, in PEM.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ClientCertificate {
    /// Certificates of the authorities that are trusted.
    pub authority: String,
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

/// A private key is never shown.
impl fmt::Debug for ClientCertificate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ClientCertificate")
    }
}

/// Where a database is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// The database, for instance `OVN_Southbound`.
    pub database: String,
    /// Members that serve it, by pod: host and port.
    pub members: BTreeMap<String, (String, u16)>,
    /// The client's certificate; none where connections aren't encrypted.
    pub tls: Option<ClientCertificate>,
}

/// How the members of a database are; with `chassis` which nodes have registered there, and without it how far behind northd is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Query {
    /// Where the database is.
    pub access: Access,
    /// Whether registered nodes are asked for, which only the southbound database knows.
    pub chassis: bool,
}

/// The removal of a node from the southbound database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removal {
    /// Where the database is.
    pub access: Access,
    /// OVN's name of the node.
    pub system_id: String,
}

/// What a database said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The members that answered, by pod.
    pub members: BTreeMap<String, Member>,
    /// Counts the changes that nodes should carry out, `SB_Global.nb_cfg`; 0 of the northbound database.
    pub sequence: i64,
    /// How many of these changes of the northbound database northd hasn't carried over; 0 of the southbound one. One row has both numbers,
    /// `NB_Global.nb_cfg` and `NB_Global.sb_cfg` (ovn-nb(5)): the databases are asked at different times.
    pub behind: i64,
    /// Registered nodes, by OVN's name.
    pub chassis: BTreeMap<String, Chassis>,
}

/// What a member says of itself in `_Server` (ovsdb-server(5)).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Whether it is connected to a majority.
    pub connected: bool,
    /// Whether it is the leader.
    pub leader: bool,
    /// The last change that it has.
    pub index: i64,
}

/// What a node wrote to `Chassis`, `Encap` and `Chassis_Private` (ovn-sb(5)).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Chassis {
    /// The node's host name.
    pub hostname: String,
    /// The address at which its tunnels end.
    pub address: Option<String>,
    /// Its part in OVN, `ovn-cms-options`: for instance `enable-chassis-as-gw,availability-zones=az-1`.
    pub options: String,
    /// Its bridges to physical networks, `ovn-bridge-mappings`: for instance `physnet1:br-ex`.
    pub mappings: String,
    /// The last change that it has carried out.
    pub sequence: i64,
    /// When it did so, in milliseconds since 1970; 0 before the first.
    pub timestamp: i64,
}

/// How long a node may take for a change that others have carried out, in milliseconds.
const SLOWEST: i64 = 120_000;
/// How long a node may be silent while no other has carried out the last change either, in milliseconds.
const SILENCE: i64 = 300_000;

impl Answer {
    /// The name of a node that has registered: `system_id` if it is known, otherwise the one that its host name has.
    pub(crate) fn registered(&self, system_id: Option<&str>, hostname: &str) -> Option<&str> {
        let by_name = |name: &str| Some(self.chassis.get_key_value(name)?.0.as_str());
        if let Some(system_id) = system_id {
            return by_name(system_id);
        }
        by_name(hostname).or_else(|| {
            let mut all = self.chassis.iter();
            let found = all.find(|(_, chassis)| chassis.hostname == hostname);
            found.map(|(name, _)| name.as_str())
        })
    }

    /// The number of registered nodes, and of those that carry out changes.
    pub(crate) fn count(&self, now: Timestamp) -> (u32, u32) {
        let names = self.chassis.keys();
        let alive = names.filter(|name| self.is_alive(name, now) == Some(true));
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        (count(self.chassis.len()), count(alive.count()))
    }

    /// Whether a node carries out changes: it has the last one, or isn't late with it. None if it hasn't registered.
    pub(crate) fn is_alive(&self, system_id: &str, now: Timestamp) -> Option<bool> {
        let chassis = self.chassis.get(system_id)?;
        let now = now.as_millisecond();
        let others = self.chassis.values();
        let others = others.filter(|other| other.sequence >= self.sequence);
        let since = others.map(|other| other.timestamp).min();
        let is_late = match since {
            Some(since) => now - since > SLOWEST,
            None => now - chassis.timestamp > SILENCE,
        };
        Some(chassis.sequence >= self.sequence || !is_late)
    }
}

impl Query {
    /// Asks. What isn't an answer counts as unread.
    pub(crate) fn observe(&self, observed: &ObservedState<'_>) -> Lookup<Answer> {
        let answer = observed.external(ExternalRequest::new(SYSTEM, self));
        answer.parsed(|error| format!("the database's answer isn't valid: {error}"))
    }
}

/// How long an answer counts, in seconds.
pub const VALID: u32 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn alive(sequence: i64, chassis: &[(&str, i64, i64)]) -> Vec<Option<bool>> {
        let answer = Answer {
            sequence,
            chassis: chassis
                .iter()
                .map(|(name, sequence, timestamp)| {
                    let chassis = Chassis {
                        sequence: *sequence,
                        timestamp: *timestamp,
                        ..Chassis::default()
                    };
                    ((*name).to_owned(), chassis)
                })
                .collect(),
            ..Answer::default()
        };
        let now = Timestamp::constant(1_000, 0);
        let names = ["one", "two", "unknown"];
        names.map(|name| answer.is_alive(name, now)).to_vec()
    }

    #[test]
    fn node_is_found_by_its_host_name_unless_its_name_is_known() {
        let chassis = Chassis {
            hostname: "node-1".to_owned(),
            ..Chassis::default()
        };
        let answer = Answer {
            chassis: [("one".to_owned(), chassis)].into(),
            ..Answer::default()
        };
        let found = [
            answer.registered(None, "node-1"),
            answer.registered(None, "node-2"),
            answer.registered(Some("one"), "node-2"),
            answer.registered(Some("two"), "node-1"),
        ];
        assert_eq!(found, [Some("one"), None, Some("one"), None]);
    }

    #[test]
    fn node_is_alive_unless_it_is_late_with_a_change() {
        let cases = [
            alive(5, &[("one", 5, 10_000), ("two", 5, 10_000)]),
            alive(6, &[("one", 6, 990_000), ("two", 5, 10_000)]),
            alive(6, &[("one", 6, 800_000), ("two", 5, 10_000)]),
            alive(6, &[("one", 5, 990_000), ("two", 5, 10_000)]),
        ];
        let expected = [
            vec![Some(true), Some(true), None],
            vec![Some(true), Some(true), None],
            vec![Some(true), Some(false), None],
            vec![Some(true), Some(false), None],
        ];
        assert_eq!(cases, expected);
    }
}
