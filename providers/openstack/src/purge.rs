//! Rows that a service has marked as deleted: a CronJob purges them from its database.

use c5c3_api::parts::DeletedRows;
use provider_composer::{DesiredState, Failure, Progress};

use crate::jobs::{Jobs, Schedule};
use crate::pod::Program;
use crate::schedule::Cron;

/// What deletes rows. Its parameters are arguments.
const SCRIPT: &str = include_str!("purge.py");
/// The suffix of the CronJob's name.
const PURGE: &str = "purge";

/// When a service purges rows.
pub struct Purge<'a> {
    jobs: &'a Jobs<'a>,
    rows: &'a DeletedRows,
    cron: Cron,
}

/// Tables whose rows are purged.
pub struct Tables {
    /// Regular expression of their names.
    pub names: &'static str,
    /// Days from deletion until a row is purged.
    pub after_days: u16,
}

impl<'a> Purge<'a> {
    /// Reads when rows are purged.
    ///
    /// # Errors
    /// The schedule is never due.
    pub fn of(jobs: &'a Jobs<'a>, rows: &'a DeletedRows) -> Result<Self, Failure> {
        let cron = Cron::of_field("deletedRows.schedule", &rows.schedule)?;
        Ok(Self { jobs, rows, cron })
    }

    /// Purges some tables on the schedule. The program has the service's configuration in a file.
    pub fn apply(
        &self,
        program: Program,
        file: &str,
        tables: &[Tables],
        desired: &mut DesiredState,
    ) {
        if !self.rows.enabled {
            return;
        }
        let command = ["python3", "-c", SCRIPT, file].map(str::to_owned);
        let tables = tables.iter();
        let tables = tables.map(|tables| format!("{}:{}", tables.after_days, tables.names));
        let command = command.into_iter().chain(tables);
        let schedule = Schedule {
            name: PURGE,
            when: self.rows.schedule.as_str().to_owned(),
            program: program.command(command),
            deadline: None,
            suspended: false,
        };
        self.jobs.on_schedule(&schedule, desired);
    }

    /// Leaves the CronJob as it is.
    pub fn keep(&self, desired: &mut DesiredState) {
        if self.rows.enabled {
            self.jobs.keep_schedule(PURGE, desired);
        }
    }

    /// Reports whether rows are purged; nothing where they needn't be.
    pub fn report(&self, desired: &mut DesiredState) {
        if self.rows.enabled {
            let progress = self.jobs.last_run(PURGE, &self.cron, desired);
            note_purged(&progress, desired);
        }
    }
}

/// Sets the condition that reports whether rows that are marked as deleted leave the database. Ready doesn't wait for it.
pub fn note_purged(progress: &Progress, desired: &mut DesiredState) {
    desired
        .conditions
        .note_result("DeletedRowsPurged", progress);
}
