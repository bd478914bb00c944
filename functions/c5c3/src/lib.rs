//! The composers of the four claims: OpenStackCluster, ControlPlaneCluster, HypervisorCluster and StorageCluster.
//!
//! One function serves all four: [`Claims`] looks at the composite's kind and hands over to the recipe for it. What a
//! site decides (replicas for each size, Gardener's profiles, where secrets travel) comes from the Composition's input,
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

use std::time::Duration;

use c5c3_api::{
    Claim, ControlPlaneClusterSpec, HypervisorClusterSpec, OpenStackClusterSpec, StorageClusterSpec,
};
use function_protocol::{Fatal, Function, Head, Request, Response};

/// How long a response may be reused while the claim waits for something that Crossplane before 2.4 doesn't watch, such as a pool.
const WAITING: Duration = Duration::from_secs(15);

/// How long a response may be reused once all is ready: how late a claim learns of a change in its pools, which Crossplane before 2.4
/// doesn't watch.
const SETTLED: Duration = Duration::from_secs(30);

/// The same where Crossplane watches the pools, in case that it misses a change.
const WATCHED_WAITING: Duration = Duration::from_secs(5 * 60);
const WATCHED_SETTLED: Duration = Duration::from_secs(4 * 60 * 60);

/// The function for all four claims.
#[derive(Clone, Copy, Debug, Default)]
pub struct Claims;

impl Function for Claims {
    fn compose(&self, mut request: Request, response: &mut Response) -> Result<(), Fatal> {
        request.retain_observed(composed::is_composed);
        let composed = compose(&request, response);
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

/// Sets how long Crossplane may reuse the response. Call it after all resources are required.
fn set_ttl(response: &mut Response, settled: bool) {
    response.ttl(match (response.is_watched(), settled) {
        (false, false) => WAITING,
        (false, true) => SETTLED,
        (true, false) => WATCHED_WAITING,
        (true, true) => WATCHED_SETTLED,
    });
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
