//! What is wanted is made, kept so, and goes when it is wanted no more.

use lab::{Cluster, Result, ensure, eventually, minutes};
use provider_runtime::Leadership;
use serde_json::json;

use super::carried::{Running, asked, quiet, writes};
use super::trial::trial;
use super::{
    CONFIG_MAP, DEPLOYMENT, EVENT, MANIFEST, SECRET, TRIAL, annotate, cluster, ready, said,
};

pub fn what_is_wanted_is_made_and_kept_so() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let (cluster, account) = cluster(&machine, "trial").await?;
        let running =
            Running::start(&machine, &account, trial(), Vec::new(), Leadership::Alone).await?;
        cluster.apply(MANIFEST).await?;
        ready(&cluster, "one").await?;
        annotate(&cluster, "one", json!({"deployment": "yes"})).await?;
        eventually("the Deployment is there", minutes(1), async || {
            cluster.get(DEPLOYMENT, "default/deployed").await.map(drop)
        })
        .await?;

        nothing_to_do_asks_for_nothing(&cluster, &running).await?;
        edits_are_undone(&cluster).await?;
        what_is_wanted_no_more_goes(&cluster).await?;
        what_is_not_ours_stays(&cluster).await?;
        a_generated_secret_never_changes(&cluster).await?;
        failures_are_said(&cluster, &running).await?;
        objects_in_other_namespaces_are_refused(&cluster).await?;
        running.stop().await
    })
}

async fn nothing_to_do_asks_for_nothing(cluster: &Cluster, running: &Running) -> Result<()> {
    // A watch that the API server has ended begins with a list again. Nothing else is excused by a later round.
    let mut others = Vec::new();
    eventually("reconciles ask for nothing", minutes(1), async || {
        let before = quiet(cluster, "trial").await?;
        for _ in 0..3 {
            running.again(cluster, "one").await?;
        }
        let asked = asked(cluster, "trial")?;
        let asked = &asked[before..];
        others.extend(
            asked
                .iter()
                .filter(|request| request.verb != "list")
                .cloned(),
        );
        ensure!(asked.is_empty(), "asked for {asked:?}");
        Ok(())
    })
    .await?;
    ensure!(others.is_empty(), "asked for {others:?}");
    ensure!(
        writes(cluster, "trial", "deployments", "default/deployed")? == 1,
        "the Deployment was written again"
    );
    Ok(())
}

async fn edits_are_undone(cluster: &Cluster) -> Result<()> {
    for change in [
        json!({"data": {"key": "defaced"}}),
        json!({"data": {"key": null}}),
        json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "somebody"}}}),
        json!({"metadata": {"labels": {"c5c3.io/owner-name": null, "c5c3.io/owner-kind": null}}}),
    ] {
        cluster
            .edit(CONFIG_MAP, "default/first", change.clone())
            .await?;
        eventually(&format!("{change} is undone"), minutes(1), async || {
            let map = cluster.get(CONFIG_MAP, "default/first").await?;
            let labels = map.metadata.labels.clone().unwrap_or_default();
            ensure!(
                map.data["data"]["key"] == "value",
                "data: {}",
                map.data["data"]
            );
            ensure!(
                labels["app.kubernetes.io/managed-by"] == "trial-operator",
                "{labels:?}"
            );
            ensure!(labels.contains_key("c5c3.io/owner-name"), "{labels:?}");
            Ok(())
        })
        .await?;
    }
    cluster
        .edit(
            CONFIG_MAP,
            "default/first",
            json!({"data": {"theirs": "stays"}}),
        )
        .await?;
    cluster
        .edit(
            DEPLOYMENT,
            "default/deployed",
            json!({"spec": {"replicas": 5}}),
        )
        .await?;
    eventually("the replicas are as wanted", minutes(1), async || {
        let deployment = cluster.get(DEPLOYMENT, "default/deployed").await?;
        ensure!(
            deployment.data["spec"]["replicas"] == 1,
            "{}",
            deployment.data["spec"]["replicas"]
        );
        Ok(())
    })
    .await?;
    cluster.delete(CONFIG_MAP, "default/second").await?;
    eventually("the ConfigMap is back", minutes(1), async || {
        cluster.get(CONFIG_MAP, "default/second").await.map(drop)
    })
    .await?;
    let map = cluster.get(CONFIG_MAP, "default/first").await?;
    ensure!(
        map.data["data"]["theirs"] == "stays",
        "what others added is gone"
    );
    Ok(())
}

async fn what_is_wanted_no_more_goes(cluster: &Cluster) -> Result<()> {
    annotate(
        cluster,
        "one",
        json!({"extra": "field", "for-a-while": "yes"}),
    )
    .await?;
    eventually("more is there", minutes(1), async || {
        let map = cluster.get(CONFIG_MAP, "default/first").await?;
        ensure!(map.data["data"]["extra"] == "field", "{}", map.data["data"]);
        cluster.get(SECRET, "default/brief").await.map(drop)
    })
    .await?;
    annotate(
        cluster,
        "one",
        json!({"extra": null, "for-a-while": null, "deployment": null}),
    )
    .await?;
    eventually("it is gone again", minutes(1), async || {
        let map = cluster.get(CONFIG_MAP, "default/first").await?;
        ensure!(map.data["data"]["extra"].is_null(), "{}", map.data["data"]);
        cluster.gone(DEPLOYMENT, "default/deployed").await?;
        cluster.gone(SECRET, "default/brief").await
    })
    .await?;
    cluster.get(CONFIG_MAP, "default/first").await?;
    cluster.get(SECRET, "default/made").await.map(drop)
}

async fn what_is_not_ours_stays(cluster: &Cluster) -> Result<()> {
    cluster
        .apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs, namespace: default}, data: {key: theirs}}")
        .await?;
    cluster
        .apply(
            &MANIFEST
                .replace("name: one", "name: two")
                .replace("name: first", "name: theirs")
                .replace("second", "other")
                .replace("made", "made-two"),
        )
        .await?;
    eventually("the taken name is said", minutes(1), async || {
        let two = cluster.get(TRIAL, "default/two").await?;
        let ready = said(&two, "Ready")?;
        ensure!(ready["reason"] == "NameTaken", "{ready}");
        let message = ready["message"].as_str().unwrap_or_default();
        ensure!(message.contains("ConfigMap theirs"), "{message}");
        cluster.get(CONFIG_MAP, "default/other").await.map(drop)
    })
    .await?;
    let theirs = cluster.get(CONFIG_MAP, "default/theirs").await?;
    ensure!(
        theirs.data["data"]["key"] == "theirs" && theirs.metadata.labels.is_none(),
        "it was touched"
    );
    cluster.delete(CONFIG_MAP, "default/theirs").await?;
    ready(cluster, "two").await
}

async fn a_generated_secret_never_changes(cluster: &Cluster) -> Result<()> {
    let before = cluster.get(SECRET, "default/made").await?.data["data"].clone();
    ensure!(
        before["password"]
            .as_str()
            .is_some_and(|password| password.len() > 40),
        "no password"
    );
    cluster
        .edit(
            SECRET,
            "default/made",
            json!({"stringData": {"password": "chosen"}}),
        )
        .await?;
    annotate(cluster, "one", json!({"note": "again"})).await?;
    quiet(cluster, "trial").await?;
    let after = cluster.get(SECRET, "default/made").await?.data["data"].clone();
    ensure!(
        after["password"] == "Y2hvc2Vu",
        "the password somebody chose is gone"
    );
    ensure!(
        writes(cluster, "trial", "secrets", "default/made")? == 1,
        "the Secret was written again"
    );
    Ok(())
}

async fn failures_are_said(cluster: &Cluster, running: &Running) -> Result<()> {
    annotate(cluster, "one", json!({"fails": "on purpose"})).await?;
    eventually("the failure is said, once", minutes(1), async || {
        let one = cluster.get(TRIAL, "default/one").await?;
        let ready = said(&one, "Ready")?;
        ensure!(ready["reason"] == "Invalid", "{ready}");
        let events = cluster.list(EVENT, "").await?;
        let recorded = events
            .iter()
            .filter(|event| event.data["reason"] == "Invalid" && event.data["type"] == "Warning")
            .count();
        ensure!(recorded == 1, "{recorded} events");
        Ok(())
    })
    .await?;
    let since =
        said(&cluster.get(TRIAL, "default/one").await?, "Ready")?["lastTransitionTime"].clone();
    for _ in 0..3 {
        running.again(cluster, "one").await?;
        cluster.get(CONFIG_MAP, "default/first").await?;
        let one = cluster.get(TRIAL, "default/one").await?;
        ensure!(
            said(&one, "Ready")?["lastTransitionTime"] == since,
            "it flaps"
        );
    }
    annotate(cluster, "one", json!({"fails": null})).await?;
    ready(cluster, "one").await
}

async fn objects_in_other_namespaces_are_refused(cluster: &Cluster) -> Result<()> {
    annotate(cluster, "one", json!({"elsewhere": "kube-public"})).await?;
    eventually("the refusal is reported", minutes(1), async || {
        let one = cluster.get(TRIAL, "default/one").await?;
        let ready = said(&one, "Ready")?;
        ensure!(ready["reason"] == "InternalError", "{ready}");
        cluster.gone(CONFIG_MAP, "kube-public/there").await
    })
    .await
}
