//! A Nova that the claim disables while nodes may still have its servers.

use c5c3_api::hypervisor::{HypervisorShareSpec, HypervisorShareStatus};
use function_protocol::Request;

use super::OpenStackCluster;
use super::resource::{NAMESPACE, SHARE};
use crate::observed::{self, Observation, last_spec};
use crate::ownership::{Owner, Ownership};

/// Keeps Nova on, and what it needs, while the claim has a share with nodes: servers are deleted and moved by Nova's API, and a drain ends
/// when Nova says that a node has none. Returns whether it does.
pub fn keep(cluster: &mut OpenStackCluster, request: &Request) -> bool {
    let is_kept = !cluster.spec.services.nova && has_nodes(cluster, request);
    if is_kept {
        let services = &mut cluster.spec.services;
        (services.nova, services.glance, services.neutron) = (true, true, true);
    }
    is_kept
}

/// Whether a share of the claim has nodes or has lost some, as far as is known.
fn has_nodes(cluster: &OpenStackCluster, request: &Request) -> bool {
    let namespace = observed::record(request, NAMESPACE);
    let owner = Owner::of(&cluster.metadata, namespace.as_ref());
    let observed = request.observed().iter();
    let mut shares = observed.filter(|(name, _)| name.starts_with(SHARE));
    shares.any(|(name, object)| {
        let share: Observation<HypervisorShareStatus> = Observation::of(Some(object));
        let ownership = owner.ownership("", "", share.record.as_ref());
        // A Usage's name can start with the same prefix; only a share has such a spec.
        last_spec::<HypervisorShareSpec>(request, name).is_some()
            && !matches!(ownership, Ownership::Foreign(_))
            && !share.status.is_empty()
    })
}
