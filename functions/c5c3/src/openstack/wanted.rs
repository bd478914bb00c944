//! What a claim wants in each storage cluster.

use c5c3_api::{OpenStackClusterSpec, StorageClusterSpec};
use function_protocol::{Fatal, Request};

use super::OpenStackCluster;
use super::site::Site;
use crate::composed::{Composed, Creation};
use crate::input::StorageLimits;
use crate::observed::condition;
use crate::pools::{PLACEMENT_GROUPS, Rbd};

/// Longest name of a storage pool with volumes: the names of `cinder` and of its backend have 44 characters together (`LONGEST` of
/// provider-cinder).
const LONGEST_BACKEND: usize = 38;

/// Fewest copies of what a new claim stores: with one copy, its disk takes the data with it. Claims of earlier versions keep one copy
/// until they ask for more.
const LEAST_COPIES: u32 = 2;

/// Copies of what all claims have in common, where the pool has room for them: the claim that wants the fewest doesn't decide for all.
const COMMON_COPIES: u32 = 3;

/// Everything wanted in Ceph.
pub struct Storages {
    /// One for each storage pool, in the claim's order.
    pub each: Vec<Storage>,
}

/// What is wanted in one storage cluster.
pub struct Storage {
    /// The pool, which is the cluster's and the provider configuration's name.
    pub cluster: String,
    /// Its settings; none while it can't be read.
    pub spec: Option<StorageClusterSpec>,
    /// How many zones hold its data; each copy is in a zone of its own where there are several.
    pub zones: usize,
    /// Whether Ceph may refuse another pool, for want of placement groups.
    pub lacks_placement_groups: bool,
    /// Whether something new may be made in it.
    pub creation: Creation,
    /// The RBD pools.
    pub pools: Vec<Rbd>,
    /// Ceph's users.
    pub clients: Vec<Client>,
    /// Whether there is a filesystem.
    pub filesystem: bool,
    /// Whether there is an object store.
    pub object_store: bool,
}

/// The OpenStack service, or the part of one, that a Ceph user is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Client {
    /// Volumes.
    Cinder,
    /// Images.
    Glance,
    /// Disks of instances.
    Nova,
    /// Shares.
    Manila,
    /// Backups of volumes: cinder-backup reads and writes the volumes themselves as [`Client::Cinder`].
    Backup,
}

impl Client {
    /// All of them: no other is wanted.
    pub const ALL: [Client; 5] = [
        Client::Cinder,
        Client::Glance,
        Client::Nova,
        Client::Manila,
        Client::Backup,
    ];

    /// The service's name. No name is the beginning of another: names of composed resources continue with that of a storage pool.
    pub fn service(self) -> &'static str {
        match self {
            Client::Cinder => "cinder",
            Client::Glance => "glance",
            Client::Nova => "nova",
            Client::Manila => "manila",
            Client::Backup => "backup",
        }
    }

    /// Name of the composed resource in a cluster.
    pub fn resource(self, cluster: &str) -> String {
        format!("client-{}-{cluster}", self.service())
    }
}

impl Storages {
    /// What the claim wants in the storage clusters it names.
    ///
    /// # Errors
    /// A pool has fewer hosts than the claim wants copies, or too long a name for Cinder; or the claim doesn't name the one that is to
    /// have its backups, or may have none.
    pub fn of(
        cluster: &OpenStackCluster,
        limits: &StorageLimits,
        site: &Site,
        request: &Request,
    ) -> Result<Storages, Fatal> {
        let spec = &cluster.spec;
        let backups = backup_position(spec)?;
        let mut each = Vec::with_capacity(site.storages.len());
        for (position, pool) in site.storages.iter().enumerate() {
            let (first, has_backups) = (position == 0, backups == Some(position));
            let storage = Storage {
                cluster: pool.name.name().to_owned(),
                spec: pool
                    .composite
                    .as_ref()
                    .map(|composite| composite.spec.clone()),
                zones: pool
                    .composite
                    .as_ref()
                    .map_or(0, |composite| composite.status.zones.len()),
                lacks_placement_groups: pool.composite.as_ref().is_some_and(|composite| {
                    condition(&composite.status.conditions, PLACEMENT_GROUPS)
                        .is_some_and(|said| said.status == "False")
                }),
                creation: site.creation_in(pool),
                pools: rbd_pools(spec, first, has_backups),
                clients: clients(spec, first, has_backups),
                filesystem: first && (spec.services.manila || spec.storage.ceph.filesystem.enabled),
                object_store: first && spec.storage.ceph.object_store.enabled,
            };
            let volumes = Rbd::Volumes.resource(&storage.cluster);
            if spec.services.cinder && !request.observed().contains_key(&volumes) {
                storage.check_name()?;
            }
            let resource = Rbd::Backups.resource(&storage.cluster);
            let has_pool = request.observed().contains_key(&resource);
            if has_backups && limits.backups == Some(0) && !has_pool {
                return Err(Fatal::new(
                    "spec.storage.ceph.backupPool is enabled, and the site allows claims of this size no backups of volumes; set enabled \
                     to false, or ask the platform team for backupsGB of this size in the Composition's input",
                ));
            }
            storage.check_allowed(limits, request)?;
            storage.check(spec, if site.was_served() { 1 } else { LEAST_COPIES })?;
            each.push(storage);
        }
        Ok(Storages { each })
    }

    /// The storage clusters in which the claim has something, or may make it.
    pub fn served<'a>(&'a self, composed: &'a Composed<'_>) -> impl Iterator<Item = &'a Storage> {
        self.each
            .iter()
            .filter(|storage| storage.is_served(composed))
    }
}

impl Storage {
    /// Whether the claim has something in it, or may make it. Volumes and images are used without backups, too.
    pub fn is_served(&self, composed: &Composed<'_>) -> bool {
        let pools = self.pools.iter().copied();
        self.may_use(pools.filter(|pool| *pool != Rbd::Backups), composed)
    }

    /// Whether the claim has backups in it, or may create a pool for them.
    pub fn has_backups(&self, composed: &Composed<'_>) -> bool {
        self.pools.contains(&Rbd::Backups) && self.may_use([Rbd::Backups], composed)
    }

    /// Whether one of these pools exists, or all may be created. Where one does, services keep what they have, also when another one, that the
    /// claim asks for later, is another owner's.
    fn may_use(&self, pools: impl IntoIterator<Item = Rbd>, composed: &Composed<'_>) -> bool {
        let pools = pools.into_iter();
        let pools: Vec<String> = pools.map(|pool| pool.resource(&self.cluster)).collect();
        let may_create = self.creation == Creation::Allowed
            && !pools.iter().any(|pool| composed.is_foreign(pool));
        may_create || pools.iter().any(|pool| composed.exists(pool))
    }

    /// Whether data are kept in two zones, each of which may fail.
    pub fn is_stretched(&self) -> bool {
        self.spec
            .as_ref()
            .is_some_and(|spec| spec.arbiter_cluster.is_some())
    }

    /// Refuses a name that Cinder's operator refuses of a backend. Volumes that are there already are kept.
    fn check_name(&self) -> Result<(), Fatal> {
        let length = self.cluster.len();
        if length > LONGEST_BACKEND {
            return Err(Fatal::new(format!(
                "the name of storage pool {} has {length} characters, and at most {LONGEST_BACKEND} fit into the names of Cinder's pods; \
                 name another one",
                self.cluster
            )));
        }
        if self.cluster == "cinder" {
            return Err(Fatal::new(
                "the storage pool cinder can't be a backend of Cinder, whose own configuration file has this name: name another storage \
                 pool",
            ));
        }
        Ok(())
    }

    /// Refuses a filesystem and an object store that the site doesn't allow. Those that exist are kept.
    fn check_allowed(&self, limits: &StorageLimits, request: &Request) -> Result<(), Fatal> {
        let is_new = |part: &str| {
            let resource = format!("{part}-{}", self.cluster);
            !request.observed().contains_key(&resource)
        };
        if self.filesystem && !limits.filesystem && is_new("filesystem") {
            return Err(Fatal::new(
                "the site allows claims of this size no filesystem; set spec.services.manila and spec.storage.ceph.filesystem.enabled to \
                 false, or ask the platform team to set filesystem: true in storage of this size in the Composition's input",
            ));
        }
        if self.object_store && !limits.object_store && is_new("object-store") {
            return Err(Fatal::new(
                "the site allows claims of this size no object store; set spec.storage.ceph.objectStore.enabled to false, or ask the \
                 platform team to set objectStore: true in storage of this size in the Composition's input",
            ));
        }
        Ok(())
    }

    /// How many copies the claim keeps of what is in it, each with its field.
    pub fn copies(&self, claim: &OpenStackClusterSpec) -> Vec<(&'static str, u32)> {
        let ceph = &claim.storage.ceph;
        let pools = self.pools.iter().map(|pool| {
            let field = match pool {
                Rbd::Volumes => "volumePool.replication",
                Rbd::Images => "imagePool.replication",
                Rbd::Ephemeral => "ephemeralPool.replication",
                Rbd::Backups => "backupPool.replication",
            };
            (field, pool.replication(claim))
        });
        let mut copies: Vec<(&str, u32)> = pools.collect();
        if self.filesystem {
            let filesystem = &ceph.filesystem;
            copies.push((
                "filesystem.dataPoolReplication",
                filesystem.data_pool_replication.into(),
            ));
            copies.push((
                "filesystem.metadataPoolReplication",
                filesystem.metadata_pool_replication.into(),
            ));
        }
        if self.object_store {
            let replication = ceph.object_store.data_pool_replication;
            copies.push(("objectStore.dataPoolReplication", replication.into()));
        }
        copies
    }

    /// Where the pool keeps each copy, and the most copies that it has room for; none while it can't be read.
    fn room(&self) -> Option<(&'static str, u32)> {
        let hosts = self.spec.as_ref()?.workers;
        Some(match u32::try_from(self.zones) {
            Ok(zones @ 2..) if !self.is_stretched() => ("in a zone", zones),
            _ => ("on a host", hosts),
        })
    }

    /// The copies of what all claims have in common in the pool, for one that wants `copies`.
    pub fn common_copies(&self, copies: u32) -> u32 {
        let most = self.room().map_or(copies, |(_, most)| most);
        copies.max(most.min(COMMON_COPIES))
    }

    /// Refuses fewer copies than `least`, or more than the pool has room for.
    fn check(&self, claim: &OpenStackClusterSpec, least: u32) -> Result<(), Fatal> {
        let Some((domain, most)) = self.room() else {
            return Ok(());
        };
        match self
            .copies(claim)
            .into_iter()
            .find(|(_, copies)| *copies < least || *copies > most)
        {
            None => Ok(()),
            Some((field, copies)) => Err(Fatal::new(format!(
                "spec.storage.ceph.{field} is {copies}, and storage pool {} keeps each copy {domain} of its own \
                 and has {most}; choose {LEAST_COPIES} to {most}",
                self.cluster
            ))),
        }
    }
}

/// Whether the claim's users can back up volumes.
pub fn wants_backups(spec: &OpenStackClusterSpec) -> bool {
    spec.services.cinder && spec.storage.ceph.backup_pool.enabled
}

/// Which of the claim's storage pools has its backups, if it wants any.
fn backup_position(spec: &OpenStackClusterSpec) -> Result<Option<usize>, Fatal> {
    if !wants_backups(spec) {
        return Ok(None);
    }
    let Some(wanted) = &spec.storage.ceph.backup_pool.storage_cluster else {
        return Ok(Some(0));
    };
    let mut pools = spec.storage_clusters.iter();
    match pools.position(|pool| pool == wanted) {
        Some(position) => Ok(Some(position)),
        None => Err(Fatal::new(format!(
            "spec.storage.ceph.backupPool.storageCluster is {wanted}, which isn't in spec.storageClusters; write it as there, or keep \
             the pool while it has the backups"
        ))),
    }
}

fn rbd_pools(spec: &OpenStackClusterSpec, first: bool, backups: bool) -> Vec<Rbd> {
    let ephemeral = spec.services.nova && spec.storage.ceph.ephemeral_pool.enabled;
    let is_wanted = |pool: &Rbd| match pool {
        Rbd::Volumes => spec.services.cinder,
        Rbd::Images => spec.services.glance && first,
        Rbd::Ephemeral => ephemeral && first,
        Rbd::Backups => backups,
    };
    Rbd::ALL.into_iter().filter(is_wanted).collect()
}

fn clients(spec: &OpenStackClusterSpec, first: bool, backups: bool) -> Vec<Client> {
    let pools = rbd_pools(spec, first, backups);
    let disks = pools.contains(&Rbd::Volumes) || pools.contains(&Rbd::Ephemeral);
    let is_wanted = |client: &Client| match client {
        Client::Cinder => spec.services.cinder,
        Client::Glance => spec.services.glance && first,
        Client::Nova => spec.services.nova && disks,
        Client::Manila => spec.services.manila && first,
        Client::Backup => backups,
    };
    Client::ALL.into_iter().filter(is_wanted).collect()
}
