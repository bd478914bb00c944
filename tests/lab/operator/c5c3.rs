//! Our own operators, built from the working tree.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use c5c3_program::Build;

use super::{OURS, Operator, Readiness, loopback};
use crate::cluster::Cluster;
use crate::function::our_program;
use crate::machine::{Machine, Program};

impl Operator {
    /// Installs one of our own operators by its chart, `<name>-operator`, with these values, and starts it under the role that
    /// the chart gives it. A process here stands for its pods. Its kinds must be installed.
    pub async fn installed(
        machine: &Arc<Machine>,
        cluster: &Cluster,
        name: &str,
        values: &[&str],
    ) -> Result<Self> {
        let chart = format!("{name}-operator");
        cluster.install_chart(&chart, OURS, values).await?;
        let account = cluster.acting_as(&format!("{OURS}/{chart}")).await?;
        Self::c5c3(machine, &account, &chart, &[name]).await
    }

    /// Who one of our own operators is to its API server, once it is installed.
    pub fn user(name: &str) -> String {
        format!("system:serviceaccount:{OURS}:{name}-operator")
    }

    /// Whether a user of an API server is one of our own operators.
    pub(crate) fn is_user(user: &str) -> bool {
        let account = user.strip_prefix("system:serviceaccount:");
        let account = account.and_then(|account| account.split_once(':'));
        account.is_some_and(|(namespace, _)| namespace == OURS)
    }

    /// Starts our own operators of these names, built from the working tree first, under a name of their process; with the
    /// rights of whoever the cluster is seen as. Their kinds must be installed.
    pub async fn c5c3(
        machine: &Arc<Machine>,
        cluster: &Cluster,
        process: &str,
        names: &[&str],
    ) -> Result<Self> {
        Self::watching(machine, cluster, process, names, &[]).await
    }

    /// As [`c5c3`](Self::c5c3), for operators that watch these namespaces only; all of them where none is given.
    pub async fn watching(
        machine: &Arc<Machine>,
        cluster: &Cluster,
        process: &str,
        names: &[&str],
        namespaces: &[&str],
    ) -> Result<Self> {
        let address = machine.port();
        let mut program = Program::new(our_program(Build::Debug)?).arg("operator");
        for name in names {
            program = program.arg(name);
        }
        if !namespaces.is_empty() {
            program = program.flag("watch-namespaces", namespaces.join(","));
        }
        let program = program
            .flag("address", loopback(address))
            .flag("kubeconfig", cluster.kubeconfig_file())
            .env("RUST_LOG", "info");
        Self::run(machine, process, program, Readiness::Asked(address)).await
    }

    /// Starts the labels injector, built from the working tree first, with the rights of whoever the cluster is seen as. Its
    /// certificate is in the folder, and its webhook listens on the port.
    pub async fn labels_injector(
        machine: &Arc<Machine>,
        cluster: &Cluster,
        certificates: &Path,
        webhook: u16,
    ) -> Result<Self> {
        let address = machine.port();
        let program = Program::new(our_program(Build::Debug)?)
            .arg("labels-injector")
            .flag("tls-certs-dir", certificates)
            .flag("webhook-address", loopback(webhook))
            .flag("address", loopback(address))
            .flag("kubeconfig", cluster.kubeconfig_file());
        Self::run(
            machine,
            "labels-injector",
            program,
            Readiness::Asked(address),
        )
        .await
    }
}
