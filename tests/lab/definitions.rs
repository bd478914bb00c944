//! Custom resource definitions of others, from the modules that publish them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use kube::core::DynamicObject;

use crate::cluster::Cluster;
use crate::eventually;
use crate::objects::{Kind, condition, documents, kind};
use crate::tools::Module;

pub(crate) const DEFINITION: Kind = kind("apiextensions.k8s.io/v1", "CustomResourceDefinition");

/// How long an API server may take to serve a heap of new resources.
const ESTABLISHED: Duration = Duration::from_secs(60);

impl Cluster {
    /// Installs Rook's custom resource definitions: CephCluster, CephBlockPool, CephClient and their like.
    ///
    /// # Errors
    /// When they can't be had or aren't served in time.
    pub async fn install_rook(&self) -> Result<()> {
        self.install_definitions(read(
            &Module::Rook.folder()?.join("deploy/examples/crds.yaml"),
        )?)
        .await
    }

    /// Installs External Secrets' custom resource definitions: ExternalSecret, PushSecret, their stores.
    ///
    /// # Errors
    /// When they can't be had or aren't served in time.
    pub async fn install_external_secrets(&self) -> Result<()> {
        self.install_definitions(read_folder(
            &Module::ExternalSecrets.folder()?.join("config/crds/bases"),
        )?)
        .await
    }

    /// Installs custom resource definitions, and whatever comes with them, and waits until they are served.
    pub(crate) async fn install_definitions(&self, objects: Vec<DynamicObject>) -> Result<()> {
        let definitions: Vec<DynamicObject> = objects
            .into_iter()
            .filter(|object| {
                object
                    .types
                    .as_ref()
                    .is_some_and(|t| t.kind == DEFINITION.kind)
            })
            .collect();
        self.install(&definitions).await?;
        let names: Vec<String> = definitions.iter().map(ResourceExt::name_any).collect();
        eventually(
            &format!("{} serves {} new kinds", self.name(), names.len()),
            ESTABLISHED,
            async || {
                let served: Vec<String> = self
                    .list(DEFINITION, "")
                    .await?
                    .iter()
                    .filter(|definition| condition(definition, "Established") == Some("True"))
                    .map(ResourceExt::name_any)
                    .collect();
                for name in &names {
                    ensure!(served.contains(name), "{name} isn't established");
                }
                Ok(())
            },
        )
        .await
    }
}

/// The objects of one file.
pub(crate) fn read(file: &Path) -> Result<Vec<DynamicObject>> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    documents(&text).with_context(|| format!("in {}", file.display()))
}

/// The objects of every YAML file of a folder.
pub(crate) fn read_folder(folder: &Path) -> Result<Vec<DynamicObject>> {
    let mut objects = Vec::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let file = entry?.path();
        if file
            .extension()
            .is_some_and(|extension| extension == "yaml")
            && file.file_name() != Some("kustomization.yaml".as_ref())
        {
            objects.extend(read(&file)?);
        }
    }
    Ok(objects)
}
