//! The Secrets that the operators of MariaDB and RabbitMQ write: certificates that clients check, and what a user was created with.

use std::time::Duration;

use anyhow::Result;
use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use kube::core::DynamicObject;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::text;
use crate::cluster::Cluster;
use crate::objects::{Kind, SECRET, kind};
use crate::pki::Authority;
use crate::say::say;
use crate::watched::Watched;

/// How long to wait before a Secret is read again.
const PAUSE: Duration = Duration::from_millis(500);

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

/// Writes those of RabbitMQ's users as soon as there are any, until the result is dropped.
pub(crate) async fn of_users(cluster: &Cluster) -> Result<Watched> {
    let mut watched = Watched::default();
    let client = cluster.client();
    let act = move |user| import(client.clone(), user);
    watched.each(cluster, USER, act).await?;
    Ok(watched)
}

/// Copies the Secret that a user is created with, once it exists.
async fn import(client: Client, user: DynamicObject) {
    let namespace = user.namespace().unwrap_or_default();
    let secrets = Api::<Secret>::namespaced(client, &namespace);
    let from = text(&user.data, "/spec/importCredentialsSecret/name");
    let to = format!("{}-user-credentials", user.name_any());
    if user.metadata.deletion_timestamp.is_some() {
        return;
    }
    while let Err(error) = copied(&secrets, &from, &to).await {
        say(format_args!("no Secret {namespace}/{to} yet: {error:#}"));
        sleep(PAUSE).await;
    }
}

async fn copied(secrets: &Api<Secret>, from: &str, to: &str) -> Result<()> {
    if secrets.get_opt(to).await?.is_some() {
        return Ok(());
    }
    let mut copy = Secret {
        data: secrets.get(from).await?.data,
        ..Secret::default()
    };
    copy.metadata.name = Some(to.to_owned());
    secrets.create(&PostParams::default(), &copy).await?;
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
    let place = format!("{namespace}/{}-{suffix}", owner.name_any());
    let is_deleted = owner.metadata.deletion_timestamp.is_some();
    if is_deleted || cluster.find(SECRET, &place).await?.is_some() {
        return Ok(());
    }
    secret["metadata"]["ownerReferences"] = json!([{
        "apiVersion": kind.api_version, "kind": kind.kind,
        "name": owner.name_any(), "uid": owner.metadata.uid,
    }]);
    cluster.put(SECRET, &place, secret).await
}
