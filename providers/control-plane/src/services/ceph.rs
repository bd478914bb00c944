//! What services find in Ceph.

use c5c3_api::parts::Rbd;

use crate::infrastructure::named;
use crate::recipe::Recipe;

impl Recipe<'_> {
    /// Names of the storage pools.
    pub(crate) fn storage_clusters(&self) -> &[String] {
        let storage = self.spec().storage.as_ref();
        storage.map_or(&[], |storage| &storage.storage_clusters)
    }

    /// A service's pool in one storage pool, and the user that it is reached with. What the ControlPlane doesn't say is
    /// called as a claim would call it: the pool `<control plane>-<purpose>`, the Secret `ceph-<service>-<storage pool>`.
    pub(crate) fn rbd(
        &self,
        service: &str,
        purpose: &str,
        pool: Option<&String>,
        cluster: &str,
    ) -> Rbd {
        let ceph = self
            .spec()
            .storage
            .as_ref()
            .and_then(|storage| storage.ceph.as_ref());
        let client = ceph.and_then(|ceph| {
            ceph.clients
                .iter()
                .find(|client| client.service == service && client.storage_cluster == cluster)
        });
        Rbd {
            pool: pool
                .cloned()
                .unwrap_or_else(|| format!("{}-{purpose}", self.subject.name())),
            user: client.map(|client| client.user.clone()),
            ceph_secret_ref: client
                .map(|client| client.secret_ref.clone())
                .unwrap_or_else(|| named(&format!("ceph-{service}-{cluster}"))),
            ceph_client_ref: None,
        }
    }
}
