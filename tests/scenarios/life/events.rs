//! What is done to a Keystone in its life. Under load, no request may fail.

use lab::{Result, ensure};
use serde_json::json;

use super::POD;
use super::identity::Identity;
use super::keys;
use super::load::Load;
use super::upgrade;

/// All of it, one after the other.
pub async fn all(keystone: &Identity<'_>, load: &Load<'_>) -> Result<()> {
    keys_rotate(keystone, load).await?;
    an_option_changes(keystone, load).await?;
    pods_are_deleted(keystone, load).await?;
    it_is_scaled(keystone, load).await?;
    upgrade::all(keystone, load).await
}

async fn keys_rotate(keystone: &Identity<'_>, load: &Load<'_>) -> Result<()> {
    let before = keystone.containers().await?;
    load.meets("three rotations of keys", async || {
        for _ in 0..3 {
            keys::rotate(keystone).await?;
        }
        Ok(())
    })
    .await?;
    load.meets("credentials encrypted anew", async || {
        keys::encrypt_anew(keystone).await
    })
    .await?;
    let after = keystone.containers().await?;
    ensure!(after == before, "a pod was restarted");
    Ok(())
}

async fn an_option_changes(keystone: &Identity<'_>, load: &Load<'_>) -> Result<()> {
    let before = keystone.containers().await?;
    load.meets("change of an option", async || {
        let option = json!({"DEFAULT": {"list_limit": "1000"}});
        keystone.want(json!({ "extraConfig": option })).await?;
        keystone.replaced(&before, 2).await
    })
    .await?;
    Ok(())
}

async fn pods_are_deleted(keystone: &Identity<'_>, load: &Load<'_>) -> Result<()> {
    load.meets("pods deleted one by one", async || {
        for pod in keystone.pods().await? {
            let name = pod.metadata.name.unwrap_or_default();
            let cluster = &keystone.cloud.cluster;
            cluster.delete(POD, &format!("openstack/{name}")).await?;
            keystone.stand(2).await?;
        }
        Ok(())
    })
    .await
}

async fn it_is_scaled(keystone: &Identity<'_>, load: &Load<'_>) -> Result<()> {
    for (step, replicas) in [("scaled to 3", 3), ("scaled to 2", 2)] {
        load.meets(step, async || {
            keystone.want(json!({ "replicas": replicas })).await?;
            keystone.stand(replicas).await
        })
        .await?;
    }
    Ok(())
}
