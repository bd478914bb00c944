//! The Secrets that MariaDB's operator writes: certificates that clients check.

use anyhow::Result;
use kube::ResourceExt;
use serde_json::json;

use crate::cluster::Cluster;
use crate::objects::{Kind, SECRET, kind};
use crate::pki::Authority;

const MARIADB: Kind = kind("k8s.mariadb.com/v1alpha1", "MariaDB");

/// Writes those that don't exist yet.
pub(super) async fn work(cluster: &Cluster, authority: &Authority) -> Result<()> {
    for mariadb in cluster.list(MARIADB, "").await? {
        let (namespace, name) = (mariadb.namespace().unwrap_or_default(), mariadb.name_any());
        let place = format!("{namespace}/{name}-ca-bundle");
        let is_deleted = mariadb.metadata.deletion_timestamp.is_some();
        if is_deleted || cluster.find(SECRET, &place).await?.is_some() {
            continue;
        }
        let owner = json!({
            "apiVersion": MARIADB.api_version, "kind": MARIADB.kind, "name": name, "uid": mariadb.metadata.uid,
        });
        let bundle = json!({
            "metadata": { "ownerReferences": [owner] },
            "stringData": { "ca.crt": authority.certificate() },
        });
        cluster.put(SECRET, &place, bundle).await?;
    }
    Ok(())
}
