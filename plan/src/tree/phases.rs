//! A control plane phase by phase, with what waits for what.

use super::branch::{Branch, Mark};
use super::lines::lines;
use super::told;
use crate::graph::{Graph, Node, Progress};
use crate::operated::PlannedObject;

/// K-ORC's kinds are of this group: what the service catalogue consists of.
const CATALOGUE: &str = "openstack.k-orc.cloud";

/// Each phase with its parts, and then what belongs to none, Secrets for instance.
pub fn phases(graph: &Graph, objects: &[&PlannedObject], namespace: &str) -> Vec<Branch> {
    let mut left: Vec<&PlannedObject> = objects.to_vec();
    let phases = graph.nodes.chunk_by(|one, other| one.phase == other.phase);
    let mut branches: Vec<Branch> = phases
        .map(|nodes| {
            let number = nodes.first().map_or(0, |node| node.phase);
            let parts: Vec<Branch> = nodes
                .iter()
                .map(|node| {
                    let (own, others) = left.iter().partition(|object| belongs(node, object));
                    left = others;
                    part(graph, node, own, namespace)
                })
                .collect();
            Branch::new(format!("Phase {number}")).with(parts.into_iter())
        })
        .collect();
    if !left.is_empty() {
        branches.push(Branch::new("Besides").with(lines(&left, namespace).into_iter()));
    }
    branches
}

fn belongs(node: &Node, object: &PlannedObject) -> bool {
    match node.objects.as_slice() {
        [] => object.group == CATALOGUE,
        objects => objects.contains(&(object.kind.as_str(), object.name.as_str())),
    }
}

/// A part, and the objects that it consists of besides the one that it is called by.
fn part(graph: &Graph, node: &Node, own: Vec<&PlannedObject>, namespace: &str) -> Branch {
    let (first, others): (Vec<&PlannedObject>, Vec<&PlannedObject>) =
        own.into_iter().partition(|object| {
            node.objects.first() == Some(&(object.kind.as_str(), object.name.as_str()))
        });
    let title = node.title.clone();
    let branch = match (first.as_slice(), &node.progress) {
        ([first, ..], _) => told(title, first),
        ([], Progress::Ready) => Branch::new(title).marked(Mark::Good),
        ([], Progress::Coming(_) | Progress::Held) => {
            Branch::new(format!("{title}, {}", graph.says(node))).marked(Mark::Open)
        }
    };
    branch.with(lines(&others, namespace).into_iter())
}
