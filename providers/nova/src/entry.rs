//! How a cell is mapped in Nova's API database.

use std::collections::{BTreeMap, BTreeSet};

use provider_composer::{DesiredState, Progress};
use provider_openstack::{
    Database, Jobs, Mounted, NOVA, Phase, Prerequisite, Service, Source, Task,
};

use crate::cells::{self, Cell};
use crate::config::{Facts, path};
use crate::pods::{daemon, manage};

/// What maps a cell that is checked. It is no file, since a cell is mapped again where the content of its files changes.
const CHECKED: &str = include_str!("enter.py");
/// What deletes a cell, no file for the same reason. cell.py still has a `delete`, which nothing calls: it is to be removed with the next
/// change of cell.py, since each one maps all cells again.
const DELETE: &str = include_str!("delete.py");
/// Annotation of a Nova: the cells, separated by commas, that are mapped although their databases have servers of a former cell.
const CONTINUE: &str = "nova.openstack.c5c3.io/continue-cells";

/// What becomes of a former cell whose database a cell has that Nova doesn't know.
#[derive(Clone, Copy)]
pub enum Former {
    /// The cell isn't mapped while the database has servers or compute services of the former one.
    Checked,
    /// The cell is mapped with what the database has.
    Continued,
}

/// How far a cell has come.
pub struct State {
    /// Whether its database is of the release.
    pub synced: Progress,
    /// Whether it is mapped in Nova's API database.
    pub mapped: Progress,
    /// What its mapping is, for the pods that read it once when they start.
    pub mapping: String,
}

impl Cell<'_> {
    /// Brings the cell's database to the release, and maps the cell in Nova's API database once that has its tables.
    ///
    /// # Errors
    /// Its database or its message bus doesn't exist yet.
    pub fn map(
        &self,
        facts: &Facts<'_>,
        api: &Database,
        tables: &Progress,
        former: Former,
        jobs: &Jobs<'_>,
        desired: &mut DesiredState,
    ) -> Prerequisite<State> {
        let (database, bus) = (self.database.as_ref(), self.bus.as_ref());
        let database = database.map_err(Clone::clone)?;
        let bus = bus.map_err(Clone::clone)?;
        let service = facts.service;
        let files = facts
            .tasks(api, database, Some(bus))
            .compose(service, desired);
        let place = database.place();
        let sync = Task {
            name: "cell-sync",
            purpose: format!("{} {} {place}", service.release, service.image),
            migrates: Some((Phase::Sync, place.clone())),
            program: manage(files.source(), &["db", "sync", "--local_cell"]),
            often: format!("the database {place} can't be reached or refuses user or password"),
        };
        let synced = jobs.once(&sync, desired);
        let mapped = map(&self.spec.name, former, &files, api, tables, jobs, desired);
        Ok(State {
            synced,
            mapped,
            mapping: files.name,
        })
    }
}

/// The cells that a Nova's annotation wants to be mapped with what their databases have.
pub fn continued(annotations: &BTreeMap<String, String>) -> BTreeSet<&str> {
    let names = annotations.get(CONTINUE).into_iter();
    names
        .flat_map(|names| names.split(','))
        .map(str::trim)
        .collect()
}

/// Maps a cell in Nova's API database with the URLs that it has now, or changes its mapping. A cell that is checked has the same command
/// whether it is of the first installation or not: the Job asks Nova, which alone knows whether the cell is mapped.
pub fn map(
    cell: &str,
    former: Former,
    files: &Mounted,
    api: &Database,
    tables: &Progress,
    jobs: &Jobs<'_>,
    desired: &mut DesiredState,
) -> Progress {
    if !tables.is_ready() {
        return tables.clone();
    }
    let another = format!(
        "another cell of Nova's API database {} has the same database or message bus",
        api.place()
    );
    let script = NOVA.file("cell.py");
    let (command, often) = match former {
        Former::Checked => (
            vec!["python3", "-c", CHECKED, &script, cell],
            format!(
                "the database of cell {cell} has servers or compute services of a former cell, and the log says how to begin anew or to \
                 continue with them; or {another}"
            ),
        ),
        Former::Continued => (vec!["python3", &script, "map", cell], another),
    };
    let command = command.into_iter().map(str::to_owned);
    let task = Task {
        name: "cell-map",
        purpose: files.name.clone(),
        migrates: Some((Phase::Sync, api.place())),
        program: daemon(files.source()).command(command),
        often,
    };
    jobs.once(&task, desired)
}

/// Deletes a cell from Nova's API database, and leaves all that it consists of until that is done: Nova refuses while the cell has
/// hosts or servers.
pub fn delete(
    cell: &str,
    files: &Source,
    service: &Service<'_>,
    jobs: &Jobs<'_>,
    desired: &mut DesiredState,
) -> Progress {
    let command = ["python3", "-c", DELETE, &path(), cell].map(str::to_owned);
    let task = Task {
        name: "cell-delete",
        purpose: cell.to_owned(),
        migrates: None,
        program: daemon(files.clone()).command(command),
        often: format!(
            "cell {cell} still has hosts or servers: delete its servers, then its hosts by `openstack compute service delete`, or \
             put the cell back into cells"
        ),
    };
    let progress = jobs.once(&task, desired);
    if !progress.is_ready() {
        cells::keep(cell, service, desired);
    }
    progress
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_that_maps_a_cell_names_the_annotation_that_continues_it() {
        assert!(CHECKED.contains(&format!("{CONTINUE}={{name}}")));
    }

    #[test]
    fn cells_that_are_continued_are_separated_by_commas() {
        let annotations = BTreeMap::from([(CONTINUE.to_owned(), "cell1, cell3".to_owned())]);
        assert_eq!(continued(&annotations), BTreeSet::from(["cell1", "cell3"]));
        assert!(continued(&BTreeMap::new()).is_empty());
    }
}
