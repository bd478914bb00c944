//! The clusters that get what is composed, with the kinds that docs/install.md wants in each.

use std::collections::{BTreeMap, BTreeSet};

use lab::{
    Cluster, Context, Etcd, Garden, Machine, Release, Result, SHOOT, bail, ensure, shoot_faults,
};
use serde_json::{Value, json};

/// Every cluster that takes something composed, and what it was asked.
pub struct Consumers {
    /// The management cluster of Crossplane 1.20.
    pub claims: Cluster,
    /// The management cluster of Crossplane 2.4; it is the garden, too.
    pub namespaced: Cluster,
    control_plane: Cluster,
    hypervisor: Cluster,
    storage: Cluster,
    asked: BTreeSet<(String, String)>,
    namespaces: BTreeSet<(String, String)>,
    samples: BTreeMap<(String, String), (Cluster, Value)>,
    faults: Vec<String>,
}

impl Consumers {
    /// Starts them. Nothing runs in them: what is applied stays as it was applied.
    pub async fn start(machine: &Machine, garden: Garden) -> Result<Self> {
        let etcd = Etcd::start(machine)?;
        let (claims, namespaced, control_plane, hypervisor, storage) = tokio::try_join!(
            Cluster::start(machine, &etcd, "management-1.20"),
            Cluster::start(machine, &etcd, "management-2.4"),
            Cluster::start(machine, &etcd, "control-plane"),
            Cluster::start(machine, &etcd, "hypervisor"),
            Cluster::start(machine, &etcd, "storage"),
        )?;
        tokio::try_join!(
            claims.install_crossplane(Release::V1_20),
            claims.install_provider_kubernetes(Release::V1_20, machine.authority()),
            namespaced.install_crossplane(Release::V2_4),
            namespaced.install_provider_kubernetes(Release::V2_4, machine.authority()),
            garden.serve(machine, &etcd, &namespaced),
            control_plane.install_external_secrets(),
            hypervisor.install_external_secrets(),
            storage.install_external_secrets(),
            storage.install_rook(),
        )?;
        for (cluster, definition) in [
            (&control_plane, "controlplanes.c5c3.io"),
            (&hypervisor, "hypervisorpools.hypervisor.c5c3.io"),
            (&hypervisor, "hypervisorshares.hypervisor.c5c3.io"),
        ] {
            cluster
                .apply_files(format!(
                    "package/charts/c5c3-crds/definitions/{definition}.yaml"
                ))
                .await?;
        }
        Ok(Self {
            claims,
            namespaced,
            control_plane,
            hypervisor,
            storage,
            asked: BTreeSet::new(),
            namespaces: BTreeSet::new(),
            samples: BTreeMap::new(),
            faults: Vec::new(),
        })
    }

    /// The cluster behind a provider configuration of the examples.
    pub fn target(&self, provider_config: &str) -> Result<Cluster> {
        let cluster = match provider_config {
            "gardener" | "management" => &self.namespaced,
            "eu-de-1-control-plane" => &self.control_plane,
            pool if pool.starts_with("hv-") => &self.hypervisor,
            pool if pool.starts_with("st-") => &self.storage,
            other => bail!("no example has a cluster {other}"),
        };
        Ok(cluster.clone())
    }

    /// Asks a cluster whether it would take an object, unless it was asked before.
    pub async fn ask(&mut self, cluster: &Cluster, by: &str, object: &Value) -> Result<()> {
        let name = cluster.name().to_owned();
        if !self.asked.insert((name.clone(), object.to_string())) {
            return Ok(());
        }
        if let Some(namespace) = object["metadata"]["namespace"].as_str()
            && self.namespaces.insert((name.clone(), namespace.to_owned()))
        {
            let namespace =
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            cluster.apply(&namespace.to_string()).await?;
        }
        let kind = object["kind"]
            .as_str()
            .context("an object without a kind")?;
        let group = object["apiVersion"].as_str().unwrap_or_default();
        self.samples
            .entry((name, format!("{group} {kind}")))
            .or_insert_with(|| (cluster.clone(), object.clone()));
        if let Err(fault) = would_take(cluster, object).await {
            self.faults.push(format!("{by}: {fault:#}"));
        }
        Ok(())
    }

    /// Takes an object of each kind, spoils it by a misspelt field, and sees it refused: so no kind was taken unread.
    pub async fn refuse_what_is_misspelt(&mut self) -> Result<()> {
        for ((name, kind), (cluster, object)) in &self.samples {
            let mut spoilt = object.clone();
            spoilt["spec"]["failurDomain"] = json!("host");
            match would_take(cluster, &spoilt).await {
                Ok(()) => self
                    .faults
                    .push(format!("{name} takes a {kind} with spec.failurDomain")),
                Err(refusal) if format!("{refusal:#}").contains("failurDomain") => {}
                Err(other) => self
                    .faults
                    .push(format!("{kind} is refused for another reason: {other:#}")),
            }
        }
        Ok(())
    }

    /// The kinds that each cluster was asked for.
    pub fn kinds(&self) -> BTreeSet<(&str, &str)> {
        let kinds = self.samples.keys();
        kinds
            .map(|(cluster, kind)| (cluster.as_str(), kind.as_str()))
            .collect()
    }

    /// Everything that was refused.
    pub fn faults(&self) -> &[String] {
        &self.faults
    }
}

async fn would_take(cluster: &Cluster, object: &Value) -> Result<()> {
    if object["kind"] == SHOOT.kind {
        let faults = shoot_faults(&object.to_string())?;
        ensure!(faults.is_empty(), "{}", faults.join("; "));
    }
    cluster.would_apply(object).await.map(drop)
}
