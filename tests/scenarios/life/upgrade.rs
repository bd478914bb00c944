//! From one release to the next, whatever comes between.

use lab::{Result, ensure, eventually, is, minutes};
use serde_json::json;

use super::faults::says;
use super::identity::Identity;
use super::jobs::loses_its_operator_during;
use super::load::Load;

/// An index that 2026.1 makes first of all.
const INDEX: &str = "ix_revocation_event_project_id_user_id";
/// What nothing of this may change.
const DATA: &str = "CHECKSUM TABLE user, password, project, assignment, role, endpoint";

/// One whose migration fails at first is taken back; then one is done, and each of its Jobs loses its operator.
pub async fn all(keystone: &Identity<'_>, load: &Load<'_>) -> Result<()> {
    let before = keystone.containers().await?;
    load.meets("migration that fails", async || {
        a_migration_fails(keystone).await
    })
    .await?;
    load.meets("upgrade taken back", async || {
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
    it_is_done(keystone, load).await
}

/// Somebody has made an index of a name that the next release wants: what runs goes on, and once the index is gone, so does
/// the upgrade.
async fn a_migration_fails(keystone: &Identity<'_>) -> Result<()> {
    let index = format!("CREATE INDEX {INDEX} ON revocation_event (user_id)");
    let before = keystone
        .database("blocks", &format!("{index}; {DATA}"))
        .await?;
    let pods = keystone.containers().await?;
    keystone.want(json!({"release": "2026.1"})).await?;
    says(keystone, "JobFailing", "Job keystone-db-expand-").await?;
    let release = &keystone.resource().await?.data["status"]["release"];
    ensure!(release == "2025.2", "it takes itself for {release}");
    ensure!(keystone.containers().await? == pods, "pods were restarted");
    let index = format!("DROP INDEX {INDEX} ON revocation_event");
    let after = keystone
        .database("unblocks", &format!("{DATA}; {index}"))
        .await?;
    ensure!(after == before, "data has changed: {before}, {after}");
    Ok(())
}

async fn it_is_done(keystone: &Identity<'_>, load: &Load<'_>) -> Result<()> {
    let before = keystone.containers().await?;
    load.meets("upgrade to 2026.1 by an operator that dies", async || {
        keystone.want(json!({"release": "2026.1"})).await?;
        let mut jobs = Vec::new();
        for task in ["db-expand", "db-migrate", "db-contract"] {
            jobs.push(loses_its_operator_during(keystone, task).await?);
        }
        keystone.replaced(&before, 2).await?;
        runs(keystone, "2026.1").await?;
        for job in jobs {
            job.was_done_once().await?;
        }
        Ok(())
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
