//! Nova, as the steps of its recipe look at it.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::nova::{NovaSpec, NovaStatus};
use provider_composer::Progress;
use provider_openstack::{Database, Files, Service, ServiceContext};

use crate::cells::Cell;
use crate::config::Control;
use crate::databases::trust;

/// Nova, as the steps of its recipe look at it.
pub struct Recipe<'a> {
    /// The service.
    pub service: &'a Service<'a>,
    /// What is observed of it.
    pub context: &'a ServiceContext<'a>,
    /// Its spec.
    pub spec: &'a NovaSpec,
    /// Its last status.
    pub status: &'a NovaStatus,
    /// Its cells.
    pub cells: &'a [Cell<'a>],
    /// Cells that run and are no longer wanted.
    pub removed: BTreeSet<String>,
    /// The cells that are mapped with the servers of former ones.
    pub continued: BTreeSet<&'a str>,
    /// How far each cell has come, those that are being removed last.
    pub states: Vec<(String, Progress)>,
    /// What Nova's API database was last told of each cell, by name.
    pub mappings: BTreeMap<String, String>,
    /// Whether nova-compute of all hosts runs the release, once that is observed.
    pub computes: Progress,
    /// The cells whose hypervisors aren't told to run the release, each with what that waits for.
    pub outdated_cells: Vec<String>,
}

impl Recipe<'_> {
    /// Adds the CA certificates of the databases of the API, cell0 and every mapped cell of the spec. A cell counts even while its server is
    /// away, because a change of the file would replace the pods.
    pub fn trust_databases(&self, control: &Control<'_>, files: &mut Files) {
        let cells = self.cells.iter();
        let mapped = cells.filter(|cell| self.mappings.contains_key(&cell.spec.name));
        let own = [control.api, control.cell0].map(Database::authority);
        let authorities = mapped.map(|cell| cell.authority.as_deref());
        trust(files, own.into_iter().chain(authorities));
    }
}
