//! Migrations of a service's database, around a rolling change of its pods.

use provider_composer::{Composition, Failure, Progress};

use crate::api::Rollout;
use crate::jobs::{Jobs, Task};
use crate::pod::Program;
use crate::release::Release;
use crate::service::Service;

/// The tasks that migrate a database.
pub(crate) const TASKS: [&str; 4] = [SYNC, EXPAND, MIGRATE, CONTRACT];
const SYNC: &str = "db-sync";
const EXPAND: &str = "db-expand";
const MIGRATE: &str = "db-migrate";
const CONTRACT: &str = "db-contract";

/// How a service's database comes to a release.
pub struct Migrations {
    /// Which database: what was done to another one counts for nothing.
    pub database: String,
    /// All at once, when no older release runs.
    pub sync: Program,
    /// What the new release needs, while the old one runs. None: all at once is such.
    pub expand: Option<Program>,
    /// Data, while the old one runs.
    pub migrate: Option<Program>,
    /// What only the old release needed goes, when none of it runs any more.
    pub contract: Option<Program>,
}

/// Where a database stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// How far it has come.
    pub progress: Progress,
    /// Whether pods of the wanted release may run.
    pub serves: bool,
    /// The release that it is of.
    pub release: Option<Release>,
}

impl Migrations {
    /// Brings the database to the wanted release. An upgrade may be taken back until its last step begins.
    ///
    /// # Errors
    /// It is too late to go back.
    pub fn compose(
        self,
        service: &Service<'_>,
        jobs: &Jobs<'_>,
        rollout: &Rollout,
        composition: &mut Composition,
    ) -> Result<Schema, Failure> {
        let purpose = format!("{} {} {}", service.release, service.image, self.database);
        let often = format!(
            "the database {} can't be reached or refuses user or password, which the Secret of spec.database has",
            self.database
        );
        let task = |name, program| Task {
            name,
            purpose: purpose.clone(),
            program,
            often: often.clone(),
        };
        let sync = task(SYNC, self.sync);
        let contract = self.contract.map(|program| task(CONTRACT, program));
        let before: Vec<Task> = [
            self.expand.map(|program| task(EXPAND, program)),
            self.migrate.map(|program| task(MIGRATE, program)),
        ]
        .into_iter()
        .flatten()
        .collect();

        let Some(installed) = service
            .installed
            .filter(|installed| *installed != service.release)
        else {
            if service.installed.is_some()
                && contract.as_ref().is_some_and(|task| jobs.has_done(task))
            {
                // An upgrade came to its end: there is nothing left to do for this image.
                if let Some(contract) = &contract {
                    jobs.once(contract, composition);
                }
                return Ok(Schema::at(service.release));
            }
            if service.installed.is_some() && jobs.another_has_begun(CONTRACT) {
                return Err(Failure::new(
                    "TooLateToGoBack",
                    format!(
                        "the database has begun to leave {} behind: ask for the newer release again, or restore a backup",
                        service.release
                    ),
                ));
            }
            let progress = jobs.once(&sync, composition);
            let serves = progress.is_ready();
            if !serves {
                jobs.keep_done(&[SYNC, CONTRACT], composition);
            }
            let release = service
                .installed
                .or(Some(service.release).filter(|_| serves));
            return Ok(Schema {
                progress,
                serves,
                release,
            });
        };

        let upgrade = match before.is_empty() {
            true => vec![sync],
            false => before,
        };
        // Whoever takes it back finds nothing left to do: the older program doesn't know the newer schema.
        jobs.keep_done(&[SYNC, CONTRACT], composition);
        for task in &upgrade {
            let progress = jobs.once(task, composition);
            if !progress.is_ready() {
                return Ok(Schema {
                    progress,
                    serves: false,
                    release: Some(installed),
                });
            }
        }
        let rolled = rollout.is_done_with(&service.image);
        match contract {
            _ if !rolled => Ok(Schema {
                progress: Progress::Ready,
                serves: true,
                release: Some(installed),
            }),
            None => Ok(Schema::at(service.release)),
            Some(contract) => {
                let progress = jobs.once(&contract, composition);
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
