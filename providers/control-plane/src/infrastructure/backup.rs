//! Backups of MariaDB, by mariadb-operator.

use std::collections::BTreeMap;

use c5c3_api::control_plane::Backup;
use c5c3_api::parts::{NamedRef, Schedule, SecretKeyRef, Storage};
use c5c3_kinds::mariadb::server::{
    self, BackupSpec, BackupStorage, BackupVolume, Claim, CronSchedule, ObjectStore,
    ObjectStoreTls, PodMetadata,
};
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use provider_composer::{DesiredState, Key, Progress};
use provider_openstack::{BACKED_UP, Backups, Cron, claim, digest};

use super::sizes::BACKUPS_CLAIM;
use super::{MARIADB, Sizes, bounds, named};
use crate::recipe::Recipe;

impl Recipe<'_> {
    /// Composes the backups of MariaDB and, unless they are in a bucket, their volume, which outlasts the ControlPlane.
    pub(crate) fn backup(&self, sizes: &Sizes, desired: &mut DesiredState) {
        let Some(backup) = &self.spec().backup else {
            return;
        };
        let label = ("app.kubernetes.io/instance".to_owned(), MARIADB.to_owned());
        let spec = BackupSpec {
            maria_db_ref: named(MARIADB),
            schedule: CronSchedule {
                cron: backup.schedule.to_string(),
            },
            time_zone: "Etc/UTC".to_owned(),
            max_retention: format!("{}h", 24 * backup.keep_days),
            compression: "gzip".to_owned(),
            ignore_global_priv: true,
            storage: self.storage(backup, sizes, desired),
            // The container that uploads would compress the dump once more, and no restore could read it
            // (https://github.com/mariadb-operator/mariadb-operator/issues/1850). The Job tries again with another pod, and another dump.
            restart_policy: "Never".to_owned(),
            // A NetworkPolicy lets the members, and nothing else of the namespace, connect to each other.
            pod_metadata: PodMetadata {
                labels: BTreeMap::from([label]),
            },
            pods: self.database_pods(bounds("100m", "2", "128Mi", "1Gi")),
        };
        // mariadb-operator refuses changes of some fields.
        let content = desired.json("the backup", &spec).to_string();
        let name = format!("{MARIADB}-{}", digest([content.as_str()]));
        desired.apply(self.namespace(), &name, &server::Backup::of(spec));
        let progress = self.backed_up(&name, &backup.schedule, desired);
        desired.conditions.note(BACKED_UP, &progress);
    }

    /// Where backups are kept.
    fn storage(&self, backup: &Backup, sizes: &Sizes, desired: &mut DesiredState) -> BackupStorage {
        match &sizes.backups {
            Some(Ok(kept)) => {
                let Storage { size, class } = &kept.value;
                let claim = claim(ObjectMeta::default(), "ReadWriteOnce", size, class.clone());
                desired.apply_unowned(self.namespace(), BACKUPS_CLAIM, &claim);
            }
            Some(Err(_)) => {
                desired.keep(Key::of::<PersistentVolumeClaim>(
                    self.namespace(),
                    BACKUPS_CLAIM,
                ));
            }
            None => {}
        }
        let key = |secret: &NamedRef, key: &str| SecretKeyRef {
            name: secret.name.clone(),
            key: key.to_owned(),
        };
        let Some(s3) = &backup.s3 else {
            return BackupStorage::Volume(BackupVolume {
                persistent_volume_claim: Claim {
                    claim_name: BACKUPS_CLAIM.to_owned(),
                },
            });
        };
        let authority = s3.ca_secret_ref.as_ref();
        let uid = self.subject.metadata.uid.as_deref().unwrap_or_default();
        BackupStorage::S3(ObjectStore {
            bucket: s3.bucket.bucket.clone(),
            endpoint: s3.host().to_owned(),
            // Old backups in the folder are deleted, so no other control plane may have the same.
            prefix: format!("{}/{uid}", self.namespace()),
            access_key_id_secret_key_ref: key(&s3.bucket.secret_ref, "accessKey"),
            secret_access_key_secret_key_ref: key(&s3.bucket.secret_ref, "secretKey"),
            tls: ObjectStoreTls {
                enabled: true,
                ca_secret_key_ref: authority.map(|secret| key(secret, "ca.crt")),
            },
        })
    }

    /// Whether backups succeed.
    fn backed_up(&self, name: &str, schedule: &Schedule, desired: &mut DesiredState) -> Progress {
        let cron = match Cron::of_field("backup.schedule", schedule) {
            Ok(cron) => cron,
            Err(failure) => return Progress::failing(failure.reason(), failure.to_string()),
        };
        let backups = Backups {
            of: "MariaDB",
            creator: "mariadb-operator",
            namespace: self.namespace(),
            cron_job: name,
            cron: &cron,
        };
        backups.progress(self.observed, desired)
    }
}
