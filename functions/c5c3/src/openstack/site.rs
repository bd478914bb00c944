//! The clusters a claim names, and whether it may be served at all.

use std::iter;

use c5c3_api::{
    ControlPlaneClusterSpec, HypervisorClusterSpec, PoolName, Reason, StorageClusterSpec,
};
use function_protocol::{Fatal, Request, Response};

use super::OpenStackCluster;
use super::part::Part;
use super::resource::{CONTROL_PLANE, NAMESPACE};
use crate::composed::Creation;
use crate::input::OpenStackPresets;
use crate::observed;
use crate::ownership::Owner;
use crate::pools::{Named, Pool, Requester};

/// What a claim consumes, as found.
pub struct Site {
    /// Where the control plane runs.
    pub control_plane: Named<ControlPlaneClusterSpec>,
    /// Where its compute nodes are.
    pub hypervisors: Vec<Named<HypervisorClusterSpec>>,
    /// Where its data are; images and ephemeral disks in the first.
    pub storages: Vec<Named<StorageClusterSpec>>,
    /// For whom the claim composes.
    pub owner: Owner,
    /// Whether every cluster may be used.
    usable: bool,
    /// Whether every cluster may be asked for.
    eligible: bool,
    /// Whether the claim has been served before.
    started: bool,
}

impl Site {
    /// Reads the pools that the claim names.
    ///
    /// # Errors
    /// The claim names no pool, or one twice.
    pub fn resolve(
        cluster: &OpenStackCluster,
        presets: &OpenStackPresets,
        parts: &[Part],
        request: &Request,
        response: &mut Response,
    ) -> Result<Site, Fatal> {
        let spec = &cluster.spec;
        let requester = Requester {
            claim: &cluster.metadata,
            spec,
            pool_namespace: &presets.pool_namespace,
        };
        let name = spec
            .control_plane_cluster()
            .map_err(|error| Fatal::new(format!("spec.region: {error}")))?;
        let mut control_plane = requester.find(request, response, &name, 1)?;
        let mut hypervisors = find_all(
            &requester,
            request,
            response,
            spec.hypervisor_clusters
                .iter()
                .zip(parts.iter().map(|part| part.needed)),
            "hypervisorClusters",
        )?;
        let mut storages = find_all(
            &requester,
            request,
            response,
            spec.storage_clusters.iter().zip(iter::repeat(1)),
            "storageClusters",
        )?;
        let mut taken = Vec::new();
        control_plane.claim_nodes(&mut taken);
        hypervisors
            .iter_mut()
            .for_each(|pool| pool.claim_nodes(&mut taken));
        storages
            .iter_mut()
            .for_each(|pool| pool.claim_nodes(&mut taken));
        Ok(Site {
            owner: Owner::of(
                &cluster.metadata,
                observed::record(request, NAMESPACE).as_ref(),
            ),
            usable: control_plane.is_usable()
                && hypervisors.iter().all(Named::is_usable)
                && storages.iter().all(Named::is_usable),
            eligible: control_plane.is_eligible()
                && hypervisors.iter().all(Named::is_eligible)
                && storages.iter().all(Named::is_eligible),
            control_plane,
            hypervisors,
            storages,
            started: request.observed().contains_key(CONTROL_PLANE),
        })
    }

    /// Returns the hypervisor pools whose nodes are in another cluster than the control plane, in the claim's order.
    pub fn remote_hypervisors(&self) -> impl Iterator<Item = &Named<HypervisorClusterSpec>> {
        let control_plane = self.control_plane.name.name();
        let pools = self.hypervisors.iter();
        pools.filter(move |pool| pool.name.name() != control_plane)
    }

    /// Whether the claim has been served before.
    pub fn was_served(&self) -> bool {
        self.started
    }

    /// Whether the namespace may be created. It is observed before, while the claim asks its pools to admit it: once every
    /// pool could, so that a claim that can't be served counts nowhere.
    pub fn creation(&self) -> Creation {
        match (self.started || self.usable, self.eligible) {
            (true, _) => Creation::Allowed,
            (false, true) => Creation::Observed,
            (false, false) => Creation::Held,
        }
    }

    /// Whether the claim has its namespace, or may ask for it.
    pub fn wants_namespace(&self) -> bool {
        self.owner.owns_root() || self.creation() != Creation::Held
    }

    /// Whether something may be created in the namespace: once the namespace is this claim's.
    pub fn creation_in_namespace(&self) -> Creation {
        Creation::from(self.owner.owns_root() && self.creation() == Creation::Allowed)
    }

    /// Whether something may be created in a pool: at first only when all pools are there, later when this one is.
    pub fn creation_in<K: Pool>(&self, pool: &Named<K>) -> Creation {
        let usable = if self.started {
            pool.is_usable()
        } else {
            self.usable
        };
        Creation::from(self.owner.owns_root() && usable)
    }

    /// What is wrong with the clusters, for people. Waiting to be admitted is only said where nothing else is wrong.
    pub fn problems(&self) -> Vec<(Reason, String)> {
        let of_pools = [problem(&self.control_plane)].into_iter();
        let all: Vec<(bool, Reason, String)> = of_pools
            .chain(self.hypervisors.iter().map(problem))
            .chain(self.storages.iter().map(problem))
            .flatten()
            .collect();
        all.into_iter()
            .filter(|(is_eligible, _, _)| self.eligible || !is_eligible)
            .map(|(_, reason, explanation)| (reason, explanation))
            .collect()
    }
}

/// Whether a pool with a problem may be asked for, its reason and its explanation.
fn problem<K: Pool>(pool: &Named<K>) -> Option<(bool, Reason, String)> {
    let reason = pool.problem.as_ref()?.reason();
    Some((pool.is_eligible(), reason, pool.explanation()?))
}

fn find_all<'a, K: Pool>(
    requester: &Requester<'_>,
    request: &Request,
    response: &mut Response,
    needed: impl Iterator<Item = (&'a PoolName, u32)>,
    field: &str,
) -> Result<Vec<Named<K>>, Fatal> {
    let mut found: Vec<Named<K>> = Vec::new();
    for (name, hosts) in needed {
        if found
            .iter()
            .any(|earlier| earlier.name.name() == name.name())
        {
            return Err(Fatal::new(format!(
                "spec.{field} names {} twice; name each {} once",
                name.name(),
                K::NOUN
            )));
        }
        found.push(requester.find(request, response, name, hosts)?);
    }
    if found.is_empty() {
        return Err(Fatal::new(format!(
            "spec.{field} is empty; name at least one {}",
            K::NOUN
        )));
    }
    Ok(found)
}
