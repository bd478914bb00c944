//! Of two replicas one writes.

use lab::{Cluster, Kind, Result, ensure, eventually, kind, minutes};
use provider_runtime::Leadership;
use serde_json::Value;

use super::carried::{Running, asked, prepare, quiet};
use super::trial::trial;
use super::{MANIFEST, cluster, deface, ready, undone};

const LEASE: Kind = kind("coordination.k8s.io/v1", "Lease");

pub fn of_two_replicas_one_writes() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let (cluster, one) = cluster(&machine, "one").await?;
        let two = prepare(&cluster, "two").await?;
        let elected = || Leadership::Elected {
            namespace: Some("default".to_owned()),
        };
        let first = Running::start(&machine, &one, trial(), Vec::new(), elected()).await?;
        cluster.apply(MANIFEST).await?;
        ready(&cluster, "one").await?;
        let second = Running::start(&machine, &two, trial(), Vec::new(), elected()).await?;
        deface(&cluster).await?;
        eventually("the edit is undone", minutes(1), async || {
            undone(&cluster).await
        })
        .await?;
        let written = |account| -> Result<usize> {
            Ok(asked(&cluster, account)?
                .iter()
                .filter(|request| request.writes())
                .count())
        };
        ensure!(written("two")? == 0, "both write");

        // Killed: nobody gives the Lease back.
        drop(first);
        quiet(&cluster, "one").await?;
        let before = written("one")?;
        deface(&cluster).await?;
        eventually("the other one leads", minutes(1), async || {
            undone(&cluster).await
        })
        .await?;
        quiet(&cluster, "two").await?;
        ensure!(
            written("two")? == 1 && written("one")? == before,
            "it wrote {} times",
            written("two")?
        );

        // Stopped: the Lease is free at once.
        let third = Running::start(&machine, &one, trial(), Vec::new(), elected()).await?;
        let stopped = holder(&cluster).await?;
        second.stop().await?;
        ensure!(holder(&cluster).await? != stopped, "{stopped} still leads");
        deface(&cluster).await?;
        eventually("the third one leads", minutes(1), async || {
            undone(&cluster).await
        })
        .await?;
        third.stop().await
    })
}

/// Who holds the Lease.
async fn holder(cluster: &Cluster) -> Result<Value> {
    let lease = cluster.get(LEASE, "default/trial-operator").await?;
    Ok(lease.data["spec"]["holderIdentity"].clone())
}
