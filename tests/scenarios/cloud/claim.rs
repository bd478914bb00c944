//! From a claim to OpenStack in pods: what Crossplane composes, our operators carry on, beside mariadb-operator and K-ORC.

use lab::claims::{CONTROL_PLANE, Generation, NAMESPACE, OPENSTACK, SHARE, Site};
use lab::{Ceph, Cloud, FunctionProgram, Image, Kind, Operator, Release, Result, ensure, kind};

use super::{DATABASE_USER, does, keeps_images};

const POD: Kind = kind("v1", "Pod");
const CLAIM: &str = "tenant-z/first";
const PLACE: &str = "openstack-first";

pub fn a_claim_becomes_a_cloud() -> Result<()> {
    // Built before anything waits for them.
    let images = [
        Image::mariadb()?,
        Image::memcached()?,
        Image::ceph()?,
        Image::of_service("keystone", "2026.2")?,
        Image::of_service("glance", "2026.2")?,
        Image::of_service("placement", "2026.2")?,
        // The client's.
        Image::of_service("keystone", "2025.2")?,
    ];
    lab::in_lab(Release::V2_4, FunctionProgram::c5c3()?, async move |lab| {
        let mut site = Site::build(lab, Generation::Namespaced).await?;
        from_a_claim(&mut site, &images).await
    })
}

/// It becomes ready by what runs, is used by a service, and goes without a trace.
async fn from_a_claim(site: &mut Site<'_>, images: &[Image]) -> Result<()> {
    let lab = site.lab;
    let (machine, cluster) = (&lab.machine, &lab.control_plane);
    let mut cloud = Cloud::on(machine, cluster, images, PLACE).await?;
    site.ceph = Some(Ceph::start(&cloud).await?);
    cluster.install_control_plane_kinds().await?;
    let _mariadb = Operator::mariadb(machine, cluster).await?;
    let _k_orc = Operator::k_orc(machine, cluster).await?;
    for operator in ["c5c3", "keystone", "glance", "placement"] {
        cloud.install(machine, operator).await?;
    }
    cloud.volume("databases", "20Gi", DATABASE_USER).await?;
    cloud.volume("backups", "20Gi", DATABASE_USER).await?;

    for pool in ["control-plane", "hv-pool-a", "st-pool-a"] {
        site.claim(&format!("pools/{pool}")).await?;
    }
    site.lab
        .management
        .apply(include_str!("claim.yaml"))
        .await?;
    let claim = site.phase(OPENSTACK, CLAIM, "Ready").await?;
    let endpoint = &claim.data["status"]["endpoints"]["keystone"];
    ensure!(
        endpoint == "http://keystone.openstack-first.svc.cluster.local:5000",
        "Keystone is at {endpoint}"
    );

    keeps_images(&cloud, "images").await?;
    let kept = site.ceph.as_ref().map(|ceph| ceph.images("first-images"));
    let kept = kept.transpose()?.unwrap_or_default();
    ensure!(kept.len() == 1, "Ceph has images {kept:?}");
    let version = does(&cloud, "placement", "placement").await?;
    ensure!(version.trim() == "v1.0", "Placement has version {version}");
    cloud.roles_suffice()?;

    site.lab.management.delete(OPENSTACK, CLAIM).await?;
    site.until("everything of the claim is gone", async || {
        site.lab.management.gone(OPENSTACK, CLAIM).await?;
        cluster.gone(CONTROL_PLANE, "openstack-first/first").await?;
        cluster.gone(NAMESPACE, PLACE).await?;
        site.lab.hypervisor.gone(SHARE, "first").await?;
        let mut pods = cluster.list(POD, "").await?;
        pods.retain(|pod| pod.metadata.namespace.as_deref() == Some(PLACE));
        ensure!(pods.is_empty(), "{} pods are left", pods.len());
        Ok(())
    })
    .await
}
