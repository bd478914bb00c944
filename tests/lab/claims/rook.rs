//! What Rook does, in a Ceph that is really there or without one.

use std::collections::BTreeMap;

use anyhow::Result;
use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::unreported::unreported;
use super::{BLOCK_POOL, CEPH_CLIENT};
use crate::ceph::Ceph;
use crate::cluster::Cluster;
use crate::objects::SECRET;

/// Where Rook is.
const ROOK: &str = "rook-ceph";

/// What Rook keeps a pool with while it has images
/// (<https://rook.io/docs/rook/latest-release/Storage-Configuration/Advanced/ceph-teardown/>).
const FINALIZER: &str = "cephblockpool.ceph.rook.io";

/// Makes pools and users, and keeps pools with images.
pub(super) async fn work(storage: &Cluster, ceph: &Ceph) -> Result<()> {
    let done = json!({"phase": "Ready"});
    for pool in unreported(storage, BLOCK_POOL, "phase").await? {
        ceph.make_pool(&pool.name_any())?;
        storage.report(BLOCK_POOL, &pool, done.clone()).await?;
        finalizers(storage, &pool, json!([FINALIZER])).await?;
    }
    for pool in storage.list(BLOCK_POOL, "").await? {
        if pool.metadata.deletion_timestamp.is_some() && ceph.images(&pool.name_any())?.is_empty() {
            finalizers(storage, &pool, json!([])).await?;
        }
    }
    for client in unreported(storage, CEPH_CLIENT, "phase").await? {
        let user = client.name_any();
        let capabilities = client.data["spec"]["caps"]
            .as_object()
            .into_iter()
            .flatten();
        let capabilities = capabilities
            .filter_map(|(part, capability)| Some((part.as_str(), capability.as_str()?)));
        let key = ceph.make_user(&user, capabilities)?;
        keep(storage, &format!("rook-ceph-client-{user}"), [(user, key)]).await?;
        storage.report(CEPH_CLIENT, &client, done.clone()).await?;
    }
    let monitors = ("mon_host".to_owned(), ceph.monitors());
    keep(storage, "rook-ceph-config", [monitors]).await
}

/// Makes nothing, and says of pools and users that they are made.
pub(super) async fn simulate(storage: &Cluster) -> Result<()> {
    let done = json!({"phase": "Ready"});
    for pool in unreported(storage, BLOCK_POOL, "phase").await? {
        storage.report(BLOCK_POOL, &pool, done.clone()).await?;
    }
    for client in unreported(storage, CEPH_CLIENT, "phase").await? {
        let user = client.name_any();
        let secret = format!("rook-ceph-client-{user}");
        keep(storage, &secret, [(user, "made-up".to_owned())]).await?;
        let monitors = ("mon_host".to_owned(), "192.0.2.1:6789".to_owned());
        keep(storage, "rook-ceph-config", [monitors]).await?;
        storage.report(CEPH_CLIENT, &client, done.clone()).await?;
    }
    Ok(())
}

/// Sets the finalizers of a pool.
async fn finalizers(cluster: &Cluster, pool: &DynamicObject, wanted: Value) -> Result<()> {
    let name = format!("{ROOK}/{}", pool.name_any());
    let change = json!({"metadata": {"finalizers": wanted}});
    cluster.edit(BLOCK_POOL, &name, change).await.map(drop)
}

async fn keep(
    cluster: &Cluster,
    secret: &str,
    data: impl IntoIterator<Item = (String, String)>,
) -> Result<()> {
    let data: BTreeMap<String, String> = data.into_iter().collect();
    let place = format!("{ROOK}/{secret}");
    let secret = json!({"stringData": data});
    cluster.put(SECRET, &place, secret).await
}
