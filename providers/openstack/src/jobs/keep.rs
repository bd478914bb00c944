//! Which Jobs are kept while they aren't composed, with the files that their pods may need.

use provider_composer::{DesiredState, Live};

use super::seen::{Seen, has, is_over, label, runs, volumes};
use super::{Jobs, PHASE, TASK};
use crate::files;
use crate::phase::Phase;

impl Jobs<'_> {
    /// Keeps the Jobs of some tasks.
    pub fn keep(&self, tasks: &[&str], desired: &mut DesiredState) {
        self.keep_each(|job| is_of(job, tasks), desired);
    }

    /// Keeps the Jobs of some tasks, but for those that haven't begun.
    pub fn keep_begun(&self, tasks: &[&str], desired: &mut DesiredState) {
        let begun = |job: &_| is_of(job, tasks) && (runs(job) || is_over(job));
        self.keep_each(begun, desired);
    }

    /// Keeps all Jobs that migrate a database.
    pub fn keep_migrations(&self, desired: &mut DesiredState) {
        self.keep_each(migrates, desired);
    }

    /// Keeps the Jobs that are migrating a database. One that is killed may leave tables that no release knows.
    pub fn keep_running_migrations(&self, desired: &mut DesiredState) {
        self.keep_each(|job| migrates(job) && runs(job), desired);
    }

    /// Keeps some Jobs, with the files of those that aren't over.
    fn keep_each(&self, kept: impl Fn(&Live<Seen>) -> bool, desired: &mut DesiredState) {
        for job in self.found().filter(|job| kept(job)) {
            if !is_over(job) {
                self.keep_files_of(job, desired);
            }
            desired.keep(self.key(job));
        }
    }

    /// Keeps the completed Jobs of the phases sync and contract: they record that the migration is done.
    pub fn keep_done(&self, desired: &mut DesiredState) {
        let lasting = [Phase::Sync, Phase::Contract].map(|phase| Some(phase.name()));
        let done = |job: &&Live<Seen>| lasting.contains(&label(job, PHASE)) && has(job, "Complete");
        let done = self.found().filter(done);
        desired.kept.extend(done.map(|job| self.key(job)));
    }

    /// Keeps all files of the service, for pods whose template isn't read.
    pub fn keep_files(&self, desired: &mut DesiredState) {
        desired.kept.extend(self.files.keys.iter().cloned());
    }

    /// Keeps the files of a Job: each retry mounts those that the Job was created with.
    pub(super) fn keep_files_of(&self, job: &Live<Seen>, desired: &mut DesiredState) {
        let files = files::of(self.service, volumes(job));
        desired.kept.extend(files);
    }
}

/// Whether a Job is one of some tasks.
fn is_of(job: &Live<Seen>, tasks: &[&str]) -> bool {
    label(job, TASK).is_some_and(|task| tasks.contains(&task))
}

/// Whether a Job migrates a database.
fn migrates(job: &Live<Seen>) -> bool {
    label(job, PHASE).is_some()
}
