//! The path of what agents on hypervisors need: pushed from the control plane's cluster into a secret store, pulled from it
//! into the cluster of each hypervisor pool. No value passes through this function.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::HypervisorClusterSpec;
use c5c3_api::control_plane::ComputeCell;
use c5c3_api::hypervisor::{AGENTS, CELL, FIRST_CELL};
use c5c3_kinds::external_secrets::{ExternalSecret, PushSecret};
use function_protocol::{Fatal, Request};

use super::Recipe;
use super::control_plane::is_active;
use crate::composed::{Composed, REFRESH};
use crate::manifest::Manifest;
use crate::pools::Named;

/// The ControlPlane's condition that holds once Nova has all its cells.
const NOVA_READY: &str = "NovaReady";

/// A Secret that an operator writes beside the control plane, for agents.
struct Source {
    /// Its name.
    name: String,
    /// The ControlPlane's condition that holds once the Secret is there.
    condition: &'static str,
    /// The labels by which the hypervisor-pool-operator finds it.
    labels: BTreeMap<&'static str, String>,
}

impl Source {
    fn new(name: impl Into<String>, condition: &'static str, agents: &str) -> Self {
        Self {
            name: name.into(),
            condition,
            labels: BTreeMap::from([(AGENTS, agents.to_owned())]),
        }
    }

    /// What Nova writes for the nodes of a cell.
    fn of_cell(cell: &str) -> Self {
        let mut source = Self::new(format!("nova-{cell}-compute"), NOVA_READY, "nova");
        source.labels.insert(CELL, cell.to_owned());
        source
    }

    /// The cell whose nodes need it; none if all nodes do.
    fn cell(&self) -> Option<&str> {
        self.labels.get(CELL).map(String::as_str)
    }
}

/// Name of the composed resource for the namespace in a hypervisor pool's cluster.
pub fn namespace(pool: &str) -> String {
    format!("agents-namespace-{pool}")
}

impl Recipe<'_> {
    /// Wants the path of every Secret for agents, to each pool in another cluster than the control plane's. `cells` are those of Nova
    /// beside the first. Returns what isn't ready, in words.
    pub fn agents(
        &self,
        request: &Request,
        cells: &[ComputeCell],
        composed: &mut Composed<'_>,
    ) -> Result<Vec<String>, Fatal> {
        let control_plane = self.site.control_plane.name.name();
        let pools: Vec<_> = self.site.remote_hypervisors().collect();
        let mut sources = Vec::new();
        let mut waiting = Vec::new();
        let added = match cells {
            [] => BTreeSet::new(),
            _ => self.existing.cells_with(NOVA_READY, request),
        };
        let all = self.sources(cells).into_iter();
        for source in all.filter(|_| !pools.is_empty()) {
            let exists = match source.cell() {
                None | Some(FIRST_CELL) => self.existing.is_true(source.condition),
                Some(cell) => added.contains(cell),
            };
            let push = self.push_source(&source);
            let resource = format!("push-agents-{}", source.name);
            let creation = self
                .site
                .creation_in_namespace()
                .when(exists || composed.is_rendered());
            let pushed = composed.transfer(&resource, control_plane, push, creation)?;
            waiting.extend(pushed.waiting);
            sources.push((source, pushed.done));
        }
        for pool in pools {
            waiting.extend(self.pull_sources(pool, &sources, composed)?);
        }
        Ok(waiting)
    }

    /// Wants a namespace in a pool's cluster and, once it is this claim's, those Secrets in it that are pushed. It stays while
    /// there is a share, whose servers may run without Nova's API.
    fn pull_sources(
        &self,
        pool: &Named<HypervisorClusterSpec>,
        sources: &[(Source, bool)],
        composed: &mut Composed<'_>,
    ) -> Result<Vec<String>, Fatal> {
        let (cluster, creation) = (pool.name.name(), self.site.creation_in(pool));
        let resource = namespace(cluster);
        if sources.is_empty() && !composed.exists(&resource) {
            return Ok(Vec::new());
        }
        let manifest = self.namespace_manifest();
        let namespace = composed.object(&resource, cluster, manifest, creation, is_active)?;
        let creation = creation.when(composed.is_own(&namespace));
        let why = self.unusable(cluster, &namespace);
        let mut waiting: Vec<String> = why.into_iter().collect();
        let cell = self.cell(cluster, composed);
        let cell = cell.as_deref().unwrap_or(FIRST_CELL);
        let needs = |source: &Source| source.cell().is_none_or(|of| of == cell);
        for (source, pushed) in sources.iter().filter(|(source, _)| needs(source)) {
            let pull = self.pull_source(source);
            let resource = format!("pull-agents-{}-{cluster}", source.name);
            let pulled = composed.transfer(&resource, cluster, pull, creation.when(*pushed))?;
            waiting.extend(pulled.waiting);
        }
        Ok(waiting)
    }

    /// What the operators of Nova, Cinder, Neutron and OVN write for agents of this claim's ControlPlane.
    fn sources(&self, cells: &[ComputeCell]) -> Vec<Source> {
        let services = &self.cluster.spec.services;
        if !services.nova {
            return Vec::new();
        }
        let mut sources = vec![Source::of_cell(FIRST_CELL)];
        sources.extend(cells.iter().map(|cell| Source::of_cell(&cell.name)));
        if services.cinder {
            sources.push(Source::new("cinder-compute", "CinderReady", "cinder"));
        }
        if services.neutron {
            sources.push(Source::new("neutron-agent", "NeutronReady", "neutron"));
            sources.push(Source::new("ovn-chassis", "OVNReady", "ovn"));
        }
        sources
    }

    fn source_path(&self, source: &Source) -> String {
        self.path(format_args!("agents/{}", source.name))
    }

    fn push_source(&self, source: &Source) -> Manifest<PushSecret> {
        let (path, store) = (self.source_path(source), &self.presets.secret_store);
        let push = PushSecret::whole(source.name.clone(), path, store, REFRESH);
        Manifest::new(&self.names.namespace(), source.name.clone(), push)
    }

    fn pull_source(&self, source: &Source) -> Manifest<ExternalSecret> {
        let (path, store) = (self.source_path(source), &self.presets.secret_store);
        // Servers outlive a service that is disabled. The Secret is deleted with its namespace.
        let (name, policy, labels) = (source.name.clone(), "Orphan", source.labels.clone());
        let pull = ExternalSecret::whole(name, path, store, REFRESH, policy, labels);
        Manifest::new(&self.names.namespace(), source.name.clone(), pull)
    }
}
