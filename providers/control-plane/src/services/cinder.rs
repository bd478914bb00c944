//! Cinder of a control plane.

use std::collections::BTreeMap;

use c5c3_api::cinder::{Backend, CinderSpec};
use provider_composer::{Custom, DesiredState};
use provider_openstack::CINDER;
use provider_openstack::table::Tags;

use crate::graph::Node;
use crate::recipe::Recipe;

impl Recipe<'_> {
    /// Wants Cinder.
    pub(super) fn cinder(&self, tags: &Tags, desired: &mut DesiredState) {
        let (step, said) = (Node::Cinder.step(), &self.services.cinder);
        let spec = CinderSpec {
            api: said.api.clone(),
            scheduler: said.scheduler.clone(),
            volume: said.volume.clone().unwrap_or_default(),
            database: self.database(&CINDER),
            messaging: self.messaging(&CINDER),
            keystone: self.keystone_access(step),
            backends: self.backends(),
            default_volume_type: self.storage_clusters().first().cloned(),
            backup: said.backup.clone(),
            image_volume_cache: said.image_volume_cache.clone(),
            deleted_rows: said.deleted_rows.clone().unwrap_or_default(),
            common: self.common(step, &CINDER, tags, &said.overrides),
        };
        desired.apply(self.namespace(), step.name, &Custom::wanted(spec));
    }

    /// Each storage pool is a backend, and a volume type of its name.
    fn backends(&self) -> Vec<Backend> {
        let pool = self.pools().and_then(|pools| pools.volumes.as_ref());
        let clusters = self.storage_clusters().iter();
        clusters
            .map(|cluster| Backend {
                name: cluster.clone(),
                driver: "cinder.volume.drivers.rbd.RBDDriver".to_owned(),
                rbd: self.rbd("cinder", "volumes", pool, cluster),
                secret_uuid: None,
                options: BTreeMap::new(),
            })
            .collect()
    }
}
