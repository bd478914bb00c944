//! RBD pools, users, the filesystem and the object store of one claim, in the storage clusters.

use std::collections::BTreeMap;

use c5c3_api::openstack_cluster::{Compression, ResourceStatus};
use c5c3_api::parts::name_of;
use c5c3_kinds::ceph::{
    CephBlockPool, CephClient, CephFilesystem, CephObjectStore, CephObjectStoreUser, ClientKey,
    ClientSecurity, DATA_KINDS, Gateway, MetadataServer, NAMESPACE, NamedPool, PhaseStatus,
    PodResources, Pool, Replicated,
};
use function_protocol::Fatal;
use serde::Serialize;

use super::Recipe;
use super::pool_quota::KeptQuota;
use super::wanted::{Client, Storage, Storages};
use crate::composed::Composed;
use crate::manifest::Manifest;
use crate::observed::Observation;
use crate::pools::Rbd;

/// Rook's phase of what it has reconciled, which an object keeps when its spec changes.
const READY: &str = "Ready";

/// Rook's phases of what it failed to reconcile and tries again (rook, pkg/apis/ceph.rook.io/v1/types.go; of users of object stores
/// pkg/operator/k8sutil/status.go).
const FAILED: [&str; 3] = ["Failure", "Error", "ReconcileFailed"];

/// What a tenant reads where Ceph may have refused a pool. The condition itself counts disks and other tenants' claims.
const TOO_FEW_PLACEMENT_GROUPS: &str = "; Ceph may have too few placement groups: the platform team sees PlacementGroupsAvailable of the \
                                        StorageCluster";

/// The keys of users. From 20.2.4 on, Ceph creates keys of the type `aes256k` unless another one is asked for, and only the libraries of
/// Ceph 19.2.6, 20.2.4 and newer can read these: those of Debian in the images of services and of libvirt are older
/// (<https://rook.io/docs/rook/latest-release/Storage-Configuration/Advanced/cephx-key-rotation/>).
const SECURITY: ClientSecurity = ClientSecurity {
    cephx: ClientKey { key_type: "aes" },
};

/// What is known of everything in Ceph.
#[derive(Default)]
pub struct Ceph {
    /// The RBD pools, by purpose and cluster.
    pub pools: BTreeMap<(Rbd, String), ResourceStatus>,
    /// The most bytes that each RBD pool may hold; infinite without a quota.
    pub quotas: BTreeMap<(Rbd, String), f64>,
    /// The quotas that are higher than what is wanted.
    pub kept_quotas: Vec<KeptQuota>,
    /// The filesystem.
    pub filesystem: Option<ResourceStatus>,
    /// What isn't ready, in words.
    pub waiting: Vec<String>,
}

/// Whether Rook has made what a composed resource wants for this claim, or would have when the claim is only rendered. What is ready may
/// be of another claim with the same name, in another control plane cluster.
pub fn is_ready(resource: &str, composed: &Composed<'_>) -> bool {
    let observation = composed.observation::<PhaseStatus>(resource);
    let is_made = status_of(&observation) == ResourceStatus::Ready;
    composed.is_rendered() || is_made && composed.is_own(&observation)
}

impl Recipe<'_> {
    /// Wants everything in Ceph.
    pub fn ceph(&self, storages: &Storages, composed: &mut Composed<'_>) -> Result<Ceph, Fatal> {
        let mut ceph = Ceph::default();
        for storage in &storages.each {
            for pool in &storage.pools {
                self.rbd_pool(storage, *pool, composed, &mut ceph)?;
            }
            for client in &storage.clients {
                self.client(storage, *client, composed, &mut ceph.waiting)?;
            }
            if storage.filesystem {
                ceph.filesystem = Some(self.filesystem(storage, composed, &mut ceph.waiting)?);
            }
            if storage.object_store {
                self.object_store(storage, composed, &mut ceph.waiting)?;
            }
        }
        Ok(ceph)
    }

    fn rbd_pool(
        &self,
        storage: &Storage,
        purpose: Rbd,
        composed: &mut Composed<'_>,
        ceph: &mut Ceph,
    ) -> Result<(), Fatal> {
        let claim = &self.cluster.spec.storage.ceph;
        let compression = match purpose {
            Rbd::Volumes => claim.volume_pool.compression,
            Rbd::Images => claim.image_pool.compression,
            Rbd::Ephemeral => Compression::None,
            Rbd::Backups => claim.backup_pool.compression,
        };
        let resource = purpose.resource(&storage.cluster);
        let (quota, kept) = self.pool_quota(purpose, &resource, composed)?;
        let pool = |storage: &Storage| {
            let mut pool = storage.pool(purpose.replication(&self.cluster.spec));
            pool.parameters
                .insert("compression_mode", name_of(compression));
            CephBlockPool {
                pool: Pool {
                    quotas: quota.stated(),
                    ..pool
                },
                enable_rbd_stats: purpose == Rbd::Volumes,
            }
        };
        let name = purpose.pool(&self.names);
        let status = storage.compose(&resource, name, pool, composed, &mut ceph.waiting)?;
        let key = (purpose, storage.cluster.clone());
        ceph.pools.insert(key.clone(), status);
        ceph.quotas.insert(key, quota.bytes);
        // The quota of another owner's pool stays as it is anyway.
        let kept = kept.filter(|_| !composed.is_foreign(&resource));
        ceph.kept_quotas.extend(kept);
        Ok(())
    }

    fn client(
        &self,
        storage: &Storage,
        client: Client,
        composed: &mut Composed<'_>,
        waiting: &mut Vec<String>,
    ) -> Result<(), Fatal> {
        let caps = self.caps(storage, client, composed);
        let name = self.names.with(client.service());
        // Before Rook reports anything (rook, pkg/operator/ceph/client/controller.go, `ValidateClient`).
        if name.starts_with("rgw") {
            return Err(Fatal::new(format!(
                "Rook doesn't create the user {name} in Ceph, since names that begin with rgw are those of its object stores: choose a name \
                 that begins otherwise"
            )));
        }
        let resource = client.resource(&storage.cluster);
        let user = |_: &Storage| CephClient {
            caps,
            security: SECURITY,
        };
        storage.compose(&resource, name, user, composed, waiting)?;
        Ok(())
    }

    /// The least a service needs: its own pools, and to read the images that it clones. A pool that the claim dropped counts
    /// while it exists, since servers may have disks in it.
    fn caps(
        &self,
        storage: &Storage,
        client: Client,
        composed: &Composed<'_>,
    ) -> BTreeMap<&'static str, String> {
        let is_there = |pool: &Rbd| {
            let resource = pool.resource(&storage.cluster);
            let is_wanted = storage.pools.contains(pool) && !composed.is_foreign(&resource);
            is_wanted || composed.exists(&resource) && composed.owns(&resource)
        };
        let readable = |pool: Rbd| match client {
            Client::Cinder | Client::Nova => pool == Rbd::Images,
            Client::Glance | Client::Manila | Client::Backup => false,
        };
        let writable = |pool: Rbd| match client {
            Client::Cinder => pool == Rbd::Volumes,
            Client::Glance => pool == Rbd::Images,
            Client::Nova => matches!(pool, Rbd::Volumes | Rbd::Ephemeral),
            Client::Manila => false,
            Client::Backup => pool == Rbd::Backups,
        };
        let profiles = |profile: &str, which: &dyn Fn(Rbd) -> bool| -> Vec<String> {
            let pools = Rbd::ALL.into_iter().filter(is_there);
            pools
                .filter(|pool| which(*pool))
                .map(|pool| format!("{profile} pool={}", pool.pool(&self.names)))
                .collect()
        };
        if client == Client::Manila {
            let filesystem = self.names.filesystem();
            // Manila makes shares through the manager's module alone, and the module gives clients their access.
            return BTreeMap::from([
                (
                    "mgr",
                    format!("allow module volumes with vol_name={filesystem} rw"),
                ),
                ("mon", format!("allow r fsname={filesystem}")),
            ]);
        }
        let own = profiles("profile rbd", &writable);
        let mut osd = own.clone();
        osd.extend(profiles("profile rbd-read-only", &readable));
        let caps = [
            ("mgr", own.join(", ")),
            ("mon", "profile rbd".to_owned()),
            ("osd", osd.join(", ")),
        ];
        // Rook refuses empty ones, and would leave the user the rights that it has.
        caps.into_iter()
            .filter(|(_, caps)| !caps.is_empty())
            .collect()
    }

    fn filesystem(
        &self,
        storage: &Storage,
        composed: &mut Composed<'_>,
        waiting: &mut Vec<String>,
    ) -> Result<ResourceStatus, Fatal> {
        let claim = &self.cluster.spec.storage.ceph.filesystem;
        let filesystem = |storage: &Storage| CephFilesystem {
            metadata_pool: storage.pool(claim.metadata_pool_replication.into()),
            data_pools: vec![NamedPool {
                name: "data0",
                pool: storage.pool(claim.data_pool_replication.into()),
            }],
            metadata_server: MetadataServer {
                active_count: 1,
                active_standby: true,
                resources: resources("1Gi", "4Gi"),
            },
        };
        let resource = format!("filesystem-{}", storage.cluster);
        storage.compose(
            &resource,
            self.names.filesystem(),
            filesystem,
            composed,
            waiting,
        )
    }

    fn object_store(
        &self,
        storage: &Storage,
        composed: &mut Composed<'_>,
        waiting: &mut Vec<String>,
    ) -> Result<(), Fatal> {
        let replication = self
            .cluster
            .spec
            .storage
            .ceph
            .object_store
            .data_pool_replication
            .into();
        let store = |storage: &Storage| CephObjectStore {
            // Rook gives these copies to `.rgw.root`, too, the one pool that all object stores of a Ceph have in common.
            metadata_pool: storage.pool(storage.common_copies(replication)),
            data_pool: storage.pool(replication),
            gateway: Gateway {
                host_network: false,
                port: 80,
                instances: 2,
                resources: resources("512Mi", "2Gi"),
            },
        };
        let name = self.names.object_store();
        let resource = format!("object-store-{}", storage.cluster);
        storage.compose(&resource, name.clone(), store, composed, waiting)?;
        let user = |_: &Storage| CephObjectStoreUser {
            store: name.clone(),
            display_name: format!("OpenStack {}", self.names.control_plane()),
        };
        let resource = format!("object-store-user-{}", storage.cluster);
        storage.compose(&resource, self.names.with("swift"), user, composed, waiting)?;
        Ok(())
    }
}

impl Storage {
    /// Redundancy and placement of a pool in this cluster: on disks of the cluster's class, over hosts, or over both
    /// zones of a stretched cluster, which takes two copies in each.
    fn pool(&self, copies: u32) -> Pool {
        let spec = self.spec.as_ref();
        let stretched = self.is_stretched();
        let size = spec.map_or(copies, |spec| spec.copies(copies));
        let replicated = Replicated {
            size,
            require_safe_replica_size: size > 1,
            replicas_per_failure_domain: stretched.then_some(2),
            sub_failure_domain: stretched.then_some("host"),
        };
        Pool {
            failure_domain: if self.zones > 1 || stretched {
                "zone"
            } else {
                "host"
            },
            device_class: spec.map(|spec| name_of(spec.ceph.device_class)),
            replicated,
            // Ceph would serve a pool of two copies from a single one, and lose what was written when that one dies.
            parameters: (size == 2)
                .then(|| ("min_size", "2".to_owned()))
                .into_iter()
                .collect(),
            quotas: None,
        }
    }

    /// Wants one of Rook's objects in this cluster; while the pool can't be read, the object stays as it is.
    fn compose<S: c5c3_kinds::Spec + Serialize>(
        &self,
        resource: &str,
        name: String,
        spec: impl FnOnce(&Storage) -> S,
        composed: &mut Composed<'_>,
        waiting: &mut Vec<String>,
    ) -> Result<ResourceStatus, Fatal> {
        let observation: Observation<PhaseStatus> = if self.spec.is_some() {
            let manifest = Manifest::new(NAMESPACE, name.clone(), spec(self));
            let ready = |observation: &Observation<PhaseStatus>| {
                status_of(observation) == ResourceStatus::Ready
            };
            composed.observed_object(resource, &self.cluster, manifest, self.creation, ready)?
        } else {
            composed.keep(resource)?;
            composed.observation(resource)
        };
        let status = status_of(&observation);
        if status != ResourceStatus::Ready && observation.exists {
            let phase = observation.status.phase.as_str();
            let why = match &observation.problem {
                Some(problem) => format!(": {problem}"),
                None if FAILED.contains(&phase) => {
                    let has_pools = DATA_KINDS.contains(&S::KIND.kind);
                    let hint = match self.lacks_placement_groups && has_pools {
                        true => TOO_FEW_PLACEMENT_GROUPS,
                        false => "",
                    };
                    format!(": Rook reports {phase}, and its operator's log there says why{hint}")
                }
                None if phase == READY && is_changed(&observation) => {
                    ": Rook hasn't reconciled its last change; its operator's log there says why"
                        .to_owned()
                }
                None => String::new(),
            };
            waiting.push(format!("{} {name} in {}{why}", S::KIND, self.cluster));
        }
        Ok(status)
    }
}

/// Requests and limits of a claim's daemons, which share hosts with OSDs. Rook gives half of a metadata server's limit to its cache, and
/// recommends at least 4 GiB (rook, pkg/operator/ceph/file/mds/mds.go).
fn resources(memory: &'static str, limit: &'static str) -> PodResources {
    PodResources {
        requests: BTreeMap::from([("cpu", "250m"), ("memory", memory)]),
        limits: BTreeMap::from([("memory", limit)]),
    }
}

fn status_of(observation: &Observation<PhaseStatus>) -> ResourceStatus {
    match observation.status.phase.as_str() {
        READY if is_changed(observation) => ResourceStatus::Creating,
        READY if observation.synced => ResourceStatus::Ready,
        READY => ResourceStatus::Degraded,
        phase if FAILED.contains(&phase) => ResourceStatus::Failed,
        _ => ResourceStatus::Creating,
    }
}

/// Whether Rook hasn't reconciled the last change of an object's spec.
fn is_changed(observation: &Observation<PhaseStatus>) -> bool {
    !observation.is_reconciled(observation.status.observed_generation)
}
