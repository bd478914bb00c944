//! Gauges of the databases, of northd and of the nodes.

use provider_composer::{DesiredState, Metric};

use crate::member::Members;
use crate::network::{Database, Network, is_ready};
use crate::ovsdb::Answer;

const CONNECTED: Metric = Metric {
    name: "ovn_database_member_connected",
    help: "Whether a member of a database answers and is connected to a majority.",
};
const LEADER: Metric = Metric {
    name: "ovn_database_member_leader",
    help: "Whether a member of a database is its leader, where that is known.",
};
const LAG: Metric = Metric {
    name: "ovn_database_member_lag",
    help: "Log entries that a member of a database doesn't have yet, and another one has.",
};
const NORTHD: Metric = Metric {
    name: "ovn_northd_lag",
    help: "Changes of nb_cfg that northd hasn't carried over to the southbound database.",
};
const CHASSIS: Metric = Metric {
    name: "ovn_chassis",
    help: "Nodes that have registered.",
};
const ALIVE: Metric = Metric {
    name: "ovn_chassis_alive",
    help: "Registered nodes that carry out changes.",
};

impl Network<'_> {
    /// Exports what the databases say, and how many nodes have registered and carry out changes. Members that don't answer count as not
    /// connected, whatever cuts them off; a leader among them may lead all the same. A database that was never created lacks no member yet.
    pub(crate) fn measure(
        &self,
        members: &[Members; 2],
        answers: &[Option<Answer>; 2],
        chassis: Option<(u32, u32)>,
        desired: &mut DesiredState,
    ) {
        let silence = Answer::default();
        for ((database, members), answer) in Database::ALL.into_iter().zip(members).zip(answers) {
            if !members.created {
                continue;
            }
            let answer = answer.as_ref().unwrap_or(&silence);
            let seen = self.seen(database, answer);
            let is_leader_known = seen.leader.is_some() || is_leaderless(members, answer);
            for member in &seen.members {
                let labels = [
                    ("database", database.schema()),
                    ("member", member.name.as_str()),
                ];
                let leads = seen.leader.as_ref() == Some(&member.name);
                desired.gauge(CONNECTED, &labels, i64::from(member.connected));
                if is_leader_known {
                    desired.gauge(LEADER, &labels, i64::from(leads));
                }
                if let Some(lag) = member.lag {
                    desired.gauge(LAG, &labels, lag);
                }
            }
        }
        if let Some((all, alive)) = chassis {
            desired.gauge(CHASSIS, &[], i64::from(all));
            desired.gauge(ALIVE, &[], i64::from(alive));
        }
        if let [Some(northbound), _] = answers {
            desired.gauge(NORTHD, &[], northbound.behind.max(0));
        }
    }
}

/// Whether a database whose answer names no leader has none: a member that isn't ready has no majority, and all that are ready answered.
fn is_leaderless(members: &Members, answer: &Answer) -> bool {
    members.pods.as_ref().is_some_and(|pods| {
        let mut ready = pods.iter().filter(|pod| is_ready(pod));
        ready.all(|pod| answer.members.contains_key(&pod.metadata.name))
    })
}
