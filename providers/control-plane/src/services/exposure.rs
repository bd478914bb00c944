//! Whether clients outside the cluster reach the APIs and the consoles of servers.

use std::collections::BTreeMap;

use provider_composer::{Conditions, Key, Lookup, ObservedState, Progress, Reason};

use crate::graph::{Node, Step};
use crate::node_state::{NodeState, NodeStates};
use crate::recipe::Recipe;

/// The condition of a service, and of its control plane.
const EXPOSED: &str = "Exposed";

impl Recipe<'_> {
    /// Reports the first service that clients outside the cluster don't reach, or whose public endpoint isn't in the catalogue. Ready and
    /// a change of release don't wait for it: services and hypervisors use the addresses within the cluster.
    pub(crate) fn report_exposure(
        &self,
        states: &NodeStates,
        public: &BTreeMap<Node, Progress>,
        conditions: &mut Conditions,
    ) {
        let steps = self.graph.steps().filter(|step| self.is_exposed(step));
        let each = steps.filter_map(|step| {
            let key = step.keys(self.namespace()).next()?;
            let progress = exposed(step, &key, states.get(&step.node)?, self.observed);
            match progress.is_ready() {
                true => Some(published(step, public.get(&step.node))),
                false => Some(progress),
            }
        });
        let each: Vec<Progress> = each.collect();
        let unready = each.iter().find(|progress| !progress.is_ready());
        if let Some(progress) = unready.or(each.first()) {
            conditions.note(EXPOSED, progress);
        }
    }

    /// Whether clients outside the cluster are to reach a service, or the consoles that belong to it.
    fn is_exposed(&self, step: &Step) -> bool {
        let overrides = self.services.overrides(step.name);
        let are_exposed = || self.cells().any(|(_, consoles)| consoles.is_some());
        let has_consoles = step.node == Node::Nova && are_exposed();
        has_consoles || overrides.is_some_and(|overrides| overrides.expose.is_some())
    }
}

/// Whether clients outside the cluster reach a service, as the service says.
fn exposed(step: &Step, key: &Key, state: &NodeState, observed: &ObservedState<'_>) -> Progress {
    let waiting = |message: String| Progress::waiting(Reason::NotExposed, message);
    if state.object.is_missing() {
        return waiting(state.message().to_owned());
    }
    let service = state.object.as_ref();
    let condition = match service.and_then(|_| observed.condition(key, EXPOSED)) {
        Lookup::Found(Some(condition)) => condition,
        Lookup::Found(None) | Lookup::Missing => {
            let message = format!("{} hasn't reported whether it is exposed", step.title());
            return waiting(message);
        }
        Lookup::Unknown(message) => return Progress::Unknown { message },
    };
    let (title, why) = (step.title(), &condition.message);
    let message = format!("{title} isn't exposed: {why}");
    match (
        condition.status.as_str(),
        Reason::reported(&condition.reason),
    ) {
        ("True", _) => Progress::Ready,
        ("False", reason @ Reason::AnnotationNotAllowed) => Progress::failed(reason, message),
        ("False", _) => waiting(message),
        _ => Progress::Unknown {
            message: format!("{title}: {why}"),
        },
    }
}

/// Whether the catalogue has the public endpoint of a service that is exposed.
fn published(step: &Step, endpoint: Option<&Progress>) -> Progress {
    let Some(progress) = endpoint else {
        return Progress::Ready;
    };
    let title = step.title();
    let why = |why: &str| format!("{title} isn't exposed: {why}");
    match progress {
        Progress::Waiting { message, .. } => Progress::waiting(Reason::NotExposed, why(message)),
        Progress::Unknown { message } => Progress::unknown(format!("{title}: {message}")),
        Progress::Ready | Progress::Failed { .. } => progress.clone().explained(why),
    }
}
