//! The RBD pools of a claim in Ceph.

use c5c3_api::OpenStackClusterSpec;

use crate::names::Names;

/// What an RBD pool is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rbd {
    /// Cinder's volumes.
    Volumes,
    /// Glance's images.
    Images,
    /// Nova's ephemeral disks.
    Ephemeral,
    /// Backups of Cinder's volumes.
    Backups,
}

impl Rbd {
    /// All of them: no other is wanted.
    pub const ALL: [Rbd; 4] = [Rbd::Volumes, Rbd::Images, Rbd::Ephemeral, Rbd::Backups];

    /// Name of the pool in Ceph.
    pub fn pool(self, names: &Names<'_>) -> String {
        names.with(self.purpose())
    }

    /// Name of the composed resource in a cluster.
    pub fn resource(self, cluster: &str) -> String {
        format!("{}-{cluster}", self.purpose())
    }

    fn purpose(self) -> &'static str {
        match self {
            Rbd::Volumes => "volumes",
            Rbd::Images => "images",
            Rbd::Ephemeral => "ephemeral",
            Rbd::Backups => "backups",
        }
    }

    /// Copies that the claim asks for.
    pub fn replication(self, spec: &OpenStackClusterSpec) -> u32 {
        let ceph = &spec.storage.ceph;
        u32::from(match self {
            Rbd::Volumes => ceph.volume_pool.replication,
            Rbd::Images => ceph.image_pool.replication,
            Rbd::Ephemeral => ceph.ephemeral_pool.replication,
            Rbd::Backups => ceph.backup_pool.replication,
        })
    }
}
