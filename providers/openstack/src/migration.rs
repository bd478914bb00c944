//! Tasks that bring a service's databases to a release, around a rolling change of its pods.

use std::collections::BTreeSet;

use provider_composer::{DesiredState, Failure, Progress, Reason};

use crate::jobs::{Jobs, Task};
use crate::pod::Program;
use crate::release::Release;
use crate::service::Service;

/// When in a change of release a task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// While no older release runs; while one does too, where no task of the same database expands.
    Sync,
    /// While the older release runs: what only the new one needs.
    Expand,
    /// Once no pod of the older release is left: what only that one needed goes.
    Contract,
}

impl Phase {
    /// The value of the label that a Job has for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Expand => "expand",
            Self::Contract => "contract",
        }
    }
}

/// One task: a node in the graph of tasks.
pub struct Migration {
    /// Its name, for instance `db-sync`; at most 12 characters, so that a Job's name fits.
    pub name: &'static str,
    /// When it runs.
    pub phase: Phase,
    /// The tasks of its phase that are done first. They stand before it in the list.
    pub after: &'static [&'static str],
    /// The database that it changes, as [`Database::place`](crate::Database::place) has it: two tasks of one database never
    /// run at once, and what was done to another one counts for nothing.
    pub database: String,
    /// What it runs. It must do no harm when it is run again.
    pub program: Program,
}

/// All tasks of a service, each after those that it waits for.
pub struct Migrations(pub Vec<Migration>);

/// How far a service's databases have come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// How far the tasks have come.
    pub progress: Progress,
    /// Whether pods of the wanted release may run.
    pub serves: bool,
    /// The release that the databases are of.
    pub release: Option<Release>,
}

impl Migrations {
    /// The databases that the tasks change, for a message.
    pub fn databases(&self) -> String {
        let places: BTreeSet<&str> = self.0.iter().map(|task| task.database.as_str()).collect();
        places.into_iter().collect::<Vec<_>>().join(" and ")
    }

    /// Brings the databases to the wanted release. An upgrade may be taken back until its last phase begins. `rolled` says
    /// whether all pods run the wanted image.
    ///
    /// # Errors
    /// It is too late to go back.
    pub(crate) fn compose(
        &self,
        service: &Service<'_>,
        jobs: &Jobs<'_>,
        rolled: bool,
        desired: &mut DesiredState,
    ) -> Result<Schema, Failure> {
        let upgrade_from = service
            .installed
            .filter(|installed| *installed != service.release);
        let contract = self.phase(Phase::Contract);
        let Some(installed) = upgrade_from else {
            let contracted = |task: &&Migration| jobs.has_done(&task.task(service));
            if service.installed.is_some()
                && !contract.is_empty()
                && contract.iter().all(contracted)
            {
                // An upgrade is complete: there is nothing left to do for this image.
                run(&contract, service, jobs, desired);
                return Ok(Schema::at(service.release));
            }
            if service.installed.is_some() && jobs.another_release_contracts() {
                return Err(Failure::new(
                    Reason::TooLateToGoBack,
                    format!(
                        "the database has begun to leave {} behind: ask for the newer release again, or restore a backup",
                        service.release
                    ),
                ));
            }
            let progress = run(&self.phase(Phase::Sync), service, jobs, desired);
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
        // Whoever takes it back finds nothing left to do: the older program doesn't know the newer schema.
        jobs.keep_done(desired);
        let progress = run(&self.upgrade(), service, jobs, desired);
        if !progress.is_ready() || !rolled {
            return Ok(Schema {
                serves: progress.is_ready(),
                progress,
                release: Some(installed),
            });
        }
        let progress = run(&contract, service, jobs, desired);
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

    /// The tasks that run while the older release does: those that expand, and for a database without any, those that sync.
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
    /// Whether it is done for the wanted image.
    pub fn is_done(&self, service: &Service<'_>, jobs: &Jobs<'_>) -> bool {
        jobs.has_done(&self.task(service))
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

impl Schema {
    fn at(release: Release) -> Self {
        Self {
            progress: Progress::Ready,
            serves: true,
            release: Some(release),
        }
    }
}

/// Runs the tasks whose predecessors are done. The first that isn't done says how far they have come.
fn run(
    tasks: &[&Migration],
    service: &Service<'_>,
    jobs: &Jobs<'_>,
    desired: &mut DesiredState,
) -> Progress {
    let mut done = BTreeSet::new();
    let mut all = Progress::Ready;
    for task in tasks {
        let listed = |name: &&&str| tasks.iter().any(|other| other.name == **name);
        let after = task.after.iter().filter(listed);
        if !after.into_iter().all(|name| done.contains(name)) {
            continue;
        }
        let progress = jobs.once(&task.task(service), desired);
        if progress.is_ready() {
            done.insert(task.name);
        } else if all.is_ready() {
            all = progress;
        }
    }
    all
}
