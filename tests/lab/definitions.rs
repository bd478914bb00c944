//! Custom resource definitions of others, from the modules that publish them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use kube::core::DynamicObject;

use crate::cluster::Cluster;
use crate::eventually;
use crate::objects::{Kind, condition, documents, kind};
use crate::tools::Module;

pub(crate) const DEFINITION: Kind = kind("apiextensions.k8s.io/v1", "CustomResourceDefinition");

/// Where operators made with Kubebuilder keep their definitions.
const BASES: &str = "config/crd/bases";

/// The fields of Valkey that control planes use.
const VALKEY: &str = include_str!("valkey.yaml");

/// How long an API server may take to serve a heap of new resources.
const ESTABLISHED: Duration = Duration::from_secs(180);

impl Cluster {
    /// Installs Rook's custom resource definitions: CephCluster, CephBlockPool, CephClient and their like.
    pub async fn install_rook(&self) -> Result<()> {
        self.install_definitions(read(
            &Module::Rook.folder()?.join("deploy/examples/crds.yaml"),
        )?)
        .await
    }

    /// Installs External Secrets' custom resource definitions: ExternalSecret, PushSecret and their stores. Generators,
    /// which make secrets up, are left out.
    pub async fn install_external_secrets(&self) -> Result<()> {
        self.install_of_external_secrets(|group, _| group == "external-secrets.io")
            .await
    }

    /// Installs the kind in which External Secrets remembers what generators made, without which it doesn't start.
    pub(crate) async fn install_generator_state(&self) -> Result<()> {
        self.install_of_external_secrets(|_, kind| kind == "GeneratorState")
            .await
    }

    async fn install_of_external_secrets(&self, wanted: impl Fn(&str, &str) -> bool) -> Result<()> {
        let folder = Module::ExternalSecrets.folder()?.join("config/crds/bases");
        let mut definitions = read_folder(&folder)?;
        definitions.retain(|definition| {
            let spec = &definition.data["spec"];
            let (group, kind) = (spec["group"].as_str(), spec["names"]["kind"].as_str());
            wanted(group.unwrap_or_default(), kind.unwrap_or_default())
        });
        self.install_definitions(definitions).await
    }

    /// Installs cert-manager's custom resource definitions: Certificate, Issuer and their like.
    pub async fn install_cert_manager(&self) -> Result<()> {
        self.install_folder(Module::CertManager, "deploy/crds")
            .await
    }

    /// Installs the Gateway API's custom resource definitions: Gateway, HTTPRoute, BackendTLSPolicy and their like.
    pub async fn install_gateway(&self) -> Result<()> {
        self.install_folder(Module::Gateway, "config/crd/standard")
            .await
    }

    /// Installs the custom resource definition of ServiceMonitor.
    pub async fn install_service_monitor(&self) -> Result<()> {
        let file = "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml";
        self.install_definitions(read(&Module::Prometheus.folder()?.join(file))?)
            .await
    }

    /// Installs all that a control plane is made of: our own kinds, and those of others that ours become.
    pub async fn install_control_plane_kinds(&self) -> Result<()> {
        tokio::try_join!(
            self.install_mariadb(),
            self.install_rabbitmq(),
            self.install_valkey(),
            self.install_k_orc(),
            self.install_external_secrets(),
        )?;
        self.install_our_kinds().await
    }

    /// Installs the definitions of what our own operators reconcile.
    pub async fn install_our_kinds(&self) -> Result<()> {
        self.apply_files("package/charts/c5c3-crds/definitions")
            .await
            .map(drop)
    }

    /// Installs MariaDB's custom resource definitions: MariaDB, MaxScale, Database, User, Grant and their like.
    pub async fn install_mariadb(&self) -> Result<()> {
        self.install_folder(Module::MariadbOperator, BASES).await
    }

    /// Installs RabbitMQ's custom resource definitions: RabbitmqCluster, and what is inside of one: Vhost, User,
    /// Permission and their like.
    pub async fn install_rabbitmq(&self) -> Result<()> {
        self.install_folder(Module::RabbitmqOperator, BASES).await?;
        self.install_folder(Module::RabbitmqTopology, BASES).await
    }

    /// Installs K-ORC's custom resource definitions: Domain, Project, User, Service, Endpoint and their like.
    pub async fn install_k_orc(&self) -> Result<()> {
        self.install_folder(Module::KOrc, BASES).await
    }

    /// Installs Flux's custom resource definitions: GitRepository, Kustomization, HelmRelease and their like.
    pub(crate) async fn install_flux(&self) -> Result<()> {
        for module in [
            Module::SourceController,
            Module::KustomizeController,
            Module::HelmController,
        ] {
            self.install_folder(module, BASES).await?;
        }
        Ok(())
    }

    /// Installs a custom resource definition of our own for SAP's Valkey, whose operator is in no Go proxy.
    pub async fn install_valkey(&self) -> Result<()> {
        self.install_definitions(documents(VALKEY)?).await
    }

    async fn install_folder(&self, module: Module, folder: &str) -> Result<()> {
        self.install_definitions(read_folder(&module.folder()?.join(folder))?)
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

/// The objects of every YAML file of a folder, in the order of their names.
pub(crate) fn read_folder(folder: &Path) -> Result<Vec<DynamicObject>> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .with_context(|| format!("cannot read {}", folder.display()))?;
    files.retain(|file| {
        file.extension() == Some("yaml".as_ref()) && !file.ends_with("kustomization.yaml")
    });
    files.sort();
    let mut objects = Vec::new();
    for file in files {
        objects.extend(read(&file)?);
    }
    Ok(objects)
}
