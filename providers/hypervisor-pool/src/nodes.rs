//! The hypervisors of a cluster.

use std::collections::BTreeMap;

use c5c3_api::hypervisor::LeasePhase;
use c5c3_api::parts::Quantity;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1;
use provider_composer::{
    Failure, Live, Lookup, ObservedState, Reason, Resource, ResourceKind, named,
};
use serde::Deserialize;

use crate::assignment::{self, Domain, Lease, Servers, State};

/// Label of nodes that are hypervisors.
pub const ROLE: &str = "node-role.kubernetes.io/hypervisor";
/// Label of a leased node: the control plane.
pub const LEASE: &str = "c5c3.node-restriction.kubernetes.io/control-plane";
/// Label of a node that an earlier version leased. Its servers belong to that control plane until a person says so in [`LEASE`].
pub const FORMER_LEASE: &str = "c5c3.io/control-plane";
/// Label of a node whose lease ends: the phase.
pub const PHASE: &str = "c5c3.node-restriction.kubernetes.io/lease-phase";
/// Label of a leased node: since when it is leased or, with [`PHASE`], drained.
pub const SINCE: &str = "c5c3.node-restriction.kubernetes.io/lease-since";
/// How long a node isn't Ready until it is dead: longer than a machine takes to restart, or a kubelet to be updated.
pub const DEAD_AFTER: SignedDuration = SignedDuration::from_mins(15);
/// How a moment is written in a label.
const MOMENT: &str = "%Y%m%dT%H%M%SZ";
/// Label of a node that is drained though it isn't cordoned.
const MAINTENANCE: &str = "c5c3.node-restriction.kubernetes.io/maintenance";
/// The former name of [`MAINTENANCE`], which a node's own kubelet can remove. A node with either label is drained.
const FORMER_MAINTENANCE: &str = "c5c3.io/maintenance";
/// Label of a node's zone (<https://kubernetes.io/docs/reference/labels-annotations-taints/#topologykubernetesiozone>).
const ZONE: &str = "topology.kubernetes.io/zone";
/// Label of a node with its group of machines in the Shoot (gardener, pkg/apis/core/v1beta1/constants: `LabelWorkerPool`).
const GROUP: &str = "worker.gardener.cloud/pool";
/// Labels of a node's rack, or of whatever else fails at once within a zone; the first that a node has counts. The platform team sets the
/// first one. The second is that of metal-operator's Servers (api/v1alpha1/server_types.go, `LabelRack`), whose labels cloud-provider-metal
/// sets on their Nodes (pkg/cloudprovider/metal/instances_v2.go, `InstanceMetadata`). Gardener sets none.
const RACKS: [&str; 2] = ["topology.c5c3.io/rack", "metadata.metal.ironcore.dev/rack"];

/// A node, as far as a pool reads it: clusters have many, and each is large.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Node {
    spec: Spec,
    status: Status,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Spec {
    unschedulable: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Status {
    addresses: Vec<Address>,
    capacity: BTreeMap<String, String>,
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Address {
    #[serde(rename = "type")]
    type_: String,
    address: String,
}

/// A condition of a node or a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Condition {
    #[serde(rename = "type")]
    type_: String,
    status: String,
    /// Since when it has this status. Kept of nodes alone.
    #[serde(rename = "lastTransitionTime")]
    last_transition_time: Option<String>,
}

/// Whether the condition Ready is True.
pub fn is_ready(conditions: &[Condition]) -> bool {
    let mut ready = conditions
        .iter()
        .filter(|condition| condition.type_ == "Ready");
    ready.any(|condition| condition.status == "True")
}

impl Resource for Node {
    const KIND: ResourceKind = <v1::Node as Resource>::KIND;
}

impl Node {
    /// Its internal addresses.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        let addresses = self.status.addresses.iter();
        let internal = addresses.filter(|address| address.type_ == "InternalIP");
        internal.map(|address| address.address.as_str())
    }

    /// The capacity of a resource, for instance `cpu`; 0 where the kubelet hasn't reported it.
    pub fn capacity(&self, resource: &str) -> f64 {
        let quantity = self.status.capacity.get(resource);
        let quantity = quantity.and_then(|text| text.parse::<Quantity>().ok());
        quantity.map_or(0.0, |quantity| quantity.amount())
    }

    /// Whether its kubelet reports that it is Ready.
    pub fn is_ready(&self) -> bool {
        is_ready(&self.status.conditions)
    }

    /// Since when a node isn't Ready; none for one that is, or that has no such condition.
    pub fn not_ready_since(&self) -> Option<Timestamp> {
        let mut conditions = self.status.conditions.iter();
        let ready = conditions.find(|condition| condition.type_ == "Ready")?;
        if ready.status == "True" {
            return None;
        }
        ready.last_transition_time.as_deref()?.parse().ok()
    }

    /// When a node that isn't Ready became or becomes dead.
    pub fn dead_at(&self) -> Option<Timestamp> {
        self.not_ready_since()?.checked_add(DEAD_AFTER).ok()
    }

    /// Whether it hasn't been Ready for longer than a restart takes.
    pub fn is_dead(&self, now: Timestamp) -> bool {
        self.dead_at().is_some_and(|moment| moment <= now)
    }
}

/// What to do about dead nodes, before what else helps; empty where there are none.
pub fn repair<T: AsRef<str>>(dead: &[T]) -> String {
    match dead {
        [] => String::new(),
        dead => format!(
            "repair {} (not Ready for {} minutes), ",
            named(dead, ", "),
            DEAD_AFTER.as_mins()
        ),
    }
}

/// Lists the nodes that have the role of a hypervisor, and those with a lease, by name.
///
/// # Errors
/// Nodes can't be read.
pub fn list(observed: &ObservedState<'_>) -> Result<Vec<Live<Node>>, Failure> {
    let mut nodes = known(observed.list::<Node>("", &[]), "nodes")?;
    nodes.retain(|node| is_hypervisor(node) || lease(node).is_some());
    Ok(nodes)
}

/// Lists the nodes that a control plane leases, by name.
///
/// # Errors
/// Nodes can't be read.
pub fn leased(
    control_plane: &str,
    observed: &ObservedState<'_>,
) -> Result<Vec<Live<Node>>, Failure> {
    known(
        observed.list::<Node>("", &[(LEASE, control_plane)]),
        "nodes",
    )
}

/// The control plane that leases a node.
pub fn lease(node: &Live<Node>) -> Option<&str> {
    node.metadata.labels.get(LEASE).map(String::as_str)
}

/// How far a node's lease has come. One in a phase that this version doesn't know is drained: nothing more happens to it than
/// to any other that is.
pub fn phase(node: &Live<Node>) -> LeasePhase {
    let label = node.metadata.labels.get(PHASE);
    label.map_or(LeasePhase::Leased, |label| {
        let known = LeasePhase::ALL
            .into_iter()
            .find(|phase| phase.name() == label);
        known.unwrap_or(LeasePhase::Draining)
    })
}

/// When a node was leased or, with a phase, began to be drained.
pub fn since(node: &Live<Node>) -> Option<&str> {
    node.metadata.labels.get(SINCE).map(String::as_str)
}

/// The moment that a label of a node or a report of its drain has.
pub fn parsed(moment: &str) -> Option<DateTime> {
    DateTime::strptime(MOMENT, moment).ok()
}

/// The moment at which a node's lease changes, as its label has it: later than the one before and than `reported`, however the clock
/// jumps, so that no report of an earlier drain counts for a later one.
pub fn moment(node: &Live<Node>, reported: Option<DateTime>, now: Timestamp) -> String {
    let now = TimeZone::UTC.to_datetime(now);
    let before = since(node).and_then(parsed).max(reported);
    let next = before.and_then(|before| before.checked_add(SignedDuration::from_secs(1)).ok());
    let moment = next.map_or(now, |next| next.max(now));
    moment.strftime(MOMENT).to_string()
}

fn is_hypervisor(node: &Live<Node>) -> bool {
    node.metadata.labels.contains_key(ROLE)
}

/// The group of machines that Gardener created a node in.
pub fn group(node: &Live<Node>) -> Option<&str> {
    node.metadata.labels.get(GROUP).map(String::as_str)
}

/// The label of a lease that a node has left without [`LEASE`]: a lease that ends takes all of them, so servers may still be there.
pub fn former_lease(node: &Live<Node>) -> Option<&'static str> {
    let labels = &node.metadata.labels;
    let mut left = [SINCE, FORMER_LEASE].into_iter();
    left.find(|label| lease(node).is_none() && labels.contains_key(*label))
}

/// A node as it counts for leases.
pub fn assignable(node: &Live<Node>, now: Timestamp) -> assignment::Node {
    let labels = &node.metadata.labels;
    let first = |names: &[&str]| {
        let value = names.iter().find_map(|name| labels.get(*name));
        value.cloned().unwrap_or_default()
    };
    // A lease that ends takes both labels; where only one is gone, servers may still be there.
    let was_leased =
        lease(node).is_none() && (labels.contains_key(FORMER_LEASE) || labels.contains_key(SINCE));
    let is_leaving = !is_hypervisor(node)
        || node.body.spec.unschedulable
        || labels.contains_key(MAINTENANCE)
        || labels.contains_key(FORMER_MAINTENANCE)
        || node.metadata.deletion_timestamp.is_some();
    assignment::Node {
        name: node.metadata.name.clone(),
        lease: lease(node).map(|control_plane| Lease {
            control_plane: control_plane.to_owned(),
            phase: phase(node),
        }),
        state: match is_leaving {
            _ if was_leased => State::MayHaveServers,
            true => State::Leaving,
            false if node.body.is_ready() => State::Available,
            false if node.body.is_dead(now) => State::Dead,
            false => State::Unready,
        },
        domain: Domain {
            zone: first(&[ZONE]),
            rack: first(&RACKS),
        },
        servers: Servers::default(),
    }
}

/// What was read; nothing is decided without it.
///
/// # Errors
/// It can't be read.
pub fn known<T>(seen: Lookup<Vec<T>>, what: &str) -> Result<Vec<T>, Failure> {
    let unread = |why: String| {
        let message = format!("the cluster's {what} can't be read, so nothing changes: {why}");
        Failure::transient(Reason::LookupFailed, message)
    };
    Ok(seen.known().map_err(unread)?.unwrap_or_default())
}
