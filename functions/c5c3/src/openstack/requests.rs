//! The claim's requests to be admitted by the clusters that it names.

use function_protocol::Request;

use super::Recipe;
use super::control_plane::NAMESPACE;
use crate::composite::Metadata;
use crate::manifest::ObjectMeta;
use crate::pools::{Named, Pool, ask, asked};

impl Recipe<'_> {
    /// Every cluster that the claim names, with the nodes that the claim needs there. Those of last time stay asked for
    /// while one of them can't be read, or while something is `retained` in them.
    pub fn requests(&self, retained: bool, request: &Request) -> ObjectMeta {
        let site = &self.site;
        let ceph = &self.cluster.spec.storage.ceph;
        let copies = ceph
            .volume_pool
            .replication
            .max(ceph.image_pool.replication);
        let control_plane = [(metadata(&site.control_plane), 1)].into_iter();
        let hypervisors = site.hypervisors.iter();
        let storages = site.storages.iter();
        let pools: Vec<(Option<&Metadata>, u32)> = control_plane
            .chain(hypervisors.map(|pool| (metadata(pool), self.site.min_hosts)))
            .chain(storages.map(|pool| (metadata(pool), copies.into())))
            .collect();
        let last = match retained || pools.iter().any(|(pool, _)| pool.is_none()) {
            true => asked(request, NAMESPACE),
            false => Default::default(),
        };
        let read = pools.into_iter();
        let read = read.filter_map(|(pool, hosts)| Some((pool?, hosts)));
        ask(&self.cluster.metadata, read, last)
    }
}

fn metadata<K: Pool>(pool: &Named<K>) -> Option<&Metadata> {
    Some(&pool.composite.as_ref()?.metadata)
}
