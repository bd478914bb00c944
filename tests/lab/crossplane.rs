//! Crossplane's core beside a management cluster, as it runs inside one: webhooks served, functions called over mTLS.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::ByteString;
use kube::core::DynamicObject;
use serde_json::json;

use crate::cluster::Cluster;
use crate::eventually;
use crate::machine::{Machine, Program};
use crate::manifests::{read, read_folder};
use crate::objects::{Kind, kind};
use crate::probe;
use crate::tools::{Module, Tool};

/// The namespace that Crossplane and the kubeconfig Secrets live in.
pub const SYSTEM: &str = "crossplane-system";

/// How long the core may take to serve its webhooks.
const READY: Duration = Duration::from_secs(90);

const FUNCTION_REVISION: Kind = kind("pkg.crossplane.io/v1", "FunctionRevision");

/// A generation of Crossplane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// 1.20: claims and cluster-scoped composites.
    V1_20,
    /// 2.4: namespaced composites, claims still served.
    V2_4,
}

impl Release {
    /// What protects a cluster-scoped resource from deletion.
    pub const fn usage(self) -> Kind {
        match self {
            Release::V1_20 => kind("apiextensions.crossplane.io/v1beta1", "Usage"),
            Release::V2_4 => kind("protection.crossplane.io/v1beta1", "ClusterUsage"),
        }
    }

    pub(crate) const fn tool(self) -> Tool {
        match self {
            Release::V1_20 => Tool::CrossplaneV1,
            Release::V2_4 => Tool::CrossplaneV2,
        }
    }

    const fn module(self) -> Module {
        match self {
            Release::V1_20 => Module::CrossplaneV1,
            Release::V2_4 => Module::CrossplaneV2,
        }
    }

    /// The provider-kubernetes beside it: the oldest release beside the oldest, the newest beside the newest.
    pub(crate) const fn provider(self) -> Tool {
        match self {
            Release::V1_20 => Tool::ProviderKubernetesOldest,
            Release::V2_4 => Tool::ProviderKubernetesNewest,
        }
    }

    /// The sources of that provider-kubernetes.
    pub const fn provider_module(self) -> Module {
        match self {
            Release::V1_20 => Module::ProviderKubernetesOldest,
            Release::V2_4 => Module::ProviderKubernetesNewest,
        }
    }

    /// How often it looks at what nothing tells it of. 2.4 watches what is composed, and the resources that functions ask for
    /// (crossplane/crossplane, design/one-pager-watching-required-resources.md), so that its default does: at each look, each Usage
    /// writes the object in use.
    const fn poll_interval(self) -> &'static str {
        match self {
            Release::V1_20 => "5s",
            Release::V2_4 => "1m",
        }
    }

    /// The webhooks it serves, by their files in its module. On 2.4 the others gave way to CEL.
    const fn webhooks(self) -> &'static [&'static str] {
        match self {
            Release::V1_20 => &["usage.yaml", "manifests.yaml"],
            Release::V2_4 => &["usage.yaml"],
        }
    }
}

/// Crossplane's core.
pub struct Crossplane {
    machine: Arc<Machine>,
    management: Cluster,
    release: Release,
}

impl Crossplane {
    /// Installs Crossplane's own kinds and webhooks, starts the core, and waits until it serves.
    pub async fn start(
        machine: &Arc<Machine>,
        management: &Cluster,
        release: Release,
    ) -> Result<Self> {
        management.install_crossplane(release).await?;
        management.apply(PREREQUISITES).await?;

        let authority = machine.authority();
        let folder = machine.folder().join("crossplane");
        let server = authority.write(&authority.server(&["localhost"])?, &folder.join("server"))?;
        let client = authority.write(
            &authority.client("crossplane", "crossplane")?,
            &folder.join("client"),
        )?;
        let cache = folder.join("cache");
        fs::create_dir_all(&cache).with_context(|| format!("cannot create {}", cache.display()))?;
        let (webhooks, health) = (machine.port(), machine.port());
        let mut program = Program::new(release.tool().path()?)
            .arg("core")
            .arg("start")
            .arg("--debug")
            .flag("package-runtime", "External")
            .flag("xpkg-cache-dir", cache)
            .flag("poll-interval", release.poll_interval())
            .flag("webhook-port", webhooks.to_string())
            .flag("metrics-port", "0")
            .flag("health-probe-port", health.to_string())
            .flag("tls-server-certs-dir", server)
            .flag("tls-client-certs-dir", client)
            .env("KUBECONFIG", management.kubeconfig_file())
            .env("POD_NAMESPACE", SYSTEM)
            .env("POD_SERVICE_ACCOUNT", "crossplane");
        if release == Release::V2_4 {
            // As docs/install.md says.
            program = program
                .flag("circuit-breaker-burst", "500")
                .flag("circuit-breaker-refill-rate", "5");
        }
        machine.start("crossplane", &program)?;
        eventually("Crossplane is ready", READY, async || {
            machine.check("crossplane")?;
            probe::ready(health).await
        })
        .await?;

        let webhooks_of = release
            .module()
            .folder()?
            .join("cluster/webhookconfigurations");
        for file in release.webhooks() {
            let mut configurations = read(&webhooks_of.join(file))?;
            for configuration in &mut configurations {
                reach_webhooks_on_loopback(configuration, webhooks, authority.certificate())
                    .with_context(|| format!("in {file}"))?;
            }
            management.install(&configurations).await?;
        }
        Ok(Self {
            machine: machine.clone(),
            management: management.clone(),
            release,
        })
    }

    /// Registers with Crossplane that the function of that name answers at an address, `ip:port`, as if a package had brought it.
    pub async fn register_function(&self, name: &str, address: &str) -> Result<()> {
        let revision = format!("{name}-1");
        // Crossplane routes by the label. Paused, it never looks for the image, which is nowhere.
        let manifest = json!({
            "metadata": {
                "labels": {"pkg.crossplane.io/package": name},
                "annotations": {"crossplane.io/paused": "true"},
            },
            "spec": {"desiredState": "Active", "revision": 1, "image": format!("127.0.0.1:1/lab/{name}:v0")},
        });
        self.management
            .put(FUNCTION_REVISION, &revision, manifest)
            .await?;
        let status = match self.release {
            Release::V1_20 => json!({ "endpoint": address }),
            Release::V2_4 => json!({ "endpoint": address, "capabilities": ["composition"] }),
        };
        self.management
            .set_status(FUNCTION_REVISION, &revision, status)
            .await?;
        Ok(())
    }

    /// Fine while the core runs.
    pub fn check(&self) -> Result<()> {
        self.machine.check("crossplane")
    }
}

impl Cluster {
    /// Installs Crossplane's own custom resource definitions, without Crossplane.
    pub async fn install_crossplane(&self, release: Release) -> Result<()> {
        let sources = release.module().folder()?;
        self.install_definitions(read_folder(&sources.join("cluster/crds"))?)
            .await
    }
}

/// What `crossplane core init` makes besides the definitions.
const PREREQUISITES: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: crossplane-system}
---
apiVersion: pkg.crossplane.io/v1beta1
kind: Lock
metadata: {name: lock}
---
apiVersion: pkg.crossplane.io/v1beta1
kind: DeploymentRuntimeConfig
metadata: {name: default}
";

/// Points each webhook of a configuration, written for a Service in the cluster, at a port of this machine.
fn reach_webhooks_on_loopback(
    configuration: &mut DynamicObject,
    port: u16,
    authority: &str,
) -> Result<()> {
    let webhooks = configuration.data["webhooks"]
        .as_array_mut()
        .context("no webhooks")?;
    for webhook in webhooks {
        let client = &mut webhook["clientConfig"];
        let path = client["service"]["path"]
            .as_str()
            .context("a webhook without a path")?;
        *client = on_loopback(port, path, authority);
    }
    Ok(())
}

/// How an API server reaches a webhook of this machine.
pub(crate) fn on_loopback(port: u16, path: &str, authority: &str) -> serde_json::Value {
    json!({
        "url": format!("https://127.0.0.1:{port}{path}"),
        "caBundle": ByteString(authority.as_bytes().to_vec()),
    })
}
