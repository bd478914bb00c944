//! What changes while a cloud runs, and reaches its pods: a certificate, users of MariaDB and RabbitMQ, a password in Keystone,
//! an application credential.

use jiff::Timestamp;
use lab::{Cloud, Context, Kind, Result, ensure, eventually, is, kind, minutes};
use serde_json::json;

use super::{does, does_with, keeps_images};

const CERTIFICATE: Kind = kind("cert-manager.io/v1", "Certificate");
const SECRET: Kind = kind("v1", "Secret");
const CREDENTIAL: Kind = kind("openstack.k-orc.cloud/v1alpha1", "ApplicationCredential");
const ROTATION: Kind = kind("c5c3.io/v1alpha1", "CredentialRotation");
const DATABASE_USER: Kind = kind("k8s.mariadb.com/v1alpha1", "User");
const MESSAGING_USER: Kind = kind("rabbitmq.com/v1beta1", "User");

const DATABASE: &str = "openstack/glance-db-credentials";
const ROTATION_OF_GLANCE: &str = "openstack/glance";

/// Each is made once, and images are kept by those who have it.
pub async fn all(cloud: &Cloud) -> Result<()> {
    certificate(cloud).await?;
    password(cloud).await?;
    user(cloud).await?;
    credential(cloud).await?;
    service_password(cloud).await
}

/// K-ORC sets the next password of Glance's user in Keystone, and Glance's application credential stays valid.
async fn service_password(cloud: &Cloud) -> Result<()> {
    let requests = async {
        for attempt in 1..4 {
            keeps_images(cloud, &format!("images-while-passwords-change-{attempt}")).await?;
        }
        Ok(())
    };
    tokio::try_join!(rotate_password(cloud, "glance"), requests)?;
    keeps_images(cloud, "images-by-service-password").await
}

/// A Job sets the next password of Keystone's first user in Keystone, and K-ORC logs in with it.
pub async fn administrator(cloud: &Cloud) -> Result<()> {
    rotate_password(cloud, "admin").await?;
    let next = "keystone-admin-credentials-2";
    let version = does_with(cloud, "placement-by-password", "placement", next).await?;
    ensure!(version.trim() == "v1.0", "Placement has version {version}");
    Ok(())
}

async fn rotate_password(cloud: &Cloud, user: &str) -> Result<()> {
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let name = format!("{user}-password");
    let rotation = json!({
        "apiVersion": ROTATION.api_version,
        "kind": ROTATION.kind,
        "metadata": { "name": name, "namespace": "openstack" },
        "spec": {
            "targetServiceUser": user,
            "rotationType": "userPassword",
            "replaceMadeBefore": now,
        },
    });
    cloud.cluster.apply(&rotation.to_string()).await?;
    let key = format!("openstack/{name}");
    eventually("Keystone has the next password", minutes(5), async || {
        let rotation = cloud.cluster.get(ROTATION, &key).await?;
        let current = &rotation.data["status"]["currentCredentialRef"]["name"];
        ensure!(
            *current == format!("{user}-2"),
            "{}",
            rotation.data["status"]
        );
        is(&rotation, "Ready")
    })
    .await
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
        minutes(3),
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

/// Another password in the Secret would cost Glance's pods their connections, so the API server refuses it.
async fn password(cloud: &Cloud) -> Result<()> {
    let changed = json!({ "stringData": { "password": "chosen-anew" } });
    let refused = cloud.cluster.edit(SECRET, DATABASE, changed).await.err();
    let refused = refused.context("the password in a generated Secret was edited")?;
    ensure!(refused.to_string().contains("immutable"), "{refused}");
    Ok(())
}

/// A rotation gives Glance's pods the next user while requests go on, and the first is then deleted in MariaDB.
async fn user(cloud: &Cloud) -> Result<()> {
    let requests = async {
        for attempt in 1..4 {
            keeps_images(cloud, &format!("images-while-users-change-{attempt}")).await?;
        }
        Ok(())
    };
    let rotation = rotate_user(cloud, "glance", "databaseUser");
    let rolled = cloud.rolled("Glance has its next database user", "glance", rotation);
    tokio::try_join!(rolled, requests)?;
    is_the_only_user(cloud, "glance", DATABASE_USER).await?;
    keeps_images(cloud, "images-by-user").await
}

/// A rotation gives Cinder's pods the next user of RabbitMQ, and the first is then deleted there.
pub async fn messaging_user(cloud: &Cloud) -> Result<()> {
    rotate_user(cloud, "cinder", "messagingUser").await?;
    is_the_only_user(cloud, "cinder", MESSAGING_USER).await
}

async fn rotate_user(cloud: &Cloud, service: &str, rotation_type: &str) -> Result<()> {
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let rotation = json!({
        "apiVersion": ROTATION.api_version,
        "kind": ROTATION.kind,
        "metadata": { "name": format!("{service}-user"), "namespace": "openstack" },
        "spec": {
            "targetServiceUser": service,
            "rotationType": rotation_type,
            "replaceMadeBefore": now,
        },
    });
    cloud.cluster.apply(&rotation.to_string()).await.map(drop)
}

/// Waits until the rotation is over: the second user exists, and the first is gone.
async fn is_the_only_user(cloud: &Cloud, service: &str, user: Kind) -> Result<()> {
    let rotation = format!("openstack/{service}-user");
    let what = format!("the second user of {service} is the only one");
    eventually(&what, minutes(5), async || {
        let rotation = cloud.cluster.get(ROTATION, &rotation).await?;
        let current = &rotation.data["status"]["currentCredentialRef"]["name"];
        ensure!(
            *current == format!("{service}-2"),
            "{}",
            rotation.data["status"]
        );
        let first = format!("openstack/{service}");
        cloud.cluster.gone(user, &first).await
    })
    .await?;
    let second = format!("openstack/{service}-credentials-2");
    cloud.cluster.get(user, &second).await.map(drop)
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
    eventually("the first credential is deleted", minutes(2), async || {
        let rotation = cloud.cluster.get(ROTATION, ROTATION_OF_GLANCE).await?;
        let current = &rotation.data["status"]["currentCredentialRef"]["name"];
        ensure!(current == "glance-2", "{}", rotation.data["status"]);
        cloud.cluster.gone(CREDENTIAL, "openstack/glance-1").await
    })
    .await?;
    keeps_images(cloud, "images-by-credential").await
}
