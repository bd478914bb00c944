//! What Glance, Cinder and Nova observe of their pools in Ceph.

use provider_composer::{Conditions, Lookup, Progress, Reason};

use crate::graph::{Node, Step};
use crate::recipe::Recipe;

/// The conditions of a service, and of its control plane.
const TYPES: [&str; 2] = ["CephConnected", "CapacityAvailable"];
/// The services that have pools.
const WITH_POOLS: [Node; 3] = [Node::Glance, Node::Cinder, Node::Nova];

impl Recipe<'_> {
    /// Repeats what the services report: first what is wrong, then what isn't known. Ready and a change of release don't wait for it, since
    /// the services' pods run.
    pub(crate) fn report_pools(&self, conditions: &mut Conditions) {
        for type_ in TYPES {
            let steps = self.graph.steps();
            let steps = steps.filter(|step| WITH_POOLS.contains(&step.node));
            let each = steps.filter_map(|step| self.reported(step, type_));
            let each: Vec<Progress> = each.collect();
            let wrong = each.iter().find(|progress| progress.is_failed());
            let unready = wrong.or_else(|| each.iter().find(|progress| !progress.is_ready()));
            if let Some(progress) = unready.or(each.first()) {
                conditions.note(type_, progress);
            }
        }
    }

    /// What a service reports, unknown where that can't be understood; none where it has no such condition.
    pub(crate) fn reported(&self, step: &Step, type_: &str) -> Option<Progress> {
        let key = step.keys(self.namespace()).next()?;
        let condition = match self.observed.condition(&key, type_) {
            Lookup::Found(condition) => condition?,
            Lookup::Missing => return None,
            Lookup::Unknown(why) => {
                let message = format!("{}: {why}", step.title());
                return Some(Progress::Unknown { message });
            }
        };
        let message = format!("{}: {}", step.title(), condition.message);
        let reason = Reason::reported(&condition.reason);
        Some(match (condition.status.as_str(), reason) {
            ("True", _) => Progress::Ready,
            // It waits, as for the first Job.
            ("False", Reason::NotReady) => Progress::waiting(reason, message),
            ("False", _) => Progress::failing(reason, message),
            _ => Progress::Unknown { message },
        })
    }
}
