//! Installing the project's Helm charts by the real Helm.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::cluster::Cluster;
use crate::tools::Tool;

/// Where the charts are.
const CHARTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../package/charts");

impl Cluster {
    /// Installs a chart of `package/charts` under its own name, definitions and all, into a namespace that is made if need
    /// be, or upgrades it, and answers with Helm's notes. Values are given as `--set` takes them. Its pods don't run here.
    ///
    /// # Errors
    /// When Helm doesn't render it, or the cluster refuses an object or a field of one.
    pub async fn install_chart(
        &self,
        chart: &str,
        namespace: &str,
        values: &[&str],
    ) -> Result<String> {
        let mut helm = Command::new(Tool::Helm.path()?);
        helm.args(["upgrade", "--install", chart])
            .arg(Path::new(CHARTS).join(chart))
            .args(["--create-namespace", "--namespace", namespace])
            .arg("--kubeconfig")
            .arg(self.kubeconfig_file());
        for value in values {
            helm.args(["--set", value]);
        }
        let installed = helm.output().context("cannot run helm")?;
        ensure!(
            installed.status.success(),
            "helm doesn't install {chart}: {}",
            String::from_utf8_lossy(&installed.stderr)
        );
        String::from_utf8(installed.stdout).context("helm says no text")
    }
}
