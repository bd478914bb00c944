//! A resource of one of this project's operators, and what is composed for it.

use super::branch::{Branch, Mark};
use super::phases::phases;
use super::{conditions, told, waits_for};
use crate::manifest::path;
use crate::operated::Operated;
use crate::outcome::PlannedObject;
use crate::readiness::{Readiness, readiness};

/// So many objects of one kind, equally far, are one line.
const MANY: usize = 3;

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

/// Objects, a line each; many of one kind that are equally far are one line.
pub fn lines(objects: &[&PlannedObject], namespace: &str) -> Vec<Branch> {
    let mut objects = objects.to_vec();
    objects.sort_by(|one, other| one.order(other));
    let alike = |one: &&PlannedObject, other: &&PlannedObject| {
        (&one.group, &one.kind, &one.namespace) == (&other.group, &other.kind, &other.namespace)
            && (one.state, &one.says) == (other.state, &other.says)
            && one.operated.is_none()
            && other.operated.is_none()
    };
    let lines = objects.chunk_by(alike).flat_map(|group| match group {
        [first, ..] if group.len() >= MANY => {
            let names: Vec<String> = group.iter().map(|object| name(object, namespace)).collect();
            let text = format!(
                "{} {}: {}",
                group.len(),
                plural(&first.kind),
                names.join(", ")
            );
            vec![waits_for(text, first)]
        }
        _ => group.iter().map(|object| one(object, namespace)).collect(),
    });
    lines.collect()
}

fn one(object: &PlannedObject, namespace: &str) -> Branch {
    told(
        format!("{} {}", object.kind, name(object, namespace)),
        object,
    )
}

/// The name; with the namespace only where that is another one.
fn name(object: &PlannedObject, namespace: &str) -> String {
    match object.namespace == namespace {
        true => object.name.clone(),
        false => path(&object.namespace, &object.name),
    }
}

/// More than one of a kind.
pub fn plural(kind: &str) -> String {
    match kind.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if kind.ends_with('s') => format!("{kind}es"),
        _ => format!("{kind}s"),
    }
}
