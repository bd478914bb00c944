//! Custom resource definitions of others, from the modules that publish them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use kube::api::PatchParams;
use kube::core::DynamicObject;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::eventually;
use crate::manifests::{documents, read, read_folder};
use crate::objects::{Kind, kind, strict_apply};
use crate::tools::Module;

pub(crate) const DEFINITION: Kind = kind("apiextensions.k8s.io/v1", "CustomResourceDefinition");

/// Where operators made with Kubebuilder keep their definitions.
const BASES: &str = "config/crd/bases";

/// Where External Secrets keeps its definitions.
const SECRETS_BASES: &str = "config/crds/bases";

/// The API group of External Secrets.
const SECRETS_GROUP: &str = "external-secrets.io";

/// Some of the definitions of a module, by the plurals of their kinds: all of them are more work for an API server than its start.
struct Chosen {
    module: Module,
    folder: &'static str,
    group: &'static str,
    plurals: &'static [&'static str],
}

/// The kinds of External Secrets that we compose.
const SECRETS: Chosen = Chosen {
    module: Module::ExternalSecrets,
    folder: SECRETS_BASES,
    group: SECRETS_GROUP,
    plurals: &["externalsecrets", "pushsecrets"],
};

/// The kinds of others that control planes are made of, except Valkey's.
const COMPOSED: [Chosen; 5] = [
    Chosen {
        module: Module::MariadbOperator,
        folder: BASES,
        group: "k8s.mariadb.com",
        plurals: &["backups", "databases", "grants", "mariadbs", "users"],
    },
    Chosen {
        module: Module::RabbitmqOperator,
        folder: BASES,
        group: "rabbitmq.com",
        plurals: &["rabbitmqclusters"],
    },
    Chosen {
        module: Module::RabbitmqTopology,
        folder: BASES,
        group: "rabbitmq.com",
        plurals: &["permissions", "users", "vhosts"],
    },
    Chosen {
        module: Module::KOrc,
        folder: BASES,
        group: "openstack.k-orc.cloud",
        plurals: &[
            "applicationcredentials",
            "domains",
            "endpoints",
            "flavors",
            "images",
            "projects",
            "roles",
            "services",
            "users",
            "volumetypes",
        ],
    },
    SECRETS,
];

impl Chosen {
    fn read(&self) -> Result<Vec<DynamicObject>> {
        let folder = self.module.folder()?.join(self.folder);
        let mut definitions = Vec::new();
        for plural in self.plurals {
            let file = format!("{}_{plural}.yaml", self.group);
            definitions.extend(read(&folder.join(file))?);
        }
        Ok(definitions)
    }
}

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

    /// Installs the custom resource definitions of External Secrets that we compose: ExternalSecret and PushSecret.
    pub async fn install_external_secrets(&self) -> Result<()> {
        self.install_definitions(SECRETS.read()?).await
    }

    /// Installs External Secrets' other kinds, with which it starts: stores, and what remembers the work of generators. Generators, which
    /// make secrets up, are left out.
    pub async fn install_secret_stores(&self) -> Result<()> {
        let folder = Module::ExternalSecrets.folder()?.join(SECRETS_BASES);
        let mut definitions = read_folder(&folder)?;
        definitions.retain(|definition| {
            let (spec, names) = (&definition.data["spec"], &definition.data["spec"]["names"]);
            let plural = names["plural"].as_str().unwrap_or_default();
            let is_store = spec["group"] == SECRETS_GROUP && !SECRETS.plurals.contains(&plural);
            is_store || names["kind"] == "GeneratorState"
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

    /// Installs all that a control plane is made of: our own kinds, and those of others that ours become. The operators of others need
    /// more, which they install.
    pub async fn install_control_plane_kinds(&self) -> Result<()> {
        let mut others = documents(VALKEY)?;
        for chosen in &COMPOSED {
            others.extend(chosen.read()?);
        }
        tokio::try_join!(self.install_definitions(others), self.install_our_kinds())?;
        Ok(())
    }

    /// Installs the definitions of what our own operators reconcile, and waits until they are served.
    pub async fn install_our_kinds(&self) -> Result<()> {
        let folder =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../package/charts/c5c3-crds/definitions");
        self.install_served(&read_folder(&folder)?, &strict_apply())
            .await
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

    /// Installs the custom resource definitions among objects, and waits until they are served.
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
        self.install_served(&definitions, &PatchParams::apply("lab").force())
            .await
    }

    /// Applies definitions, and waits until their kinds are served. A list of all definitions would say so, too, but it has megabytes.
    async fn install_served(&self, definitions: &[DynamicObject], how: &PatchParams) -> Result<()> {
        self.apply_all(definitions, how).await?;
        let wanted = plurals(definitions);
        eventually(
            &format!("{} serves {} new kinds", self.name(), definitions.len()),
            ESTABLISHED,
            async || {
                for (group_version, plurals) in &wanted {
                    let served = self
                        .client()
                        .list_api_group_resources(group_version)
                        .await?;
                    let served = served.resources.into_iter().map(|resource| resource.name);
                    let served: BTreeSet<String> = served.collect();
                    let missing: Vec<&String> = plurals.difference(&served).collect();
                    ensure!(missing.is_empty(), "{group_version} lacks {missing:?}");
                }
                Ok(())
            },
        )
        .await
    }
}

/// The plurals of the kinds that definitions bring, by API group and version as in `rabbitmq.com/v1beta1`.
fn plurals(definitions: &[DynamicObject]) -> BTreeMap<String, BTreeSet<String>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut plurals: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for definition in definitions {
        let spec = &definition.data["spec"];
        let versions = spec["versions"].as_array().into_iter().flatten();
        for version in versions.filter(|version| version["served"] == true) {
            let group_version = format!("{}/{}", text(&spec["group"]), text(&version["name"]));
            let of_version = plurals.entry(group_version).or_default();
            of_version.insert(text(&spec["names"]["plural"]));
        }
    }
    plurals
}
