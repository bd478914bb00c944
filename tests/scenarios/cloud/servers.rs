//! Servers on two hypervisors, from a ControlPlane of seven services.

use std::collections::BTreeSet;
use std::time::Instant;

use lab::claims::SERVICES;
use lab::{Cloud, Context, Fabric, Image, Kind, Result, ensure, eventually, is, kind, minutes};

use super::tenant::{CLOUDS, Disks, Place, Tenant};
use super::uplinks::Uplinks;
use super::{
    CONTROL_PLANE, DATABASE_USER, MESSAGING_USER, SERVICE_USER, changes, handover, issuer,
    maintenance, network, operators, path, verify, volumes,
};

const POD: Kind = kind("v1", "Pod");
const SHARE: Kind = kind("hypervisor.c5c3.io/v1alpha1", "HypervisorShare");

/// The pod of Nova's API.
const API: &str = "app.kubernetes.io/instance=nova,app.kubernetes.io/component=api";
/// How a request that changes a compute service begins in its log (nova/api/openstack/requestlog.py).
const CHANGE: &str = "\"PUT /v2.1/os-services/";

/// What a tenant does with servers.
#[derive(Clone, Copy)]
enum Use {
    /// Boots and deletes them, then boots others, of which one is on a host that another share gets.
    Boots,
    /// Everything that there is.
    Everything,
    /// What Tempest's tests of servers and volumes do.
    Tests,
}

/// They boot, reach each other and the outside, and are deleted. Others stay in their cloud when one of its hosts is handed over.
pub fn servers_boot_on_two_hypervisors() -> Result<()> {
    on_two_hypervisors(Use::Boots)
}

/// They also have volumes and backups, and go on while their agents are replaced. Before, Cinder gets another user of RabbitMQ.
/// Afterwards, OVN's northbound database is repaired, a cell is removed, and rows are archived.
pub fn servers_are_used_in_every_way() -> Result<()> {
    on_two_hypervisors(Use::Everything)
}

/// All that Tempest tests of servers and volumes works, and nothing of it is left.
pub fn tempest_tests_servers_and_volumes() -> Result<()> {
    on_two_hypervisors(Use::Tests)
}

/// Has a tenant use a control plane with two hypervisors.
fn on_two_hypervisors(usage: Use) -> Result<()> {
    let mut images = Image::of_servers(SERVICES)?;
    images.push(Image::ceph()?);
    if matches!(usage, Use::Tests) {
        images.push(Image::of_service("tempest", "2025.2")?);
    }
    lab::on_a_bare_machine(async move |machine| {
        let mut cloud = Cloud::bare(&machine, &images).await?;
        let fabric = Fabric::lay(&machine).await?;
        let (first, second) = tokio::try_join!(
            cloud.node.add_hypervisor(&cloud.cluster, &fabric, 1),
            cloud.node.add_hypervisor(&cloud.cluster, &fabric, 2)
        )?;
        cloud.node.enforce_policies()?;
        operators(&machine, &mut cloud).await?;
        if matches!(usage, Use::Tests) {
            cloud.install(&machine, "tempest").await?;
        }
        for (name, size, user) in [
            ("databases", "1Gi", DATABASE_USER),
            ("messages", "2Gi", MESSAGING_USER),
            ("northbound", "10Gi", SERVICE_USER),
            ("southbound", "10Gi", SERVICE_USER),
        ] {
            cloud.volume(name, size, user).await?;
        }

        let ceph = volumes::ceph(&cloud).await?;
        let started = Instant::now();
        cloud.cluster.apply(include_str!("servers.yaml")).await?;
        issuer(&cloud, machine.authority().identity(), cloud.namespace()).await?;
        eventually("the control plane is Ready", minutes(12), async || {
            let name = "openstack/production";
            is(&cloud.cluster.get(CONTROL_PLANE, name).await?, "Ready")
        })
        .await?;
        println!(
            "the control plane was Ready after {} s",
            started.elapsed().as_secs()
        );
        eventually("both hypervisors work", minutes(5), async || {
            let share = cloud.cluster.get(SHARE, "production").await?;
            is(&share, "HostsWorking")?;
            is(&share, "Ready")
        })
        .await?;
        println!(
            "the agents were Ready after {} s",
            started.elapsed().as_secs()
        );
        were_enabled_once(&cloud).await?;
        network::is_closed_to_neighbours(&cloud, &network::OPEN, &network::CLOSED).await?;
        network::admit_clients(&cloud).await?;
        let tenant = Tenant {
            cloud: &cloud,
            control_plane: "production",
            hypervisors: [&first, &second],
            fabric: &fabric,
            uplinks: Uplinks::ByHand,
            zone: "nova",
            place: Place::Pods(CLOUDS),
            ceph: &ceph,
            other: None,
            disks: Disks::Hosts,
            backups: &ceph,
        };
        let clusters = [(&cloud.cluster, path::PRODUCTION)];
        match usage {
            Use::Boots => {
                let active = tenant.boots_and_deletes().await?;
                path::report(&clusters, &path::SERVER, active)?;
                handover::to_another_share(&tenant, &machine).await?;
            }
            Use::Everything => {
                changes::messaging_user(&cloud).await?;
                let active = tenant.works().await?;
                path::report(&clusters, &path::SERVER, active)?.check()?;
                maintenance::all(&cloud).await?;
            }
            Use::Tests => {
                verify::of_apis(&cloud).await?;
                tenant.finds_nothing_of_tests().await?;
            }
        }
        println!("all was done after {} s", started.elapsed().as_secs());
        cloud.roles_suffice()
    })
}

/// Fine if one request for each of both hosts has changed its compute service, which Nova disabled when it registered.
async fn were_enabled_once(cloud: &Cloud) -> Result<()> {
    let pods = cloud.cluster.list(POD, API).await?;
    let pod = pods.first().and_then(|pod| pod.metadata.name.as_deref());
    let pod = pod.context("Nova's API has no pod")?;
    let log = cloud
        .node
        .logs(&format!("{}/{pod}", cloud.namespace()))
        .await?;
    let requests = log.lines().filter_map(|line| line.split_once(CHANGE));
    let changed: Vec<&str> = requests
        .filter_map(|(_, rest)| rest.split('"').next())
        .collect();
    let services: BTreeSet<&str> = changed.iter().copied().collect();
    ensure!(
        changed.len() == 2 && services.len() == 2,
        "these compute services were changed before the first server: {changed:?}"
    );
    Ok(())
}
