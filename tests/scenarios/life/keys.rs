//! Rotations of Keystone's keys, in less time than they take.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use lab::{Cloud, Context, Result, ensure, eventually, is, minutes};
use serde_json::{Value, json};

use super::SECRET;
use super::identity::Identity;
use super::jobs::loses_its_operator_during;

const TOKENS: &str = "openstack/keystone-fernet-keys";
const CREDENTIALS: &str = "openstack/keystone-credential-keys";
const KEYRING: &str = "keystone.openstack.c5c3.io/keyring";

/// Longer than it takes until every pod has changed keys.
const MOMENT: SignedDuration = SignedDuration::from_mins(3);
/// Longer than from one rotation to the next.
const WHILE: SignedDuration = SignedDuration::from_hours(24 * 400);

/// Rotates the keys of tokens: one is promoted, and the next one staged. Both come to every pod before anything else
/// happens.
pub async fn rotate(keystone: &Identity<'_>) -> Result<()> {
    let cloud = keystone.cloud;
    let before = keyring(cloud, TOKENS).await?;
    for step in ["promoted", "staged"] {
        let old = keyring(cloud, TOKENS).await?;
        pass(cloud, TOKENS, WHILE).await?;
        eventually(&format!("a key is {step}"), minutes(2), async || {
            let keys = keyring(cloud, TOKENS).await?;
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
    let after = keyring(cloud, TOKENS).await?;
    ensure!(
        names(&before["staged"])
            == names(&after["promoted"]).split_off(names(&before["promoted"]).len()),
        "not the staged key was promoted: {before}, {after}"
    );
    Ok(())
}

/// Promotes a key of credentials, and has all of them encrypted with it, by a Job that loses its operator.
pub async fn encrypt_anew(keystone: &Identity<'_>) -> Result<()> {
    let cloud = keystone.cloud;
    let old = keyring(cloud, CREDENTIALS).await?;
    pass(cloud, CREDENTIALS, WHILE).await?;
    eventually("a key is promoted", minutes(2), async || {
        let keys = keyring(cloud, CREDENTIALS).await?;
        ensure!(
            names(&keys["promoted"]) != names(&old["promoted"]),
            "{keys}"
        );
        Ok(())
    })
    .await?;
    pass(cloud, CREDENTIALS, MOMENT).await?;
    let job = loses_its_operator_during(keystone, "recrypt").await?;
    eventually("the next key is staged", minutes(2), async || {
        let keys = keyring(cloud, CREDENTIALS).await?;
        ensure!(!keys["staged"].is_null(), "{keys}");
        is(&keystone.resource().await?, "CredentialKeysReady")
    })
    .await?;
    job.was_done_once().await
}

/// Fine once every pod has the keys that the Secret has.
async fn seen(keystone: &Identity<'_>) -> Result<()> {
    eventually("every pod has the keys", minutes(5), async || {
        let secret = keystone.cloud.cluster.get(SECRET, TOKENS).await?;
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
async fn pass(cloud: &Cloud, secret: &str, time: SignedDuration) -> Result<()> {
    let mut keys = keyring(cloud, secret).await?;
    let kinds = keys.as_object_mut().context("no keyring")?;
    for times in kinds.values_mut().filter_map(Value::as_object_mut) {
        for since in times.values_mut() {
            let then: Timestamp = since.as_str().context("no time")?.parse()?;
            *since = json!(then.checked_sub(time)?.to_string());
        }
    }
    let annotations = json!({"metadata": {"annotations": {KEYRING: keys.to_string()}}});
    cloud.cluster.edit(SECRET, secret, annotations).await?;
    Ok(())
}

async fn keyring(cloud: &Cloud, secret: &str) -> Result<Value> {
    let secret = cloud.cluster.get(SECRET, secret).await?;
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
