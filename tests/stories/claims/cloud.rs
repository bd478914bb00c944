//! From a claim to OpenStack in pods: what Crossplane composes, our operators carry on, beside mariadb-operator and K-ORC.

use lab::{Cloud, Image, Kind, Operator, Result, ensure, kind};

use crate::site::{CONTROL_PLANE, NAMESPACE, OPENSTACK, SHARE, Site};

const POD: Kind = kind("v1", "Pod");
const CLAIM: &str = "tenant-z/first";
const PLACE: &str = "openstack-first";

/// The user that MariaDB runs as.
const DATABASE_USER: u32 = 999;

/// What runs in pods.
pub fn images() -> Result<[Image; 4]> {
    Ok([
        Image::mariadb()?,
        Image::memcached()?,
        Image::of_service("keystone", "2025.2")?,
        Image::of_service("placement", "2025.2")?,
    ])
}

/// A claim becomes ready by what runs, is used by its administrator and by a service, and goes without a trace.
pub async fn from_a_claim(mut site: Site<'_>, images: &[Image]) -> Result<()> {
    site.operated = true;
    let (machine, cluster) = (&site.lab.machine, &site.lab.control_plane);
    let mut cloud = Cloud::on(machine, cluster, images, PLACE).await?;
    cluster.install_control_plane_kinds().await?;
    let _mariadb = Operator::mariadb(machine, cluster).await?;
    let _k_orc = Operator::k_orc(machine, cluster).await?;
    for operator in ["c5c3", "keystone", "placement"] {
        cloud.install(machine, operator).await?;
    }
    cloud.volume("databases", "20Gi", DATABASE_USER).await?;

    for pool in ["control-plane", "hv-pool-a", "st-pool-a"] {
        site.claim(&format!("pools/{pool}")).await?;
    }
    site.lab
        .management
        .apply(include_str!("cloud.yaml"))
        .await?;
    let claim = site.phase(OPENSTACK, CLAIM, "Ready").await?;
    let endpoint = &claim.data["status"]["endpoints"]["keystone"];
    ensure!(
        endpoint == "http://keystone.openstack-first.svc.cluster.local:5000",
        "Keystone is at {endpoint}"
    );

    cloud
        .give("client", "client.py", include_str!("../node/client.py"))
        .await?;
    let job = include_str!("../node/client.yaml")
        .replace("TASK", "placement")
        .replace("PLACE", PLACE)
        .replace("name: admin,", "name: keystone-admin-credentials,");
    cluster.apply(&job).await?;
    let version = cloud.says("placement").await?;
    ensure!(version.trim() == "v1.0", "Placement has version {version}");
    cloud.roles_suffice()?;

    site.lab.management.delete(OPENSTACK, CLAIM).await?;
    site.until("everything of the claim is gone", async || {
        site.lab.management.gone(OPENSTACK, CLAIM).await?;
        cluster.gone(CONTROL_PLANE, "openstack-first/first").await?;
        cluster.gone(NAMESPACE, PLACE).await?;
        site.lab.hypervisor.gone(SHARE, "first").await?;
        let pods = cluster.list(POD, "").await?;
        ensure!(pods.is_empty(), "{} pods are left", pods.len());
        Ok(())
    })
    .await
}
