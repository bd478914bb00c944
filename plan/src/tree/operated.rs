//! A resource of one of this project's operators, and what is composed for it.

use super::branch::{Branch, Mark};
use super::conditions;
use super::lines::lines;
use super::phases::phases;
use crate::operated::{Operated, PlannedObject};
use crate::readiness::{Readiness, readiness};

/// The resource by its name, with everything composed for it and its conditions.
pub fn operated(title: &str, operated: &Operated) -> Branch {
    let mut branch = made(title, operated);
    if operated.graph.is_none() && !operated.conditions.is_empty() {
        branch.add(conditions(&operated.conditions));
    }
    branch
}

/// The resource by its name, with everything composed for it.
pub fn made(title: &str, operated: &Operated) -> Branch {
    let (mark, text) = match (&operated.failure, readiness(&operated.resource)) {
        (Some(failure), _) => (Mark::Bad, format!("{title}: {failure}")),
        (None, Readiness::Ready) => (Mark::Good, title.to_owned()),
        (None, Readiness::Waiting(why)) if why.is_empty() => {
            let operator = operated.operator;
            (Mark::Open, format!("{title}, waits for {operator}"))
        }
        (None, Readiness::Waiting(why)) => (Mark::Open, format!("{title}: {why}")),
    };
    let namespace = operated.resource.namespace();
    let objects: Vec<&PlannedObject> = operated.made.iter().collect();
    let made = match &operated.graph {
        Some(graph) => phases(graph, &objects, namespace),
        None => lines(&objects, namespace),
    };
    Branch::new(text).marked(mark).with(made.into_iter())
}
