//! What others store doesn't grow an operator.

use lab::{Cluster, Etcd, Operator, Result, ensure};
use serde_json::json;

use crate::control_plane_speed::process::Process;

/// How many Secrets there are, each as large as the API server takes it.
const SECRETS: usize = 250;
const SIZE: usize = 1_000_000;

/// The memory limit of the charts, in MB.
const LIMIT: f64 = 134.0;

/// What the Secrets may add, in MB: their names, labels and owners.
const ADDED: f64 = 16.0;

pub fn foreign_secrets_take_no_memory() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let etcd = Etcd::start(&machine)?;
        let cluster = Cluster::start(&machine, &etcd, "control-plane").await?;
        cluster.install_control_plane_kinds().await?;
        let before = peak(&machine, &cluster, "without-secrets").await?;
        let data = "c".repeat(SIZE);
        for number in 0..SECRETS {
            let secret = json!({
                "apiVersion": "v1", "kind": "Secret",
                "metadata": {"name": format!("large-{number}"), "namespace": "default"},
                "stringData": {"data": data},
            });
            cluster.apply(&secret.to_string()).await?;
        }
        let after = peak(&machine, &cluster, "with-secrets").await?;
        println!("{before:.1} MB without the Secrets, {after:.1} MB with them");
        ensure!(after < LIMIT, "{after} MB exceed the limit of the charts");
        ensure!(after < before + ADDED, "{before} MB became {after} MB");
        Ok(())
    })
}

/// The most memory that an operator takes until it has read everything.
async fn peak(
    machine: &std::sync::Arc<lab::Machine>,
    cluster: &Cluster,
    process: &str,
) -> Result<f64> {
    let operator = Operator::c5c3(machine, cluster, process, &["c5c3"]).await?;
    let peak = Process::of(machine, process)?.peak()?;
    drop(operator);
    machine.kill(process)?;
    Ok(peak)
}
