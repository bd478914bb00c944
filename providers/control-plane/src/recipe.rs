//! One control plane, and what everything of it is called.

use std::iter;

use c5c3_api::control_plane::{CephPoolNames, ControlPlaneServices, ControlPlaneSpec, Korc};
use c5c3_api::hypervisor::FIRST_CELL;
use c5c3_api::parts::Exposure;
use provider_composer::{Key, ObservedState, Owner, Resource, ResourceKind, Subject};
use provider_openstack::{ServiceDefinition, in_cluster};

use crate::graph::{Graph, Node, definition};

/// The resource that all is composed for.
pub type ControlPlane = Subject<ControlPlaneSpec>;

/// One control plane, as every part of the recipe looks at it.
pub struct Recipe<'a> {
    /// The resource.
    pub subject: &'a ControlPlane,
    /// The observed state.
    pub observed: &'a ObservedState<'a>,
    /// What it consists of.
    pub graph: Graph,
    /// Its services, by whichever name they are called.
    pub services: ControlPlaneServices,
    /// Its catalogue.
    pub korc: Korc,
    /// The external network that tests use, once it is there.
    pub tested_network: Option<String>,
}

impl<'a> Recipe<'a> {
    /// What is to be made of a control plane.
    pub fn of(subject: &'a ControlPlane, observed: &'a ObservedState<'a>) -> Self {
        Self {
            subject,
            observed,
            graph: Graph::of(&subject.spec),
            services: subject.spec.services(),
            korc: subject.spec.korc(),
            tested_network: None,
        }
    }

    /// The namespace that everything lives in.
    pub fn namespace(&self) -> &str {
        self.subject.namespace()
    }

    /// Keystone's region.
    pub fn region(&self) -> &str {
        &self.spec().global.region
    }

    /// The services of the catalogue that run, Keystone first.
    pub fn enabled(&self) -> impl Iterator<Item = &'static ServiceDefinition> {
        let each = self.graph.steps();
        each.filter_map(|step| definition(step.node))
    }

    /// The URL of a service's API within the cluster, as the catalogue has it, for instance
    /// `https://keystone.openstack.svc.cluster.local:5000/v3`.
    pub fn endpoint(&self, service: &ServiceDefinition) -> String {
        format!("{}{}", self.url(service.name, service.port()), service.path)
    }

    /// The URL of a service's API for those outside the cluster; the same where it isn't exposed.
    pub fn public_endpoint(&self, service: &ServiceDefinition) -> String {
        let said = self.services.overrides(service.name);
        match said.and_then(|said| said.expose.as_ref()) {
            Some(exposed) => exposed.url() + service.path,
            None => self.endpoint(service),
        }
    }

    /// Nova's cells, each with how browsers reach the consoles of its servers. The first has the hosts of all pools that no other cell has.
    /// There are none without Nova.
    pub fn cells(&self) -> impl Iterator<Item = (&str, Option<&Exposure>)> {
        let first = (FIRST_CELL, self.services.nova.consoles.as_ref());
        let compute = self.spec().compute.iter();
        let others = compute.flat_map(|compute| &compute.cells);
        let others = others.map(|cell| (cell.name.as_str(), cell.consoles.as_ref()));
        let all = iter::once(first).chain(others);
        all.filter(|_| self.graph.contains(Node::Nova))
    }

    /// The URL of an API within the cluster, by the name of its Service.
    pub(crate) fn url(&self, name: &str, port: u16) -> String {
        let scheme = match self.spec().global.tls.enabled {
            true => "https",
            false => "http",
        };
        let host = in_cluster(name, self.namespace());
        format!("{scheme}://{host}:{port}")
    }

    /// The objects of these kinds that were composed for the control plane, by the owner's labels: none of a kind that isn't installed.
    ///
    /// # Errors
    /// A kind can't be read; the message says why.
    pub(crate) fn composed(
        &self,
        kinds: impl IntoIterator<Item = ResourceKind>,
    ) -> Result<Vec<Key>, String> {
        let owner = Owner::of(ControlPlane::KIND, &self.subject.metadata);
        let mut all = Vec::new();
        let is_installed =
            |kind: &ResourceKind| self.observed.is_installed(*kind, self.namespace());
        for kind in kinds.into_iter().filter(is_installed) {
            let keys = self.observed.keys(kind, self.namespace(), &owner.labels());
            all.extend(keys.known()?.unwrap_or_default());
        }
        Ok(all)
    }

    /// What is wanted.
    pub(crate) fn spec(&self) -> &'a ControlPlaneSpec {
        &self.subject.spec
    }

    /// Names of the pools in Ceph, as far as they are said.
    pub(crate) fn pools(&self) -> Option<&'a CephPoolNames> {
        let ceph = self.spec().storage.as_ref()?.ceph.as_ref()?;
        Some(&ceph.pools)
    }
}
