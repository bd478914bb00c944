//! What a claim may ask for and this version doesn't deliver.

use c5c3_api::OpenStackClusterSpec;

/// Returns a sentence about what the claim asks for and doesn't get, for the claim's owner. Everything else is deployed.
pub fn unsupported(spec: &OpenStackClusterSpec) -> Option<String> {
    let (services, ceph) = (&spec.services, &spec.storage.ceph);
    let cortex = spec.cortex.as_ref();
    let requests = [
        (
            services.octavia,
            "spec.services.octavia",
            "no operator deploys Octavia",
        ),
        (
            services.manila,
            "spec.services.manila",
            "no operator deploys Manila",
        ),
        (
            cortex.is_some_and(|cortex| cortex.enabled),
            "spec.cortex.enabled",
            "no operator deploys Cortex",
        ),
        (
            ceph.filesystem.enabled && !services.manila,
            "spec.storage.ceph.filesystem.enabled",
            "users of the cloud reach the filesystem by Manila only, which no operator deploys",
        ),
        (
            ceph.object_store.enabled,
            "spec.storage.ceph.objectStore.enabled",
            "the object store has no users of Keystone and no entry in the catalogue",
        ),
    ];
    let unsupported = requests.iter().filter(|(requested, ..)| *requested);
    let each: Vec<String> = unsupported
        .map(|(_, field, why)| format!("{field}: {why}"))
        .collect();
    (!each.is_empty()).then(|| {
        format!(
            "this version doesn't support {}; set each to false; everything else is deployed",
            each.join("; ")
        )
    })
}
