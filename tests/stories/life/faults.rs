//! What goes wrong around a Keystone: it says so, loses nothing, and comes back by itself.

use lab::{Context, Kind, Result, ensure, eventually, is, kind, minutes, seconds, throughout};
use serde_json::{Value, json};

use super::SECRET;
use super::identity::Identity;

const STATEFUL_SET: Kind = kind("apps/v1", "StatefulSet");

/// All of it, one after the other.
pub async fn all(keystone: &Identity<'_>) -> Result<()> {
    an_image_is_missing(keystone).await?;
    the_database_is_away(keystone).await?;
    the_password_changes(keystone).await
}

async fn an_image_is_missing(keystone: &Identity<'_>) -> Result<()> {
    let before = keystone.containers().await?;
    let wrong = json!({"image": {"tag": "29.0.0-nowhere"}});
    keystone.want(wrong).await?;
    says(keystone, "ghcr.io/c5c3/keystone:29.0.0-nowhere").await?;
    keystone.issues_a_token("without-an-image").await?;
    keystone.want(json!({"image": {"tag": null}})).await?;
    ready(keystone).await?;
    ensure!(
        keystone.stand(2).await? == before,
        "pods that ran were restarted"
    );
    Ok(())
}

async fn the_database_is_away(keystone: &Identity<'_>) -> Result<()> {
    let cloud = keystone.cloud;
    let scale = async |replicas: u32| {
        let change = json!({"spec": {"replicas": replicas}});
        let name = "openstack/mariadb";
        cloud.cluster.edit(STATEFUL_SET, name, change).await
    };
    let before = keystone.containers().await?;
    scale(0).await?;
    says(keystone, "mariadb.openstack.svc").await?;
    throughout("Keystone isn't Ready", seconds(20), async || {
        ensure!(is(&keystone.resource().await?, "Ready").is_err(), "it is");
        Ok(())
    })
    .await?;
    scale(1).await?;
    cloud.serves("mariadb").await?;
    ready(keystone).await?;
    keystone.issues_a_token("after-the-database").await?;
    ensure!(
        keystone.stand(2).await? == before,
        "pods were restarted, though nothing was wrong with them"
    );
    Ok(())
}

async fn the_password_changes(keystone: &Identity<'_>) -> Result<()> {
    let before = keystone.containers().await?;
    let password = json!({"stringData": {"password": "another one, with $ and \" in it"}});
    let cluster = &keystone.cloud.cluster;
    cluster.edit(SECRET, "openstack/admin", password).await?;
    keystone.loses_its_operator_during("bootstrap").await?;
    eventually("the password is set", minutes(2), async || {
        let keystone = keystone.resource().await?;
        is(&keystone, "Bootstrapped")?;
        is(&keystone, "Ready")
    })
    .await?;
    keystone.issues_a_token("with-another-password").await?;
    ensure!(
        keystone.containers().await? == before,
        "a password is no reason to restart pods"
    );
    Ok(())
}

/// Waits until the Keystone isn't Ready, and a condition names what it is about.
async fn says(keystone: &Identity<'_>, what: &str) -> Result<()> {
    eventually(
        &format!("a condition names {what}"),
        minutes(2),
        async || {
            let resource = keystone.resource().await?;
            let conditions = resource.data["status"]["conditions"].as_array();
            let conditions = conditions.context("there are no conditions")?;
            let names = |condition: &&Value| {
                condition["status"] != "True"
                    && condition["message"]
                        .as_str()
                        .is_some_and(|message| message.contains(what))
            };
            ensure!(
                conditions.iter().any(|condition| names(&condition))
                    && is(&resource, "Ready").is_err(),
                "{conditions:?}"
            );
            Ok(())
        },
    )
    .await
}

async fn ready(keystone: &Identity<'_>) -> Result<()> {
    eventually("Keystone is Ready", minutes(2), async || {
        is(&keystone.resource().await?, "Ready")
    })
    .await
}
