//! StorageCluster: a pool of storage, with a CephCluster in it.

use std::collections::BTreeMap;

use c5c3_api::storage_cluster::{Health, Phase, default_machine_class};
use c5c3_api::{Reason, StorageClusterSpec, StorageClusterStatus};
use c5c3_kinds::ceph::{CephClusterStatus, CephHealth, NAMESPACE};
use c5c3_kinds::gardener::Worker;
use function_protocol::{Fatal, Readiness, Request, Response};

use super::shoot::{self, BareMetal, Size, Wanted, Workers, Zone};
use super::{Cluster, check_name};
use crate::composed::Creation;
use crate::composite::Composite;
use crate::input::CephPreset;
use crate::manifest::Manifest;
use crate::names::ACCESS;
use crate::observed::Observation;
use crate::transitions;
use crate::ttl::set_ttl;

mod capacity;
mod ceph_cluster;
mod placement_groups;
mod release;
mod size;

use size::OSDS_PER_HOST;

/// Name of the nodes with disks.
const DATA: &str = "storage";

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
    let cluster = Cluster::read(&claim.metadata, request)?;
    let preset = cluster.presets.ceph.as_ref().ok_or_else(|| {
        Fatal::new("the Composition's input has no field ceph; StorageClusters need its image, storageClass and diskGib")
    })?;
    // A pool that has Ceph already may have amounts of daemons that Rook doesn't run in it.
    if !request.observed().contains_key(CEPH)
        && let Some(refused) = ceph_cluster::refused(preset)
    {
        return Err(Fatal::new(refused));
    }
    let consumers = cluster.consumers(spec, &claim.status.consumers, request, response)?;

    let size = size::accepted(&cluster, &claim, &consumers, request, response)?;
    let nodes = nodes(&cluster, spec, size.hosts, request)?;
    let release = release::accepted(&preset.image, request);
    let arbiter = nodes.arbiter.as_deref();
    let wanted = ceph_cluster::wanted(spec, preset, release.image, &nodes.zones, arbiter)?;

    let networking = cluster.networking::<StorageClusterSpec>(spec.network, request, response)?;
    let network = Some(networking.ranges());
    let mut composed = cluster.composed(request, response);
    let (shoot, notes) = cluster.shoot(
        Wanted {
            region: &spec.region,
            kubernetes_version: spec.kubernetes_version.as_ref(),
            labels: spec.labels.clone(),
            networking,
            workers: nodes.workers,
            highly_available: true,
        },
        &mut composed,
    )?;
    cluster.access(&mut composed)?;
    let mut manifest = Manifest::new(NAMESPACE, NAMESPACE, wanted);
    let osds_per_host = (OSDS_PER_HOST.to_owned(), size.osds_per_host.to_string());
    manifest.metadata.annotations.extend([osds_per_host]);
    let creation = Creation::from(shoot.status.is_up());
    let ready =
        |status: &CephClusterStatus| status.phase == "Ready" && status.ceph.health != "HEALTH_ERR";
    let ceph = composed.object(CEPH, cluster.name(), manifest, creation, ready)?;
    composed.order(ACCESS, CEPH, "Ceph is reached with it")?;

    let accepted = composed.accept();
    let settled = accepted && composed.all_ready();
    shoot::condition(&shoot, &notes, response);
    conditions(&ceph, spec, preset, release.note, response);
    placement_groups::condition(spec, &ceph.status, &consumers, request, response);
    let was_ready = matches!(claim.status.phase, Some(Phase::Ready | Phase::Expanding));
    let phase = if shoot.status.has_failed() || !accepted && !shoot.exists {
        Phase::Failed
    } else if ceph.status.phase == "Ready" {
        Phase::Ready
    } else if was_ready {
        Phase::Expanding
    } else {
        Phase::Provisioning
    };
    let health = health(&ceph.status.ceph.health);
    // A change of the health calls the claims that name the pool anyway.
    let before = claim.status.capacity;
    let before = before.filter(|_| claim.status.health == health);
    response.status(&StorageClusterStatus {
        phase: Some(phase),
        cluster_name: Some(cluster.name().to_owned()),
        network,
        capacity: capacity::reported(ceph.status.ceph.capacity, before),
        health,
        zones: nodes.zones,
        consumers,
    })?;
    response.composite_ready(Readiness::from(settled));
    set_ttl(response, settled);
    Ok(())
}

/// The nodes of a storage pool.
struct Nodes {
    workers: Vec<Worker>,
    /// Zones with disks.
    zones: Vec<String>,
    /// The zone whose node only votes, in a pool that is stretched over two zones.
    arbiter: Option<String>,
}

fn nodes(
    cluster: &Cluster<'_>,
    spec: &StorageClusterSpec,
    size: Size,
    request: &Request,
) -> Result<Nodes, Fatal> {
    let ironcore = spec.ironcore.as_ref();
    let machine = ironcore.map_or_else(default_machine_class, |metal| metal.machine_class.clone());
    let bare_metal = BareMetal {
        machine_pool: ironcore.map(|metal| metal.machine_pool.as_str()),
        keeps: true,
    };
    let group = |name, zones: &[Zone<'_>], size| {
        let role = format!("node-role.kubernetes.io/{name}");
        let wanted = Workers {
            name,
            machine: &machine,
            zones,
            size,
            volume: None,
            labels: BTreeMap::from([(role, String::new())]),
            reserved_for: None,
            bare_metal: Some(bare_metal),
        };
        cluster.workers(request, &wanted)
    };
    let zones = cluster.zones(&spec.region, &spec.labels)?;
    let (data, arbiter) = match (&zones[..], &spec.arbiter_cluster) {
        ([one, other, third, ..], Some(_)) => (&[*one, *other][..], Some(third)),
        (_, Some(_)) => {
            return Err(Fatal::new(format!(
                "spec.arbiterCluster stretches the pool over two zones, with a third for the monitor that breaks ties, and \
                 the pool has {}; remove the label availability-zone, or add zones to gardener.zones of the Composition's \
                 input",
                zones.len()
            )));
        }
        ([_, _], None) => {
            return Err(Fatal::new(
                "the pool has two zones, and the loss of either could stop Ceph; label it availability-zone for one zone, \
                 or add a third zone to gardener.zones of the Composition's input",
            ));
        }
        (zones, None) => (zones, None),
    };
    let mut workers = group(DATA, data, size)?;
    let zones_of = |workers: &[Worker]| -> Vec<String> {
        let zones = workers.iter().flat_map(|worker| &worker.zones);
        zones.cloned().collect()
    };
    let zones = zones_of(&workers);
    let arbiter = match arbiter {
        Some(zone) => group("arbiter", &[*zone], Size::exactly(1))?,
        None => Vec::new(),
    };
    let arbiter_zone = zones_of(&arbiter).pop();
    workers.extend(arbiter);
    Ok(Nodes {
        workers,
        zones,
        arbiter: arbiter_zone,
    })
}

fn conditions(
    ceph: &Observation<CephClusterStatus>,
    spec: &StorageClusterSpec,
    preset: &CephPreset,
    note: Option<String>,
    response: &mut Response,
) {
    if ceph.exists {
        let (holds, reason, message) = match (&ceph.problem, ceph.status.ceph.health.as_str()) {
            (Some(problem), _) => (false, Reason::NotApplied, problem.clone()),
            (None, "HEALTH_ERR") => (false, Reason::HealthError, reports(&ceph.status.ceph)),
            (None, _) if ceph.status.phase != "Ready" => match ceph_cluster::refused(preset) {
                Some(refused) => (false, Reason::Invalid, refused),
                None => (false, Reason::Waiting, pending(&ceph.status)),
            },
            (None, "HEALTH_OK") => (true, Reason::Ready, String::new()),
            (None, _) => (true, Reason::Ready, reports(&ceph.status.ceph)),
        };
        let said = [message, note.unwrap_or_default()];
        let said = said.into_iter().filter(|said| !said.is_empty());
        let message = said.collect::<Vec<_>>().join("; ");
        transitions::set(response, "CephReady", holds, reason, message);
    } else {
        transitions::await_turn(response, "CephReady", "it comes after the Shoot");
    }
    let (holds, reason, message) = match ceph_cluster::shortfall(spec, preset) {
        Some(shortfall) => (false, Reason::TooFewDisks, shortfall),
        None => (true, Reason::EnoughDisks, String::new()),
    };
    transitions::set(response, "CapacityPlanned", holds, reason, message);
}

/// What a CephCluster that isn't Ready waits for, in Rook's words once it reports any.
fn pending(status: &CephClusterStatus) -> String {
    match status.message.as_str() {
        "" => "Rook hasn't created the CephCluster yet".to_owned(),
        message => format!("CephCluster {NAMESPACE} isn't Ready: {message}"),
    }
}

/// What Ceph reports, with the checks that say that it has no room left for data or pools, or soon hasn't. Others come and go.
fn reports(ceph: &CephHealth) -> String {
    let checks = ceph.details.keys().map(String::as_str);
    let is_full = |check: &&str| check.ends_with("FULL") || *check == "TOO_MANY_PGS";
    let full: Vec<&str> = checks.filter(is_full).collect();
    match full.is_empty() {
        true => format!("Ceph reports {}", ceph.health),
        false => format!("Ceph reports {}: {}", ceph.health, full.join(", ")),
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
