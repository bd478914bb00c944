//! What changes while a cloud runs, and reaches its pods: a certificate, a database password, an application credential.

use jiff::Timestamp;
use lab::{Cloud, Context, Kind, Result, ensure, eventually, kind, minutes};
use serde_json::json;

use super::{does, keeps_images};

const CERTIFICATE: Kind = kind("cert-manager.io/v1", "Certificate");
const SECRET: Kind = kind("v1", "Secret");
const CREDENTIAL: Kind = kind("openstack.k-orc.cloud/v1alpha1", "ApplicationCredential");
const ROTATION: Kind = kind("c5c3.io/v1alpha1", "CredentialRotation");

const DATABASE: &str = "openstack/glance-db-credentials";
const ROTATION_OF_GLANCE: &str = "openstack/glance";

/// Each is made once, and images are kept by those who have it.
pub async fn all(cloud: &Cloud) -> Result<()> {
    certificate(cloud).await?;
    password(cloud).await?;
    credential(cloud).await
}

async fn certificate(cloud: &Cloud) -> Result<()> {
    let first = does(cloud, "first-certificate", "certificate").await?;
    // What `cmctl renew` writes.
    let certificate = cloud
        .cluster
        .get(CERTIFICATE, "openstack/glance-tls")
        .await?;
    let mut conditions = certificate.data["status"]["conditions"].clone();
    let issuing = json!({
        "type": "Issuing",
        "status": "True",
        "reason": "ManuallyTriggered",
        "message": "",
        "lastTransitionTime": Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    });
    conditions
        .as_array_mut()
        .context("it has no conditions")?
        .push(issuing);
    let status = json!({ "conditions": conditions });
    let change = cloud
        .cluster
        .set_status(CERTIFICATE, "openstack/glance-tls", status);
    cloud
        .rolled("Glance has its certificate", "glance", change)
        .await?;
    // kube-proxy sends connections to the replaced pod until its next sync.
    let mut attempts = 1..;
    eventually(
        "Glance's clients see its new certificate",
        minutes(1),
        async || {
            let attempt = attempts.next().context("no more attempts")?;
            let shown = does(cloud, &format!("certificate-{attempt}"), "certificate").await?;
            ensure!(
                shown != first,
                "Glance still shows the certificate that it had"
            );
            Ok(())
        },
    )
    .await?;
    keeps_images(cloud, "images-certified").await
}

/// A pod is only ready when it reaches its database, so those that are have the password that counts there, too.
async fn password(cloud: &Cloud) -> Result<()> {
    let changed = json!({ "stringData": { "password": "chosen-anew" } });
    let change = cloud.cluster.edit(SECRET, DATABASE, changed);
    cloud
        .rolled("Glance has its password", "glance", change)
        .await?;
    let kept = cloud.cluster.get(SECRET, DATABASE).await?;
    ensure!(
        kept.data["data"]["password"] == "Y2hvc2VuLWFuZXc=",
        "the password that the user chose is another now"
    );
    keeps_images(cloud, "images-by-password").await
}

async fn credential(cloud: &Cloud) -> Result<()> {
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let rotation = json!({
        "apiVersion": ROTATION.api_version,
        "kind": ROTATION.kind,
        "metadata": { "name": "glance", "namespace": "openstack" },
        "spec": { "targetServiceUser": "glance", "replaceMadeBefore": now },
    });
    let rotation = rotation.to_string();
    let change = cloud.cluster.apply(&rotation);
    cloud
        .rolled("Glance has its credential", "glance", change)
        .await?;
    eventually("nobody has the first any more", minutes(2), async || {
        let rotation = cloud.cluster.get(ROTATION, ROTATION_OF_GLANCE).await?;
        let current = &rotation.data["status"]["currentCredentialRef"]["name"];
        ensure!(current == "glance-2", "{}", rotation.data["status"]);
        cloud.cluster.gone(CREDENTIAL, "openstack/glance-1").await
    })
    .await?;
    keeps_images(cloud, "images-by-credential").await
}
