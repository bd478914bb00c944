//! A resource of one of our operators, and what is made for it, step by step.

use super::branch::{Branch, Mark};
use super::{conditions, waits_for};
use crate::manifest::path;
use crate::operated::Operated;
use crate::outcome::PlannedObject;
use crate::readiness::{Readiness, readiness};

/// So many objects of one kind, equally far, are one line.
const MANY: usize = 3;

/// The resource by what it is called, with everything that comes of it.
pub fn operated(title: &str, operated: &Operated) -> Branch {
    let (mark, text) = match (&operated.failure, readiness(&operated.resource)) {
        (Some(failure), _) => (Mark::Bad, format!("{title}: {failure}")),
        (None, Readiness::Ready) => (Mark::Good, title.to_owned()),
        (None, Readiness::Waiting(why)) if why.is_empty() => {
            let operator = operated.operator;
            (Mark::Open, format!("{title}, waits for {operator}"))
        }
        (None, Readiness::Waiting(why)) => (Mark::Open, format!("{title}: {why}")),
    };
    let mut branch = Branch::new(text).marked(mark);
    let namespace = operated.resource.namespace();
    let several = operated.steps.len() > 1;
    for (step, number) in operated.steps.iter().zip(1..) {
        match several {
            true => {
                branch.add(Branch::new(format!("Step {number}")).with(objects(step, namespace)))
            }
            false => branch = branch.with(objects(step, namespace)),
        }
    }
    if !operated.conditions.is_empty() {
        branch.add(conditions(&operated.conditions));
    }
    branch
}

/// Objects of a step: many of one kind that are equally far are one line.
fn objects<'a>(step: &'a [PlannedObject], namespace: &'a str) -> impl Iterator<Item = Branch> {
    let alike = |one: &PlannedObject, other: &PlannedObject| {
        one.kind == other.kind
            && one.state == other.state
            && one.namespace == other.namespace
            && one.operated.is_none()
            && other.operated.is_none()
    };
    step.chunk_by(alike).flat_map(move |group| match group {
        [first, ..] if group.len() >= MANY => {
            let names: Vec<String> = group.iter().map(|object| name(object, namespace)).collect();
            let (kind, count) = (&first.kind, group.len());
            vec![waits_for(
                format!("{count} {}: {}", plural(kind), names.join(", ")),
                first.state,
            )]
        }
        _ => group.iter().map(|object| one(object, namespace)).collect(),
    })
}

fn one(object: &PlannedObject, namespace: &str) -> Branch {
    let title = format!("{} {}", object.kind, name(object, namespace));
    match &object.operated {
        Some(inner) => operated(&title, inner),
        None => waits_for(title, object.state),
    }
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
