//! What is not there or not allowed is said, and nothing is deleted for it.

use std::time::{Duration, Instant};

use lab::{Cluster, Kind, Machine, Result, ensure, eventually, is, kind, minutes, seconds};
use provider_runtime::Leadership;
use serde_json::json;

use super::carried::{Running, prepare};
use super::trial::trial;
use super::{CONFIG_MAP, DEPLOYMENT, MANIFEST, TRIAL, annotate, cluster, deface, said, undone};

/// How long operators rely on what they knew before an outage.
const BORNE: Duration = seconds(15);

const LATE: Kind = kind("lab.c5c3.io/v1", "Late");

pub fn what_is_not_there_or_not_allowed_is_said_and_deletes_nothing() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let (cluster, account) = cluster(&machine, "trial").await?;
        let running =
            Running::start(&machine, &account, trial(), Vec::new(), Leadership::Alone).await?;
        cluster.apply(MANIFEST).await?;
        annotate(
            &cluster,
            "one",
            json!({"late": "hello", "deployment": "yes"}),
        )
        .await?;
        eventually("the missing kind is said", minutes(1), async || {
            let one = cluster.get(TRIAL, "default/one").await?;
            let ready = said(&one, "Ready")?;
            let message = ready["message"].as_str().unwrap_or_default();
            ensure!(
                ready["reason"] == "NotApplied" && message.contains("lates.lab.c5c3.io"),
                "{ready}"
            );
            cluster.get(CONFIG_MAP, "default/first").await.map(drop)
        })
        .await?;
        cluster.apply(LATE_DEFINITION).await?;
        eventually("it goes on by itself", minutes(2), async || {
            cluster.get(LATE, "default/late").await?;
            is(&cluster.get(TRIAL, "default/one").await?, "Ready")
        })
        .await?;

        not_allowed(&cluster).await?;
        restarted(&machine, &cluster).await?;
        running.stop().await
    })
}

/// The right to read ConfigMaps and Deployments is taken away while one of each is wanted no more.
async fn not_allowed(cluster: &Cluster) -> Result<()> {
    cluster
        .delete(
            kind("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
            "trial",
        )
        .await?;
    cluster.apply(LESS_RIGHTS).await?;
    // Watches go on with the rights that they began with: the next one is refused.
    cluster
        .edit(
            kind("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
            "lates.lab.c5c3.io",
            json!({"metadata": {"annotations": {"note": "x"}}}),
        )
        .await?;
    annotate(cluster, "one", json!({"deployment": null})).await?;
    eventually("what is not allowed is said", minutes(1), async || {
        let one = cluster.get(TRIAL, "default/one").await?;
        let failed = said(&one, "Ready");
        let deployment = cluster.get(DEPLOYMENT, "default/deployed").await?;
        ensure!(
            deployment.metadata.deletion_timestamp.is_none(),
            "it was deleted"
        );
        failed.map(drop)
    })
    .await?;
    cluster.get(CONFIG_MAP, "default/first").await?;
    prepare(cluster, "trial").await?;
    eventually("the Deployment goes when it may", minutes(2), async || {
        cluster.gone(DEPLOYMENT, "default/deployed").await?;
        is(&cluster.get(TRIAL, "default/one").await?, "Ready")
    })
    .await
}

/// An API server that is killed and started again is no reason for an event, unless it is away for longer than operators bear.
async fn restarted(machine: &Machine, cluster: &Cluster) -> Result<()> {
    for _ in 0..3 {
        let before = said(&cluster.get(TRIAL, "default/one").await?, "Ready")?;
        let killed = Instant::now();
        machine.restart(&format!("kube-apiserver-{}", cluster.name()))?;
        eventually("the API server is back", minutes(2), async || {
            cluster.get(CONFIG_MAP, "default/first").await.map(drop)
        })
        .await?;
        let outage = killed.elapsed();
        deface(cluster).await?;
        eventually("the operator is back too", minutes(2), async || {
            undone(cluster).await?;
            is(&cluster.get(TRIAL, "default/one").await?, "Ready")
        })
        .await?;
        let ready = said(&cluster.get(TRIAL, "default/one").await?, "Ready")?;
        if outage < BORNE {
            ensure!(ready == before, "{ready}");
            return Ok(());
        }
    }
    println!("the API server took longer than {BORNE:?} to come back each time");
    Ok(())
}

const LATE_DEFINITION: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lates.lab.c5c3.io}
spec:
  group: lab.c5c3.io
  scope: Namespaced
  names: {kind: Late, plural: lates, singular: late}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, properties: {text: {type: string}}}
";

/// All that is needed, but nothing of Deployments.
const LESS_RIGHTS: &str = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: less}
rules:
  - {apiGroups: [c5c3.io], resources: [secretaggregates, secretaggregates/status], verbs: [get, list, watch, patch, update]}
  - {apiGroups: ['', lab.c5c3.io], resources: [configmaps, secrets, lates], verbs: [get, list, watch, patch, create]}
  - {apiGroups: [events.k8s.io], resources: [events], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: less}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: less}
subjects: [{kind: ServiceAccount, name: trial, namespace: default}]
";
