//! A garden: a cluster that serves Shoots. Nothing creates machines for them: a scenario writes the status that Gardener would.

use std::time::Duration;

use anyhow::Result;
use k8s_openapi::ByteString;
use serde_json::json;

use crate::cluster::{Cluster, Etcd};
use crate::eventually;
use crate::machine::{Machine, Program};
use crate::objects::{Kind, is, kind};
use crate::tools::Tool;

/// How long it may take until the cluster in front serves its kinds.
const READY: Duration = Duration::from_secs(120);

/// A cluster that Gardener is asked for.
pub const SHOOT: Kind = kind("core.gardener.cloud/v1beta1", "Shoot");

/// Shoots without a schema.
const UNCHECKED: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: shoots.core.gardener.cloud
spec:
  group: core.gardener.cloud
  scope: Namespaced
  names: {kind: Shoot, plural: shoots, singular: shoot}
  versions:
  - name: v1beta1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

/// The project and landscapes that the Compositions' presets name.
const SITE: &str = include_str!("garden.yaml");

const API_SERVICE: Kind = kind("apiregistration.k8s.io/v1", "APIService");

/// The name of the Service that an API server behind another must have.
const SERVICE: &str = "gardener-apiserver.garden.svc";

/// Admission plugins that ask for parts of a landscape that the lab doesn't have: extensions of providers, and seeds.
const UNSERVED: &str = "ExtensionValidator";

/// What serves Shoots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Garden {
    /// The API server of the oldest Gardener that is supported, behind the cluster's. It decodes, defaults, admits and validates as
    /// Gardener does.
    Oldest,
    /// That of the newest.
    Newest,
    /// The cluster's own API server, which takes every Shoot as it is: [`shoot_faults`](crate::shoot_faults) says what Gardener
    /// would refuse.
    Unchecked,
}

impl Garden {
    /// Makes a cluster a garden.
    pub async fn serve(self, machine: &Machine, etcd: &Etcd, cluster: &Cluster) -> Result<()> {
        match self {
            Self::Oldest => start_gardener(Tool::GardenerOldest, machine, etcd, cluster).await,
            Self::Newest => start_gardener(Tool::GardenerNewest, machine, etcd, cluster).await,
            Self::Unchecked => {
                cluster.apply(UNCHECKED).await?;
                cluster.put_namespace("garden-c5c3").await?;
                eventually("the garden serves Shoots", READY, async || {
                    cluster.list(SHOOT, "").await.map(drop)
                })
                .await
            }
        }
    }
}

/// Starts Gardener's API server. The garden has the project and landscapes that the Compositions' presets name.
async fn start_gardener(
    tool: Tool,
    machine: &Machine,
    etcd: &Etcd,
    cluster: &Cluster,
) -> Result<()> {
    let authority = machine.authority();
    let certificates = authority.write(
        &authority.server(&[SERVICE])?,
        &machine.folder().join("gardener"),
    )?;
    let port = machine.port();
    let kubeconfig = cluster.kubeconfig_file();
    let program = Program::new(tool.path()?)
        .flag("etcd-servers", etcd.endpoint())
        .flag("etcd-prefix", "/gardener")
        .flag("bind-address", "127.0.0.1")
        .flag("secure-port", port.to_string())
        .flag("tls-cert-file", certificates.join("tls.crt"))
        .flag("tls-private-key-file", certificates.join("tls.key"))
        .flag("kubeconfig", kubeconfig)
        .flag("authentication-kubeconfig", kubeconfig)
        .flag("authorization-kubeconfig", kubeconfig)
        .flag("cluster-identity", "lab")
        .flag("disable-admission-plugins", UNSERVED)
        .flag("feature-gates", "InPlaceNodeUpdates=true");
    machine.start("gardener-apiserver", &program)?;

    let service = json!({"spec": {
        "type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}],
    }});
    cluster.put_namespace("garden").await?;
    let place = "garden/gardener-apiserver";
    cluster.put(kind("v1", "Service"), place, service).await?;
    for (group, version) in [
        ("core.gardener.cloud", "v1beta1"),
        ("security.gardener.cloud", "v1alpha1"),
    ] {
        let api_service = json!({"spec": {
            "group": group,
            "version": version,
            "groupPriorityMinimum": 10000,
            "versionPriority": 20,
            "caBundle": ByteString(authority.certificate().as_bytes().to_vec()),
            "service": {"name": "gardener-apiserver", "namespace": "garden", "port": port},
        }});
        let name = format!("{version}.{group}");
        cluster.put(API_SERVICE, &name, api_service).await?;
    }
    eventually("the garden serves Shoots", READY, async || {
        machine.check("gardener-apiserver")?;
        let served = cluster
            .get(API_SERVICE, "v1beta1.core.gardener.cloud")
            .await?;
        is(&served, "Available")
    })
    .await?;
    eventually("the garden has its project", READY, async || {
        cluster.apply(SITE).await
    })
    .await?;
    Ok(())
}
