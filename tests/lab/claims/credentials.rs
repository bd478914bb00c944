//! The Secrets that the operators of MariaDB and RabbitMQ write: certificates that clients check, and what a user was created with.

use anyhow::Result;
use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::secrets::SECRET;
use super::text;
use crate::cluster::Cluster;
use crate::objects::{Kind, kind};
use crate::pki::Authority;

const MARIADB: Kind = kind("k8s.mariadb.com/v1alpha1", "MariaDB");
const USER: Kind = kind("rabbitmq.com/v1beta1", "User");

/// Writes those that don't exist yet.
pub(super) async fn work(cluster: &Cluster, authority: &Authority) -> Result<()> {
    for mariadb in cluster.list(MARIADB, "").await? {
        let bundle = json!({"stringData": {"ca.crt": authority.certificate()}});
        write(cluster, (MARIADB, &mariadb), "ca-bundle", bundle).await?;
    }
    for user in cluster.list(USER, "").await? {
        let namespace = user.namespace().unwrap_or_default();
        let imported = text(&user.data, "/spec/importCredentialsSecret/name");
        let imported = cluster
            .find(SECRET, &format!("{namespace}/{imported}"))
            .await?;
        if let Some(imported) = imported {
            let credentials = json!({"data": imported.data["data"]});
            write(cluster, (USER, &user), "user-credentials", credentials).await?;
        }
    }
    Ok(())
}

/// Writes the Secret of an object that is called after both.
async fn write(
    cluster: &Cluster,
    (kind, owner): (Kind, &DynamicObject),
    suffix: &str,
    mut secret: Value,
) -> Result<()> {
    let namespace = owner.namespace().unwrap_or_default();
    let name = format!("{}-{suffix}", owner.name_any());
    let is_deleted = owner.metadata.deletion_timestamp.is_some();
    if is_deleted
        || cluster
            .find(SECRET, &format!("{namespace}/{name}"))
            .await?
            .is_some()
    {
        return Ok(());
    }
    secret["apiVersion"] = json!("v1");
    secret["kind"] = json!("Secret");
    secret["metadata"] = json!({
        "name": name,
        "namespace": namespace,
        "ownerReferences": [{
            "apiVersion": kind.api_version, "kind": kind.kind,
            "name": owner.name_any(), "uid": owner.metadata.uid,
        }],
    });
    cluster.apply(&secret.to_string()).await.map(drop)
}
