//! An operator that watches some namespaces has no rights elsewhere.

use lab::{Cluster, Etcd, Result, ensure, eventually, minutes};

use super::SECRET;

pub fn chart_for_watched_namespaces_gives_rights_there_only() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let etcd = Etcd::start(&machine)?;
        let cluster = Cluster::start(&machine, &etcd, "control-plane").await?;
        cluster.apply(SECRETS).await?;
        let values = ["watchNamespaces={watched}"];
        cluster
            .install_chart("keystone-operator", "operators", &values)
            .await?;
        let account = cluster.acting_as("operators/keystone-operator").await?;
        eventually("the Role lets it read", minutes(1), async || {
            account.get(SECRET, "watched/one").await.map(drop)
        })
        .await?;
        let elsewhere = account.get(SECRET, "default/one").await;
        ensure!(elsewhere.is_err(), "it reads a Secret elsewhere");
        let all = account.list(SECRET, "").await;
        ensure!(all.is_err(), "it lists the Secrets of all namespaces");
        Ok(())
    })
}

const SECRETS: &str = "\
{apiVersion: v1, kind: Namespace, metadata: {name: watched}}
---
{apiVersion: v1, kind: Secret, metadata: {name: one, namespace: watched}}
---
{apiVersion: v1, kind: Secret, metadata: {name: one, namespace: default}}
";
