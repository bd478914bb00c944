//! Objects in a cluster, a line each.

use super::branch::Branch;
use super::{told, waits_for};
use crate::manifest::path;
use crate::operated::PlannedObject;

/// So many objects of one kind, equally far, are one line.
const MANY: usize = 3;

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
