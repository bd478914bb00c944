//! Backups by the Jobs of a CronJob: whether they succeed.

use provider_composer::{DesiredState, Lookup, ObservedState, Progress, Reason};

use crate::jobs::ObservedCronJob;
use crate::schedule::Cron;

/// The condition that backups succeed. Ready doesn't wait for it.
pub const BACKED_UP: &str = "BackedUp";

/// Why there is no backup yet.
const WAITING: Reason = Reason::WaitingFor("Backup");

/// Backups by the Jobs of a CronJob.
pub struct Backups<'a> {
    /// What they are of, for messages.
    pub of: &'a str,
    /// The operator that creates the CronJob, for messages.
    pub creator: &'a str,
    /// The CronJob's namespace.
    pub namespace: &'a str,
    /// The CronJob's name.
    pub cron_job: &'a str,
    /// When they are due.
    pub cron: &'a Cron,
}

impl Backups<'_> {
    /// Whether a backup has succeeded since the one before the last was due, and otherwise when to look again.
    pub fn progress(&self, observed: &ObservedState<'_>, desired: &mut DesiredState) -> Progress {
        let Self { of, cron_job, .. } = self;
        let job = match observed.get::<ObservedCronJob>(self.namespace, cron_job) {
            Lookup::Found(job) => job,
            Lookup::Missing => {
                let message = format!("waits for {} to create CronJob {cron_job}", self.creator);
                return Progress::waiting(WAITING, message);
            }
            Lookup::Unknown(message) => return Progress::Unknown { message },
        };
        let last = job.body.last_success();
        let created = job.metadata.creation_timestamp;
        let since = last.or_else(|| created?.parse().ok());
        let next = |moment| self.cron.after(moment);
        let overdue = since.and_then(next).and_then(next);
        if let Some(overdue) = overdue
            && overdue <= observed.now()
        {
            let since = last.map_or_else(String::new, |last| format!(" since {last}"));
            let message = format!(
                "no backup of {of} has succeeded{since}: see the Jobs of CronJob {cron_job}, and correct what their logs name"
            );
            return Progress::failing(Reason::BackupOverdue, message);
        }
        if let Some(overdue) = overdue {
            desired.requeue_at(overdue);
        }
        match last {
            Some(_) => Progress::Ready,
            None => Progress::waiting(
                WAITING,
                format!("waits for the first Job of CronJob {cron_job}"),
            ),
        }
    }
}
