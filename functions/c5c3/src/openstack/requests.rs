//! The claim's requests to be admitted by the clusters that it names.

use function_protocol::Request;

use super::Recipe;
use super::resource::NAMESPACE;
use super::wanted::{Storage, Storages};
use crate::manifest::ObjectMeta;
use crate::pools::{Named, Pool, RequestedPool, last_requests, request_pools};

impl Recipe<'_> {
    /// Every cluster that the claim names and that could admit it, with the nodes that the claim needs there. Those of last
    /// time stay asked for while the claim names them, while one can't be read, and while the claim `holds` something in a
    /// cluster that it no longer names.
    pub fn requests(&self, storages: &Storages, holds: bool, request: &Request) -> ObjectMeta {
        let site = &self.site;
        // A pool has at least as many hosts as it keeps copies. Volumes and images are kept where their services are disabled.
        let ceph = &self.cluster.spec.storage.ceph;
        let retained = ceph
            .volume_pool
            .replication
            .max(ceph.image_pool.replication);
        let needed = |storage: &Storage| {
            let copies = storage.copies(&self.cluster.spec).into_iter();
            let copies = copies.map(|(_, copies)| copies);
            copies.fold(retained.into(), u32::max)
        };
        let control_plane = [requested(&site.control_plane, 1)].into_iter();
        let hypervisors = site.hypervisors.iter();
        let storages = site.storages.iter().zip(&storages.each);
        let pools: Vec<Option<RequestedPool<'_>>> = control_plane
            .chain(
                hypervisors
                    .zip(&self.parts)
                    .map(|(pool, part)| requested(pool, part.needed)),
            )
            .chain(storages.map(|(pool, storage)| requested(pool, needed(storage))))
            .collect();
        let keeps_all = holds || pools.iter().any(Option::is_none);
        let last = last_requests(request, NAMESPACE);
        let pools = pools.into_iter().flatten();
        request_pools(&self.cluster.metadata, pools, last, keeps_all)
    }
}

/// What is requested of a pool; none while the pool can't be read.
fn requested<K: Pool>(pool: &Named<K>, hosts: u32) -> Option<RequestedPool<'_>> {
    Some(RequestedPool {
        pool: &pool.composite.as_ref()?.metadata,
        hosts,
        is_eligible: pool.is_eligible(),
    })
}
