//! How periodic tasks go.

use std::sync::Arc;

use k8s_openapi::api::batch::v1::{CronJob, CronJobStatus};
use provider_composer::{DesiredState, Key, Lookup, Progress, Reason, Resource, ResourceKind};
use serde::Deserialize;
use serde_json::Value;

use super::{Jobs, TASK};
use crate::schedule::Cron;
use crate::service::NAME;

/// What is read of a CronJob, besides its metadata.
#[derive(Deserialize)]
struct Seen {
    status: Option<CronJobStatus>,
}

impl Resource for Seen {
    const KIND: ResourceKind = CronJob::KIND;
}

impl Jobs<'_> {
    /// Keeps the CronJob of a periodic task.
    pub fn keep_schedule(&self, task: &str, desired: &mut DesiredState) {
        let service = self.service;
        desired.keep(Key::of::<CronJob>(service.namespace, &service.named(task)));
    }

    /// Whether a run of a periodic task isn't over, as far as its CronJob can be read. Between two tries it has no pod.
    pub fn may_run(&self, task: &str) -> bool {
        let service = self.service;
        let key = Key::of::<CronJob>(service.namespace, &service.named(task));
        !is_idle(&service.observed.object(&key))
    }

    /// Whether the last run of a periodic task succeeded, and none is overdue. A run that isn't over doesn't count, and keeps the files that
    /// its next try needs.
    pub fn last_run(&self, task: &str, cron: &Cron, desired: &mut DesiredState) -> Progress {
        let (namespace, name) = (self.service.namespace, self.service.named(task));
        if self.may_run(task) {
            self.keep_files(desired);
        }
        let job = match self.service.get::<Seen>(&name) {
            Lookup::Found(job) => job,
            Lookup::Missing => {
                return Progress::waiting(
                    Reason::WaitingFor("Job"),
                    format!("waits for CronJob {name}"),
                );
            }
            Lookup::Unknown(message) => return Progress::Unknown { message },
        };
        let status = job.body.status.unwrap_or_default();
        let runs = status.active.is_some_and(|active| !active.is_empty());
        let started = status.last_schedule_time.map(|time| time.0);
        let succeeded = status.last_successful_time.map(|time| time.0);
        let created = job.metadata.creation_timestamp;
        let since = succeeded.or_else(|| created?.parse().ok());
        let next = |moment| cron.after(moment);
        let overdue = since.and_then(next).and_then(next);
        let is_overdue = overdue.is_some_and(|overdue| overdue <= self.now);
        if is_overdue || (started > succeeded && !runs) {
            let since = succeeded.map_or_else(String::new, |last| format!(" since {last}"));
            let service = self.service.definition.name;
            return Progress::failing(
                Reason::JobFailing,
                format!(
                    "no Job of CronJob {name} has succeeded{since}: `kubectl logs -n {namespace} -l {NAME}={service},{TASK}={task} --tail=-1` \
                     shows why; try again with `kubectl create job -n {namespace} --from=cronjob/{name} {name}-now`"
                ),
            );
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
}

/// Whether a CronJob has started no Job that runs.
pub(crate) fn is_idle(job: &Lookup<Arc<Value>>) -> bool {
    match job {
        Lookup::Found(job) => {
            let active = job.pointer("/status/active").and_then(Value::as_array);
            active.is_none_or(Vec::is_empty)
        }
        Lookup::Missing => true,
        Lookup::Unknown(_) => false,
    }
}
