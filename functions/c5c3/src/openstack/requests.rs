//! The claim's requests to be admitted by the clusters that it names.

use function_protocol::Fatal;

use super::Recipe;
use crate::composed::Composed;
use crate::pools::{Named, Pool, PoolRequest, request_name};

impl Recipe<'_> {
    /// Asks every cluster that the claim names to admit it.
    pub fn requests(&self, composed: &mut Composed<'_>) -> Result<(), Fatal> {
        if !self.site.asks() {
            return Ok(());
        }
        let share = &self.presets.size(self.cluster.spec.size)?.share;
        self.request(&self.site.control_plane, None, composed)?;
        for pool in &self.site.hypervisors {
            self.request(pool, Some(share.min_hosts), composed)?;
        }
        let ceph = &self.cluster.spec.storage.ceph;
        let copies = ceph
            .volume_pool
            .replication
            .max(ceph.image_pool.replication);
        for pool in &self.site.storages {
            self.request(pool, Some(copies.into()), composed)?;
        }
        Ok(())
    }

    fn request<K: Pool>(
        &self,
        pool: &Named<K>,
        min_hosts: Option<u32>,
        composed: &mut Composed<'_>,
    ) -> Result<(), Fatal> {
        let Some(composite) = &pool.composite else {
            return composed.keep_usage(&request_name::<K>(pool.name.name()));
        };
        if composite.metadata.uid.is_empty() {
            return Ok(());
        }
        let annotations = PoolRequest::annotations(&self.cluster.metadata, min_hosts);
        let reason = format!("an OpenStackCluster consumes this {}", K::NOUN);
        composed.request_pool::<K>(&composite.metadata, annotations, &reason)
    }
}
