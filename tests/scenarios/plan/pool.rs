//! A hypervisor pool on the command line: its shares and nodes, and what a changed claim would move.

use std::fs;
use std::path::Path;

use lab::{Cluster, Etcd, Kind, Operator, Result, ensure, eventually, kind, minutes};
use serde_json::{Value, json};

use super::program::{divided, status, workspace};

const NODE: Kind = kind("v1", "Node");
const POOL: Kind = kind("hypervisor.c5c3.io/v1alpha1", "HypervisorPool");

const CLAIM: &str = "examples/claims/customer-b-staging.yaml";
const SHARES: &str = "\
apiVersion: hypervisor.c5c3.io/v1alpha1
kind: HypervisorPool
metadata: {name: hv-pool-a}
spec: {mode: Shared}
---
apiVersion: hypervisor.c5c3.io/v1alpha1
kind: HypervisorShare
metadata: {name: customer-b-staging}
spec: {controlPlane: customer-b-staging, weight: 1, minHosts: 1}
---
apiVersion: hypervisor.c5c3.io/v1alpha1
kind: HypervisorShare
metadata: {name: other}
spec: {controlPlane: other, weight: 1, minHosts: 1}
";

pub fn a_pool_is_shown_and_its_division_planned() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let etcd = Etcd::start(&machine)?;
        let cluster = Cluster::start(&machine, &etcd, "hypervisors").await?;
        let kubeconfig = cluster.kubeconfig_file();
        cluster.install_control_plane_kinds().await?;
        let none = status(kubeconfig, &["--pool"])?;
        ensure!(none.code == 1, "{none:?}");
        none.complains("this cluster has no HypervisorPool, which leases the nodes: create one")?;

        nodes(&cluster).await?;
        cluster.apply(SHARES).await?;
        let _operator = Operator::c5c3(
            &machine,
            &cluster,
            "hypervisor-pool-operator",
            &["hypervisor-pool"],
        )
        .await?;
        eventually("all nodes are leased", minutes(1), async || {
            let pool = cluster.get(POOL, "hv-pool-a").await?;
            ensure!(
                pool.data["status"]["nodes"]["leased"] == 4,
                "{}",
                pool.data["status"]
            );
            let shown = status(kubeconfig, &["--pool", "-o", "json"])?;
            let shown: Value = serde_json::from_str(&shown.stdout)?;
            let leased = |share: usize| shown["shares"][share]["leased"].as_u64();
            ensure!((leased(0), leased(1)) == (Some(2), Some(2)), "{shown}");
            Ok(())
        })
        .await?;
        let shown = status(kubeconfig, &["--pool"])?;
        shown.says(
            "HypervisorPool hv-pool-a: 4 nodes; 4 leased, 0 draining, 0 free, 0 unavailable",
        )?;
        shown.says("customer-b-staging  customer-b-staging  1       1    -    2    2       0\n")?;

        let same = divided(kubeconfig, Path::new(CLAIM))?;
        ensure!(same.code == 0, "{same:?}");
        same.says("no node is moved at once")?;
        let edited = machine.folder().join("claim.yaml");
        let claim = fs::read_to_string(workspace().join(CLAIM))?;
        let shares = "  hypervisorShares: [{name: hv-pool-a, weight: 0}]\n  storageClusters:";
        fs::write(&edited, claim.replacen("  storageClusters:", shares, 1))?;
        let changed = divided(kubeconfig, &edited)?;
        ensure!(changed.code == 1, "{changed:?}");
        changed.says("1 -> 0")?;
        changed.says("2 -> 1")?;
        changed.says(" of customer-b-staging\n")?;
        let untouched = cluster.get(POOL, "hv-pool-a").await?;
        ensure!(
            untouched.data["status"]["nodes"]["leased"] == 4,
            "a plan has drained a node: {}",
            untouched.data["status"]
        );
        Ok(())
    })
}

/// Four hypervisors, as their kubelets report them.
async fn nodes(cluster: &Cluster) -> Result<()> {
    for number in 1..=4 {
        let name = format!("hv-{number}");
        let node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"node-role.kubernetes.io/hypervisor": ""}},
        });
        cluster.apply(&node.to_string()).await?;
        let ready = json!({"conditions": [{"type": "Ready", "status": "True"}]});
        cluster.set_status(NODE, &name, ready).await?;
    }
    Ok(())
}
