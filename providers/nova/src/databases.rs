//! Nova's databases: the API's and cell0's, how all come to a release, and how deleted rows leave them.

use c5c3_api::nova::NovaSpec;
use c5c3_api::parts;
use provider_composer::{DesiredState, Progress, Reason};
use provider_openstack::{
    Cron, DATABASE_AUTHORITY, Database, Files, Jobs, Migration, Mounted, NOVA, Phase, Prerequisite,
    Schedule, Service, Source, Task,
};

use crate::cells::{Cell, server};
use crate::config::{Control, Facts, path};
use crate::pods::{daemon, manage};

/// The task that makes the tables of the API's database.
const API_SYNC: &str = "api-sync";
/// The CronJob that archives and purges deleted rows.
const ARCHIVE: &str = "archive";

/// The databases outside cells.
pub struct Databases {
    /// The API's.
    pub api: Database,
    /// That of cell0, with the servers that found no host.
    pub cell0: Database,
}

impl Databases {
    /// Returns both databases. Each has a user of its own, unless `database.secretRef` names a Secret other than the usual one,
    /// which then is for all.
    ///
    /// # Errors
    /// One of them doesn't exist yet.
    pub fn resolve(
        service: &Service<'_>,
        spec: &NovaSpec,
        desired: &mut DesiredState,
    ) -> Prerequisite<Self> {
        let usual = NOVA.database_credentials("");
        let shared = spec.database.secret_ref.clone();
        let shared = shared.filter(|reference| reference.name != usual);
        let mut resolve = |suffix, name: &str| {
            let wanted = parts::Database {
                secret_ref: shared.clone(),
                ..server(spec, Some(name))
            };
            Database::resolve(service, suffix, &wanted, desired)
        };
        let api = resolve("api", &spec.database.api_database);
        let cell0 = resolve("cell0", &spec.database.cell_database);
        Ok(Self {
            api: api?,
            cell0: cell0?,
        })
    }
}

/// Adds the CA certificates of several database servers, each once.
pub fn trust<'a>(files: &mut Files, authorities: impl IntoIterator<Item = Option<&'a str>>) {
    let mut texts: Vec<&str> = Vec::new();
    for text in authorities.into_iter().flatten() {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    if !texts.is_empty() {
        files.text(DATABASE_AUTHORITY, texts.concat());
    }
}

/// Asks Nova whether what runs is ready for the release, before anything changes. A warning, which it returns 1 for, is none.
///
/// # Errors
/// It isn't, or it isn't known yet.
pub fn check_upgrade(
    service: &Service<'_>,
    jobs: &Jobs<'_>,
    files: &Source,
    control: &Control<'_>,
    desired: &mut DesiredState,
) -> Prerequisite<()> {
    let Some(installed) = service.installed.filter(|it| *it != service.release) else {
        return Ok(());
    };
    let check = format!(
        "nova-status --config-file {} upgrade check || test $? -eq 1",
        path()
    );
    let task = Task {
        name: "status-check",
        purpose: format!("{installed} {} {}", service.release, service.image),
        migrates: Some((Phase::Expand, control.api.place())),
        program: daemon(files.clone()).command(["sh".to_owned(), "-c".to_owned(), check]),
        often: format!(
            "Nova {installed} isn't ready for {}; `kubectl logs` shows what to do, and asking for {installed} again takes the \
             upgrade back",
            service.release
        ),
    };
    match jobs.once(&task, desired) {
        Progress::Ready => Ok(()),
        pending => Err(pending),
    }
}

/// Returns the tasks that bring the databases outside cells to the release, with the files of cell0's.
pub fn migrations(files: &Mounted, control: &Control<'_>) -> Vec<Migration> {
    let migration = |name, phase, database: &Database, words: &[&str]| Migration {
        name,
        phase,
        after: &[],
        database: database.place(),
        program: manage(files.source(), words),
    };
    let local = ["db", "sync", "--local_cell"];
    let online = ["db", "online_data_migrations"];
    vec![
        // New tables and columns only, which the older release doesn't mind.
        migration(API_SYNC, Phase::Sync, control.api, &["api_db", "sync"]),
        migration("cell0-sync", Phase::Sync, control.cell0, &local),
        migration("cell0-online", Phase::Contract, control.cell0, &online),
    ]
}

/// Returns the task that ends an upgrade in a cell's database.
pub fn cell_migration(
    service: &Service<'_>,
    facts: &Facts<'_>,
    control: &Control<'_>,
    cell: &Cell<'_>,
    desired: &mut DesiredState,
) -> Option<Migration> {
    let (database, bus) = (cell.database.as_ref().ok()?, cell.bus.as_ref().ok()?);
    let files = facts
        .tasks(control.api, database, Some(bus))
        .compose(service, desired);
    Some(Migration {
        name: "cell-online",
        phase: Phase::Contract,
        after: &[],
        database: database.place(),
        program: manage(files.source(), &["db", "online_data_migrations"]),
    })
}

/// Says whether the API's database has its tables.
pub fn tables(migrations: &[Migration], service: &Service<'_>, jobs: &Jobs<'_>) -> Progress {
    let sync = migrations.iter().find(|task| task.name == API_SYNC);
    let done = sync.is_some_and(|task| task.is_done(jobs));
    match done || service.installed.is_some() {
        true => Progress::Ready,
        false => Progress::waiting(
            Reason::WaitingFor("Job"),
            format!("waits for Job {}", service.named(API_SYNC)),
        ),
    }
}

/// Keeps the CronJob that archives and purges.
pub fn keep_archive(jobs: &Jobs<'_>, desired: &mut DesiredState) {
    jobs.keep_schedule(ARCHIVE, desired);
}

/// Whether rows were archived and purged when they were due.
pub fn archived(jobs: &Jobs<'_>, cron: &Cron, desired: &mut DesiredState) -> Progress {
    jobs.last_run(ARCHIVE, cron, desired)
}

/// Moves rows that were deleted long ago to Nova's shadow tables, in all cells, and deletes them from there later. An archive that
/// moved rows returns 1, and a purge that finds nothing 3 (<https://docs.openstack.org/nova/latest/cli/nova-manage.html>).
pub fn archive(spec: &NovaSpec, jobs: &Jobs<'_>, files: Source, desired: &mut DesiredState) {
    let wanted = &spec.deleted_rows;
    let file = path();
    let days = |days: u16| format!("\"$(date --utc --date '-{days} days' +%F)\"");
    let (archive, purge) = (
        days(wanted.archive_after_days),
        days(wanted.purge_after_days),
    );
    let script = format!(
        "set -e\n\
         nova-manage --config-file {file} db archive_deleted_rows --all-cells --task-log --until-complete --before {archive} || test $? -eq 1\n\
         nova-manage --config-file {file} db purge --all-cells --before {purge} || test $? -eq 3\n"
    );
    let schedule = Schedule {
        name: ARCHIVE,
        when: wanted.schedule.as_str().to_owned(),
        program: daemon(files).command(["sh".to_owned(), "-c".to_owned(), script]),
        deadline: None,
        suspended: false,
    };
    jobs.on_schedule(&schedule, desired);
}
