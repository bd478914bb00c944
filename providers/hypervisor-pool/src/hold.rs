//! What keeps Gardener from deleting a leased node: a pod on each, which isn't evicted before the node is drained.
//!
//! Gardener's machine-controller-manager cordons the node of a machine that it replaces or deletes, evicts the node's pods, and deletes
//! the machine. It passes over pods of DaemonSets, which all agents are. A pod that a PodDisruptionBudget protects fails the eviction,
//! which is tried again until the machine's drain timeout has passed (machine-controller-manager, pkg/util/provider/drain/drain.go).
//! Meanwhile the cordoned node is drained, freed of what Nova and OVN have of it, and wiped. Once its lease has ended, the pod is deleted,
//! and the machine-controller-manager goes on.
//!
//! It waits for no pod after the drain timeout, where a person labels the machine `force-deletion`, and where the node hasn't been Ready
//! for five minutes (pkg/util/provider/machinecontroller/machine_util.go, `drainNode`).
//!
//! Each node has a StatefulSet and a budget. Kubernetes itself replaces a pod of a StatefulSet that has failed, which a budget doesn't
//! protect, and the operator needs no right to write pods. A budget of all nodes would lack a pod wherever one node is down; then the
//! machine-controller-manager doesn't report the budget in the status of the Machine, nor look at the label `force-deletion`.
//!
//! Where a node doesn't exist any more and the share's status has no room for its name, Kubernetes deletes the pod after about a minute
//! (pkg/controller/podgc/gc_controller.go, `gcOrphaned`) and creates it again. So it starts with a node that comes back, even while this
//! operator doesn't run, which a StatefulSet without replicas would wait for.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::hypervisor::{HypervisorShareSpec, LeasePhase};
use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy};
use k8s_openapi::api::core::v1::{Container, Namespace, PodSpec};
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use provider_composer::{
    DesiredState, Key, Live, Lookup, ObservedState, Progress, Reason, Resource, ResourceKind,
    Subject, named,
};
use provider_openstack::{digest, labelled, pod_template, selector};
use serde::Deserialize;

use crate::drain::{self, HOLD};
use crate::images;
use crate::leases::Leases;
use crate::nodes::{self, LEASE, Node, PHASE};
use crate::pod::{COMPONENT, idle, on_node, resources, with_user};

/// Label of a pod that holds a node: the node, as the names of its objects have it.
const NODE: &str = "c5c3.io/node";
/// The user that the pods run as, who owns nothing.
const NOBODY: i64 = 65534;
/// How long a node's name in a StatefulSet's name may be. The name of a revision, which is a label of its pods and has 63 characters at
/// most, is longer by eleven.
const LONGEST: usize = 63 - 11 - "hold-".len();

/// A StatefulSet that holds a node, as far as it is read: each node has one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Hold {
    spec: HoldSpec,
    status: HoldStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct HoldSpec {
    template: HoldTemplate,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct HoldTemplate {
    spec: HoldPod,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct HoldPod {
    node_name: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct HoldStatus {
    ready_replicas: i32,
}

impl Resource for Hold {
    const KIND: ResourceKind = <StatefulSet as Resource>::KIND;
}

/// A node that the share leases no longer, though no lease of its ended there: the share's servers may be on it.
struct Unlabelled<'a> {
    set: &'a Live<Hold>,
    /// The node, with what it has instead of the share's label.
    name: String,
    /// Whether another control plane leases it.
    is_moved: bool,
}

/// Composes what holds the nodes of a share until their leases have ended: a server may appear on a node that is being released, and what
/// Nova, OVN and the node itself have of the share is only deleted while the node is there. A node that has lost the label of its lease is
/// held as before, and so is one of the `unstored` nodes: lost ones that the status has no room for.
pub fn compose(
    namespace: &str,
    leases: &Leases,
    unstored: &BTreeSet<String>,
    observed: &ObservedState<'_>,
    desired: &mut DesiredState,
) {
    let (sets, unknown) = match list(namespace, observed) {
        Lookup::Found(sets) => (sets, None),
        Lookup::Missing => (Vec::new(), None),
        Lookup::Unknown(message) => (Vec::new(), Some(message)),
    };
    let image = images::libvirt(&leases.pool.images);
    for node in leases.nodes() {
        apply(namespace, node, &image, desired);
    }
    for node in unlabelled(&sets, leases.nodes(), observed) {
        keep_one(namespace, node.set, desired);
    }
    for set in of_nodes(&sets, unstored) {
        keep_one(namespace, set, desired);
    }
    let progress = match unknown {
        Some(message) => {
            keep_budgets(namespace, observed, desired);
            Progress::Unknown { message }
        }
        None => readiness(namespace, leases.nodes(), &sets),
    };
    desired.conditions.note("NodesProtected", &progress);
}

/// What is said of the nodes of a share whose namespace can't be used yet.
pub fn awaits_namespace(share: &str) -> Progress {
    Progress::waiting(
        Reason::Starting,
        format!(
            "waits for the Namespace {}, in which the pods run that keep Gardener from deleting the machines of this share; until then it \
             may delete them with their servers",
            drain::namespace(share)
        ),
    )
}

/// Keeps the namespace of a share whose last nodes have lost the label of its lease, and what holds them. Returns what is waited for with
/// it; none where no such node is left. `leased` has the nodes with the label. What holds the `unstored` nodes, lost ones that the
/// status has no room for, is kept too.
pub fn keep(
    share: &Subject<HypervisorShareSpec>,
    leased: &[Live<Node>],
    unstored: &BTreeSet<String>,
    observed: &ObservedState<'_>,
    desired: &mut DesiredState,
) -> Option<Progress> {
    let namespace = drain::namespace(share.name());
    let progress = match list(&namespace, observed) {
        Lookup::Found(sets) => {
            for set in of_nodes(&sets, unstored) {
                keep_one(&namespace, set, desired);
                desired.keep(Key::of::<Namespace>("", &namespace));
            }
            let unlabelled = unlabelled(&sets, leased, observed);
            if unlabelled.is_empty() {
                return None;
            }
            for node in &unlabelled {
                keep_one(&namespace, node.set, desired);
            }
            Progress::waiting(
                Reason::Draining,
                advice(&unlabelled, &namespace, &share.spec.control_plane),
            )
        }
        Lookup::Missing => return None,
        Lookup::Unknown(message) => {
            keep_budgets(&namespace, observed, desired);
            Progress::Unknown { message }
        }
    };
    desired.keep(Key::of::<Namespace>("", &namespace));
    Some(progress)
}

/// Which nodes are waited for, and what ends that.
fn advice(unlabelled: &[Unlabelled<'_>], namespace: &str, control_plane: &str) -> String {
    let names = unlabelled.iter().map(|node| node.name.as_str());
    let names: Vec<&str> = names.collect();
    let moved = match unlabelled.iter().any(|node| node.is_moved) {
        true => format!(
            ". Where another control plane leases the node, delete its StatefulSet {HOLD}-* in {namespace} instead"
        ),
        false => String::new(),
    };
    format!(
        "waits for nodes that have lost the label of their lease and may have servers of this share: {}. Set {LEASE} to {control_plane} \
         again or, where no server is left on a node, remove the label in brackets{moved}",
        named(&names, ", ")
    )
}

/// Returns the nodes that pods of a share protect but for those that were wiped, whether it still leases them or not; none while that can't
/// be read, and then none of the pods is deleted.
pub fn held(share: &str, observed: &ObservedState<'_>) -> BTreeSet<String> {
    let sets = list(&drain::namespace(share), observed);
    let sets = sets.found().unwrap_or_default();
    let held = sets.iter().filter(|set| !was_wiped(set));
    held.filter_map(node_of).map(str::to_owned).collect()
}

fn list(namespace: &str, observed: &ObservedState<'_>) -> Lookup<Vec<Live<Hold>>> {
    observed.list::<Hold>(namespace, &[(COMPONENT, HOLD)])
}

/// Those of nodes that the share doesn't lease any more, though no lease of theirs has ended.
fn unlabelled<'a>(
    sets: &'a [Live<Hold>],
    leased: &[Live<Node>],
    observed: &ObservedState<'_>,
) -> Vec<Unlabelled<'a>> {
    let leased: BTreeSet<&str> = leased
        .iter()
        .map(|node| node.metadata.name.as_str())
        .collect();
    let unlabelled = sets.iter().filter_map(|set| {
        let node = node_of(set).filter(|node| !leased.contains(node))?;
        let (has, is_moved) = match observed.get::<Node>("", node) {
            Lookup::Found(found) => match nodes::lease(&found) {
                // It was freed, and the pool leased it anew before this share saw it without a label.
                Some(_) if was_wiped(set) => return None,
                Some(other) => (format!("leased by {other}"), true),
                None => (nodes::former_lease(&found)?.to_owned(), false),
            },
            Lookup::Missing => return None,
            Lookup::Unknown(_) => ("which can't be read".to_owned(), false),
        };
        Some(Unlabelled {
            set,
            name: format!("{node} ({has})"),
            is_moved,
        })
    });
    unlabelled.collect()
}

/// Those of some nodes.
fn of_nodes<'a>(
    sets: &'a [Live<Hold>],
    nodes: &BTreeSet<String>,
) -> impl Iterator<Item = &'a Live<Hold>> {
    let sets = sets.iter();
    sets.filter(move |set| node_of(set).is_some_and(|node| nodes.contains(node)))
}

/// Whether the node had no server any more when this share saw it last.
fn was_wiped(set: &Live<Hold>) -> bool {
    let phase = set.metadata.labels.get(PHASE).map(String::as_str);
    phase == Some(LeasePhase::Wiping.name())
}

/// The node that a StatefulSet holds.
fn node_of(set: &Live<Hold>) -> Option<&str> {
    set.body.spec.template.spec.node_name.as_deref()
}

fn keep_one(namespace: &str, set: &Live<Hold>, desired: &mut DesiredState) {
    let name = &set.metadata.name;
    desired.keep(Key::of::<StatefulSet>(namespace, name));
    desired.keep(Key::of::<PodDisruptionBudget>(namespace, name));
}

/// Keeps all budgets while it isn't known which nodes are held.
fn keep_budgets(namespace: &str, observed: &ObservedState<'_>, desired: &mut DesiredState) {
    let budgets = observed.keys(PodDisruptionBudget::KIND, namespace, &[]);
    desired.kept.extend(budgets.found().unwrap_or_default());
}

/// Whether the pods of all nodes that are Ready are Ready too. Others may be evicted.
fn readiness(namespace: &str, nodes: &[Live<Node>], sets: &[Live<Hold>]) -> Progress {
    let ready = sets
        .iter()
        .filter(|set| set.body.status.ready_replicas >= 1);
    let ready: BTreeSet<&str> = ready.filter_map(node_of).collect();
    let names = nodes.iter().filter(|node| node.body.is_ready());
    let names = names.map(|node| node.metadata.name.as_str());
    let waiting: Vec<&str> = names.filter(|name| !ready.contains(name)).collect();
    if waiting.is_empty() {
        return Progress::Ready;
    }
    Progress::waiting(
        Reason::Starting,
        format!(
            "waits for the pods that keep Gardener from deleting the machines of {} to be Ready; until then it may delete them with their \
             servers: see `kubectl get pods -n {namespace} -l {COMPONENT}={HOLD} -o wide`",
            named(&waiting, ", ")
        ),
    )
}

fn apply(namespace: &str, node: &Live<Node>, image: &str, desired: &mut DesiredState) {
    let part = node_part(&node.metadata.name);
    let name = format!("{HOLD}-{part}");
    let labels = BTreeMap::from([
        (COMPONENT.to_owned(), HOLD.to_owned()),
        (NODE.to_owned(), part),
    ]);
    let mut set = stateful_set(&node.metadata.name, image, &labels);
    let phase = nodes::phase(node);
    if phase == LeasePhase::Wiping {
        // By which a node that is leased to another next was freed, and not moved by hand with its servers.
        let labels = set.metadata.labels.get_or_insert_default();
        labels.insert(PHASE.to_owned(), phase.name().to_owned());
    }
    desired.apply(namespace, &name, &set);
    let budget = PodDisruptionBudget {
        spec: Some(PodDisruptionBudgetSpec {
            min_available: Some(IntOrString::Int(1)),
            selector: Some(selector(&labels)),
            ..PodDisruptionBudgetSpec::default()
        }),
        ..PodDisruptionBudget::default()
    };
    desired.apply(namespace, &name, &budget);
}

/// A node's name in the name of a StatefulSet, which must be a DNS label: of one that is too long or has dots, the end with a digest.
fn node_part(node: &str) -> String {
    if node.len() <= LONGEST && !node.contains('.') {
        return node.to_owned();
    }
    let digest = digest([node]);
    let start = node.len().saturating_sub(LONGEST - digest.len() - 1);
    let end = node.get(start..).unwrap_or_default().replace('.', "-");
    format!("{}-{digest}", end.trim_start_matches('-'))
}

/// One pod that does nothing. It runs where libvirt runs, whose image the node has then.
fn stateful_set(node: &str, image: &str, labels: &BTreeMap<String, String>) -> StatefulSet {
    let waiting = Container {
        resources: Some(resources("10m", "16Mi", "64Mi")),
        ..with_user(idle(HOLD, image), NOBODY)
    };
    let pod = PodSpec {
        containers: vec![waiting],
        // Without the scheduler, which places no pod on a node that is cordoned.
        node_name: Some(node.to_owned()),
        termination_grace_period_seconds: Some(1),
        ..on_node()
    };
    StatefulSet {
        metadata: labelled(labels.clone()),
        spec: StatefulSetSpec {
            replicas: Some(1),
            revision_history_limit: Some(1),
            selector: selector(labels),
            // A pod that is replaced leaves its node without one for a moment.
            update_strategy: Some(StatefulSetUpdateStrategy {
                type_: Some("OnDelete".to_owned()),
                ..StatefulSetUpdateStrategy::default()
            }),
            template: pod_template(labels.clone(), None, pod),
            ..StatefulSetSpec::default()
        },
        ..StatefulSet::default()
    }
}
