//! What mariadb-operator can't change of a MariaDB that runs: whether it is a Galera cluster, and that volumes never shrink.

use c5c3_api::control_plane::Mariadb;
use c5c3_api::parts::Size;
use provider_composer::{Conditions, Key, ObservedState, Progress, Reason};

use super::MARIADB;
use crate::manifest::mariadb::MariaDb;
use crate::recipe::Recipe;

impl Recipe<'_> {
    /// The MariaDB as it is wanted, with the members and volumes of the one that runs where they can't be changed. The condition
    /// `DatabaseResized` is then False.
    ///
    /// The operator would add what members of a Galera cluster mount to the pods and not to the volumes of a StatefulSet, so that
    /// no pod could be replaced; and its webhook refuses smaller volumes (mariadb-operator 0.38).
    pub(super) fn database_size(
        &self,
        observed: &ObservedState<'_>,
        conditions: &mut Conditions,
    ) -> Mariadb {
        let mut wanted = self.spec().infrastructure.mariadb.clone();
        let key = Key::of::<MariaDb>(self.namespace(), MARIADB);
        let Some(running) = observed.object(&key).found() else {
            return wanted;
        };
        let mut kept = Vec::new();
        let replicas = running.pointer("/spec/replicas");
        let replicas = replicas.and_then(|replicas| u32::try_from(replicas.as_u64()?).ok());
        if let Some(replicas) = replicas {
            let running = Mariadb {
                replicas,
                ..wanted.clone()
            };
            if running.is_galera() != wanted.is_galera() {
                kept.push(format!(
                    "replicas: {replicas} instead of {}",
                    wanted.replicas
                ));
                wanted = running;
            }
        }
        let size = running.pointer("/spec/storage/size");
        let size: Option<Size> = size.and_then(|size| size.as_str()?.parse().ok());
        if let Some(size) = size
            && size.bytes() > wanted.storage_size.bytes()
        {
            kept.push(format!(
                "storageSize: {size} instead of {}",
                wanted.storage_size
            ));
            wanted.storage_size = size;
        }
        if !kept.is_empty() {
            let message = format!(
                "MariaDB keeps {}: one member can't become a Galera cluster or the reverse, and volumes can't shrink. Set the former \
                 values, or restore a backup into a new control plane",
                kept.join(" and ")
            );
            conditions.note(
                "DatabaseResized",
                &Progress::failed(Reason::Unsupported, message),
            );
        }
        wanted
    }
}
