//! StorageCluster: a pool of storage, with a CephCluster in it.

use std::collections::BTreeMap;

use c5c3_api::storage_cluster::{Capacity, Health, Phase, default_machine_class};
use c5c3_api::{StorageClusterSpec, StorageClusterStatus};
use function_protocol::{Fatal, Readiness, Request, Response};

use super::access::ACCESS;
use super::consumers::List;
use super::shoot::{self, SHOOT, Wanted, Workers};
use super::{Cluster, check_name};
use crate::composed::{Composed, Creation};
use crate::composite::Composite;
use crate::input::CephPreset;
use crate::manifest::Manifest;
use crate::manifest::ceph::{CephCapacity, CephClusterStatus, NAMESPACE};
use crate::observed::Observation;
use crate::quantity::gibibytes;
use crate::{SETTLED, WAITING, transitions};

mod ceph_cluster;

/// Name of the composed CephCluster.
const CEPH: &str = "ceph";

/// Composes a StorageCluster.
///
/// # Errors
/// The claim or the Composition has to be changed; the message says what.
pub fn compose(request: &Request, response: &mut Response) -> Result<(), Fatal> {
    let claim: Composite<StorageClusterSpec, StorageClusterStatus> = request.composite()?;
    let spec = &claim.spec;
    check_name(&claim.metadata, &spec.name)?;
    let cluster = Cluster::survey::<StorageClusterSpec>(&claim.metadata, request, response)?;
    let preset = cluster.presets.ceph.as_ref().ok_or_else(|| {
        Fatal::new("the Composition's input has no field ceph; StorageClusters need its image, storageClass and diskGib")
    })?;
    let zones = cluster.presets.gardener.zones.get(&spec.region);
    let wanted = ceph_cluster::wanted(spec, preset, zones.map_or(&[], Vec::as_slice))?;
    let consumers = cluster.consumers(
        List::Storage,
        (spec.sharing_mode(), &spec.sharing),
        &claim.status.consumers,
        request,
        response,
    )?;

    let mut composed = Composed::new(request, response, claim.metadata.scope());
    let machine = spec
        .ironcore
        .as_ref()
        .map(|ironcore| ironcore.machine_class.clone());
    let shoot = cluster.shoot(
        Wanted {
            region: &spec.region,
            kubernetes_version: spec.kubernetes_version.as_ref(),
            labels: spec.labels.clone(),
            worker: Workers {
                name: "storage",
                machine: &machine.unwrap_or_else(default_machine_class),
                minimum: spec.workers,
                maximum: spec.workers,
                volume: None,
                labels: BTreeMap::from([(
                    "node-role.kubernetes.io/storage".to_owned(),
                    String::new(),
                )]),
                bare_metal: true,
            },
            highly_available: true,
        },
        &mut composed,
    )?;
    cluster.access(&mut composed)?;
    let manifest = Manifest::new(NAMESPACE, NAMESPACE, wanted);
    let creation = Creation::from(shoot.status.is_up() && cluster.accepted);
    let ready =
        |status: &CephClusterStatus| status.phase == "Ready" && status.ceph.health != "HEALTH_ERR";
    let ceph = composed.object(CEPH, cluster.name(), &manifest, creation, ready)?;
    composed.order(ACCESS, CEPH, "Ceph is reached with it")?;
    composed.order(
        SHOOT,
        ACCESS,
        "the cluster is reached with it until the end",
    )?;

    let settled = composed.all_ready() && cluster.accepted;
    shoot::condition(&shoot, response);
    conditions(&ceph, spec, preset, response);
    let was_ready = matches!(claim.status.phase, Some(Phase::Ready | Phase::Expanding));
    let phase = if shoot.status.has_failed() || !cluster.accepted && !shoot.exists {
        Phase::Failed
    } else if ceph.status.phase == "Ready" {
        Phase::Ready
    } else if was_ready {
        Phase::Expanding
    } else {
        Phase::Provisioning
    };
    response.status(&StorageClusterStatus {
        phase: Some(phase),
        cluster_name: Some(cluster.name().to_owned()),
        capacity: capacity(ceph.status.ceph.capacity),
        health: health(&ceph.status.ceph.health),
        consumers,
    })?;
    response.composite_ready(Readiness::from(settled));
    response.ttl(if settled { SETTLED } else { WAITING });
    Ok(())
}

fn conditions(
    ceph: &Observation<CephClusterStatus>,
    spec: &StorageClusterSpec,
    preset: &CephPreset,
    response: &mut Response,
) {
    if ceph.exists {
        let (holds, reason, message) = match (&ceph.problem, ceph.status.ceph.health.as_str()) {
            (Some(problem), _) => (false, "NotApplied", problem.clone()),
            (None, "HEALTH_ERR") => (false, "HealthError", "Ceph reports HEALTH_ERR".to_owned()),
            (None, _) if ceph.status.phase != "Ready" => (
                false,
                "Waiting",
                "Rook hasn't made the CephCluster yet".to_owned(),
            ),
            (None, "HEALTH_OK") => (true, "Ready", String::new()),
            (None, health) => (true, "Ready", format!("Ceph reports {health}")),
        };
        transitions::set(response, "CephReady", holds, reason, message);
    } else {
        transitions::await_turn(response, "CephReady", "it comes after the Shoot");
    }
    match ceph_cluster::shortfall(spec, preset) {
        Some(shortfall) => {
            transitions::set(response, "CapacityPlanned", false, "TooFewDisks", shortfall);
        }
        None => transitions::set(
            response,
            "CapacityPlanned",
            true,
            "EnoughDisks",
            String::new(),
        ),
    }
}

fn health(word: &str) -> Option<Health> {
    match word {
        "HEALTH_OK" => Some(Health::Ok),
        "HEALTH_WARN" => Some(Health::Warn),
        "HEALTH_ERR" => Some(Health::Err),
        _ => None,
    }
}

fn capacity(bytes: CephCapacity) -> Option<Capacity> {
    (bytes != CephCapacity::default()).then(|| Capacity {
        total: Some(gibibytes(bytes.bytes_total)),
        available: Some(gibibytes(bytes.bytes_available)),
        used: Some(gibibytes(bytes.bytes_used)),
    })
}
