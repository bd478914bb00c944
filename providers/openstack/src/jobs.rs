//! What is done once for a service: migrations of its database, its first users.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::{CronJob, CronJobSpec, Job, JobSpec, JobTemplateSpec};
use k8s_openapi::api::core::v1::{PodTemplateSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use provider_composer::{DesiredState, Key, Live, Lookup, ObservedState, Progress, Reason};

use crate::digest::digest;
use crate::files;
use crate::migration::Phase;
use crate::pod::{Program, pod};
use crate::service::{NAME, Service};

/// Label of a Job: which task it does.
const TASK: &str = "c5c3.io/task";
/// Label of a Job: for what. A task that was done for the same isn't done again.
const PURPOSE: &str = "c5c3.io/purpose";
/// Label of a Job: the release whose program does it.
const RELEASE: &str = "c5c3.io/release";
/// Label of a Job that migrates a database: the phase.
const PHASE: &str = "c5c3.io/phase";
/// Label of a Job that migrates a database: which one.
const DATABASE: &str = "c5c3.io/database";
/// How often a task is tried at once, with ten seconds between and twice as many each time.
const TRIES: i32 = 4;
/// How long after that it is tried again.
const PAUSE: SignedDuration = SignedDuration::from_mins(10);
/// How long it may take until a task's pod runs, before somebody should be told.
const START: SignedDuration = SignedDuration::from_secs(30);
/// How long a task may take, in seconds: large databases migrate for hours.
const DEADLINE: i64 = 6 * 3600;

/// How late a CronJob may start, in seconds, before it waits for its next time.
const LATE: i64 = 3600;

/// Something that is done once.
pub struct Task {
    /// What it is called; at most 12 characters, so that a Job's name fits.
    pub name: &'static str,
    /// For what it is done: the same again is not done again, whatever else changes.
    pub purpose: String,
    /// The phase and the database, if it migrates one.
    pub migrates: Option<(Phase, String)>,
    /// What does it. It must do no harm when it is run again.
    pub program: Program,
    /// What is most often wrong when it fails, and where that is mended.
    pub often: String,
}

/// Something that is done again and again.
pub struct Schedule {
    /// The name of its CronJob after that of the service.
    pub name: &'static str,
    /// When it runs, as a CronJob takes it, in UTC.
    pub when: String,
    /// What does it.
    pub program: Program,
}

/// The Jobs of one service, as they were seen.
pub struct Jobs<'a> {
    service: &'a Service<'a>,
    now: Timestamp,
    /// Files that they may need as long as they run.
    files: Vec<Key>,
    seen: Lookup<Vec<Live<Job>>>,
}

impl<'a> Jobs<'a> {
    /// Looks at the Jobs of a service.
    pub fn of(service: &'a Service<'a>, observed: &ObservedState<'_>) -> Self {
        let labels = service.labels();
        let labels: Vec<(&str, &str)> = labels
            .iter()
            .map(|(label, value)| (label.as_str(), value.as_str()))
            .collect();
        Self {
            service,
            now: observed.now(),
            files: files::found(service, observed),
            seen: observed.list::<Job>(service.namespace, &labels),
        }
    }

    /// Whether a task was done for its purpose.
    pub fn has_done(&self, task: &Task) -> bool {
        self.found()
            .any(|job| is_for(job, task) && has(job, "Complete"))
    }

    /// Whether another release than the wanted one has begun to contract a database, and isn't known to have failed.
    pub fn another_release_contracts(&self) -> bool {
        let wanted = self.service.release.to_string();
        self.found().any(|job| {
            label(job, PHASE) == Some(Phase::Contract.name())
                && label(job, RELEASE) != Some(&wanted)
                && !has(job, "Failed")
        })
    }

    /// Has a task done, once for each purpose, and says how far it has come. A Job that failed is made anew after some
    /// time, or as soon as it would be another one, because what it uses has changed; one that runs is never broken off.
    pub fn once(&self, task: &Task, desired: &mut DesiredState) -> Progress {
        if let Lookup::Unknown(message) = &self.seen {
            return Progress::Unknown {
                message: message.clone(),
            };
        }
        let mut same = self.found().filter(|job| is_for(job, task));
        if let Some(done) = same.clone().find(|job| has(job, "Complete")) {
            desired.keep(self.key(done));
            return Progress::Ready;
        }
        if let Some(running) = same.find(|job| runs(job)) {
            let waits = self.waits(running, desired);
            return self.fails(task, running).unwrap_or(waits);
        }
        let mut others = self.found().filter(|job| is_kin(job, task) && runs(job));
        if let Some(other) = others.find(|job| !desired.wants(&self.key(job))) {
            return self.waits(other, desired);
        }
        let job = self.job(task, desired);
        let name = job.metadata.name.clone().unwrap_or_default();
        let found = self.found().find(|job| job.metadata.name == name);
        let Some((message, since)) = found.and_then(failure) else {
            desired.apply(self.service.namespace, &name, &job);
            let fails = found.and_then(|job| self.fails(task, job));
            return fails.unwrap_or_else(|| self.starts(&name, found, desired));
        };
        // Without it the Job goes, and the next time it is made anew.
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

    /// Leaves the Jobs of some tasks as they are.
    pub fn keep(&self, tasks: &[&str], desired: &mut DesiredState) {
        let kept = |job: &&Live<Job>| label(job, TASK).is_some_and(|task| tasks.contains(&task));
        for job in self.found().filter(kept) {
            desired.keep(self.key(job));
        }
    }

    /// Leaves all Jobs that migrate a database as they are.
    pub fn keep_migrations(&self, desired: &mut DesiredState) {
        for job in self.found().filter(|job| label(job, PHASE).is_some()) {
            desired.keep(self.key(job));
        }
    }

    /// Leaves the Jobs that have synced or contracted a database as they are: they tell that there is nothing left to do.
    pub fn keep_done(&self, desired: &mut DesiredState) {
        let lasting = [Phase::Sync, Phase::Contract].map(|phase| Some(phase.name()));
        let done = |job: &&Live<Job>| lasting.contains(&label(job, PHASE)) && has(job, "Complete");
        for job in self.found().filter(done) {
            desired.keep(self.key(job));
        }
    }

    fn found(&self) -> impl Iterator<Item = &Live<Job>> + Clone {
        let found = match &self.seen {
            Lookup::Found(jobs) => jobs.as_slice(),
            Lookup::Missing | Lookup::Unknown(_) => &[],
        };
        found.iter()
    }

    fn key(&self, job: &Live<Job>) -> Key {
        Key::of::<Job>(self.service.namespace, &job.metadata.name)
    }

    /// Leaves a Job that runs to its end, with the files that it needs.
    fn waits(&self, job: &Live<Job>, desired: &mut DesiredState) -> Progress {
        for key in self.files.iter().cloned().chain([self.key(job)]) {
            desired.keep(key);
        }
        let name = &job.metadata.name;
        Progress::waiting(
            Reason::WaitingFor("Job"),
            format!("waits for Job {name}, which runs"),
        )
    }

    /// Says that a Job has failed, but is tried again at once.
    fn fails(&self, task: &Task, job: &Live<Job>) -> Option<Progress> {
        let status = job.body.status.as_ref()?;
        let failed = status.failed.filter(|failed| *failed > 0)?;
        let name = &job.metadata.name;
        let (hint, tries) = (self.hint(task, name), TRIES + 1);
        Some(Progress::failing(
            Reason::JobFailing,
            format!("Job {name} has failed {failed} of {tries} times, and is tried again: {hint}"),
        ))
    }

    /// What may be wrong with a Job that fails.
    fn hint(&self, task: &Task, job: &str) -> String {
        format!(
            "often {}; see `kubectl logs -n {} job/{job}` for why",
            task.often, self.service.namespace
        )
    }

    /// Says what a Job that doesn't run yet waits for; of a pod that doesn't start, a Job says nothing by itself.
    fn starts(&self, name: &str, job: Option<&Live<Job>>, desired: &mut DesiredState) -> Progress {
        let status = job.and_then(|job| job.body.status.as_ref());
        let begun = status.and_then(|status| status.start_time.as_ref());
        let late = begun.and_then(|begun| begun.0.checked_add(START).ok());
        match late {
            Some(late) if late <= self.now => Progress::failed(
                Reason::NotStarting,
                format!(
                    "waits for Job {name}, whose pod doesn't start: is there an image {}, and room on a node? See `kubectl \
                     describe pods -n {} -l job-name={name}` for why; what runs goes on",
                    self.service.image, self.service.namespace
                ),
            ),
            late => {
                if let Some(late) = late {
                    desired.requeue_at(late);
                }
                Progress::waiting(Reason::WaitingFor("Job"), format!("waits for Job {name}"))
            }
        }
    }

    /// Runs a program on a schedule, by a CronJob. It must do no harm when it is run again.
    pub fn on_schedule(&self, schedule: &Schedule, desired: &mut DesiredState) {
        let service = self.service;
        let job = CronJob {
            metadata: service.metadata(schedule.name),
            spec: CronJobSpec {
                schedule: schedule.when.clone(),
                time_zone: Some("Etc/UTC".to_owned()),
                concurrency_policy: Some("Forbid".to_owned()),
                starting_deadline_seconds: Some(LATE),
                successful_jobs_history_limit: Some(1),
                failed_jobs_history_limit: Some(1),
                job_template: JobTemplateSpec {
                    metadata: None,
                    spec: Some(self.spec(schedule.name, &schedule.program)),
                },
                ..CronJobSpec::default()
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
        let spec = self.spec(task.name, &task.program);
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

    /// What a Job of this name runs.
    fn spec(&self, name: &str, program: &Program) -> JobSpec {
        let service = (self.service, self.service.definition.name);
        let mut pod = pod(service, program, ResourceRequirements::default());
        pod.restart_policy = Some("Never".to_owned());
        // Network policies select pods by the service's name; its Service also selects by instance, and must not choose these.
        let labels = std::collections::BTreeMap::from([
            (NAME.to_owned(), self.service.definition.name.to_owned()),
            (TASK.to_owned(), name.to_owned()),
        ]);
        JobSpec {
            backoff_limit: Some(TRIES),
            active_deadline_seconds: Some(DEADLINE),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels),
                    ..ObjectMeta::default()
                }),
                spec: Some(pod),
            },
            ..JobSpec::default()
        }
    }
}

fn label<'j>(job: &'j Live<Job>, label: &str) -> Option<&'j str> {
    job.metadata.labels.get(label).map(String::as_str)
}

fn is_for(job: &Live<Job>, task: &Task) -> bool {
    label(job, TASK) == Some(task.name)
        && label(job, PURPOSE) == Some(&digest([task.purpose.as_str()]))
}

/// Whether a Job does the same task for something else, or migrates the same database: two at once would get in each
/// other's way.
fn is_kin(job: &Live<Job>, task: &Task) -> bool {
    let database = task.migrates.as_ref();
    let database = database.map(|(_, database)| digest([database.as_str()]));
    label(job, TASK) == Some(task.name)
        || (database.is_some() && label(job, DATABASE) == database.as_deref())
}

fn has(job: &Live<Job>, type_: &str) -> bool {
    condition(job, type_).is_some()
}

fn condition<'j>(
    job: &'j Live<Job>,
    type_: &str,
) -> Option<&'j k8s_openapi::api::batch::v1::JobCondition> {
    let status = job.body.status.as_ref()?;
    let conditions = status.conditions.as_deref().unwrap_or_default();
    conditions
        .iter()
        .find(|condition| condition.type_ == type_ && condition.status == "True")
}

/// Why it failed, and when.
fn failure(job: &Live<Job>) -> Option<(String, Timestamp)> {
    let failed = condition(job, "Failed")?;
    let reason = failed.message.clone().or_else(|| failed.reason.clone());
    let since = failed.last_transition_time.as_ref().map(|time| time.0);
    Some((
        reason.unwrap_or_else(|| "no reason given".to_owned()),
        since.unwrap_or(Timestamp::MIN),
    ))
}

/// Whether a pod of it works now. One whose image can't be pulled doesn't.
fn runs(job: &Live<Job>) -> bool {
    let ready = job.body.status.as_ref().and_then(|status| status.ready);
    ready.is_some_and(|ready| ready > 0) && !has(job, "Complete") && !has(job, "Failed")
}
