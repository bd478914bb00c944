//! Rows that a service has marked as deleted: a CronJob purges them from its database.

use c5c3_api::parts::DeletedRows;
use provider_composer::{DesiredState, Failure, ObservedState, Progress};

use crate::jobs::{Jobs, Schedule};
use crate::pod::Program;
use crate::schedule::Cron;

/// What runs a command for the rows of one day after the other.
const SCRIPT: &str = include_str!("purge.py");
/// The suffix of the CronJob's name.
const PURGE: &str = "purge";

/// When a service purges rows.
pub struct Purge<'a> {
    jobs: &'a Jobs<'a>,
    rows: &'a DeletedRows,
    cron: Cron,
}

/// What purges the rows of some tables.
pub struct Tables<'a> {
    /// Regular expression of the tables' names.
    pub names: &'a str,
    /// Days from deletion until a row is purged.
    pub after_days: u16,
    /// The command, with `{age}` for an age in days. A shell reads it.
    pub command: String,
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

    /// Purges some tables after the others, on the schedule. The program has the service's configuration in a file.
    pub fn apply(
        &self,
        program: Program,
        file: &str,
        tables: &[Tables<'_>],
        desired: &mut DesiredState,
    ) {
        if !self.rows.enabled {
            return;
        }
        let lines = tables.iter().map(|tables| {
            let Tables {
                names,
                after_days,
                command,
            } = tables;
            format!("python3 -c \"$0\" {file} {after_days} '{names}' {command}\n")
        });
        let lines: String = lines.collect();
        // The shell has the script under the name by which it was called.
        let command = ["sh", "-c", &format!("set -e\n{lines}"), SCRIPT].map(str::to_owned);
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
    pub fn report(&self, observed: &ObservedState<'_>, desired: &mut DesiredState) {
        if self.rows.enabled {
            let progress = self.jobs.last_run(PURGE, &self.cron, observed, desired);
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
