//! Rotations of Keystone's keys, in less time than they take.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use lab::{Cloud, Context, Result, ensure, eventually, seconds};
use serde_json::{Value, json};

use super::SECRET;
use super::identity::Identity;

const MOUNTED: &str = "openstack/keystone-fernet-keys";
const KEYRING: &str = "keystone.openstack.c5c3.io/keyring";

/// Longer than from one rotation to the next.
const WHILE: SignedDuration = SignedDuration::from_hours(24 * 400);

/// Rotates the keys of tokens: one is promoted, and the next one staged. Both come to every pod before anything else
/// happens.
pub async fn rotate(keystone: &Identity<'_>) -> Result<()> {
    let cloud = keystone.cloud;
    let before = keyring(cloud).await?;
    for step in ["promoted", "staged"] {
        let old = keyring(cloud).await?;
        pass(cloud, &old).await?;
        eventually(&format!("a key is {step}"), seconds(30), async || {
            let keys = keyring(cloud).await?;
            ensure!(names(&keys[step]) != names(&old[step]), "{keys}");
            ensure!(
                (step == "staged") != keys["staged"].is_null(),
                "both at once: {keys}"
            );
            Ok(())
        })
        .await?;
        seen(keystone).await?;
    }
    let after = keyring(cloud).await?;
    ensure!(
        names(&before["staged"])
            == names(&after["promoted"]).split_off(names(&before["promoted"]).len()),
        "not the staged key was promoted: {before}, {after}"
    );
    Ok(())
}

/// Fine once every pod has the keys that the Secret has.
async fn seen(keystone: &Identity<'_>) -> Result<()> {
    eventually("every pod has the keys", seconds(120), async || {
        let secret = keystone.cloud.cluster.get(SECRET, MOUNTED).await?;
        let wanted: BTreeMap<String, k8s_openapi::ByteString> =
            serde_json::from_value(secret.data["data"].clone())?;
        for pod in keystone.pods().await? {
            let uid = pod.metadata.uid.as_deref().context("a pod without UID")?;
            let has = keystone.cloud.node.sees(uid, "fernet-keys")?;
            let same = wanted.len() == has.len()
                && wanted
                    .iter()
                    .all(|(file, key)| has.get(file) == Some(&key.0));
            ensure!(same, "a pod has other keys: {:?}", has.keys());
        }
        Ok(())
    })
    .await
}

/// Has time pass for the keys: what happened to them happened earlier.
async fn pass(cloud: &Cloud, keys: &Value) -> Result<()> {
    let mut keys = keys.clone();
    let kinds = keys.as_object_mut().context("no keyring")?;
    for times in kinds.values_mut().filter_map(Value::as_object_mut) {
        for time in times.values_mut() {
            let then: Timestamp = time.as_str().context("no time")?.parse()?;
            *time = json!(then.checked_sub(WHILE)?.to_string());
        }
    }
    let annotations = json!({"metadata": {"annotations": {KEYRING: keys.to_string()}}});
    cloud.cluster.edit(SECRET, MOUNTED, annotations).await?;
    Ok(())
}

async fn keyring(cloud: &Cloud) -> Result<Value> {
    let secret = cloud.cluster.get(SECRET, MOUNTED).await?;
    let written = secret.metadata.annotations.as_ref();
    let written = written.and_then(|annotations| annotations.get(KEYRING));
    Ok(serde_json::from_str(
        written.context("the keys have no times")?,
    )?)
}

fn names(keys: &Value) -> Vec<&String> {
    keys.as_object()
        .into_iter()
        .flat_map(|keys| keys.keys())
        .collect()
}
