//! A site on which claims are made: definitions and Compositions installed, kubeconfigs handed out.

mod certificates;
mod cloud_site;
mod credentials;
mod operators;
mod rook;
mod running;
mod secrets;
mod tenant;
mod unreported;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::ByteString;
use kube::core::DynamicObject;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::ceph::Ceph;
use crate::cluster::Cluster;
use crate::lab::Lab;
use crate::objects::{Kind, SECRET, find_condition, is, kind};
use crate::provider::{NAMESPACED_OBJECT, OBJECT};
use crate::{eventually, minutes, seconds};

pub use cloud_site::{
    CloudSite, DATABASE_USER, MESSAGING_USER, SERVICE_USER, SERVICES, Settings, public_host,
    public_hosts,
};
pub use operators::Simulated;
pub use running::{OPERATORS_OF_CONTROL_PLANES, RunningOperators};
pub use tenant::tenant;

/// Which set of definitions is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// Claims, with cluster-scoped composites behind them.
    Claims,
    /// Namespaced composites.
    Namespaced,
}

/// The tenant's kind, the same in both generations.
pub const OPENSTACK: Kind = kind("c5c3.io/v1alpha1", "OpenStackCluster");
/// A hypervisor pool.
pub const HYPERVISORS: Kind = kind("crossplane.c5c3.io/v1alpha1", "HypervisorCluster");
/// A storage pool.
pub const STORAGE: Kind = kind("crossplane.c5c3.io/v1alpha1", "StorageCluster");
/// A control plane cluster.
pub const CONTROL_PLANE_CLUSTER: Kind = kind("crossplane.c5c3.io/v1alpha1", "ControlPlaneCluster");
/// What users apply.
pub const KINDS: [Kind; 4] = [OPENSTACK, CONTROL_PLANE_CLUSTER, HYPERVISORS, STORAGE];
/// A definition of a claim, with a cluster-scoped composite behind it.
pub const CLAIM_DEFINITION: Kind = kind(
    "apiextensions.crossplane.io/v1",
    "CompositeResourceDefinition",
);
/// A definition of a namespaced composite.
pub const NAMESPACED_DEFINITION: Kind = kind(
    "apiextensions.crossplane.io/v2",
    "CompositeResourceDefinition",
);
/// What the c5c3-operator reconciles.
pub const CONTROL_PLANE: Kind = kind("c5c3.io/v1alpha1", "ControlPlane");
/// A part of a hypervisor pool.
pub const SHARE: Kind = kind("hypervisor.c5c3.io/v1alpha1", "HypervisorShare");
/// An RBD pool.
pub const BLOCK_POOL: Kind = kind("ceph.rook.io/v1", "CephBlockPool");
/// A user of Ceph.
const CEPH_CLIENT: Kind = kind("ceph.rook.io/v1", "CephClient");
/// Takes a Secret to the site's secret store.
const PUSH_SECRET: Kind = kind("external-secrets.io/v1alpha1", "PushSecret");
/// Makes a Secret of what is there.
pub const EXTERNAL_SECRET: Kind = kind("external-secrets.io/v1", "ExternalSecret");
/// A Ceph cluster.
pub const CEPH: Kind = kind("ceph.rook.io/v1", "CephCluster");
/// A namespace.
pub const NAMESPACE: Kind = kind("v1", "Namespace");

/// How long nothing is asked after an attempt that failed where pods run, which need the processors themselves.
const PAUSE: Duration = seconds(2);

/// The annotation by which a resource is composed again.
const NOTE: &str = "lab.c5c3.io/composed";

/// A lab with the project installed.
pub struct Site<'a> {
    /// Where it is.
    pub lab: &'a Lab,
    /// What is installed.
    pub generation: Generation,
    /// What runs beside Crossplane.
    pub runs: Runs,
}

/// What runs on a site beside Crossplane. All else is simulated.
pub enum Runs {
    /// Nothing.
    Crossplane(Simulated),
    /// Our operators.
    Operators(Box<RunningOperators>),
    /// All operators but Gardener and Rook, pods, and a Ceph behind each storage cluster.
    Pods(Vec<(Cluster, Ceph)>),
}

impl<'a> Site<'a> {
    /// Installs all that claims need.
    pub async fn build(lab: &'a Lab, generation: Generation) -> Result<Self> {
        let site = Site {
            lab,
            generation,
            runs: Runs::Crossplane(Simulated::default()),
        };
        let version = match generation {
            Generation::Claims => "v1",
            Generation::Namespaced => "v2",
        };
        lab.management
            .apply_files(format!("xrds/{version}"))
            .await?;
        lab.management
            .apply_files(format!("compositions/{version}"))
            .await?;
        tokio::try_join!(
            lab.control_plane.install_our_kinds(),
            lab.hypervisor.install_our_kinds()
        )?;
        // For hv-pool-b. A storage cluster has none of our kinds.
        for plural in ["hypervisorpools", "hypervisorshares"] {
            let file = format!("{plural}.hypervisor.c5c3.io.yaml");
            let file = format!("package/charts/c5c3-crds/definitions/{file}");
            lab.storage.apply_files(file).await?;
        }
        lab.storage.put_namespace("rook-ceph").await?;
        for namespace in [
            "infrastructure",
            "tenant-customer-a",
            "tenant-customer-b",
            "tenant-finance",
            "tenant-z",
        ] {
            lab.management.put_namespace(namespace).await?;
        }
        lab.provider.connect("gardener", &lab.garden).await?;
        lab.provider.connect("management", &lab.management).await?;
        // Each pool that scenarios share has an API server of its own, so that an object of one is not another's.
        for (name, cluster) in [
            ("eu-de-1-control-plane", &lab.control_plane),
            ("hv-pool-a", &lab.hypervisor),
            ("hv-pool-b", &lab.storage),
            ("hv-pool-compliance", &lab.control_plane),
            ("st-pool-a", &lab.storage),
        ] {
            lab.provider.give_kubeconfig(name, cluster).await?;
        }
        for kind in KINDS {
            eventually(
                &format!("{} is served", kind.kind),
                minutes(2),
                async || lab.management.list(kind, "").await.map(drop),
            )
            .await?;
        }
        Ok(site)
    }

    /// Starts our operators, for the control plane in a namespace.
    pub async fn run_operators(&mut self, namespace: &str) -> Result<()> {
        let operators = RunningOperators::start(self.lab, namespace).await?;
        self.runs = Runs::Operators(Box::new(operators));
        Ok(())
    }

    /// Our operators, and what is simulated beside them.
    ///
    /// # Errors
    /// When they don't run, or pods do, too.
    pub fn operators(&self) -> Result<&RunningOperators> {
        match &self.runs {
            Runs::Operators(operators) => Ok(operators),
            Runs::Crossplane(_) | Runs::Pods(_) => bail!("our operators don't run, or pods do"),
        }
    }

    /// The storage clusters, with what is behind them.
    ///
    /// # Errors
    /// When nothing is.
    pub fn storages(&self) -> Result<&[(Cluster, Ceph)]> {
        match &self.runs {
            Runs::Pods(storages) => Ok(storages),
            Runs::Crossplane(_) | Runs::Operators(_) => bail!("there is no Ceph"),
        }
    }

    /// Applies a claim of examples/.
    pub async fn claim(&self, file: &str) -> Result<()> {
        self.lab
            .management
            .apply_files(format!("examples/{file}.yaml"))
            .await
            .map(drop)
    }

    /// Waits, with the foreign operators at work, until something holds. Pods take longer than what is simulated.
    pub async fn until<T>(&self, what: &str, attempt: impl AsyncFn() -> Result<T>) -> Result<T> {
        let most = match self.runs {
            Runs::Pods(_) => minutes(40),
            Runs::Crossplane(_) | Runs::Operators(_) => minutes(8),
        };
        eventually(what, most, async || {
            self.lab.machine.check("crossplane")?;
            self.lab.provider.check()?;
            self.work().await?;
            let attempted = attempt().await;
            if attempted.is_err() && matches!(self.runs, Runs::Pods(_)) {
                sleep(PAUSE).await;
            }
            attempted
        })
        .await
    }

    /// Does the work of the simulated operators once.
    pub async fn work(&self) -> Result<()> {
        operators::work(self.lab, &self.runs).await
    }

    /// The resource that a user applied.
    pub async fn get(&self, kind: Kind, name: &str) -> Result<DynamicObject> {
        self.lab.management.get(kind, name).await
    }

    /// Returns the values of a claim's Secret for its tenant, `namespace/name`, once it has the authority of the public certificates.
    pub async fn credentials(&self, secret: &str) -> Result<BTreeMap<String, ByteString>> {
        self.until("the tenant's Secret has an authority", async || {
            let found = self.get(SECRET, secret).await?;
            let values = found.data["data"].clone();
            let values: BTreeMap<String, ByteString> = serde_json::from_value(values)?;
            let keys = values.keys();
            ensure!(values.contains_key("cacert"), "it has {keys:?}");
            Ok(values)
        })
        .await
    }

    /// Waits until a user's resource is in a phase, and answers with it.
    pub async fn phase(&self, kind: Kind, name: &str, phase: &str) -> Result<DynamicObject> {
        self.until(&format!("{name} is {phase}"), async || {
            let resource = self.get(kind, name).await?;
            let now = text(&resource.data, "/status/phase");
            ensure!(
                now == phase,
                "{name} is {now:?}: {}",
                resource.data["status"]
            );
            if phase == "Ready" {
                is(&resource, "Ready")?;
            }
            Ok(resource)
        })
        .await
    }

    /// The composite behind a user's resource.
    pub async fn composite(&self, kind: Kind, name: &str) -> Result<DynamicObject> {
        let resource = self.get(kind, name).await?;
        match self.generation {
            Generation::Namespaced => Ok(resource),
            Generation::Claims => {
                let composite = text(&resource.data, "/spec/resourceRef/name");
                self.lab
                    .management
                    .get(self.composite_kind(kind), &composite)
                    .await
            }
        }
    }

    /// What the composite of a kind is called.
    pub fn composite_kind(&self, claim: Kind) -> Kind {
        match (self.generation, claim.kind) {
            (Generation::Namespaced, _) => claim,
            (_, "OpenStackCluster") => kind("c5c3.io/v1alpha1", "XOpenStackCluster"),
            (_, "HypervisorCluster") => kind("crossplane.c5c3.io/v1alpha1", "XHypervisorCluster"),
            (_, "StorageCluster") => kind("crossplane.c5c3.io/v1alpha1", "XStorageCluster"),
            _ => kind("crossplane.c5c3.io/v1alpha1", "XControlPlaneCluster"),
        }
    }

    /// The Objects and Usages that Crossplane composed for a user's resource.
    pub async fn composed(&self, composite: &str) -> Result<Vec<DynamicObject>> {
        let (object, usage) = match self.generation {
            Generation::Claims => (OBJECT, kind("apiextensions.crossplane.io/v1beta1", "Usage")),
            Generation::Namespaced => (
                NAMESPACED_OBJECT,
                kind("protection.crossplane.io/v1beta1", "Usage"),
            ),
        };
        let selector = format!("crossplane.io/composite={composite}");
        let mut composed = self.lab.management.list(object, &selector).await?;
        composed.extend(self.lab.management.list(usage, &selector).await?);
        Ok(composed)
    }

    /// Has a user's resource composed three times more, by notes on it that change nothing: the second time begins after this is called, and
    /// has ended when the third one begins. Crossplane hands on a claim's notes to the composite, so that each makes a version of it.
    pub async fn composed_again(&self, kind: Kind, name: &str) -> Result<()> {
        let metadata = self.composite(kind, name).await?.metadata;
        let place = [metadata.namespace, metadata.name].into_iter().flatten();
        let place = place.collect::<Vec<_>>().join("/");
        let subject = format!("{} {place}", self.composite_kind(kind).kind);
        for _ in 0..3 {
            let before = self.lab.function.composed(&subject)?;
            let note = json!({"metadata": {"annotations": {NOTE: before.to_string()}}});
            self.lab.management.edit(kind, name, note).await?;
            self.until(&format!("{name} is composed again"), async || {
                let now = self.lab.function.composed(&subject)?;
                ensure!(now > before, "{subject} was composed in {now} versions");
                Ok(())
            })
            .await?;
        }
        Ok(())
    }

    /// Fine when a condition has that status and reason, and its message holds a text.
    pub async fn says(&self, name: &str, type_: &str, reason: &str, message: &str) -> Result<()> {
        self.until(&format!("{name} says {reason}"), async || {
            let resource = self.get(OPENSTACK, name).await?;
            let found = find_condition(&resource, type_);
            let found = found
                .with_context(|| format!("no condition {type_}: {}", resource.data["status"]))?;
            ensure!(
                found["reason"] == reason && text(found, "/message").contains(message),
                "it says {found}"
            );
            Ok(())
        })
        .await
    }
}

/// A text in a value, or nothing.
pub fn text(value: &Value, pointer: &str) -> String {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}
