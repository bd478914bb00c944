//! Glance of a control plane.

use c5c3_api::control_plane::GlanceService;
use c5c3_api::glance::{GlanceSpec, ImageBackend, ImageStorage, ImageStore};
use c5c3_api::parts::Volume;
use provider_composer::{Custom, DesiredState};
use provider_openstack::GLANCE;
use provider_openstack::table::Tags;

use crate::graph::Node;
use crate::recipe::Recipe;

impl Recipe<'_> {
    /// Wants Glance.
    pub(super) fn glance(&self, tags: &Tags, desired: &mut DesiredState) {
        let step = Node::Glance.step();
        let GlanceService {
            service,
            cache,
            deleted_rows,
        } = &self.services.glance;
        let spec = GlanceSpec {
            api: service.api.clone(),
            database: self.database(&GLANCE),
            keystone: self.keystone_access(step),
            storage: self.image_storage(),
            cache: cache.clone(),
            deleted_rows: deleted_rows.clone().unwrap_or_default(),
            common: self.common(step, &GLANCE, tags, &service.overrides),
        };
        desired.apply(self.namespace(), step.name, &Custom::wanted(spec));
    }

    /// Images live in the first storage pool, or on a volume where there is none.
    fn image_storage(&self) -> ImageStorage {
        let pool = self.pools().and_then(|pools| pools.images.as_ref());
        let store = match self.storage_clusters().first() {
            Some(cluster) => ImageStore {
                backend: ImageBackend::Rbd,
                rbd: Some(self.rbd("glance", "images", pool, cluster)),
                ..ImageStore::default()
            },
            None => ImageStore {
                backend: ImageBackend::File,
                file: Some(Volume::default()),
                ..ImageStore::default()
            },
        };
        ImageStorage {
            store,
            ..ImageStorage::default()
        }
    }
}
