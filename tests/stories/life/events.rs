//! What is done to a Keystone in its life. Under load, no request may fail.

use lab::{Result, ensure, eventually, is, minutes};
use serde_json::json;

use super::POD;
use super::identity::Identity;
use super::keys;
use super::load::Load;

/// All of it, one after the other.
pub async fn all(keystone: &Identity<'_>, load: &Load<'_>) -> Result<()> {
    keys_rotate(keystone, load).await?;
    an_option_changes(keystone, load).await?;
    pods_are_deleted(keystone, load).await?;
    it_is_scaled(keystone, load).await?;
    an_upgrade_is_taken_back(keystone, load).await?;
    it_is_upgraded(keystone, load).await
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

async fn an_upgrade_is_taken_back(keystone: &Identity<'_>, load: &Load<'_>) -> Result<()> {
    let before = keystone.containers().await?;
    load.meets("upgrade taken back", async || {
        keystone.want(json!({"release": "2026.1"})).await?;
        eventually("a pod of the new release comes", minutes(2), async || {
            let pods = keystone.pods().await?;
            ensure!(pods.len() > 2, "{} pods", pods.len());
            Ok(())
        })
        .await?;
        keystone.want(json!({"release": "2025.2"})).await?;
        runs(keystone, "2025.2").await
    })
    .await?;
    // The new one may take its time to go: it was still starting.
    let after = keystone.containers().await?;
    ensure!(after.is_superset(&before), "pods were restarted");
    Ok(())
}

async fn it_is_upgraded(keystone: &Identity<'_>, load: &Load<'_>) -> Result<()> {
    let before = keystone.containers().await?;
    load.meets("upgrade to 2026.1", async || {
        keystone.want(json!({"release": "2026.1"})).await?;
        keystone.replaced(&before, 2).await?;
        runs(keystone, "2026.1").await
    })
    .await
}

/// Waits until a release runs and is Ready.
async fn runs(keystone: &Identity<'_>, release: &str) -> Result<()> {
    eventually(&format!("{release} runs"), minutes(2), async || {
        let keystone = keystone.resource().await?;
        let status = &keystone.data["status"];
        let seen = status["conditions"].as_array().is_some_and(|conditions| {
            let current = keystone.metadata.generation;
            conditions
                .iter()
                .all(|condition| condition["observedGeneration"].as_i64() == current)
        });
        ensure!(seen && status["release"] == release, "{status}");
        is(&keystone, "Ready")
    })
    .await
}
