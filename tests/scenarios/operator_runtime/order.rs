//! Parts that need each other are deleted in their order, and pods before what they use.

use lab::{Cluster, Kind, Result, ensure, eventually, kind, minutes};
use provider_runtime::Leadership;
use serde_json::{Value, json};

use super::carried::Running;
use super::trial::{ordered, trial};
use super::{CONFIG_MAP, DEPLOYMENT, MANIFEST, SECRET, TRIAL, annotate, cluster, ready, said};

const POD: Kind = kind("v1", "Pod");

pub fn parts_go_in_their_order() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let (cluster, account) = cluster(&machine, "trial").await?;
        let running =
            Running::start(&machine, &account, ordered(), Vec::new(), Leadership::Alone).await?;
        cluster.apply(MANIFEST).await?;
        ready(&cluster, "one").await?;
        // Somebody holds the second: the first has to wait for it.
        set_finalizers(
            &cluster,
            CONFIG_MAP,
            "default/second",
            json!(["lab.c5c3.io/held"]),
        )
        .await?;
        cluster.delete(TRIAL, "default/one").await?;
        eventually("the second is going", minutes(1), async || {
            is_going(&cluster, CONFIG_MAP, "default/second").await
        })
        .await?;
        the_first_stays(&cluster, &running).await?;
        set_finalizers(&cluster, CONFIG_MAP, "default/second", Value::Null).await?;
        eventually("all is gone", minutes(1), async || {
            cluster.gone(CONFIG_MAP, "default/first").await?;
            cluster.gone(TRIAL, "default/one").await
        })
        .await?;
        cluster.get(SECRET, "default/made").await?;
        running.stop().await
    })
}

pub fn pods_are_deleted_before_what_they_use() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let (cluster, account) = cluster(&machine, "trial").await?;
        let running =
            Running::start(&machine, &account, trial(), Vec::new(), Leadership::Alone).await?;
        cluster.apply(MANIFEST).await?;
        annotate(&cluster, "one", json!({"deployment": "yes"})).await?;
        eventually("the Deployment exists", minutes(1), async || {
            cluster.get(DEPLOYMENT, "default/deployed").await.map(drop)
        })
        .await?;
        ready(&cluster, "one").await?;
        let deployment = cluster.get(DEPLOYMENT, "default/deployed").await?;
        let account = json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": { "name": "default", "namespace": "default" },
        });
        let pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "terminating",
                "namespace": "default",
                "finalizers": ["lab.c5c3.io/held"],
                "ownerReferences": [{
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "name": "deployed",
                    "uid": deployment.metadata.uid,
                    "controller": true,
                    "blockOwnerDeletion": true,
                }],
            },
            "spec": { "containers": [{ "name": "main", "image": "main:1" }] },
        });
        cluster.apply(&account.to_string()).await?;
        cluster.apply(&pod.to_string()).await?;
        cluster.delete(TRIAL, "default/one").await?;
        eventually("the pod terminates", minutes(1), async || {
            is_going(&cluster, POD, "default/terminating").await?;
            let ready = said(&cluster.get(TRIAL, "default/one").await?, "Ready")?;
            let message = ready["message"].as_str().unwrap_or_default();
            ensure!(
                ready["reason"] == "Deleting" && message.contains("Deployment deployed"),
                "{ready}"
            );
            Ok(())
        })
        .await?;
        the_first_stays(&cluster, &running).await?;
        set_finalizers(&cluster, POD, "default/terminating", Value::Null).await?;
        eventually("all is gone", minutes(1), async || {
            cluster.gone(DEPLOYMENT, "default/deployed").await?;
            cluster.gone(TRIAL, "default/one").await?;
            cluster.gone(CONFIG_MAP, "default/first").await
        })
        .await?;
        running.stop().await
    })
}

/// Sets the finalizers of an object, or removes them.
async fn set_finalizers(
    cluster: &Cluster,
    kind: Kind,
    name: &str,
    finalizers: Value,
) -> Result<()> {
    let change = json!({"metadata": {"finalizers": finalizers}});
    cluster.edit(kind, name, change).await.map(drop)
}

async fn is_going(cluster: &Cluster, kind: Kind, name: &str) -> Result<()> {
    let object = cluster.get(kind, name).await?;
    ensure!(
        object.metadata.deletion_timestamp.is_some(),
        "it isn't deleted"
    );
    Ok(())
}

/// The first ConfigMap isn't deleted by three more reconciles.
async fn the_first_stays(cluster: &Cluster, running: &Running) -> Result<()> {
    for _ in 0..3 {
        running.again(cluster, "one").await?;
        let first = cluster.get(CONFIG_MAP, "default/first").await?;
        ensure!(
            first.metadata.deletion_timestamp.is_none(),
            "it is deleted too early"
        );
    }
    Ok(())
}
