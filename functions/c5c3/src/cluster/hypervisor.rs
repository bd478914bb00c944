//! HypervisorCluster: a pool of hypervisors, and the settings by which its nodes are leased.

use std::collections::BTreeMap;

use c5c3_api::hypervisor::{HypervisorPoolSpec, HypervisorPoolStatus, PoolShare};
use c5c3_api::hypervisor_cluster::{AvailableCapacity, Phase, default_machine_class};
use c5c3_api::{Consumer, HypervisorClusterSpec, HypervisorClusterStatus, Reason};
use function_protocol::{Fatal, Readiness, Request, Response};

use super::shoot::{self, BareMetal, Size, Wanted, Workers, Zone};
use super::{Cluster, check_name};
use crate::composed::Creation;
use crate::composite::Composite;
use crate::input::SystemMachines;
use crate::manifest::Manifest;
use crate::names::ACCESS;
use crate::observed::Observation;
use crate::transitions;
use crate::ttl::set_ttl;

mod size;

/// Name of the groups of machines that run servers.
const HYPERVISOR: &str = "hypervisor";

/// The role of nodes that run servers: their label, and the taint that keeps all pods but agents away.
const ROLE: &str = "node-role.kubernetes.io/hypervisor";

/// Name of the composed settings.
const POOL: &str = "pool";

/// Whether the HypervisorPool is applied in the cluster. It isn't set before it has been False.
const SETTINGS_APPLIED: &str = "PoolSettingsApplied";

/// Composes a HypervisorCluster.
///
/// # Errors
/// The claim or the Composition has to be changed; the message says what.
pub fn compose(request: &Request, response: &mut Response) -> Result<(), Fatal> {
    let claim: Composite<HypervisorClusterSpec, HypervisorClusterStatus> = request.composite()?;
    let spec = &claim.spec;
    check_name(&claim.metadata, &spec.name)?;
    let cluster = Cluster::read(&claim.metadata, request)?;
    let mode = spec.sharing_mode();
    let consumers = cluster.consumers(spec, &claim.status.consumers, request, response)?;
    let size = size::accepted(&cluster, &claim, &consumers, request, response)?;
    let ironcore = spec.ironcore.as_ref();
    let zones = cluster.zones(&spec.region, &spec.labels)?;
    let system = cluster.presets.gardener.system_machines.as_ref();
    let mut workers = cluster.workers(
        request,
        &Workers {
            name: HYPERVISOR,
            machine: &ironcore
                .map_or_else(default_machine_class, |metal| metal.machine_class.clone()),
            zones: &zones,
            size,
            volume: None,
            labels: node_labels(spec),
            reserved_for: system.map(|_| ROLE),
            bare_metal: Some(BareMetal {
                machine_pool: ironcore.map(|metal| metal.machine_pool.as_str()),
                keeps: true,
            }),
        },
    )?;
    if let Some(system) = system {
        workers.extend(cluster.workers(request, &system_workers(system, &zones))?);
    }

    let networking =
        cluster.networking::<HypervisorClusterSpec>(spec.network.ranges(), request, response)?;
    let network = Some(networking.ranges());
    let mut composed = cluster.composed(request, response);
    let (shoot, notes) = cluster.shoot(
        Wanted {
            region: &spec.region,
            kubernetes_version: spec.kubernetes_version.as_ref(),
            labels: spec.labels.clone(),
            networking,
            workers,
            highly_available: true,
        },
        &mut composed,
    )?;
    cluster.access(&mut composed)?;
    let settings = Manifest::cluster_scoped(
        cluster.name(),
        HypervisorPoolSpec {
            mode,
            reserve: spec.sharing.reserve,
            physical_networks: spec.network.physical_networks.clone(),
            images: cluster.presets.agent_images.clone(),
            system_reserved: spec.system_reserved.clone(),
            ..HypervisorPoolSpec::default()
        },
    );
    let creation = Creation::from(shoot.status.is_up());
    let pool = composed.object(
        POOL,
        cluster.name(),
        settings,
        creation,
        |_: &HypervisorPoolStatus| true,
    )?;
    composed.order(ACCESS, POOL, "the pool's settings are reached with it")?;

    let accepted = composed.accept();
    let settled = accepted && composed.all_ready();
    let operation = shoot.status.last_operation.as_ref();
    let scaling = operation
        .is_some_and(|operation| operation.type_ == "Reconcile" && operation.state == "Processing");
    let phase = if shoot.status.has_failed() || !accepted && !shoot.exists {
        Phase::Failed
    } else if settled && scaling {
        Phase::Scaling
    } else if settled {
        Phase::Ready
    } else {
        Phase::Provisioning
    };
    shoot::condition(&shoot, &notes, response);
    settings_applied(&cluster, &pool, response);
    let capacity = AvailableCapacity {
        vcpus: pool.status.free_vcpus,
        memory_gb: pool.status.free_memory_gb,
    };
    response.status(&HypervisorClusterStatus {
        phase: Some(phase),
        cluster_name: Some(cluster.name().to_owned()),
        network,
        node_count: pool.status.node_count,
        nodes: pool.status.nodes,
        available_capacity: (capacity != AvailableCapacity::default()).then_some(capacity),
        consumers: with_nodes(consumers, &pool.status.shares),
    })?;
    response.composite_ready(Readiness::from(settled));
    set_ttl(response, settled);
    Ok(())
}

/// Says why the HypervisorPool isn't applied, and what the cluster needs.
fn settings_applied(
    cluster: &Cluster<'_>,
    pool: &Observation<HypervisorPoolStatus>,
    response: &mut Response,
) {
    match &pool.problem {
        Some(problem) => {
            let message = format!(
                "HypervisorPool {} isn't applied: {problem}. This needs the cluster's kubeconfig in Secret {} of namespace {}, and \
                 the chart c5c3-crds in the cluster",
                cluster.name(),
                cluster.kubeconfig(),
                cluster.presets.access.kubeconfig_namespace
            );
            let reason = Reason::NotApplied;
            transitions::set(response, SETTINGS_APPLIED, false, reason, message);
        }
        None => transitions::lapse(response, SETTINGS_APPLIED, Some(true), Reason::Ready, ""),
    }
}

/// Machines for everything but agents.
fn system_workers<'a>(system: &'a SystemMachines, zones: &'a [Zone<'a>]) -> Workers<'a> {
    Workers {
        name: "system",
        machine: &system.machine_type,
        zones,
        size: Size {
            minimum: system.minimum.min(system.maximum).get(),
            maximum: system.maximum.get(),
        },
        volume: None,
        labels: BTreeMap::new(),
        reserved_for: None,
        bare_metal: Some(BareMetal {
            machine_pool: system.machine_pool.as_deref(),
            keeps: false,
        }),
    }
}

/// Says how many nodes each consumer has. Of consumers in several namespaces with one name, only one has the share of that name, so that
/// nothing is said of them.
fn with_nodes(mut consumers: Vec<Consumer>, shares: &[PoolShare]) -> Vec<Consumer> {
    let shares: BTreeMap<&str, &PoolShare> = shares
        .iter()
        .map(|share| (share.control_plane.as_str(), share))
        .collect();
    let mut namesakes: BTreeMap<String, u32> = BTreeMap::new();
    for consumer in &consumers {
        *namesakes.entry(consumer.name.clone()).or_default() += 1;
    }
    for consumer in &mut consumers {
        let is_only = namesakes.get(&consumer.name) == Some(&1);
        let share = shares.get(consumer.name.as_str()).filter(|_| is_only);
        consumer.hosts = share.map(|share| share.hosts);
        consumer.pending = share.map(|share| share.due.saturating_sub(share.hosts));
    }
    consumers
}

/// Nodes carry their role, and the pool's labels under the project's own prefix.
fn node_labels(spec: &HypervisorClusterSpec) -> BTreeMap<String, String> {
    let labels = spec
        .labels
        .iter()
        .map(|(label, value)| (format!("c5c3.io/{label}"), value.clone()));
    labels.chain([(ROLE.to_owned(), String::new())]).collect()
}
