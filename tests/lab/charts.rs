//! Installing the project's Helm charts by the real Helm.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::cluster::Cluster;
use crate::output::output;
use crate::tools::Tool;

/// Where the charts are.
const CHARTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../package/charts");

impl Cluster {
    /// Installs a chart of `package/charts` under its own name into a namespace that is made if need be, or upgrades it, and
    /// answers with Helm's notes. Values are given as `--set` takes them. Its pods don't run here.
    ///
    /// # Errors
    /// When Helm doesn't render it, or the cluster refuses an object or a field of one.
    pub async fn install_chart(
        &self,
        chart: &str,
        namespace: &str,
        values: &[&str],
    ) -> Result<String> {
        let charts = with_dependencies(chart)?;
        let chart_folder = charts.path().join(chart);
        let mut fetch = helm(charts.path())?;
        fetch.args(["dependency", "update", "--skip-refresh"]);
        run(fetch.arg(&chart_folder), chart)?;

        let mut install = helm(charts.path())?;
        install
            .args(["upgrade", "--install", chart])
            .arg(&chart_folder)
            .args(["--create-namespace", "--namespace", namespace])
            .arg("--kubeconfig")
            .arg(self.kubeconfig_file());
        for value in values {
            install.args(["--set", value]);
        }
        run(&mut install, chart)
    }
}

/// Packs a chart as a version, and makes the folder with it a repository of charts.
pub(crate) fn publish(chart: &Path, version: &str, repository: &Path) -> Result<()> {
    let name = chart.display().to_string();
    let mut package = helm(repository)?;
    package.arg("package").arg(chart);
    package.args(["--version", version, "--destination"]);
    run(package.arg(repository), &name)?;
    let mut index = helm(repository)?;
    run(index.args(["repo", "index"]).arg(repository), &name).map(drop)
}

/// Helm, which keeps what it downloads and knows in this folder.
fn helm(folder: &Path) -> Result<Command> {
    let mut helm = Command::new(Tool::Helm.path()?);
    for (variable, name) in [
        ("HELM_CACHE_HOME", "helm-cache"),
        ("HELM_CONFIG_HOME", "helm-config"),
        ("HELM_DATA_HOME", "helm-data"),
    ] {
        helm.env(variable, folder.join(name));
    }
    Ok(helm)
}

/// Runs Helm, and answers with what it says.
fn run(helm: &mut Command, chart: &str) -> Result<String> {
    output(helm, &format!("helm for {chart}"))
}

/// A copy of a chart, with those beside it that it depends on: Helm writes these into the chart's folder, and scenarios run at
/// the same time.
fn with_dependencies(chart: &str) -> Result<TempDir> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let about = Path::new(CHARTS).join(chart).join("Chart.yaml");
    let about =
        fs::read_to_string(&about).with_context(|| format!("cannot read {}", about.display()))?;
    let beside = about.lines().filter_map(|line| {
        let (_, name) = line.split_once("file://../")?;
        Some(name.trim_end_matches('"'))
    });
    for name in beside.chain([chart]) {
        let from = Path::new(CHARTS).join(name);
        copy(&from, &folder.path().join(name))
            .with_context(|| format!("cannot copy {}", from.display()))?;
    }
    Ok(folder)
}

/// Copies a folder of a chart, without what Helm wrote into it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let (source, target) = (entry.path(), to.join(&name));
        if entry.file_type()?.is_file() {
            fs::copy(&source, &target)?;
        } else if name != "charts" {
            copy(&source, &target)?;
        }
    }
    Ok(())
}
