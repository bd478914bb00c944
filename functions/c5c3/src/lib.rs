//! The composers of the four claims: OpenStackCluster, ControlPlaneCluster, HypervisorCluster and StorageCluster.
//!
//! One function serves all four: [`Claims`] looks at the composite's kind and hands over to the recipe for it. What a
//! site decides (replicas for each size, Gardener's profiles, the secret store) comes from the Composition's input,
//! [`input`]. What is composed for whom is in each recipe's module: [`openstack`] and [`cluster`].

pub mod cluster;
mod composed;
mod composite;
pub mod input;
pub mod manifest;
mod names;
mod observed;
pub mod openstack;
mod ownership;
mod pools;
pub mod template;
mod transitions;
mod ttl;

use c5c3_api::{
    Claim, ControlPlaneClusterSpec, HypervisorClusterSpec, OpenStackClusterSpec, StorageClusterSpec,
};
use function_protocol::{Fatal, Function, Head, Request, Response};

/// The function for all four claims.
#[derive(Clone, Copy, Debug, Default)]
pub struct Claims;

impl Function for Claims {
    fn compose(&self, mut request: Request, response: &mut Response) -> Result<(), Fatal> {
        request.retain_observed(composed::is_composed);
        let composed = composed::observe_deleting(&mut request, response)
            .and_then(|()| compose(&request, response));
        composed.map_err(|fatal| transitions::invalid(fatal, response))
    }
}

fn compose(request: &Request, response: &mut Response) -> Result<(), Fatal> {
    let composite = request.head()?;
    let metadata = &composite.metadata;
    // Crossplane copies the status of a cluster-scoped composite resource to its claim, which has a generation of its own.
    if let (Some(_), Some(generation)) = (&metadata.namespace, metadata.generation) {
        response.observed_generation(generation);
    }
    recipe(composite)?(request, response)?;
    transitions::activity(response);
    Ok(())
}

/// Composes one kind.
type Recipe = fn(&Request, &mut Response) -> Result<(), Fatal>;

/// The recipe for the composite's kind.
fn recipe(composite: &Head) -> Result<Recipe, Fatal> {
    if is::<OpenStackClusterSpec>(composite) {
        Ok(openstack::compose)
    } else if is::<ControlPlaneClusterSpec>(composite) {
        Ok(cluster::control_plane::compose)
    } else if is::<HypervisorClusterSpec>(composite) {
        Ok(cluster::hypervisor::compose)
    } else if is::<StorageClusterSpec>(composite) {
        Ok(cluster::storage::compose)
    } else {
        Err(Fatal::new(format!(
            "this function composes OpenStackCluster (c5c3.io/v1alpha1) and ControlPlaneCluster, HypervisorCluster and \
             StorageCluster (crossplane.c5c3.io/v1alpha1), not {} ({}); correct the Composition's compositeTypeRef",
            composite.kind, composite.api_version
        )))
    }
}

fn is<K: Claim>(composite: &Head) -> bool {
    composite.api_version == K::api_version()
        && (composite.kind == K::KIND || composite.kind.strip_prefix('X') == Some(K::KIND))
}
