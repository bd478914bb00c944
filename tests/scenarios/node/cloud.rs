//! Keystone, Glance and Placement in pods, made by our own operators and used as their users do.

use lab::{Cloud, Cluster, Context, Image, Kind, Result, ensure, kind};
use serde_json::{Value, json};

use super::client::does;
use super::{acceptance, federation, metrics};

const KEYSTONE: Kind = kind("keystone.openstack.c5c3.io/v1alpha1", "Keystone");
const GLANCE: Kind = kind("glance.openstack.c5c3.io/v1alpha1", "Glance");
const PLACEMENT: Kind = kind("placement.openstack.c5c3.io/v1alpha1", "Placement");

/// The user that every service runs as.
const USER: u32 = 42424;

pub fn a_cloud_issues_tokens_and_keeps_images() -> Result<()> {
    // Built before anything waits for them.
    let mut images = Image::of_cloud("2025.2")?;
    images.extend([Image::judges()?, Image::s3()?]);
    lab::on_a_bare_machine(async move |machine| {
        let services = ["keystone", "glance", "placement"];
        let cloud = Cloud::start(&machine, &images, &services).await?;
        cloud
            .give("client", "client.py", include_str!("client.py"))
            .await?;

        cloud.cluster.apply(include_str!("keystone.yaml")).await?;
        cloud.comes_up(KEYSTONE, "keystone").await?;
        metrics::are_no_condition(&cloud, KEYSTONE, "keystone").await?;
        cloud.cluster.install_service_monitor().await?;
        let credentials = does(&cloud, "credentials").await?;
        give(&cloud.cluster, &credentials).await?;

        let volume = cloud.node.folder("images", USER)?;
        let volume = volume.to_str().context("an odd folder")?;
        let services = include_str!("services.yaml").replace("IMAGES", volume);
        cloud.cluster.apply(&services).await?;
        cloud.comes_up(GLANCE, "glance").await?;
        cloud.comes_up(PLACEMENT, "placement").await?;
        let algorithm = does(&cloud, "images").await?;
        ensure!(
            algorithm.trim() == "sha512",
            "images are hashed by {algorithm}"
        );
        does(&cloud, "downloads").await?;
        let version = does(&cloud, "placement").await?;
        ensure!(version.trim() == "v1.0", "Placement has version {version}");
        metrics::are_exported(&cloud, &[(KEYSTONE, "keystone"), (PLACEMENT, "placement")]).await?;
        acceptance::passes(&cloud).await?;
        one_store_more(&cloud).await?;
        federation::is_trusted(&machine, &cloud).await?;
        cloud.roles_suffice()
    })
}

/// Gives Glance a bucket besides its volume. Tempest takes each image for one that is in all stores, so it runs before.
async fn one_store_more(cloud: &Cloud) -> Result<()> {
    cloud.cluster.apply(include_str!("objects.yaml")).await?;
    let archive = json!({
        "name": "archive",
        "backend": "s3",
        "s3": {
            "endpoint": "http://objects.openstack.svc:9000",
            "bucket": "images",
            "secretRef": {"name": "glance-bucket"},
        },
    });
    let change = json!({"spec": {"storage": {"additional": [archive]}}});
    let change = cloud.cluster.edit(GLANCE, "openstack/glance", change);
    cloud
        .rolled("Glance has an archive", "glance", change)
        .await?;
    let stores = does(cloud, "stores").await?;
    ensure!(stores.trim() == "archive", "the image is in {stores}");
    Ok(())
}

/// Gives services the application credentials that they reach Keystone with.
async fn give(cluster: &Cluster, credentials: &str) -> Result<()> {
    let line = credentials
        .lines()
        .last()
        .context("the client says nothing")?;
    let credentials: Value = serde_json::from_str(line)?;
    for (service, credential) in credentials.as_object().context("no credentials")? {
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": format!("{service}-keystone-credentials"),
                "namespace": "openstack",
            },
            "stringData": {
                "application_credential_id": credential["id"],
                "application_credential_secret": credential["secret"],
            },
        });
        cluster.apply(&secret.to_string()).await?;
    }
    Ok(())
}
