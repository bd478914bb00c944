//! Gauges of the databases, of northd and of the nodes.

use provider_composer::{DesiredState, Metric};

use crate::network::{Database, Network};
use crate::ovsdb::Answer;

const CONNECTED: Metric = Metric {
    name: "ovn_database_member_connected",
    help: "Whether a member of a database answers and is connected to a majority.",
};
const LEADER: Metric = Metric {
    name: "ovn_database_member_leader",
    help: "Whether a member of a database answers and is its leader.",
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
    /// Exports what the databases say, and how many nodes have registered and carry out changes. Members of a database that can't be asked
    /// count as not connected.
    pub(crate) fn measure(
        &self,
        answers: &[Option<Answer>; 2],
        chassis: Option<(u32, u32)>,
        desired: &mut DesiredState,
    ) {
        for (database, answer) in Database::ALL.into_iter().zip(answers) {
            let seen = match answer {
                Some(answer) => self.seen(database, answer),
                None => self.seen(database, &Answer::default()),
            };
            for member in &seen.members {
                let labels = [
                    ("database", database.schema()),
                    ("member", member.name.as_str()),
                ];
                let leads = seen.leader.as_ref() == Some(&member.name);
                desired.gauge(CONNECTED, &labels, i64::from(member.connected));
                desired.gauge(LEADER, &labels, i64::from(leads));
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
