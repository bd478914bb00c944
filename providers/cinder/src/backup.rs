//! Backups of volumes: where they are, and what copies volumes there and back.

use c5c3_api::cinder::VolumeBackup;
use provider_composer::{DesiredState, Progress, Reason};
use provider_openstack::{
    Bucket, CINDER_BACKUP, Files, Pods, Pool, Prerequisite, Section, Service,
};

use crate::backends::{self, Backend, CEPH};
use crate::config::Facts;
use crate::{CONFIG, members};

/// The files of Ceph's configuration and key. No backend has an underscore in its name.
const CONF: &str = "_backup.conf";
const KEYRING: &str = "_backup.keyring";
/// The file with the CA certificate of the object store.
const AUTHORITY: &str = "backup-ca.crt";

/// Where backups are.
pub enum Place {
    /// A pool in Ceph.
    Rbd(Pool),
    /// A bucket.
    S3(Bucket),
}

impl Place {
    /// Resolves the place of backups.
    ///
    /// # Errors
    /// Its Secret doesn't exist, or lacks a key.
    pub fn resolve(service: &Service<'_>, wanted: &VolumeBackup) -> Prerequisite<Self> {
        match (&wanted.rbd, &wanted.s3) {
            (Some(rbd), None) => Pool::resolve(service, "backup", rbd).map(Self::Rbd),
            (None, Some(bucket)) => Bucket::resolve(service, bucket).map(Self::S3),
            _ => Err(Progress::failed(
                Reason::Invalid,
                "backups are in one place: give backup.rbd or backup.s3",
            )),
        }
    }

    /// The pool in Ceph, if backups are in one.
    pub fn pool(&self) -> Option<&Pool> {
        match self {
            Self::Rbd(pool) => Some(pool),
            Self::S3(_) => None,
        }
    }

    /// Sets the driver (<https://docs.openstack.org/cinder/latest/configuration/block-storage/backup-drivers.html>), and how many snapshots
    /// backups leave of a volume.
    fn configure(
        &self,
        service: &Service<'_>,
        snapshots: Option<u16>,
        section: &mut Section,
        files: &mut Files,
    ) {
        match self {
            Self::Rbd(pool) => {
                section
                    .set(
                        "backup_driver",
                        "cinder.backup.drivers.ceph.CephBackupDriver",
                    )
                    .set("backup_ceph_conf", format!("{CEPH}/{CONF}"))
                    .set("backup_ceph_user", &pool.user)
                    .set("backup_ceph_pool", &pool.pool);
                if let Some(snapshots) = snapshots {
                    section.set("backup_ceph_max_snapshots", snapshots);
                }
                pool.files(CEPH, CONF, KEYRING, files);
            }
            Self::S3(bucket) => {
                section
                    .set("backup_driver", "cinder.backup.drivers.s3.S3BackupDriver")
                    .set("backup_s3_endpoint_url", &bucket.endpoint)
                    .set("backup_s3_store_bucket", &bucket.name)
                    // Cinder has the checksums of all blocks in memory, and five copies of them at the end. With its default of 32 KiB a
                    // volume of 150 GiB takes 2 GiB (`_write_sha256file` in cinder/backup/chunkeddriver.py).
                    .set("backup_s3_block_size", 1 << 20)
                    // Each has some 200 MB of data in memory.
                    .set("backup_max_operations", 5)
                    .secret("backup_s3_store_access_key", &bucket.access_key)
                    .secret("backup_s3_store_secret_key", &bucket.secret_key);
                if let Some(authority) = &bucket.authority {
                    let path = service.definition.file(AUTHORITY);
                    section.set("backup_s3_ca_cert_file", path);
                    files.text(AUTHORITY, authority);
                }
            }
        }
    }
}

/// What the pods run. They read the volumes of all backends.
pub fn pods(
    facts: &Facts<'_>,
    place: &Prerequisite<Place>,
    backends: &[Backend<'_>],
    desired: &mut DesiredState,
) -> Pods {
    let waiting = |pending: &Progress| Pods::waiting(CINDER_BACKUP.name, pending.clone());
    let place = match place {
        Ok(place) => place,
        Err(pending) => return waiting(pending),
    };
    let pools = backends::pools(backends);
    if !pools.is_ready() {
        return waiting(&pools);
    }
    let mut files = Files::default();
    let mut config = facts.common(&mut files);
    let snapshots = facts.spec.backup.as_ref();
    let snapshots = snapshots.and_then(|backup| backup.snapshots);
    let section = config.section("DEFAULT");
    place.configure(facts.service, snapshots, section, &mut files);
    for backend in backends {
        if let Ok(pool) = &backend.pool {
            backend.files(pool, &mut files);
        }
    }
    facts.finish(&mut config);
    files.config(CONFIG, &config);
    members(facts, (CINDER_BACKUP.name, "cinder-backup"), files, desired)
}
