//! The order of deletion: shares, whose nodes are drained through the ControlPlane's Nova, and Ceph's pools, which Rook keeps
//! while they have images, that of images after those of their clones; then the ControlPlane, by which both are emptied; then its keys of
//! Ceph and the tenant's clouds.yaml, then the namespace; consumed pools last of all.

use function_protocol::Fatal;

use super::Recipe;
use super::agents;
use super::keys;
use super::resource::{self, CONTROL_PLANE, NAMESPACE};
use super::tenant::{PULL, PUSH};
use super::wanted::{Storage, Storages};
use crate::composed::Composed;
use crate::pools::{Named, Pool, Rbd};

impl Recipe<'_> {
    /// Wants the Usages that keep the order. `has_tenant` is whether a clouds.yaml is wanted: Usages would keep one that isn't.
    pub fn deletion(
        &self,
        storages: &Storages,
        has_tenant: bool,
        composed: &mut Composed<'_>,
    ) -> Result<(), Fatal> {
        composed.order(
            NAMESPACE,
            CONTROL_PLANE,
            "the control plane is in this namespace",
        )?;
        for (pool, storage) in self.site.storages.iter().zip(&storages.each) {
            for data in data(storage) {
                composed.order(
                    CONTROL_PLANE,
                    &data,
                    "volumes and images are deleted through the control plane",
                )?;
                composed.order(NAMESPACE, &data, "its data go before the namespace")?;
                protect(pool, &data, composed)?;
            }
            for clones in clones(storage) {
                let images = Rbd::Images.resource(&storage.cluster);
                let reason = "volumes and disks of servers are clones of images";
                composed.order(&images, &clones, reason)?;
            }
            for user in users(storage) {
                composed.order(
                    &user,
                    CONTROL_PLANE,
                    "the control plane reaches its data with it",
                )?;
            }
        }
        if has_tenant {
            for resource in [PUSH, PULL] {
                let reason = "the tenant deletes servers with it while their nodes are drained";
                composed.order(resource, CONTROL_PLANE, reason)?;
            }
            composed.order(NAMESPACE, PUSH, "it deletes its value in the secret store")?;
        }
        for pool in &self.site.hypervisors {
            let share = resource::share(pool.name.name());
            composed.order(
                CONTROL_PLANE,
                &share,
                "its nodes are drained through the control plane's Nova",
            )?;
            composed.order(NAMESPACE, &share, "its nodes go before the namespace")?;
            protect(pool, &share, composed)?;
            let agents = agents::namespace(pool.name.name());
            composed.order(&agents, &share, "its agents read Secrets there")?;
            if composed.exists(&agents) {
                protect(pool, &agents, composed)?;
            }
        }
        if self.site.owner.root_is_foreign() {
            return composed.keep_usage(self.site.control_plane.name.name(), NAMESPACE);
        }
        protect(&self.site.control_plane, NAMESPACE, composed)
    }
}

/// Where a control plane keeps data in one storage cluster.
fn data(storage: &Storage) -> Vec<String> {
    let cluster = &storage.cluster;
    let pools = storage.pools.iter().map(|pool| pool.resource(cluster));
    let filesystem = storage.filesystem.then(|| format!("filesystem-{cluster}"));
    let object_store = storage
        .object_store
        .then(|| format!("object-store-{cluster}"));
    pools.chain(filesystem).chain(object_store).collect()
}

/// The pools with clones of the images that are in the same storage cluster. Where Ceph lets an image be deleted that has clones (clones
/// of version 2), Glance moves it to Ceph's trash, and Rook deletes a pool whose images are all in the trash (`checkIsPoolEmpty` in
/// pkg/daemon/ceph/client/pool.go): the clones would lose what they have in common with their image.
fn clones(storage: &Storage) -> impl Iterator<Item = String> {
    let has_images = storage.pools.contains(&Rbd::Images);
    let is_of_clones = |pool: &Rbd| matches!(pool, Rbd::Volumes | Rbd::Ephemeral);
    let pools = storage.pools.iter();
    let pools = pools.filter(move |pool| has_images && is_of_clones(pool));
    pools.map(|pool| pool.resource(&storage.cluster))
}

/// As whom a control plane reaches its data in one storage cluster, and the keys that it has for that. The user of an object store isn't
/// one of them: Rook deletes no object store that has users (`CephObjectStoreDependents` in pkg/operator/ceph/object/dependents.go).
fn users(storage: &Storage) -> impl Iterator<Item = String> {
    let cluster = &storage.cluster;
    let clients = storage.clients.iter();
    clients.flat_map(move |client| [client.resource(cluster), keys::resource(*client, cluster)])
}

/// Keeps a pool while a claim has something in it.
fn protect<K: Pool>(pool: &Named<K>, by: &str, composed: &mut Composed<'_>) -> Result<(), Fatal> {
    let of = match pool.name.name() {
        // Usages of the ControlPlane and of the namespace have these names. None waits for the namespace.
        name @ (CONTROL_PLANE | NAMESPACE) if by != NAMESPACE => format!("pool-{name}"),
        name => name.to_owned(),
    };
    match &pool.composite {
        Some(composite) => {
            let reason = format!("an OpenStackCluster consumes this {}", K::NOUN);
            composed.protect::<K>(&of, &composite.metadata, by, &reason)
        }
        None => composed.keep_usage(&of, by),
    }
}
