//! What a claim may ask for and this version doesn't deliver.

use c5c3_api::OpenStackClusterSpec;
use c5c3_api::unsupported::{Unsupported, sentence};

/// Returns a sentence about what the claim asks for and doesn't get, for the claim's owner. Everything else is deployed.
pub fn unsupported(spec: &OpenStackClusterSpec) -> Option<String> {
    let (services, ceph) = (&spec.services, &spec.storage.ceph);
    let cortex = spec.cortex.as_ref();
    let requests = [
        (
            services.octavia,
            "spec.services.octavia",
            Unsupported::Octavia,
        ),
        (services.manila, "spec.services.manila", Unsupported::Manila),
        (
            cortex.is_some_and(|cortex| cortex.enabled),
            "spec.cortex.enabled",
            Unsupported::Cortex,
        ),
        (
            ceph.filesystem.enabled && !services.manila,
            "spec.storage.ceph.filesystem.enabled",
            Unsupported::Filesystem,
        ),
        (
            ceph.object_store.enabled,
            "spec.storage.ceph.objectStore.enabled",
            Unsupported::ObjectStore,
        ),
    ];
    sentence(&requests, "set each to false")
}
