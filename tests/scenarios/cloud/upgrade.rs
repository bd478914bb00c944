//! A ControlPlane changes its release: three changes that fail return within a minute of being detected, a fourth succeeds.

use std::time::{Duration, Instant};

use lab::{Cloud, Image, Kind, Operator, Result, ensure, eventually, is, kind, minutes};
use serde_json::{Value, json};

use super::backup::{WHOLE, asked, ready};
use super::{CONTROL_PLANE, DATABASE_USER, SERVICE_USER, keeps_images};

const KEYSTONE: Kind = kind("keystone.openstack.c5c3.io/v1alpha1", "Keystone");
const GLANCE: Kind = kind("glance.openstack.c5c3.io/v1alpha1", "Glance");
const PLACEMENT: Kind = kind("placement.openstack.c5c3.io/v1alpha1", "Placement");

/// The releases.
const OLD: &str = "2025.2";
const NEW: &str = "2026.1";

/// An index that Keystone's migration to the new release creates.
const INDEX: &str = "ix_revocation_event_project_id_user_id";

/// How long the return may take from when the failure is detected.
const RETURN: Duration = Duration::from_secs(60);

pub fn releases_that_fail_are_rolled_back() -> Result<()> {
    let services = ["keystone", "glance", "placement"];
    let mut images = vec![Image::mariadb()?, Image::memcached()?];
    for service in services {
        images.push(Image::of_service(service, OLD)?);
    }
    images.push(Image::of_service("keystone", NEW)?);
    images.push(Image::of_service("glance", NEW)?);
    let late = Image::of_service("placement", NEW)?;
    lab::on_a_bare_machine(async move |machine| {
        let mut cloud = Cloud::bare(&machine, &images).await?;
        cloud.cluster.install_control_plane_kinds().await?;
        let _mariadb = Operator::mariadb(&machine, &cloud.cluster).await?;
        let _k_orc = Operator::k_orc(&machine, &cloud.cluster).await?;
        for operator in ["c5c3"].into_iter().chain(services) {
            cloud.install(&machine, operator).await?;
        }
        cloud.volume("databases", "1Gi", DATABASE_USER).await?;
        cloud.volume("images", "20Gi", SERVICE_USER).await?;
        cloud.cluster.apply(include_str!("upgrade.yaml")).await?;
        ready(&cloud).await?;

        migration_fails(&cloud).await?;
        configuration_is_refused(&cloud).await?;
        image_does_not_start(&cloud).await?;
        cloud.node.offer(&late).await?;
        upgrade_succeeds(&cloud).await?;
        cloud.roles_suffice()
    })
}

/// Keystone is the first to change, and returns; the others have never changed.
async fn migration_fails(cloud: &Cloud) -> Result<()> {
    let index = format!("CREATE INDEX {INDEX} ON keystone.revocation_event (user_id)");
    asked(cloud, &index).await?;
    wants(cloud, json!({ "openStackRelease": NEW })).await?;
    returns(cloud, "keystone-db-expand", [OLD, OLD, OLD]).await?;
    keeps_images(cloud, "images-after-migration").await?;
    let index = format!("DROP INDEX {INDEX} ON keystone.revocation_event");
    asked(cloud, &index).await.map(drop)
}

/// Keystone's databases are those of the new release by then, so it stays there.
async fn configuration_is_refused(cloud: &Cloud) -> Result<()> {
    // 2026.1 no longer has this option.
    let option = json!({ "DEFAULT": { "watch_log_file": "false" } });
    let services = json!({ "placement": { "extraConfig": option } });
    wants(cloud, json!({ "services": services })).await?;
    returns_in(cloud, "watch_log_file").await?;
    serves(cloud, KEYSTONE, "keystone", NEW).await?;
    serves(cloud, PLACEMENT, "placement", OLD).await?;
    keeps_images(cloud, "images-after-configuration").await
}

/// No registry has the image of Placement's new release.
async fn image_does_not_start(cloud: &Cloud) -> Result<()> {
    let services = json!({ "placement": { "extraConfig": null } });
    wants(cloud, json!({ "services": services })).await?;
    returns_in(cloud, "placement-db-sync").await?;
    serves(cloud, PLACEMENT, "placement", OLD).await?;
    keeps_images(cloud, "images-after-image").await
}

async fn upgrade_succeeds(cloud: &Cloud) -> Result<()> {
    wants(cloud, json!({ "openStackRelease": OLD })).await?;
    eventually("the failed release isn't wanted", minutes(2), async || {
        let whole = cloud.cluster.get(CONTROL_PLANE, WHOLE).await?;
        let seen = &whole.data["status"]["observedGeneration"];
        ensure!(*seen == json!(whole.metadata.generation), "{seen}");
        Ok(())
    })
    .await?;
    wants(cloud, json!({ "openStackRelease": NEW })).await?;
    eventually("the control plane runs 2026.1", minutes(10), async || {
        let whole = cloud.cluster.get(CONTROL_PLANE, WHOLE).await?;
        let status = &whole.data["status"];
        ensure!(status["release"] == NEW, "{status}");
        is(&whole, "Ready")
    })
    .await?;
    for (kind, name) in [
        (KEYSTONE, "keystone"),
        (GLANCE, "glance"),
        (PLACEMENT, "placement"),
    ] {
        serves(cloud, kind, name, NEW).await?;
    }
    keeps_images(cloud, "images-after-upgrade").await
}

async fn wants(cloud: &Cloud, spec: Value) -> Result<()> {
    let change = json!({ "spec": spec });
    cloud.cluster.edit(CONTROL_PLANE, WHOLE, change).await?;
    Ok(())
}

/// Waits until the control plane has returned from a change that failed for this reason, with these releases of Keystone, Glance
/// and Placement.
async fn returns(cloud: &Cloud, why: &str, releases: [&str; 3]) -> Result<()> {
    returns_in(cloud, why).await?;
    let services = [
        (KEYSTONE, "keystone"),
        (GLANCE, "glance"),
        (PLACEMENT, "placement"),
    ];
    for ((kind, name), release) in services.into_iter().zip(releases) {
        serves(cloud, kind, name, release).await?;
    }
    Ok(())
}

/// Waits until a change has failed for this reason and the control plane is at rest again. Fails if the return takes too long.
async fn returns_in(cloud: &Cloud, why: &str) -> Result<()> {
    let mut detected = None;
    let took = eventually(
        &format!("the control plane returns from {why}"),
        minutes(16),
        async || {
            let whole = cloud.cluster.get(CONTROL_PLANE, WHOLE).await?;
            let status = &whole.data["status"];
            let failure = status["update"]["failure"].as_str().unwrap_or_default();
            ensure!(failure.contains(why), "{status}");
            let since = *detected.get_or_insert_with(Instant::now);
            ensure!(status["updatePhase"] == "Idle", "{status}");
            ensure!(status["release"] == OLD, "{status}");
            Ok(since.elapsed())
        },
    )
    .await?;
    println!("the control plane returned from {why} in {took:?}");
    ensure!(took <= RETURN, "the return took {took:?}");
    Ok(())
}

async fn serves(cloud: &Cloud, kind: Kind, name: &str, release: &str) -> Result<()> {
    let service = cloud
        .cluster
        .get(kind, &format!("openstack/{name}"))
        .await?;
    let status = &service.data["status"];
    ensure!(status["release"] == release, "{name}: {status}");
    is(&service, "Ready")
}
