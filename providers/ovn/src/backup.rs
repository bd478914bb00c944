//! Backups of both databases.

use c5c3_api::ovn_cluster::OvnBackup;
use c5c3_api::parts::Storage;
use k8s_openapi::api::batch::v1::{CronJob, CronJobSpec, JobSpec, JobTemplateSpec};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, ResourceRequirements};
use provider_composer::{DesiredState, Key, ObservedState, Progress};
use provider_openstack::{
    BACKED_UP, Backups, Cron, Program, Source, lasting_volume, pod_of, pod_template,
};

use crate::encryption::{Encryption, FOLDER};
use crate::network::{Database, Network};

const COMPONENT: &str = "backup";
/// The folder of a pod with the backups.
const BACKUPS: &str = "/var/lib/ovn-backup";
/// Takes a backup of each database, and deletes the oldest ones of each: before it too, so that a lower `keep` makes room on a full volume.
const SCRIPT: &str = include_str!("backup.sh");
/// How long a run may take, in seconds, with all tries. One whose pod can't start, because its certificate or volume is gone, would otherwise keep
/// all later ones from starting.
const DEADLINE: i64 = 2 * 3600;

impl Network<'_> {
    /// Composes the CronJob that takes backups, and their volume, which outlasts the OVNCluster.
    pub(crate) fn backup(
        &self,
        backup: &OvnBackup,
        encryption: Option<&Encryption>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) {
        let cron = match Cron::of_field("backup.schedule", &backup.schedule) {
            Ok(cron) => cron,
            Err(failure) => {
                self.keep_backup(desired);
                let progress = Progress::failing(failure.reason(), failure.to_string());
                desired.conditions.note(BACKED_UP, &progress);
                return;
            }
        };
        let storage = Storage {
            size: backup.storage.size.clone(),
            class: backup.storage.storage_class.clone(),
        };
        let name = self.named(COMPONENT);
        let key = Key::of::<PersistentVolumeClaim>(self.namespace, &name);
        let metadata = self.metadata(COMPONENT);
        lasting_volume(&key, metadata, "ReadWriteOnce", storage, observed, desired);
        let mut program = Program::default()
            .command(["sh", "-c", SCRIPT].map(str::to_owned))
            .variable("NORTHBOUND", self.endpoint(Database::Northbound))
            .variable("SOUTHBOUND", self.endpoint(Database::Southbound))
            .variable("PROTOCOL", self.protocol())
            .variable("KEEP", backup.keep.to_string())
            .mount("backups", BACKUPS, Source::Claim(name.clone()));
        if let Some(encryption) = encryption {
            program = program.mount("tls", FOLDER, Source::Secret(encryption.servers.clone()));
        }
        let resources = ResourceRequirements::default();
        let mut pod = pod_of(self.pods(&self.image), COMPONENT, &program, resources);
        pod.restart_policy = Some("Never".to_owned());
        let job = CronJob {
            metadata: self.metadata(COMPONENT),
            spec: CronJobSpec {
                schedule: backup.schedule.to_string(),
                concurrency_policy: Some("Forbid".to_owned()),
                job_template: JobTemplateSpec {
                    metadata: None,
                    spec: Some(JobSpec {
                        active_deadline_seconds: Some(DEADLINE),
                        backoff_limit: Some(2),
                        // Two pods at once, one of them evicted, would write the same file.
                        pod_replacement_policy: Some("Failed".to_owned()),
                        template: pod_template(self.labels(COMPONENT), None, pod),
                        ..JobSpec::default()
                    }),
                },
                ..CronJobSpec::default()
            },
            ..CronJob::default()
        };
        desired.apply(self.namespace, &name, &job);
        let backups = Backups {
            of: "OVN",
            creator: "ovn-operator",
            namespace: self.namespace,
            cron_job: &name,
            cron: &cron,
        };
        let progress = backups.progress(observed, desired);
        desired.conditions.note(BACKED_UP, &progress);
    }

    /// Leaves the CronJob as it is.
    pub(crate) fn keep_backup(&self, desired: &mut DesiredState) {
        desired.keep(Key::of::<CronJob>(self.namespace, &self.named(COMPONENT)));
    }
}
