//! Tasks of a service that run once, as Jobs, or periodically, as CronJobs.

mod keep;
mod periodic;
mod seen;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::{CronJob, CronJobSpec, Job, JobSpec, JobTemplateSpec};
use k8s_openapi::api::core::v1::ResourceRequirements;
use provider_composer::{DesiredState, Key, Live, Lookup, Progress, Reason, label_pairs};

use crate::digest::digest;
use crate::files;
use crate::objects::pod_template;
use crate::phase::Phase;
use crate::pod::{Program, pod};
use crate::release::Release;
use crate::rollout::START_DEADLINE;
use crate::service::{NAME, Service};
pub use periodic::ObservedCronJob;
use seen::{Seen, failure, has, is_for, is_kin, label, runs, terminates, volumes};

/// Label of a Job: its task.
pub(crate) const TASK: &str = "c5c3.io/task";
/// Label of a Job: its purpose. A task runs once for each purpose.
const PURPOSE: &str = "c5c3.io/purpose";
/// Label of a Job: the release of its image.
const RELEASE: &str = "c5c3.io/release";
/// Label of a Job that migrates a database: the phase.
const PHASE: &str = "c5c3.io/phase";
/// Label of a Job that migrates a database: the database.
const DATABASE: &str = "c5c3.io/database";
/// How often a Job retries, with exponential backoff from ten seconds.
const TRIES: i32 = 4;
/// How long after its failure a Job is created again.
const PAUSE: SignedDuration = SignedDuration::from_mins(10);
/// How long a Job's pod may take to start before that is reported.
const START: SignedDuration = SignedDuration::from_secs(30);
/// How long a task may take, in seconds. Migrations of large databases take hours.
const DEADLINE: i64 = 6 * 3600;
/// How long a migration may go on once its pod terminates, in seconds: its program is process 1, and ignores SIGTERM. One that is killed
/// may leave tables that no release knows.
const GRACE: i64 = 2 * 3600;
/// Annotation of pods whose nodes the cluster-autoscaler keeps where it is false. It gives other pods ten minutes to end.
const EVICTABLE: &str = "cluster-autoscaler.kubernetes.io/safe-to-evict";

/// How late a CronJob may start, in seconds, before the run is skipped.
const LATE: i64 = 3600;

/// A task that runs once for each purpose.
pub struct Task {
    /// Its name: at most 12 characters, so that the Job's name isn't too long.
    pub name: &'static str,
    /// Its purpose: the task runs again only when this changes.
    pub purpose: String,
    /// The phase and the database, if it is a migration.
    pub migrates: Option<(Phase, String)>,
    /// The program, which must be idempotent.
    pub program: Program,
    /// The most frequent cause of its failure, and what fixes it.
    pub often: String,
}

/// A periodic task.
pub struct Schedule {
    /// The suffix of its CronJob's name.
    pub name: &'static str,
    /// Its schedule in cron's format, in UTC.
    pub when: String,
    /// The program.
    pub program: Program,
    /// How long a run may take, in seconds, where it isn't as long as a migration.
    pub deadline: Option<i64>,
    /// Whether no run starts for now.
    pub suspended: bool,
}

/// The observed Jobs of a service.
pub struct Jobs<'a> {
    service: &'a Service<'a>,
    now: Timestamp,
    /// Files that pods may need.
    files: files::Found,
    /// Resources of pods.
    resources: ResourceRequirements,
    /// Labels of pods, besides those of all Jobs.
    labels: BTreeMap<String, String>,
    seen: Lookup<Vec<Live<Seen>>>,
}

impl<'a> Jobs<'a> {
    /// Observes the Jobs of a service.
    pub fn of(service: &'a Service<'a>) -> Self {
        let labels = service.labels();
        Self {
            service,
            now: service.observed.now(),
            files: files::found(service),
            resources: ResourceRequirements::default(),
            labels: BTreeMap::new(),
            seen: service.list::<Seen>(&label_pairs(&labels)),
        }
    }

    /// Sets resources of pods, and labels by which they can be found.
    #[must_use]
    pub fn with_pods(
        self,
        resources: ResourceRequirements,
        labels: BTreeMap<String, String>,
    ) -> Self {
        Self {
            resources,
            labels,
            ..self
        }
    }

    /// Their service.
    pub(crate) fn service(&self) -> &'a Service<'a> {
        self.service
    }

    /// Whether a task is done for its purpose.
    pub fn has_done(&self, task: &Task) -> bool {
        self.found()
            .any(|job| is_for(job, task) && has(job, "Complete"))
    }

    /// Whether a release newer than the desired one has started to contract a database, and hasn't failed.
    pub fn newer_release_contracts(&self) -> bool {
        let wanted = Some(self.service.release);
        self.found().any(|job| {
            let release: Option<Release> = label(job, RELEASE).and_then(|text| text.parse().ok());
            label(job, PHASE) == Some(Phase::Contract.name())
                && release > wanted
                && !has(job, "Failed")
        })
    }

    /// Runs a task once for its purpose, and returns its progress. A failed Job is created again after a while, or as soon as its
    /// spec changes. A running Job is never interrupted.
    pub fn once(&self, task: &Task, desired: &mut DesiredState) -> Progress {
        let begun = self.begun(task, desired);
        begun.unwrap_or_else(|| self.start(task, desired))
    }

    /// Returns the progress of a task that is done for its purpose, runs, or waits for a Job that runs; none if its Job may start.
    pub fn begun(&self, task: &Task, desired: &mut DesiredState) -> Option<Progress> {
        if let Lookup::Unknown(message) = &self.seen {
            return Some(Progress::unknown(message));
        }
        let mut same = self.found().filter(|job| is_for(job, task));
        if let Some(done) = same.clone().find(|job| has(job, "Complete")) {
            desired.keep(self.key(done));
            return Some(Progress::Ready);
        }
        if let Some(running) = same.find(|job| runs(job)) {
            let waits = self.waits(running, desired);
            return Some(self.fails(task, running).unwrap_or(waits));
        }
        let mut others = self.found().filter(|job| is_kin(job, task) && runs(job));
        let other = others.find(|job| !desired.wants(&self.key(job)))?;
        Some(self.waits(other, desired))
    }

    /// Has the Job of a task started that isn't begun, and returns its progress. A failed Job is created again after a while.
    pub fn start(&self, task: &Task, desired: &mut DesiredState) -> Progress {
        let job = self.job(task, desired);
        let name = job.metadata.name.clone().unwrap_or_default();
        let found = self.found().find(|job| job.metadata.name == name);
        let Some((message, since)) = found.and_then(failure) else {
            desired.apply(self.service.namespace, &name, &job);
            let fails = found.and_then(|job| self.fails(task, job));
            return fails.unwrap_or_else(|| self.starts(&name, found, desired));
        };
        // The Job is pruned now, and created again by the next reconcile.
        let again = since.checked_add(PAUSE).unwrap_or(Timestamp::MAX);
        if again > self.now {
            desired.keep(Key::of::<Job>(self.service.namespace, &name));
            desired.requeue_at(again);
        }
        Progress::failed(
            Reason::JobFailed,
            format!(
                "Job {name} failed ({message}): {}; it is tried again at {}, or as soon as what it uses changes",
                self.hint(task, &name),
                again.strftime("%H:%M UTC")
            ),
        )
    }

    /// Whether all Jobs are done or have the files that are composed now, and no others exist.
    pub(crate) fn are_settled(&self, desired: &DesiredState) -> bool {
        !matches!(self.seen, Lookup::Unknown(_))
            && self
                .found()
                .all(|job| has(job, "Complete") || self.has_composed_files(job, desired))
            && self.files.is_complete
            && are_composed(&self.files.keys, desired)
    }

    /// Whether the pods of a Job mount files, and none but those that are composed now.
    fn has_composed_files(&self, job: &Live<Seen>, desired: &DesiredState) -> bool {
        let files = files::of(self.service, volumes(job));
        !files.is_empty() && are_composed(&files, desired)
    }

    fn found(&self) -> impl Iterator<Item = &Live<Seen>> + Clone {
        self.seen.as_ref().found().into_iter().flatten()
    }

    fn key(&self, job: &Live<Seen>) -> Key {
        Key::of::<Job>(self.service.namespace, &job.metadata.name)
    }

    /// Keeps a running Job, with the files that it needs.
    fn waits(&self, job: &Live<Seen>, desired: &mut DesiredState) -> Progress {
        self.keep_files_of(job, desired);
        desired.keep(self.key(job));
        let (namespace, name) = (self.service.namespace, &job.metadata.name);
        let message = match terminates(job) {
            true => format!(
                "waits for Job {name}, whose pod terminates: `kubectl get pods -n {namespace} -l job-name={name} -o wide` shows its node; \
                 if that is lost, delete the Node"
            ),
            false => format!("waits for Job {name}, which runs"),
        };
        Progress::waiting(Reason::WaitingFor("Job"), message)
    }

    /// The progress of a Job that retries after a failure.
    fn fails(&self, task: &Task, job: &Live<Seen>) -> Option<Progress> {
        let status = job.body.status.as_ref()?;
        let failed = status.failed.filter(|failed| *failed > 0)?;
        let name = &job.metadata.name;
        let (hint, tries) = (self.hint(task, name), TRIES + 1);
        let message =
            format!("Job {name} has failed {failed} of {tries} times, and is tried again: {hint}");
        Some(Progress::failing(Reason::JobFailing, message))
    }

    /// What may have failed, and how to find out.
    fn hint(&self, task: &Task, job: &str) -> String {
        format!(
            "often {}; see `kubectl logs -n {} job/{job}` for why",
            task.often, self.service.namespace
        )
    }

    /// The progress of a Job that isn't running. A Job's status doesn't report that its pod can't start.
    fn starts(&self, name: &str, job: Option<&Live<Seen>>, desired: &mut DesiredState) -> Progress {
        let status = job.and_then(|job| job.body.status.as_ref());
        let begun = status.and_then(|status| status.start_time.as_ref());
        let after = |time| begun.and_then(|begun| begun.0.checked_add(time).ok());
        let times = [START, SignedDuration::from_secs(START_DEADLINE.into())].map(after);
        if let Some(next) = times.into_iter().flatten().find(|time| *time > self.now) {
            desired.requeue_at(next);
        }
        let [is_late, is_stuck] = times.map(|time| time.is_some_and(|time| time <= self.now));
        if !is_late {
            return Progress::waiting(Reason::WaitingFor("Job"), format!("waits for Job {name}"));
        }
        let message = format!(
            "waits for Job {name}, whose pod doesn't start: is there an image {}, and room on a node? See `kubectl \
             describe pods -n {} -l job-name={name}` for why; what runs goes on",
            self.service.image, self.service.namespace
        );
        match is_stuck {
            true => Progress::failed(Reason::NotStarting, message),
            false => Progress::failing(Reason::NotStarting, message),
        }
    }

    /// Applies a CronJob.
    pub fn on_schedule(&self, schedule: &Schedule, desired: &mut DesiredState) {
        let service = self.service;
        let job = CronJob {
            metadata: service.metadata(schedule.name),
            spec: CronJobSpec {
                schedule: schedule.when.clone(),
                time_zone: Some("Etc/UTC".to_owned()),
                concurrency_policy: Some("Forbid".to_owned()),
                suspend: Some(true).filter(|_| schedule.suspended),
                starting_deadline_seconds: Some(LATE),
                successful_jobs_history_limit: Some(1),
                failed_jobs_history_limit: Some(1),
                job_template: JobTemplateSpec {
                    metadata: None,
                    spec: Some(JobSpec {
                        active_deadline_seconds: Some(schedule.deadline.unwrap_or(DEADLINE)),
                        ..self.spec(schedule.name, &schedule.program, false)
                    }),
                },
            },
            status: None,
        };
        desired.apply(service.namespace, &service.named(schedule.name), &job);
    }

    fn job(&self, task: &Task, desired: &mut DesiredState) -> Job {
        let mut metadata = self.service.labelled(task.name, TASK, task.name);
        let labels = metadata.labels.get_or_insert_default();
        labels.insert(PURPOSE.to_owned(), digest([task.purpose.as_str()]));
        labels.insert(RELEASE.to_owned(), self.service.release.to_string());
        if let Some((phase, database)) = &task.migrates {
            labels.insert(PHASE.to_owned(), phase.name().to_owned());
            labels.insert(DATABASE.to_owned(), digest([database.as_str()]));
        }
        let spec = self.spec(task.name, &task.program, task.migrates.is_some());
        // Another spec needs another name, since the API server refuses changes of a Job's pods. What is done is found by its purpose.
        let content = desired.json(task.name, &spec).to_string();
        let name = format!(
            "{}-{}",
            task.name,
            digest([task.purpose.as_str(), &content])
        );
        metadata.name = Some(self.service.named(&name));
        Job {
            metadata,
            spec: Some(spec),
            status: None,
        }
    }

    /// The spec of a Job of this name, of which two pods never run at once: the next one starts when an evicted one has ended.
    fn spec(&self, name: &str, program: &Program, migrates: bool) -> JobSpec {
        let service = (self.service, self.service.definition.name);
        let mut pod = pod(service, program, self.resources.clone());
        pod.restart_policy = Some("Never".to_owned());
        pod.termination_grace_period_seconds = migrates.then_some(GRACE);
        let kept = migrates.then(|| (EVICTABLE.to_owned(), "false".to_owned()));
        // Network policies select pods by the service's name. The Service also selects by instance, and must not select these.
        let mut labels = self.labels.clone();
        labels.insert(NAME.to_owned(), self.service.definition.name.to_owned());
        labels.insert(TASK.to_owned(), name.to_owned());
        JobSpec {
            backoff_limit: Some(TRIES),
            active_deadline_seconds: Some(DEADLINE),
            pod_replacement_policy: Some("Failed".to_owned()),
            template: pod_template(labels, kept, pod),
            ..JobSpec::default()
        }
    }
}

fn are_composed(keys: &[Key], desired: &DesiredState) -> bool {
    keys.iter().all(|key| desired.objects.contains_key(key))
}
