//! How the nodes of a hypervisor pool are divided, and what a plan would change about it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};
use std::sync::Arc;

use c5c3_api::hypervisor::LeasePhase;
use c5c3_plan::{Manifest, Plan, aligned};
use jiff::Timestamp;
use provider_composer::{ExternalRequest, Key, Lookup, ObservedState, Selection, Source};
use provider_hypervisor_pool::PoolState;
use provider_hypervisor_pool::assignment::{Node, Part, Share, State};
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::error::Error;
use crate::snapshot::Form;

/// The objects of a pool's cluster that count for its division, by kind.
struct Objects(BTreeMap<&'static str, Vec<Arc<Value>>>);

impl Source for Objects {
    fn object(&self, key: &Key) -> Lookup<Arc<Value>> {
        Lookup::Unknown(format!("{} isn't read here", key.kind.kind))
    }

    fn objects(&self, selection: &Selection) -> Lookup<Vec<Arc<Value>>> {
        self.0
            .get(selection.kind.kind)
            .map_or(Lookup::Missing, |objects| Lookup::Found(objects.clone()))
    }

    fn external(&self, request: &ExternalRequest) -> Lookup<Arc<Value>> {
        Lookup::Unknown(format!("{} isn't asked here", request.system))
    }
}

impl Objects {
    async fn of(cluster: &Cluster) -> Result<Self, Error> {
        let mut objects = BTreeMap::new();
        for kind in PoolState::KINDS {
            let mut found = cluster.list(&kind.api_version(), kind.kind, "").await?;
            found.sort_by(|one, other| one.name().cmp(other.name()));
            let found = found
                .into_iter()
                .map(|object| Arc::new(object.value().clone()));
            objects.insert(kind.kind, found.collect());
        }
        Ok(Self(objects))
    }

    /// The same with planned objects: an object that exists keeps its metadata, a new one is created `now`.
    fn with<'a>(&self, planned: impl Iterator<Item = &'a Manifest>, now: Timestamp) -> Self {
        let mut objects = self.0.clone();
        for manifest in planned {
            let Some(all) = objects.get_mut(manifest.kind()) else {
                continue;
            };
            let existing = all
                .iter_mut()
                .find(|object| object["metadata"]["name"] == manifest.name());
            match existing {
                Some(object) => Arc::make_mut(object)["spec"] = manifest.spec().clone(),
                None => {
                    let mut created = manifest.value().clone();
                    created["metadata"]["creationTimestamp"] = json!(now.to_string());
                    all.push(Arc::new(created));
                }
            }
        }
        Self(objects)
    }

    fn state(&self, now: Timestamp) -> Result<PoolState, Error> {
        Ok(PoolState::observe(&ObservedState::new(self, now))?)
    }
}

/// Shows the hypervisor pool of a cluster: its shares, and who leases which node.
///
/// # Errors
/// The cluster can't be read, or it has no pool or several.
pub async fn pool(cluster: &Cluster, now: Timestamp, form: Form) -> Result<String, Error> {
    let state = Objects::of(cluster).await?.state(now)?;
    Ok(match form {
        Form::Tree(_) => format!(
            "{}{}\n{}\n{}",
            summary(&state),
            removable(&state),
            shares(&state, &state),
            table_of_nodes(&state)
        ),
        Form::Json => format!("{:#}\n", listed(&state)),
    })
}

/// What a plan would change about the division of a pool.
#[derive(Clone, Debug)]
pub struct Division {
    before: PoolState,
    after: PoolState,
}

impl Division {
    /// The division of a cluster's pool now, and with the shares and the pool that are planned for the cluster.
    ///
    /// # Errors
    /// The cluster can't be read, it has no pool or several, or nothing is planned for its pool.
    pub async fn planned(plan: &Plan, cluster: &Cluster, now: Timestamp) -> Result<Self, Error> {
        let objects = Objects::of(cluster).await?;
        let before = objects.state(now)?;
        let planned = plan.applied.iter();
        let planned: Vec<&Manifest> = planned
            .filter(|applied| applied.key.cluster == before.name)
            .map(|applied| &applied.manifest)
            .filter(|manifest| objects.0.contains_key(manifest.kind()))
            .collect();
        if planned.is_empty() {
            return Err(Error::NotPlannedForPool(before.name));
        }
        let after = objects.with(planned.into_iter(), now).state(now)?;
        Ok(Self { before, after })
    }

    /// Whether every share would be due the same nodes, and no node would be moved.
    pub fn is_unchanged(&self) -> bool {
        self.before.division.parts == self.after.division.parts && self.steps().is_empty()
    }

    /// What would be done beyond what is done anyway.
    fn steps(&self) -> Vec<String> {
        let before = steps(&self.before);
        steps(&self.after).difference(&before).cloned().collect()
    }
}

impl Display for Division {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}", summary(&self.before))?;
        write!(out, "{}", shares(&self.before, &self.after))?;
        let steps = self.steps();
        if steps.is_empty() {
            return writeln!(out, "\nno node is moved at once");
        }
        writeln!(out)?;
        steps.iter().try_for_each(|step| writeln!(out, "{step}"))
    }
}

/// What is done next with the nodes of a pool, in words.
fn steps(state: &PoolState) -> BTreeSet<String> {
    let holder = |name: &str| {
        let node = state.nodes.iter().find(|node| node.name == name);
        let lease = node.and_then(|node| node.lease.as_ref());
        lease.map_or("", |lease| lease.control_plane.as_str())
    };
    let division = &state.division;
    let leased = division.granted.iter();
    let leased = leased.map(|(node, control_plane)| format!("lease {node} to {control_plane}"));
    let drained = division.drained.iter();
    let drained = drained.map(|node| format!("drain {node} of {}", holder(node)));
    let resumed = division.resumed.iter();
    let resumed = resumed.map(|node| format!("stop draining {node} of {}", holder(node)));
    leased.chain(drained).chain(resumed).collect()
}

fn summary(state: &PoolState) -> String {
    let counts = state.counts();
    format!(
        "HypervisorPool {}: {} nodes; {} leased, {} draining, {} free, {} unavailable\n",
        state.name,
        state.nodes.len(),
        counts.leased,
        counts.draining,
        counts.free,
        counts.unavailable
    )
}

/// The nodes that the pool can lose.
fn removable(state: &PoolState) -> String {
    match state.removable().as_slice() {
        [] => String::new(),
        nodes => format!("Removable: {}\n", nodes.join(", ")),
    }
}

/// The shares, by name. Where a number changes, both are shown.
fn shares(before: &PoolState, after: &PoolState) -> String {
    let by_name = |state: &PoolState| -> BTreeMap<String, (Share, Part)> {
        let shares = state.shares.iter().map(|share| {
            let part = state.division.parts.get(&share.name).copied();
            (
                share.name.clone(),
                (share.clone(), part.unwrap_or_default()),
            )
        });
        shares.collect()
    };
    let (before, after) = (by_name(before), by_name(after));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mut rows = vec![
        [
            "SHARE",
            "CONTROL PLANE",
            "WEIGHT",
            "MIN",
            "MAX",
            "DUE",
            "LEASED",
            "DRAINING",
        ]
        .map(str::to_owned),
    ];
    for name in names {
        let (old, new) = (before.get(name), after.get(name));
        let Some((share, _)) = new.or(old) else {
            continue;
        };
        let changed = |field: &dyn Fn(&(Share, Part)) -> String| {
            let none = || "-".to_owned();
            let (old, new) = (old.map_or_else(none, field), new.map_or_else(none, field));
            match old == new {
                true => new,
                false => format!("{old} -> {new}"),
            }
        };
        let most = |share: &Share| match share.max_hosts {
            _ if share.is_held => "held".to_owned(),
            Some(most) => most.to_string(),
            None => "-".to_owned(),
        };
        rows.push([
            name.clone(),
            share.control_plane.clone(),
            changed(&|(share, _)| share.weight.to_string()),
            changed(&|(share, _)| share.min_hosts.to_string()),
            changed(&|(share, _)| most(share)),
            changed(&|(_, part)| part.due.to_string()),
            changed(&|(_, part)| part.hosts.to_string()),
            changed(&|(_, part)| part.draining.to_string()),
        ]);
    }
    aligned(&rows)
}

fn table_of_nodes(state: &PoolState) -> String {
    let mut rows = vec![["NODE", "ZONE", "RACK", "CONTROL PLANE", "PHASE"].map(str::to_owned)];
    rows.extend(state.nodes.iter().map(PoolNode::of).map(|node| {
        let text = |text: String| match text.as_str() {
            "" => "-".to_owned(),
            _ => text,
        };
        [
            node.name,
            text(node.zone),
            text(node.rack),
            text(node.control_plane),
            node.phase.to_owned(),
        ]
    }));
    aligned(&rows)
}

/// A node of a hypervisor pool, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolNode {
    /// Its name.
    pub name: String,
    /// Its zone; empty where it has none.
    pub zone: String,
    /// Its rack; empty where it has none.
    pub rack: String,
    /// The control plane that leases it; empty where none does.
    pub control_plane: String,
    /// How far its lease has come, or why it has none.
    pub phase: &'static str,
}

impl PoolNode {
    fn of(node: &Node) -> Self {
        let lease = node.lease.as_ref();
        Self {
            name: node.name.clone(),
            zone: node.domain.zone.clone(),
            rack: node.domain.rack.clone(),
            control_plane: lease.map_or_else(String::new, |lease| lease.control_plane.clone()),
            phase: phase(node),
        }
    }
}

/// Those of a cluster's nodes that are hypervisors or leased.
///
/// # Errors
/// A node can't be understood.
pub fn nodes(nodes: Vec<Manifest>) -> Result<Vec<PoolNode>, Error> {
    let nodes = nodes.iter().map(|node| Arc::new(node.value().clone()));
    let objects = Objects(BTreeMap::from([("Node", nodes.collect())]));
    let observed = ObservedState::new(&objects, Timestamp::UNIX_EPOCH);
    let nodes = provider_hypervisor_pool::hypervisors(&observed)?;
    Ok(nodes.iter().map(PoolNode::of).collect())
}

/// How far a node's lease has come, or why it has none.
fn phase(node: &Node) -> &'static str {
    match (&node.lease, node.state) {
        (Some(lease), State::Unready | State::Dead | State::Away)
            if lease.phase == LeasePhase::Leased =>
        {
            "Leased, not Ready"
        }
        (Some(lease), _) => lease.phase.name(),
        (None, State::Available) => "Free",
        (None, State::Unready | State::Dead | State::Away) => "NotReady",
        (None, State::Leaving | State::MayHaveServers) => "Unavailable",
    }
}

/// The pool for programs.
fn listed(state: &PoolState) -> Value {
    let shares = state.shares.iter().map(|share| {
        let part = state.division.parts.get(&share.name).copied();
        let part = part.unwrap_or_default();
        json!({
            "name": share.name,
            "controlPlane": share.control_plane,
            "weight": share.weight,
            "minHosts": share.min_hosts,
            "maxHosts": share.max_hosts,
            "held": share.is_held,
            "due": part.due,
            "leased": part.hosts,
            "draining": part.draining,
        })
    });
    let nodes = state.nodes.iter().map(PoolNode::of).map(|node| {
        json!({
            "name": node.name,
            "zone": node.zone,
            "rack": node.rack,
            "controlPlane": (!node.control_plane.is_empty()).then_some(node.control_plane),
            "phase": node.phase,
        })
    });
    json!({
        "name": state.name,
        "counts": state.counts(),
        "removable": state.removable(),
        "shares": shares.collect::<Vec<_>>(),
        "nodes": nodes.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests;
