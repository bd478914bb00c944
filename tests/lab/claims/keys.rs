//! What Rook does in a Ceph that is really there, and External Secrets between the two clusters.

use std::collections::BTreeMap;

use anyhow::Result;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::operators::{report, unreported};
use super::{BLOCK_POOL, CEPH_CLIENT, EXTERNAL_SECRET, PUSH_SECRET, text};
use crate::ceph::Ceph;
use crate::cluster::Cluster;
use crate::lab::Lab;

/// Where Rook is.
const ROOK: &str = "rook-ceph";

/// Makes pools and users, and takes their keys to where they are wanted.
pub(super) async fn work(lab: &Lab, ceph: &Ceph, ready: &Value) -> Result<()> {
    let done = json!({"phase": "Ready"});
    for pool in unreported(&lab.storage, BLOCK_POOL, "phase").await? {
        ceph.make_pool(&pool.name_any())?;
        report(&lab.storage, BLOCK_POOL, &pool, done.clone()).await?;
    }
    for client in unreported(&lab.storage, CEPH_CLIENT, "phase").await? {
        let user = client.name_any();
        let capabilities = client.data["spec"]["caps"]
            .as_object()
            .into_iter()
            .flatten();
        let capabilities = capabilities
            .filter_map(|(part, capability)| Some((part.as_str(), capability.as_str()?)));
        let key = ceph.make_user(&user, capabilities)?;
        keep(
            &lab.storage,
            ROOK,
            &format!("rook-ceph-client-{user}"),
            [(user, key)],
        )
        .await?;
        report(&lab.storage, CEPH_CLIENT, &client, done.clone()).await?;
    }
    let monitors = ("mon_host".to_owned(), ceph.monitors().to_owned());
    keep(&lab.storage, ROOK, "rook-ceph-config", [monitors]).await?;

    let pushed = push(&lab.storage, ready).await?;
    pull(&lab.control_plane, &pushed, ready).await
}

/// What is in the secret store, by key and property.
type Store = BTreeMap<(String, String), String>;

/// What PushSecrets have found.
async fn push(storage: &Cluster, ready: &Value) -> Result<Store> {
    let secrets: Api<Secret> = Api::namespaced(storage.client(), ROOK);
    let mut store = Store::new();
    for push in storage.list(PUSH_SECRET, "").await? {
        let secret = text(&push.data, "/spec/selector/secret/name");
        let Some(secret) = secrets.get_opt(&secret).await? else {
            continue;
        };
        let values = secret.data.unwrap_or_default();
        for data in push.data["spec"]["data"].as_array().into_iter().flatten() {
            let matching = &data["match"];
            let Some(value) = values.get(&text(matching, "/secretKey")) else {
                continue;
            };
            let remote = &matching["remoteRef"];
            let place = (text(remote, "/remoteKey"), text(remote, "/property"));
            store.insert(place, String::from_utf8(value.0.clone())?);
        }
        if push.data["status"]["conditions"].is_null() {
            report(storage, PUSH_SECRET, &push, ready.clone()).await?;
        }
    }
    Ok(store)
}

/// Makes the Secrets that ExternalSecrets ask for, once all that goes into them is in the store.
async fn pull(cluster: &Cluster, store: &Store, ready: &Value) -> Result<()> {
    for external in unreported(cluster, EXTERNAL_SECRET, "conditions").await? {
        let spec = &external.data["spec"];
        let wanted: Option<Vec<(String, &String)>> = spec["data"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|data| {
                let remote = &data["remoteRef"];
                let value = store.get(&(text(remote, "/key"), text(remote, "/property")))?;
                Some((format!("{{{{ .{} }}}}", text(data, "/secretKey")), value))
            })
            .collect();
        let Some(wanted) = wanted else {
            continue;
        };
        let template = spec["target"]["template"]["data"].as_object();
        let data = template.into_iter().flatten().map(|(file, template)| {
            let filled = wanted.iter().fold(
                template.as_str().unwrap_or_default().to_owned(),
                |filled, (name, value)| filled.replace(name, value),
            );
            (file.clone(), filled)
        });
        let namespace = external.metadata.namespace.clone().unwrap_or_default();
        keep(cluster, &namespace, &text(spec, "/target/name"), data).await?;
        report(cluster, EXTERNAL_SECRET, &external, ready.clone()).await?;
    }
    Ok(())
}

async fn keep(
    cluster: &Cluster,
    namespace: &str,
    secret: &str,
    data: impl IntoIterator<Item = (String, String)>,
) -> Result<()> {
    let data: BTreeMap<String, String> = data.into_iter().collect();
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": secret, "namespace": namespace},
        "stringData": data,
    });
    cluster.apply(&secret.to_string()).await.map(drop)
}
