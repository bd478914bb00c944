//! The Jobs of periodic tasks: whether they succeed, and what those that aren't over need.

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{CronJob, CronJobStatus};
use provider_composer::{
    DesiredState, Key, Live, Lookup, Progress, Reason, Resource, ResourceKind, second,
};
use serde::Deserialize;
use serde_json::Value;

use super::{DEADLINE, Jobs, Seen, TASK, volumes};
use crate::files::{self, Volume};
use crate::schedule::Cron;
use crate::service::NAME;

/// What is read of a CronJob, besides its metadata. Kubernetes' own type has the whole template of its Jobs, and is large.
#[derive(Deserialize)]
pub struct ObservedCronJob {
    status: Option<CronJobStatus>,
}

impl Resource for ObservedCronJob {
    const KIND: ResourceKind = CronJob::KIND;
}

impl ObservedCronJob {
    /// The names of its Jobs that aren't over.
    fn active(&self) -> impl Iterator<Item = &str> {
        let status = self.status.iter();
        let active = status.flat_map(|status| status.active.iter().flatten());
        active.map(|job| job.name.as_deref().unwrap_or_default())
    }

    /// Whether one of its Jobs isn't over.
    fn is_active(&self) -> bool {
        self.active().next().is_some()
    }

    /// When the last of its Jobs was due.
    fn last_due(&self) -> Option<Timestamp> {
        let time = self.status.as_ref()?.last_schedule_time.as_ref()?;
        Some(time.0)
    }

    /// When one of its Jobs last succeeded.
    pub fn last_success(&self) -> Option<Timestamp> {
        let time = self.status.as_ref()?.last_successful_time.as_ref()?;
        Some(time.0)
    }
}

/// A Job of a CronJob that isn't over.
struct Run {
    name: String,
    /// Missing where it is observed later than its CronJob.
    job: Lookup<Live<Seen>>,
}

impl Jobs<'_> {
    /// Keeps the CronJob of a periodic task.
    pub fn keep_schedule(&self, task: &str, desired: &mut DesiredState) {
        let service = self.service;
        desired.keep(Key::of::<CronJob>(service.namespace, &service.named(task)));
    }

    /// Whether a run of a periodic task isn't over, as far as its CronJob can be read. Between two tries it has no pod.
    pub fn may_run(&self, task: &str) -> bool {
        let name = self.service.named(task);
        match self.service.body::<ObservedCronJob>(&name) {
            Lookup::Found(job) => job.is_active(),
            Lookup::Missing => false,
            Lookup::Unknown(_) => true,
        }
    }

    /// Whether the last run of a periodic task succeeded, and none is overdue. A run that isn't over doesn't count, and keeps the files that
    /// its next try needs.
    pub fn last_run(&self, task: &str, cron: &Cron, desired: &mut DesiredState) -> Progress {
        let (namespace, name) = (self.service.namespace, self.service.named(task));
        let job = match self.service.get::<ObservedCronJob>(&name) {
            Lookup::Found(job) => job,
            Lookup::Missing => {
                let message = format!("waits for CronJob {name}");
                return Progress::waiting(Reason::WaitingFor("Job"), message);
            }
            Lookup::Unknown(message) => {
                self.keep_files(desired);
                return Progress::Unknown { message };
            }
        };
        self.keep_files_of_runs(&job.body, desired);
        let (runs, started) = (job.body.is_active(), job.body.last_due());
        let succeeded = job.body.last_success();
        let created = job.metadata.creation_timestamp;
        let since = succeeded.or_else(|| created?.parse().ok());
        let next = |moment| cron.after(moment);
        let overdue = since.and_then(next).and_then(next);
        let is_overdue = overdue.is_some_and(|overdue| overdue <= self.now);
        if is_overdue || (started > succeeded && !runs) {
            let since = succeeded.map_or_else(String::new, |last| format!(" since {last}"));
            let service = self.service.definition.name;
            let message = format!(
                "no Job of CronJob {name} has succeeded{since}: `kubectl logs -n {namespace} -l {NAME}={service},{TASK}={task} --tail=-1` \
                 shows why; try again with `kubectl create job -n {namespace} --from=cronjob/{name} {name}-now`"
            );
            return Progress::failing(Reason::JobFailing, message);
        }
        if let Some(overdue) = overdue {
            desired.requeue_at(overdue);
        }
        match succeeded {
            Some(_) => Progress::Ready,
            None => Progress::waiting(
                Reason::WaitingFor("Job"),
                format!("waits for the first Job of CronJob {name}"),
            ),
        }
    }

    /// What a rotation of users waits for: the first Job of a composed CronJob that isn't over and may mount other files than those that are
    /// composed now.
    pub(crate) fn outdated_run(&self, desired: &DesiredState) -> Option<Progress> {
        let composed = desired.objects.iter();
        let mut with_users = composed
            .filter(|(key, object)| key.kind == CronJob::KIND && self.may_have_users(object));
        with_users.find_map(|(key, _)| self.outdated_run_of(&key.name, desired))
    }

    /// Whether the pods of a composed CronJob may have users, which are in the service's files. Those that check pools of Ceph mount none.
    fn may_have_users(&self, cron_job: &Value) -> bool {
        let volumes = &cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["volumes"];
        let volumes = Vec::<Volume>::deserialize(volumes);
        !volumes.is_ok_and(|volumes| files::of(self.service, &volumes).is_empty())
    }

    fn outdated_run_of(&self, cron_job: &str, desired: &DesiredState) -> Option<Progress> {
        let observed = match self.service.body::<ObservedCronJob>(cron_job) {
            Lookup::Found(observed) => observed,
            Lookup::Missing => return None,
            Lookup::Unknown(message) => return Some(Progress::unknown(message)),
        };
        self.runs_of(&observed).iter().find_map(|run| {
            let status = match &run.job {
                Lookup::Found(job) if self.has_composed_files(job, desired) => return None,
                Lookup::Found(job) => job.body.status.as_ref(),
                Lookup::Missing => None,
                Lookup::Unknown(message) => return Some(Progress::unknown(message)),
            };
            let started = status.and_then(|status| status.start_time.as_ref());
            let started = started.map(|time| format!("started at {} and ", second(time.0)));
            let (namespace, name) = (self.service.namespace, &run.name);
            let message = format!(
                "waits for Job {name} of CronJob {cron_job}, which {}may have the former users: it ends within {} hours; to end it now, \
                 run `kubectl delete job -n {namespace} {name}`",
                started.unwrap_or_default(),
                DEADLINE / 3600
            );
            Some(Progress::waiting(Reason::WaitingFor("Job"), message))
        })
    }

    /// Keeps the files that the next tries of a CronJob's Jobs need: all where it isn't known which.
    fn keep_files_of_runs(&self, cron_job: &ObservedCronJob, desired: &mut DesiredState) {
        for run in self.runs_of(cron_job) {
            match run.job {
                Lookup::Found(job) if !volumes(&job).is_empty() => {
                    self.keep_files_of(&job, desired);
                }
                _ => self.keep_files(desired),
            }
        }
    }

    /// The Jobs of a CronJob that aren't over.
    fn runs_of(&self, cron_job: &ObservedCronJob) -> Vec<Run> {
        let active = cron_job.active().map(|name| Run {
            name: name.to_owned(),
            job: self.service.get(name),
        });
        active.collect()
    }
}
