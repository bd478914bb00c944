//! What changes while a cloud runs, and reaches its pods: a certificate, a database password, an application credential.

use jiff::Timestamp;
use lab::{
    Cloud, Cluster, DynamicObject, Identity, Kind, Machine, Result, ensure, eventually, kind,
    minutes,
};
use serde_json::json;

use crate::{does, keeps_images};

const DEPLOYMENT: Kind = kind("apps/v1", "Deployment");
const SECRET: Kind = kind("v1", "Secret");
const CREDENTIAL: Kind = kind("openstack.k-orc.cloud/v1alpha1", "ApplicationCredential");
const ROTATION: Kind = kind("c5c3.io/v1alpha1", "CredentialRotation");

const GLANCE: &str = "openstack/glance";
const DATABASE: &str = "openstack/glance-db-credentials";
const ROTATION_OF_GLANCE: &str = "openstack/glance";

/// Each is made once, and images are kept by those who have it.
pub async fn all(machine: &Machine, cloud: &Cloud) -> Result<()> {
    certificate(machine, cloud).await?;
    password(cloud).await?;
    credential(cloud).await
}

/// A certificate of a service.
pub fn identity(machine: &Machine, service: &str) -> Result<Identity> {
    let name = format!("{service}.openstack.svc");
    let whole = format!("{name}.cluster.local");
    machine.authority().server(&[&name, &whole])
}

/// Gives a service a certificate.
pub async fn certify(
    machine: &Machine,
    cloud: &Cloud,
    service: &str,
    identity: &Identity,
) -> Result<()> {
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": format!("{service}-tls"), "namespace": "openstack" },
        "type": "kubernetes.io/tls",
        "stringData": {
            "tls.crt": identity.certificate,
            "tls.key": identity.key,
            "ca.crt": machine.authority().certificate(),
        },
    });
    cloud.cluster.apply(&secret.to_string()).await.map(drop)
}

async fn certificate(machine: &Machine, cloud: &Cloud) -> Result<()> {
    let before = cloud.cluster.get(DEPLOYMENT, GLANCE).await?;
    let renewed = identity(machine, "glance")?;
    certify(machine, cloud, "glance", &renewed).await?;
    rolled("Glance has its certificate", &cloud.cluster, &before).await?;
    let shown = does(cloud, "certificate", "certificate").await?;
    ensure!(
        shown.trim() == renewed.certificate.replace('\r', "").trim(),
        "Glance shows another certificate:\n{shown}"
    );
    keeps_images(cloud, "images-certified").await
}

/// A pod is only ready when it reaches its database, so those that are have the password that counts there, too.
async fn password(cloud: &Cloud) -> Result<()> {
    let before = cloud.cluster.get(DEPLOYMENT, GLANCE).await?;
    let changed = json!({ "stringData": { "password": "chosen-anew" } });
    cloud.cluster.edit(SECRET, DATABASE, changed).await?;
    rolled("Glance has its password", &cloud.cluster, &before).await?;
    let kept = cloud.cluster.get(SECRET, DATABASE).await?;
    ensure!(
        kept.data["data"]["password"] == "Y2hvc2VuLWFuZXc=",
        "the password that the user chose is another now"
    );
    keeps_images(cloud, "images-by-password").await
}

async fn credential(cloud: &Cloud) -> Result<()> {
    let before = cloud.cluster.get(DEPLOYMENT, GLANCE).await?;
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let rotation = json!({
        "apiVersion": ROTATION.api_version,
        "kind": ROTATION.kind,
        "metadata": { "name": "glance", "namespace": "openstack" },
        "spec": { "targetServiceUser": "glance", "replaceMadeBefore": now },
    });
    cloud.cluster.apply(&rotation.to_string()).await?;
    rolled("Glance has its credential", &cloud.cluster, &before).await?;
    eventually("nobody has the first any more", minutes(2), async || {
        let rotation = cloud.cluster.get(ROTATION, ROTATION_OF_GLANCE).await?;
        let current = &rotation.data["status"]["currentCredentialRef"]["name"];
        ensure!(current == "glance-2", "{}", rotation.data["status"]);
        cloud.cluster.gone(CREDENTIAL, "openstack/glance-1").await
    })
    .await?;
    keeps_images(cloud, "images-by-credential").await
}

/// Waits until every pod is of another kind than before, and ready.
async fn rolled(what: &str, cluster: &Cluster, before: &DynamicObject) -> Result<()> {
    eventually(what, minutes(5), async || {
        let now = cluster.get(DEPLOYMENT, GLANCE).await?;
        let (spec, status) = (&now.data["spec"], &now.data["status"]);
        ensure!(
            spec["template"] != before.data["spec"]["template"],
            "its pods are as they were"
        );
        ensure!(
            status["observedGeneration"] == json!(now.metadata.generation)
                && status["replicas"] == spec["replicas"]
                && status["updatedReplicas"] == spec["replicas"]
                && status["readyReplicas"] == spec["replicas"],
            "{status}"
        );
        Ok(())
    })
    .await
}
