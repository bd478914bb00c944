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
    ControlPlaneClusterSpec, HypervisorClusterSpec, Kind, OpenStackClusterSpec, Reason,
    StorageClusterSpec,
};
use function_protocol::{Fatal, Function, Request, Response};
use serde::Deserialize;

/// How long an answer may be reused while something is awaited that Crossplane doesn't watch for us, such as a pool.
const WAITING: Duration = Duration::from_secs(15);

/// How long an answer may be reused once all is ready: how late a claim learns of a change in its pools, which core 1.20
/// doesn't watch.
const SETTLED: Duration = Duration::from_secs(30);

/// The function for all four claims.
#[derive(Clone, Copy, Debug, Default)]
pub struct Claims;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TypeMeta<'a> {
    #[serde(default)]
    api_version: &'a str,
    #[serde(default)]
    kind: &'a str,
}

impl Function for Claims {
    fn compose(&self, request: &Request, response: &mut Response) -> Result<(), Fatal> {
        recipe(request)
            .and_then(|compose| compose(request, response))
            .map_err(|fatal| fatal.shown_as("Accepted", Reason::Invalid.name()))
    }
}

/// Composes one kind.
type Recipe = fn(&Request, &mut Response) -> Result<(), Fatal>;

/// The recipe for the composite's kind.
fn recipe(request: &Request) -> Result<Recipe, Fatal> {
    let composite: TypeMeta<'_> = request.composite()?;
    if is::<OpenStackClusterSpec>(&composite) {
        Ok(openstack::compose)
    } else if is::<ControlPlaneClusterSpec>(&composite) {
        Ok(cluster::control_plane::compose)
    } else if is::<HypervisorClusterSpec>(&composite) {
        Ok(cluster::hypervisor::compose)
    } else if is::<StorageClusterSpec>(&composite) {
        Ok(cluster::storage::compose)
    } else {
        Err(Fatal::new(format!(
            "this function composes OpenStackCluster (c5c3.io/v1alpha1) and ControlPlaneCluster, HypervisorCluster and \
             StorageCluster (crossplane.c5c3.io/v1alpha1), not {} ({}); correct the Composition's compositeTypeRef",
            composite.kind, composite.api_version
        )))
    }
}

fn is<K: Kind>(composite: &TypeMeta<'_>) -> bool {
    composite.api_version == K::api_version()
        && (composite.kind == K::KIND || composite.kind.strip_prefix('X') == Some(K::KIND))
}
