//! What a claim's status says of Ceph.

use c5c3_api::openstack_cluster::{
    CephClientStatus, CephFilesystemStatus, CephPoolStatus, CephResources, ResourceStatus,
};
use c5c3_api::parts::Quantity;

use super::Recipe;
use super::ceph::Ceph;
use super::keys::secret_name;
use super::status::Findings;
use super::wanted::Client;
use crate::composed::Creation;
use crate::pools::Rbd;

impl Recipe<'_> {
    /// What is in Ceph; nothing before anything may be created there, nor for a claim whose namespace is another owner's.
    pub(super) fn ceph_resources(&self, findings: &Findings) -> Option<CephResources> {
        let ceph = &findings.ceph;
        let may_create =
            self.site.creation() == Creation::Allowed && !self.site.owner.root_is_foreign();
        if !may_create && !findings.control_plane.exists {
            return None;
        }
        let pool = |purpose: Rbd| {
            let worst = ceph
                .pools
                .iter()
                .filter(|((pool, _), _)| *pool == purpose)
                .map(|(_, status)| *status)
                .max_by_key(|status| badness(*status))?;
            Some(CephPoolStatus {
                name: Some(purpose.pool(&self.names)),
                status: Some(worst),
                ..CephPoolStatus::default()
            })
        };
        let quota = |purpose: Rbd| {
            let quotas = ceph.quotas.iter();
            let quotas = quotas.filter(|((pool, _), _)| *pool == purpose);
            let least = quotas.map(|(_, bytes)| *bytes).min_by(f64::total_cmp);
            least.and_then(exact)
        };
        let first = self.site.storages.first()?.name.name();
        let client = self.cluster.spec.services.cinder.then(|| CephClientStatus {
            name: Some(self.names.with(Client::Cinder.service())),
            secret_ref: Some(secret_name(Client::Cinder, first)),
        });
        Some(CephResources {
            volume_pool: pool(Rbd::Volumes).map(|pool| CephPoolStatus {
                quota_bytes: quota(Rbd::Volumes),
                available_bytes: self.available_bytes(ceph),
                ..pool
            }),
            image_pool: pool(Rbd::Images),
            ephemeral_pool: pool(Rbd::Ephemeral),
            backup_pool: pool(Rbd::Backups).map(|pool| CephPoolStatus {
                quota_bytes: quota(Rbd::Backups),
                ..pool
            }),
            filesystem: ceph.filesystem.map(|status| CephFilesystemStatus {
                name: Some(self.names.filesystem()),
                status: Some(status),
                mds_active: (status == ResourceStatus::Ready).then_some(1),
            }),
            client,
        })
    }

    /// Bytes left for volumes over all storage pools: what Ceph has free, by the copies kept, within the quota of each
    /// pool. None until a pool reports.
    fn available_bytes(&self, ceph: &Ceph) -> Option<u64> {
        let free = self.site.storages.iter().filter_map(|pool| {
            let composite = pool.composite.as_ref()?;
            let wanted = Rbd::Volumes.replication(&self.cluster.spec);
            let copies = composite.spec.copies(wanted);
            let capacity = composite.status.capacity.as_ref()?;
            let raw: Quantity = capacity.available.as_deref()?.parse().ok()?;
            let key = (Rbd::Volumes, pool.name.name().to_owned());
            let quota = ceph.quotas.get(&key).copied().unwrap_or(f64::INFINITY);
            Some((raw.amount() / f64::from(copies)).min(quota))
        });
        let free: Vec<f64> = free.collect();
        (!free.is_empty())
            .then(|| free.iter().sum())
            .and_then(exact)
    }
}

/// Returns so many bytes, unless they are more than a JSON number can hold exactly.
fn exact(bytes: f64) -> Option<u64> {
    (bytes <= (1_u64 << 53) as f64).then_some(bytes as u64)
}

/// The worst of several is what a user should see.
fn badness(status: ResourceStatus) -> u8 {
    match status {
        ResourceStatus::Ready => 0,
        ResourceStatus::Creating => 1,
        ResourceStatus::Degraded => 2,
        ResourceStatus::Failed => 3,
    }
}
