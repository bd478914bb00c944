//! What goes wrong around a Keystone: it says so, loses nothing, and comes back by itself.

use lab::{Context, Kind, Result, ensure, eventually, is, kind, minutes, seconds, throughout};
use serde_json::{Value, json};

use super::SECRET;
use super::identity::Identity;
use super::jobs::loses_its_operator_during;

const EVENT: Kind = kind("events.k8s.io/v1", "Event");
const STATEFUL_SET: Kind = kind("apps/v1", "StatefulSet");
const DATABASE: &str = "database mariadb.openstack.svc:3306/keystone";

/// All of it, one after the other.
pub async fn all(keystone: &Identity<'_>) -> Result<()> {
    an_image_is_missing(keystone).await?;
    the_database_refuses_the_password(keystone).await?;
    the_database_is_away(keystone).await?;
    the_password_changes(keystone).await
}

async fn an_image_is_missing(keystone: &Identity<'_>) -> Result<()> {
    let before = keystone.containers().await?;
    let wrong = json!({"image": {"tag": "29.0.0-nowhere"}});
    keystone.want(wrong).await?;
    let image = "an image ghcr.io/openstack-control-planes/keystone:29.0.0-nowhere";
    says(keystone, "NotStarting", image).await?;
    keystone.issues_a_token("without-an-image").await?;
    keystone.want(json!({"image": {"tag": null}})).await?;
    ready(keystone).await?;
    ensure!(
        keystone.stand(2).await? == before,
        "pods that ran were restarted"
    );
    Ok(())
}

async fn the_database_refuses_the_password(keystone: &Identity<'_>) -> Result<()> {
    let cluster = &keystone.cloud.cluster;
    let give = async |password: &str| {
        let password = json!({"stringData": {"password": password}});
        let name = "openstack/keystone-db-credentials";
        cluster.edit(SECRET, name, password).await
    };
    let before = keystone.containers().await?;
    give("somebody else's").await?;
    says(keystone, "NotStarting", DATABASE).await?;
    let meanwhile = keystone.containers().await?;
    ensure!(
        meanwhile.is_superset(&before),
        "pods that serve gave way to others that can't: {before:?}, {meanwhile:?}"
    );
    keystone.issues_a_token("with-the-old-password").await?;
    give("of-keystone").await?;
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
    says(keystone, "Unavailable", DATABASE).await?;
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
    let bootstrap = loses_its_operator_during(keystone, "bootstrap").await?;
    eventually("the password is set", minutes(2), async || {
        let keystone = keystone.resource().await?;
        is(&keystone, "Bootstrapped")?;
        is(&keystone, "Ready")
    })
    .await?;
    bootstrap.was_done_once().await?;
    keystone.issues_a_token("with-another-password").await?;
    ensure!(
        keystone.containers().await? == before,
        "a password is no reason to restart pods"
    );
    Ok(())
}

/// Waits until the Keystone isn't Ready, and both a condition and a warning give the reason and name what it is about.
pub async fn says(keystone: &Identity<'_>, reason: &str, what: &str) -> Result<()> {
    let names = |said: &Value, message: &str| {
        let message = said[message].as_str();
        said["reason"] == reason && message.is_some_and(|message| message.contains(what))
    };
    eventually(&format!("{reason}: {what}"), minutes(2), async || {
        let resource = keystone.resource().await?;
        let conditions = resource.data["status"]["conditions"].as_array();
        let conditions = conditions.context("there are no conditions")?;
        let is_said = conditions
            .iter()
            .any(|condition| condition["status"] != "True" && names(condition, "message"));
        ensure!(is_said && is(&resource, "Ready").is_err(), "{conditions:?}");
        let events = keystone.cloud.cluster.list(EVENT, "").await?;
        let warns = events
            .iter()
            .any(|event| event.data["type"] == "Warning" && names(&event.data, "note"));
        ensure!(warns, "no event warns of it");
        Ok(())
    })
    .await
}

async fn ready(keystone: &Identity<'_>) -> Result<()> {
    eventually("Keystone is Ready", minutes(2), async || {
        is(&keystone.resource().await?, "Ready")
    })
    .await
}
