//! A claim whose composed objects our operators reconcile, each in its cluster and with the rights of its chart: to Ready, and to its
//! deletion in order. Pods, the operators of others and OpenStack's APIs are simulated.

use std::time::Instant;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::PostParams;
use lab::claims::{CONTROL_PLANE, Generation, NAMESPACE, OPENSTACK, SHARE, Site};
use lab::{
    Cluster, Context, DynamicObject, FunctionProgram, Garden, Kind, Release, Request, Result,
    ensure, find_condition, is, kind,
};
use serde_json::json;

use super::deletion::nothing_is_orphaned;

const CLAIM: &str = "tenant-z/first";
const PLACE: &str = "openstack-first";
const NODE: Kind = kind("v1", "Node");
/// The label of a node with its control plane.
const LEASE: &str = "c5c3.node-restriction.kubernetes.io/control-plane";

/// The nodes of the hypervisor pool.
const HYPERVISORS: [&str; 2] = ["hypervisor-1", "hypervisor-2"];

/// What our operators of services reconcile.
const SERVICES: [(Kind, &str); 7] = [
    (
        kind("keystone.openstack.c5c3.io/v1alpha1", "Keystone"),
        "keystone",
    ),
    (
        kind("glance.openstack.c5c3.io/v1alpha1", "Glance"),
        "glance",
    ),
    (
        kind("placement.openstack.c5c3.io/v1alpha1", "Placement"),
        "placement",
    ),
    (kind("ovn.c5c3.io/v1alpha1", "OVNCluster"), "ovn"),
    (
        kind("neutron.openstack.c5c3.io/v1alpha1", "Neutron"),
        "neutron",
    ),
    (kind("nova.openstack.c5c3.io/v1alpha1", "Nova"), "nova"),
    (
        kind("cinder.openstack.c5c3.io/v1alpha1", "Cinder"),
        "cinder",
    ),
];

pub fn claim_is_reconciled_by_operators() -> Result<()> {
    lab::in_lab(
        Release::V2_4,
        Garden::Unchecked,
        FunctionProgram::c5c3()?,
        async |lab| {
            let mut site = Site::build(lab, Generation::Namespaced).await?;
            for name in HYPERVISORS {
                create_node(&lab.hypervisor, name).await?;
            }
            site.run_operators(PLACE).await?;

            let started = Instant::now();
            for pool in ["control-plane", "st-pool-a"] {
                site.claim(&format!("pools/{pool}")).await?;
            }
            lab.management.apply(include_str!("operators.yaml")).await?;
            site.phase(OPENSTACK, CLAIM, "Ready").await?;
            println!(
                "the claim was Ready after {} s",
                started.elapsed().as_secs()
            );
            is_reconciled(&site).await?;
            is_deleted_in_order(&site).await?;
            site.operators()?.roles_suffice()
        },
    )
}

/// Creates a Node as its kubelet does.
async fn create_node(cluster: &Cluster, name: &str) -> Result<()> {
    let amounts =
        json!({ "cpu": "64", "memory": "256Gi", "pods": "110", "ephemeral-storage": "900Gi" });
    let node: Node = serde_json::from_value(json!({
        "metadata": { "name": name, "labels": {
            "kubernetes.io/hostname": name,
            "node-role.kubernetes.io/hypervisor": "",
            "topology.kubernetes.io/zone": "az-1",
        } },
        "spec": { "taints": [{ "key": "node-role.kubernetes.io/hypervisor", "effect": "NoSchedule" }] },
        "status": {
            "addresses": [{ "type": "InternalIP", "address": "10.88.0.11" }],
            "capacity": amounts, "allocatable": amounts,
            "conditions": [{ "type": "Ready", "status": "True" }],
        },
    }))?;
    let nodes = Api::<Node>::all(cluster.client());
    nodes.create(&PostParams::default(), &node).await?;
    Ok(())
}

/// Every operator has reconciled what the claim composed.
async fn is_reconciled(site: &Site<'_>) -> Result<()> {
    let lab = site.lab;
    site.until(
        "what the claim composed is Ready with its present spec",
        async || are_current(site).await,
    )
    .await?;
    site.until("the share has both hosts, and so has Nova", async || {
        let share = lab.hypervisor.get(SHARE, "first").await?;
        is_current(&share)?;
        is(&share, "ComputeServicesUp")?;
        is(&share, "AggregateReady")?;
        let hosts = &share.data["status"]["hostCount"];
        ensure!(*hosts == HYPERVISORS.len(), "{hosts} hosts");
        Ok(())
    })
    .await
}

/// The claim is deleted while a server runs: nothing that the server needs is deleted before it, and nothing is left in the end.
async fn is_deleted_in_order(site: &Site<'_>) -> Result<()> {
    let (lab, operators) = (site.lab, site.operators()?);
    operators
        .nova()
        .servers
        .insert(HYPERVISORS[0].to_owned(), 1);
    let started = Instant::now();
    lab.management.delete(OPENSTACK, CLAIM).await?;
    site.until("the deletion waits for the server", async || {
        let share = lab.hypervisor.get(SHARE, "first").await?;
        let conditions = share.data["status"]["conditions"].to_string();
        ensure!(conditions.contains("servers left: 1"), "{conditions}");
        Ok(())
    })
    .await?;
    site.until("what the server needs stays", async || {
        are_current(site).await
    })
    .await?;
    operators.nova().servers.clear();
    site.until("everything of the claim is gone", async || {
        lab.management.gone(OPENSTACK, CLAIM).await?;
        lab.hypervisor.gone(NAMESPACE, "agents-first").await?;
        for cluster in [&lab.control_plane, &lab.hypervisor] {
            cluster.gone(NAMESPACE, PLACE).await?;
        }
        let composed = site.composed("first").await?;
        ensure!(composed.is_empty(), "{} composed objects", composed.len());
        Ok(())
    })
    .await?;
    nothing_is_orphaned(site, "first").await?;
    println!(
        "everything was gone after {} s",
        started.elapsed().as_secs()
    );
    for node in lab.hypervisor.list(NODE, "").await? {
        let labels = node.metadata.labels.unwrap_or_default();
        ensure!(!labels.contains_key(LEASE), "a node is still leased");
    }
    share_precedes_control_plane(site)?;
    services_precede_what_they_need(site)?;
    operators_delete_no_volume(site)
}

/// The ControlPlane was deleted once the share was gone.
fn share_precedes_control_plane(site: &Site<'_>) -> Result<()> {
    let share = site.lab.hypervisor.audit()?;
    let share = share
        .iter()
        .filter(|request| request.resource == "hypervisorshares" && request.writes())
        .map(|request| request.time)
        .max();
    let control_plane = deleted(&site.lab.control_plane, "controlplanes")?;
    ensure!(
        share.is_some_and(|share| share < control_plane),
        "the ControlPlane was deleted at {control_plane}, and the share at {share:?}"
    );
    Ok(())
}

/// The parts of the control plane were deleted in the reverse order of their dependencies.
fn services_precede_what_they_need(site: &Site<'_>) -> Result<()> {
    let order = ["novas", "placements", "keystones", "mariadbs"];
    let times = order.map(|resource| deleted(&site.lab.control_plane, resource));
    let times: Vec<Timestamp> = times.into_iter().collect::<Result<_>>()?;
    ensure!(times.is_sorted(), "{order:?} were deleted at {times:?}");
    Ok(())
}

/// Volumes outlive the ControlPlane: they are deleted with its namespace.
fn operators_delete_no_volume(site: &Site<'_>) -> Result<()> {
    let mut requests = site.lab.control_plane.audit()?;
    requests.retain(|request| request.resource == "persistentvolumeclaims" && request.writes());
    let is_created = |request: &Request| request.verb == "create" && request.code < 300;
    ensure!(requests.iter().any(is_created), "no volume was created");
    requests
        .retain(|request| request.verb.starts_with("delete") && request.user.contains("-operator"));
    ensure!(requests.is_empty(), "{requests:?}");
    Ok(())
}

/// When an object of a resource was first deleted.
fn deleted(cluster: &Cluster, resource: &str) -> Result<Timestamp> {
    let requests = cluster.audit()?;
    let deleted = requests
        .into_iter()
        .find(|request| request.resource == resource && request.verb == "delete");
    let deleted = deleted.with_context(|| format!("nothing has deleted {resource}"))?;
    Ok(deleted.time)
}

/// The ControlPlane and its services are Ready, and none is being deleted.
async fn are_current(site: &Site<'_>) -> Result<()> {
    for (kind, name) in [(CONTROL_PLANE, "first")].into_iter().chain(SERVICES) {
        let place = format!("{PLACE}/{name}");
        let object = site.lab.control_plane.get(kind, &place).await?;
        is_current(&object)?;
        ensure!(
            object.metadata.deletion_timestamp.is_none(),
            "{place} is being deleted"
        );
    }
    Ok(())
}

/// Ready, as of the present generation.
fn is_current(object: &DynamicObject) -> Result<()> {
    is(object, "Ready")?;
    let ready = find_condition(object, "Ready");
    let observed = ready.map(|ready| &ready["observedGeneration"]);
    ensure!(
        observed == Some(&json!(object.metadata.generation)),
        "{ready:?} isn't of generation {:?}",
        object.metadata.generation
    );
    Ok(())
}
