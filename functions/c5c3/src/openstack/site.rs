//! The clusters a claim names, and whether it may be served at all.

use c5c3_api::{
    ControlPlaneClusterSpec, HypervisorClusterSpec, OpenStackClusterSpec, PoolName,
    StorageClusterSpec,
};
use function_protocol::{Fatal, Request, Response};

use super::OpenStackCluster;
use crate::composed::Creation;
use crate::input::OpenStackPresets;
use crate::pools::{self, Asker, Named, Pool};

/// Name of the composed ControlPlane; while it exists, the claim has been served before.
pub const CONTROL_PLANE: &str = "control-plane";

/// What a claim consumes, as found.
pub struct Site {
    /// Where the control plane runs.
    pub control_plane: Named<ControlPlaneClusterSpec>,
    /// Where its compute nodes are.
    pub hypervisors: Vec<Named<HypervisorClusterSpec>>,
    /// Where its data are; images and ephemeral disks in the first.
    pub storages: Vec<Named<StorageClusterSpec>>,
    /// The elder claim of the same name, as `namespace/name`.
    pub name_taken_by: Option<String>,
    /// Whether the name is the claim's, as far as is known.
    served: bool,
    /// Whether every cluster may be used.
    usable: bool,
    /// Whether the claim has been served before.
    started: bool,
}

impl Site {
    /// Asks for everything the claim names.
    ///
    /// # Errors
    /// The claim names no pool, or one twice.
    pub fn survey(
        cluster: &OpenStackCluster,
        presets: &OpenStackPresets,
        request: &Request,
        response: &mut Response,
    ) -> Result<Site, Fatal> {
        let spec = &cluster.spec;
        let scope = cluster.metadata.scope();
        let consumer = cluster.metadata.consumer();
        let asker = Asker {
            scope,
            consumer: &consumer,
            region: &spec.region,
            pool_namespace: &presets.pool_namespace,
        };
        let mut control_plane = asker.find(request, response, &control_plane_cluster(spec)?)?;
        let mut hypervisors = find_all(
            &asker,
            request,
            response,
            &spec.hypervisor_clusters,
            "hypervisorClusters",
        )?;
        let mut storages = find_all(
            &asker,
            request,
            response,
            &spec.storage_clusters,
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
        let namesakes = pools::namesakes::<OpenStackClusterSpec>(
            scope,
            request,
            response,
            cluster.metadata.claim_name(),
        )?;
        let elder = namesakes
            .iter()
            .flatten()
            .min_by_key(|namesake| namesake.seniority());
        let elder = elder.filter(|elder| elder.seniority() < cluster.metadata.seniority());
        Ok(Site {
            served: namesakes.is_some() && elder.is_none(),
            usable: control_plane.is_usable()
                && hypervisors.iter().all(Named::is_usable)
                && storages.iter().all(Named::is_usable),
            control_plane,
            hypervisors,
            storages,
            name_taken_by: elder
                .map(|elder| format!("{}/{}", elder.claim_namespace(), elder.claim_name())),
            started: request.observed().contains_key(CONTROL_PLANE),
        })
    }

    /// Whether the namespace and the ControlPlane may be made.
    pub fn creation(&self) -> Creation {
        Creation::from(self.served && (self.started || self.usable))
    }

    /// Whether something may be made in a pool: at first only when all pools are there, later when this one is.
    pub fn creation_in<K: Pool>(&self, pool: &Named<K>) -> Creation {
        let usable = if self.started {
            pool.is_usable()
        } else {
            self.usable
        };
        Creation::from(self.served && usable)
    }

    /// What is wrong with the clusters, for people.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        fn of<K: Pool>(pool: &Named<K>) -> Option<(&'static str, String)> {
            Some((pool.problem.as_ref()?.reason(), pool.explanation()?))
        }
        let hypervisors = self.hypervisors.iter().filter_map(of);
        of(&self.control_plane)
            .into_iter()
            .chain(hypervisors)
            .chain(self.storages.iter().filter_map(of))
            .collect()
    }
}

/// The control plane cluster that a claim names, or its region's.
fn control_plane_cluster(spec: &OpenStackClusterSpec) -> Result<PoolName, Fatal> {
    match &spec.control_plane_cluster {
        Some(name) => Ok(name.clone()),
        None => format!("{}-control-plane", spec.region)
            .parse()
            .map_err(|error| Fatal::new(format!("spec.region: {error}"))),
    }
}

fn find_all<K: Pool>(
    asker: &Asker<'_>,
    request: &Request,
    response: &mut Response,
    names: &[PoolName],
    field: &str,
) -> Result<Vec<Named<K>>, Fatal> {
    if names.is_empty() {
        return Err(Fatal::new(format!(
            "spec.{field} is empty; name at least one {}",
            K::NOUN
        )));
    }
    let mut found = Vec::with_capacity(names.len());
    for (position, name) in names.iter().enumerate() {
        if names[..position]
            .iter()
            .any(|earlier| earlier.name() == name.name())
        {
            return Err(Fatal::new(format!(
                "spec.{field} names {} twice; name each {} once",
                name.name(),
                K::NOUN
            )));
        }
        found.push(asker.find(request, response, name)?);
    }
    Ok(found)
}
