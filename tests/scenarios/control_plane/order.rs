//! The graph, walked: each part is held back in turn, and exactly what needs it waits.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::ResourceExt;
use lab::{Context, Machine, Operator, Result, ensure, eventually, minutes};
use provider_control_plane::graph::{GRAPH, Node, Step};
use provider_openstack::SERVICES;
use serde_json::json;

use super::simulated::{Simulation, kind_of};
use super::site::{CONTROL_PLANE, Site, credential, small};

/// Fine when, for each part that doesn't come up, all that doesn't need it does, and what needs it isn't made.
///
/// The catalogue is somebody else's here: each control plane would need a Keystone of its own.
pub async fn each_held_back_in_turn(machine: Arc<Machine>) -> Result<()> {
    let site = Site::open(&machine).await?;
    let held: Vec<Node> = seen().map(|step| step.node).collect();
    let simulation = Simulation {
        keystone: None,
        infrastructure_runs: false,
        held: held.iter().map(|node| (namespace(*node), *node)).collect(),
    };
    let mut spec = small();
    spec["korc"] = json!({ "enabled": false });
    for node in &held {
        let namespace = namespace(*node);
        site.namespace(&namespace).await?;
        let users = SERVICES
            .iter()
            .map(|service| service.keystone_credentials());
        let others = ["cortex", "tempest"].map(|name| format!("{name}-keystone-credentials"));
        for name in users.chain(others) {
            let values = credential("made-by-somebody-else");
            site.secret(&namespace, &name, values).await?;
        }
        site.control_plane(&namespace, spec.clone()).await?;
    }

    eventually(
        "all comes up that waits for nothing held back",
        minutes(5),
        async || {
            site.operator.check()?;
            simulation.step(&site.cluster).await?;
            let existing = existing(&site).await?;
            let control_planes = site.cluster.list(CONTROL_PLANE, "").await?;
            for node in &held {
                let namespace = namespace(*node);
                for step in seen() {
                    let waits = waits_for(step.node, *node);
                    if !waits && !existing.contains(&(step.node, namespace.clone())) {
                        lab::bail!(
                            "{} isn't there though only {} is held back",
                            step.name,
                            node.step().name
                        );
                    }
                }
                let mut control_planes = control_planes.iter();
                let control_plane = control_planes
                    .find(|control_plane| control_plane.name_any() == namespace)
                    .with_context(|| format!("there is no ControlPlane {namespace}"))?;
                let ready = lab::condition(control_plane, "Ready");
                let expected = if node.step().is_optional() {
                    "True"
                } else {
                    "False"
                };
                ensure!(
                    ready == Some(expected),
                    "Ready is {ready:?} while {} isn't",
                    node.step().name
                );
            }
            Ok(())
        },
    )
    .await?;
    // Whatever the operator would still create is there once it has reconciled a change.
    for node in &held {
        let memory = json!({ "infrastructure": { "memcached": { "memory": "128Mi" } } });
        site.reconciled(&namespace(*node), memory).await?;
    }
    let existing = existing(&site).await?;
    for node in &held {
        for step in seen().filter(|step| waits_for(step.node, *node)) {
            ensure!(
                !existing.contains(&(step.node, namespace(*node))),
                "{} is there though {} isn't ready",
                step.name,
                node.step().name
            );
        }
    }
    site.cluster.allowed_all(&Operator::user("c5c3"))
}

/// All parts but the catalogue, of which nothing is created here, and Valkey, which no service uses.
fn seen() -> impl Iterator<Item = &'static Step> {
    let is_seen = |step: &&Step| !matches!(step.node, Node::Catalogue | Node::Valkey);
    GRAPH.iter().filter(is_seen)
}

/// The control plane in which a part is held back.
fn namespace(held: Node) -> String {
    format!("without-{}", held.step().name)
}

/// The parts that exist, each with the namespace of its control plane.
async fn existing(site: &Site) -> Result<BTreeSet<(Node, String)>> {
    let mut existing = BTreeSet::new();
    for step in seen() {
        let (Some(kind), Some((_, name))) = (kind_of(step), step.objects.first()) else {
            lab::bail!("{} has no kind", step.name)
        };
        for object in site.cluster.list(kind, "").await? {
            if object.name_any() == *name {
                existing.insert((step.node, object.namespace().unwrap_or_default()));
            }
        }
    }
    Ok(existing)
}

/// Whether a part needs another, directly or by what it needs.
fn waits_for(node: Node, other: Node) -> bool {
    let mut needed = BTreeSet::new();
    let mut next = vec![node];
    while let Some(node) = next.pop() {
        for need in node.step().needs {
            if needed.insert(*need) {
                next.push(*need);
            }
        }
    }
    needed.contains(&other)
}
