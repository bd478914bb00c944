//! ControlPlaneCluster: the cluster that carries the control planes of a region.

use std::collections::BTreeMap;

use c5c3_api::control_plane_cluster::Phase;
use c5c3_api::{ControlPlaneClusterSpec, ControlPlaneClusterStatus};
use c5c3_kinds::gardener::Worker;
use function_protocol::{Fatal, Readiness, Request, Response};

use super::Cluster;
use super::shoot::{self, Size, Wanted, Workers};
use crate::composite::Composite;
use crate::ttl::set_ttl;

/// Composes a ControlPlaneCluster.
///
/// # Errors
/// The claim or the Composition has to be changed; the message says what.
pub fn compose(request: &Request, response: &mut Response) -> Result<(), Fatal> {
    let claim: Composite<ControlPlaneClusterSpec, ControlPlaneClusterStatus> =
        request.composite()?;
    let cluster = Cluster::read(&claim.metadata, request)?;
    let spec = &claim.spec;
    let consumers = cluster.consumers(spec, &claim.status.consumers, request, response)?;

    let workers = cluster.workers(
        request,
        &Workers {
            name: "control-plane",
            machine: &spec.machine_type,
            zones: &cluster.zones(&spec.region, &BTreeMap::new())?,
            size: Size {
                minimum: spec.workers,
                maximum: spec
                    .workers
                    .saturating_add(cluster.presets.gardener.headroom),
            },
            volume: Some(&spec.volume_size),
            labels: BTreeMap::from([(
                "node-role.kubernetes.io/openstack-control-plane".to_owned(),
                String::new(),
            )]),
            reserved_for: None,
            bare_metal: None,
        },
    )?;

    let kept = workers
        .iter()
        .find_map(|group| kept_machines_note(spec, group));
    let networking =
        cluster.networking::<ControlPlaneClusterSpec>(spec.network, request, response)?;
    let network = Some(networking.ranges());
    let mut composed = cluster.composed(request, response);
    let (shoot, mut notes) = cluster.shoot(
        Wanted {
            region: &spec.region,
            kubernetes_version: spec.kubernetes_version.as_ref(),
            labels: BTreeMap::new(),
            networking,
            workers,
            highly_available: spec.high_availability,
        },
        &mut composed,
    )?;
    notes.extend(kept);
    cluster.access(&mut composed)?;

    let accepted = composed.accept();
    let settled = accepted && composed.all_ready();
    let phase = if shoot.status.has_failed() || !accepted && !shoot.exists {
        Phase::Failed
    } else if settled {
        Phase::Ready
    } else {
        Phase::Provisioning
    };
    shoot::condition(&shoot, &notes, response);
    response.status(&ControlPlaneClusterStatus {
        phase: Some(phase),
        cluster_name: Some(cluster.name().to_owned()),
        network,
        kubeconfig: Some(cluster.kubeconfig()),
        consumers,
    })?;
    response.composite_ready(Readiness::from(settled));
    set_ttl(response, settled);
    Ok(())
}

/// A message if the machines keep another type or disk than the claim asks for, since Gardener updates them in place.
fn kept_machines_note(spec: &ControlPlaneClusterSpec, group: &Worker) -> Option<String> {
    let machine = &group.machine.type_;
    let disk = group.volume.as_ref().map(|volume| &volume.size);
    let disk = disk.unwrap_or(&spec.volume_size);
    (*machine != spec.machine_type || *disk != spec.volume_size).then(|| {
        format!(
            "the machines keep type {machine} and a disk of {disk}, since Gardener can't change these where it updates machines in place: \
             set machineType to {machine} and volumeSize to {disk}"
        )
    })
}
