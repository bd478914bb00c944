//! Ephemeral storage of containers: their logs, what they write to their own file system, and the emptyDirs of their pod.
//!
//! The kubelet evicts a pod one of whose containers has more than its limit, and a pod that has, with its emptyDirs, more than the limits
//! of its containers together (pkg/kubelet/eviction/eviction_manager.go, `localStorageEviction`). Containers without a limit add nothing
//! to that sum, so that every container has one.

use c5c3_api::parts::Quantity;
use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::api::resource;

use super::{Mount, bound};

/// The name of the resource.
const EPHEMERAL_STORAGE: &str = "ephemeral-storage";
const GIB: u64 = 1 << 30;
/// The default request: the logs of a container, of which the kubelet keeps 50 MiB by default (`containerLogMaxSize` times
/// `containerLogMaxFiles`, <https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/>). Requests don't include volumes for
/// images: few nodes could run such a pod.
const REQUEST: &str = "64Mi";
/// The default limit besides large volumes: many times what logs, locks and temporary files have.
const LIMIT: u64 = 4 * GIB;

/// Adds the default request and limit of ephemeral storage, unless one of them is set. A request that is set alone gets the default
/// limit, or one as large as itself where it is larger.
pub fn with_ephemeral_storage(resources: ResourceRequirements) -> ResourceRequirements {
    with_volumes(resources, &[])
}

/// The same for a container with these volumes, whose sizes the limit includes.
pub(super) fn with_volumes(
    resources: ResourceRequirements,
    mounts: &[Mount],
) -> ResourceRequirements {
    let volumes = mounts.iter().map(Mount::ephemeral_bytes);
    let bytes = volumes.fold(LIMIT, u64::saturating_add);
    let limit = format!("{}Gi", bytes.div_ceil(GIB));
    let mut resources = bound(resources, (EPHEMERAL_STORAGE, REQUEST, &limit));
    let requests = resources.requests.as_ref();
    let request = requests.and_then(|requests| requests.get(EPHEMERAL_STORAGE));
    if let Some(request) = request.map(|request| request.0.clone()) {
        let amount = request.parse::<Quantity>();
        let limit = match amount.is_ok_and(|amount| amount.bytes() > bytes) {
            true => request,
            false => limit,
        };
        let limits = resources.limits.get_or_insert_default();
        let limits = limits.entry(EPHEMERAL_STORAGE.to_owned());
        limits.or_insert(resource::Quantity(limit));
    }
    resources
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
    use rstest::rstest;

    use super::*;
    use crate::pod::Source;

    fn amount(amount: &str) -> Option<BTreeMap<String, Quantity>> {
        let amounts = [(EPHEMERAL_STORAGE.to_owned(), Quantity(amount.to_owned()))];
        Some(amounts.into())
    }

    fn empty_dir(size_limit: Option<u64>) -> Source {
        Source::EmptyDir { size_limit }
    }

    fn limit(resources: &ResourceRequirements) -> Option<&str> {
        let limits = resources.limits.as_ref()?;
        limits.get(EPHEMERAL_STORAGE).map(|limit| limit.0.as_str())
    }

    #[rstest]
    #[case::no_volume(vec![], "4Gi")]
    #[case::small_volumes(vec![empty_dir(None), Source::Secret("keys".to_owned())], "4Gi")]
    #[case::persistent_volume(vec![Source::Claim("images".to_owned())], "4Gi")]
    #[case::size_limit(vec![empty_dir(None), empty_dir(Some(10 * GIB))], "14Gi")]
    #[case::part_of_a_gibibyte(vec![empty_dir(Some(10 * GIB + 1))], "15Gi")]
    #[case::images(vec![Source::Images, empty_dir(Some(GIB))], "2053Gi")]
    #[case::more_than_there_is(vec![empty_dir(Some(u64::MAX))], "17179869184Gi")]
    fn limit_of_ephemeral_storage_includes_volumes(
        #[case] sources: Vec<Source>,
        #[case] all: &str,
    ) {
        let mounts: Vec<Mount> = sources
            .into_iter()
            .map(|source| Mount {
                name: "volume".to_owned(),
                path: "/volume".to_owned(),
                source,
            })
            .collect();
        let resources = with_volumes(ResourceRequirements::default(), &mounts);
        assert_eq!(limit(&resources), Some(all));
        let requests = resources.requests.unwrap_or_default();
        assert_eq!(
            requests.get(EPHEMERAL_STORAGE),
            Some(&Quantity(REQUEST.to_owned()))
        );
    }

    #[rstest]
    #[case::limit(None, amount("1Gi"))]
    #[case::both(amount("1Gi"), amount("2Gi"))]
    fn ephemeral_storage_that_is_set_stays(
        #[case] requests: Option<BTreeMap<String, Quantity>>,
        #[case] limits: Option<BTreeMap<String, Quantity>>,
    ) {
        let set = ResourceRequirements {
            requests,
            limits,
            ..ResourceRequirements::default()
        };
        assert_eq!(with_ephemeral_storage(set.clone()), set);
    }

    /// Otherwise the limits of the other containers would be the limit of the pod.
    #[rstest]
    #[case::small("1Gi", empty_dir(None), "4Gi")]
    #[case::larger_than_the_default("50Gi", empty_dir(None), "50Gi")]
    #[case::within_the_volumes("50Gi", Source::Images, "2052Gi")]
    #[case::larger_than_the_volumes("3Ti", Source::Images, "3Ti")]
    fn request_of_ephemeral_storage_gets_a_limit(
        #[case] request: &str,
        #[case] source: Source,
        #[case] all: &str,
    ) {
        let mount = Mount {
            name: "volume".to_owned(),
            path: "/volume".to_owned(),
            source,
        };
        let set = ResourceRequirements {
            requests: amount(request),
            ..ResourceRequirements::default()
        };
        let resources = with_volumes(set, &[mount]);
        assert_eq!(limit(&resources), Some(all));
        assert_eq!(resources.requests, amount(request));
    }
}
