//! Tasks that migrate a service's databases to a release, before and after a rolling update of its pods.

use std::collections::BTreeSet;

use provider_composer::{DesiredState, Failure, Progress, Reason};

use crate::jobs::{Jobs, Task};
use crate::phase::Phase;
use crate::pod::Program;
use crate::release::Release;
use crate::service::Service;

/// A task of a migration.
pub struct Migration {
    /// Its name, for instance `db-sync`: at most 12 characters, so that the Job's name isn't too long.
    pub name: &'static str,
    /// Its phase.
    pub phase: Phase,
    /// The tasks of the same phase that must be done first. They come before it in the list.
    pub after: &'static [&'static str],
    /// The database that it changes, as returned by [`Database::place`](crate::Database::place). Two tasks of one database never run
    /// at once. If the service moves to another database, the task runs again.
    pub database: String,
    /// The program, which must be idempotent.
    pub program: Program,
}

/// All tasks of a service, each after those that it depends on.
pub struct Migrations(pub Vec<Migration>);

/// The state of a service's databases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// The progress of the tasks.
    pub progress: Progress,
    /// Whether pods of the desired release may run.
    pub serves: bool,
    /// The release of the databases' schema.
    pub release: Option<Release>,
}

impl Migrations {
    /// Lists the databases that the tasks change.
    pub fn databases(&self) -> String {
        let places: BTreeSet<&str> = self.0.iter().map(|task| task.database.as_str()).collect();
        places.into_iter().collect::<Vec<_>>().join(" and ")
    }

    /// Migrates the databases to the desired release. An upgrade can be reverted until its last phase starts. `complete` is whether
    /// nothing runs an older release any more. Whatever migrates them already ends first.
    ///
    /// # Errors
    /// The databases can't be reverted any more.
    pub(crate) fn compose(
        &self,
        jobs: &Jobs<'_>,
        complete: bool,
        desired: &mut DesiredState,
    ) -> Result<Schema, Failure> {
        let service = jobs.service();
        let upgrade_from = service
            .installed
            .filter(|installed| *installed != service.release);
        let contract = self.phase(Phase::Contract);
        let Some(installed) = upgrade_from else {
            if service.installed.is_some() && jobs.newer_release_contracts() {
                let message = format!(
                    "the database has begun to leave {} behind: ask for the newer release again",
                    service.release
                );
                return Err(Failure::new(Reason::TooLateToGoBack, message));
            }
            let contracted = |task: &&Migration| task.is_done(jobs);
            if service.installed.is_some()
                && !contract.is_empty()
                && contract.iter().all(contracted)
            {
                // The upgrade is complete.
                run(&contract, jobs, desired);
                return Ok(Schema {
                    progress: Progress::Ready,
                    serves: true,
                    release: Some(service.release),
                });
            }
            let progress = run(&self.phase(Phase::Sync), jobs, desired);
            let serves = progress.is_ready();
            if !serves {
                jobs.keep_done(desired);
            }
            let synced = Some(service.release).filter(|_| serves);
            return Ok(Schema {
                progress,
                serves,
                release: service.installed.or(synced),
            });
        };
        // A reverted upgrade has nothing to do: the older program doesn't support the newer schema.
        jobs.keep_done(desired);
        let progress = run(&self.upgrade(), jobs, desired);
        if !progress.is_ready() || !complete {
            return Ok(Schema {
                serves: progress.is_ready(),
                progress,
                release: Some(installed),
            });
        }
        let progress = run(&contract, jobs, desired);
        let release = match progress.is_ready() {
            true => service.release,
            false => installed,
        };
        Ok(Schema {
            progress,
            serves: true,
            release: Some(release),
        })
    }

    fn phase(&self, phase: Phase) -> Vec<&Migration> {
        self.0.iter().filter(|task| task.phase == phase).collect()
    }

    /// The tasks that run while the older release runs: those of [`Phase::Expand`], or of [`Phase::Sync`] for a database that has
    /// none.
    fn upgrade(&self) -> Vec<&Migration> {
        let expand = self.phase(Phase::Expand);
        let expands = |task: &Migration| expand.iter().any(|other| other.database == task.database);
        let each = self.0.iter().filter(|task| match task.phase {
            Phase::Expand => true,
            Phase::Sync => !expands(task),
            Phase::Contract => false,
        });
        each.collect()
    }
}

impl Migration {
    /// Whether it is done for the desired image.
    pub fn is_done(&self, jobs: &Jobs<'_>) -> bool {
        jobs.has_done(&self.task(jobs.service()))
    }

    fn task(&self, service: &Service<'_>) -> Task {
        Task {
            name: self.name,
            purpose: format!("{} {} {}", service.release, service.image, self.database),
            migrates: Some((self.phase, self.database.clone())),
            program: self.program.clone(),
            often: format!(
                "the database {} can't be reached or refuses user or password, which the Secret of spec.database has",
                self.database
            ),
        }
    }
}

/// Runs the tasks whose predecessors are done. Returns the progress of the first that isn't done.
fn run(tasks: &[&Migration], jobs: &Jobs<'_>, desired: &mut DesiredState) -> Progress {
    let mut done = BTreeSet::new();
    let mut all = Progress::Ready;
    for task in tasks {
        let listed = |name: &&&str| tasks.iter().any(|other| other.name == **name);
        let after = task.after.iter().filter(listed);
        if !after.into_iter().all(|name| done.contains(name)) {
            continue;
        }
        let progress = jobs.once(&task.task(jobs.service()), desired);
        if progress.is_ready() {
            done.insert(task.name);
        } else if all.is_ready() {
            all = progress;
        }
    }
    all
}
