//! What is read of Jobs: what each does, and how far it is.

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{Job, JobCondition, JobStatus};
use provider_composer::{Live, Resource, ResourceKind};
use serde::Deserialize;

use super::{DATABASE, PURPOSE, TASK, Task};
use crate::digest::digest;
use crate::files::Volume;
use crate::rollout::seen::Spec;

/// What is read of a Job: what its pods mount, and how far it is. Its labels say what it does.
#[derive(Deserialize)]
pub(super) struct Seen {
    spec: Option<Spec>,
    pub(super) status: Option<JobStatus>,
}

impl Resource for Seen {
    const KIND: ResourceKind = Job::KIND;
}

/// The volumes of its pods, whenever they start.
pub(super) fn volumes(job: &Live<Seen>) -> &[Volume] {
    let spec = job.body.spec.as_ref();
    spec.map(Spec::volumes).unwrap_or_default()
}

/// The value of one of its labels.
pub(super) fn label<'j>(job: &'j Live<Seen>, label: &str) -> Option<&'j str> {
    job.metadata.labels.get(label).map(String::as_str)
}

/// Whether a Job does a task for the same purpose.
pub(super) fn is_for(job: &Live<Seen>, task: &Task) -> bool {
    label(job, TASK) == Some(task.name)
        && label(job, PURPOSE) == Some(&digest([task.purpose.as_str()]))
}

/// Whether a Job does the same task for something else, or migrates the same database: two at once would get in each
/// other's way.
pub(super) fn is_kin(job: &Live<Seen>, task: &Task) -> bool {
    let database = task.migrates.as_ref();
    let database = database.map(|(_, database)| digest([database.as_str()]));
    label(job, TASK) == Some(task.name)
        || (database.is_some() && label(job, DATABASE) == database.as_deref())
}

/// Whether a condition of a Job is True.
pub(super) fn has(job: &Live<Seen>, type_: &str) -> bool {
    condition(job, type_).is_some()
}

fn condition<'j>(job: &'j Live<Seen>, type_: &str) -> Option<&'j JobCondition> {
    let status = job.body.status.as_ref()?;
    let conditions = status.conditions.as_deref().unwrap_or_default();
    conditions
        .iter()
        .find(|condition| condition.type_ == type_ && condition.status == "True")
}

/// The reason and the time of its failure.
pub(super) fn failure(job: &Live<Seen>) -> Option<(String, Timestamp)> {
    let failed = condition(job, "Failed")?;
    let reason = failed.message.clone().or_else(|| failed.reason.clone());
    let since = failed.last_transition_time.as_ref().map(|time| time.0);
    Some((
        reason.unwrap_or_else(|| "no reason given".to_owned()),
        since.unwrap_or(Timestamp::MIN),
    ))
}

/// Whether one of its pods is running or terminates. A pod whose image can't be pulled isn't running.
pub(super) fn runs(job: &Live<Seen>) -> bool {
    let ready = job.body.status.as_ref().and_then(|status| status.ready);
    (ready.is_some_and(|ready| ready > 0) || terminates(job)) && !is_over(job)
}

/// Whether one of its pods terminates. Its program may work until the end of the grace period, although Kubernetes doesn't count the pod
/// as ready any more.
pub(super) fn terminates(job: &Live<Seen>) -> bool {
    let status = job.body.status.as_ref();
    let terminating = status.and_then(|status| status.terminating);
    terminating.is_some_and(|terminating| terminating > 0)
}

/// Whether it has succeeded or failed for good. Until then it may be tried again.
pub(super) fn is_over(job: &Live<Seen>) -> bool {
    has(job, "Complete") || has(job, "Failed")
}
