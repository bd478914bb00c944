//! Installing the project's Helm charts: rendered by the real Helm, applied like any manifest.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use kube::core::DynamicObject;

use crate::cluster::Cluster;
use crate::definitions::DEFINITION;
use crate::objects::documents;
use crate::tools::Tool;

/// Where the charts are.
const CHARTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../package/charts");

impl Cluster {
    /// Installs a chart of `package/charts` under its own name, definitions and all, into a namespace that is made if need
    /// be, and answers with what it consists of. Values are given as `--set` takes them. Its pods don't run here.
    ///
    /// # Errors
    /// When Helm doesn't render it, or the cluster refuses an object or a field of one.
    pub async fn install_chart(
        &self,
        chart: &str,
        namespace: &str,
        values: &[&str],
    ) -> Result<Vec<DynamicObject>> {
        let objects = documents(&render(chart, namespace, values)?)?;
        let (definitions, others): (Vec<_>, Vec<_>) = objects.into_iter().partition(|object| {
            let types = object.types.as_ref();
            types.is_some_and(|types| types.kind == DEFINITION.kind)
        });
        self.install_definitions(definitions).await?;
        let home = format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}}}}}");
        self.apply(&home).await?;
        for object in &others {
            self.write(object).await?;
        }
        Ok(others)
    }
}

/// What Helm makes of a chart.
fn render(chart: &str, namespace: &str, values: &[&str]) -> Result<String> {
    let mut helm = Command::new(Tool::Helm.path()?);
    helm.args(["template", chart])
        .arg(Path::new(CHARTS).join(chart))
        .args(["--include-crds", "--namespace", namespace]);
    for value in values {
        helm.args(["--set", value]);
    }
    let rendered = helm.output().context("cannot run helm")?;
    ensure!(
        rendered.status.success(),
        "helm doesn't render {chart}: {}",
        String::from_utf8_lossy(&rendered.stderr)
    );
    String::from_utf8(rendered.stdout).context("helm renders no text")
}
