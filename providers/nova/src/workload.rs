//! What Nova runs: outside cells and in each.

use std::collections::BTreeMap;

use provider_composer::{DesiredState, Lookup, Progress, Reason};
use provider_openstack::{
    Files, Migrations, NOVA, NOVA_CONDUCTOR, NOVA_METADATA, NOVA_NOVNCPROXY, NOVA_SCHEDULER, Pods,
    Prerequisite, Workload, progress,
};

use crate::cells::{self, Cell};
use crate::config::{self, Control, Facts};
use crate::consoles::{self, Consoles};
use crate::entry::{self, Former, State};
use crate::pods::{console_proxy, daemon, program, workers};
use crate::recipe::Recipe;
use crate::{compute, databases, upgrade};

impl Recipe<'_> {
    /// What Nova runs, and how its databases come to the release.
    ///
    /// # Errors
    /// The release that runs isn't ready for an upgrade.
    pub fn workload(
        &mut self,
        facts: &Facts<'_>,
        control: &Control<'_>,
        desired: &mut DesiredState,
    ) -> Prerequisite<Workload> {
        let (service, jobs) = (self.service, &self.context.jobs);
        let mut files = facts.control(control);
        self.trust_databases(control, &mut files);
        let tasks = files.clone().compose(service, desired).source();
        databases::check_upgrade(service, jobs, &tasks, control, desired)?;
        self.observe_computes(&tasks, desired);
        let cell0 = facts.tasks(control.api, control.cell0, None);
        let cell0 = cell0.compose(service, desired);
        let mut migrations = databases::migrations(&cell0, control);
        let tables = databases::tables(&migrations, service, jobs);

        // The pods outside cells read all mappings once, when they start.
        let mut mappings = BTreeMap::new();
        let mut pending = Progress::Ready;
        let former = Former::Continued;
        let mapped = entry::map("cell0", former, &cell0, control.api, &tables, jobs, desired);
        keep_first_unready(&mut pending, &mapped);
        mappings.insert("cell0".to_owned(), cell0.name.clone());

        let mut unmapped = mapped;
        let mut pods = Vec::new();
        for cell in self.cells {
            let name = &cell.spec.name;
            let former = match self.continued.contains(name.as_str()) {
                true => Former::Continued,
                false => Former::Checked,
            };
            let state = cell.map(facts, control.api, &tables, former, jobs, desired);
            if let Ok(state) = &state {
                keep_first_unready(&mut unmapped, &state.mapped);
            }
            let reached = match &state {
                Ok(State { synced, mapped, .. }) if !synced.is_ready() || mapped.is_ready() => {
                    synced.clone()
                }
                Ok(State { mapped, .. }) => mapped.clone(),
                Err(pending) => pending.clone(),
            };
            if self.waits_for(name, &state) {
                keep_first_unready(&mut pending, &reached);
            }
            if let Ok(state) = &state
                && state.mapped.is_ready()
            {
                self.mappings.insert(name.clone(), state.mapping.clone());
            }
            // Without the last one, the pods would be replaced now, and again once the cell is mapped.
            if let Some(mapping) = self.mappings.get(name) {
                mappings.insert(name.clone(), mapping.clone());
            }
            pods.extend(self.cell(facts, cell, state, desired));
            if service.upgrades() {
                migrations.extend(databases::cell_migration(
                    service, facts, control, cell, desired,
                ));
            }
            self.states.push((name.clone(), reached));
        }
        for name in self.removed.clone() {
            let deleted = entry::delete(&name, &tasks, service, jobs, desired);
            if !deleted.is_ready() {
                let published = compute::published(service, &name);
                self.note_outdated(&name, &published, &deleted);
                mappings.insert(name.clone(), "removed".to_owned());
                self.states.push((name, deleted));
            }
        }
        let mappings = mappings.iter();
        let mappings: Vec<String> = mappings
            .map(|(name, mapping)| format!("{name} {mapping}\n"))
            .collect();
        files.text("cells", mappings.concat());
        // Again: cells that were mapped in this reconcile are trusted, too.
        self.trust_databases(control, &mut files);
        pods.extend(self.control(control, files, &pending, desired));
        databases::archive(self.spec, jobs, tasks, desired);
        Ok(Workload {
            pods,
            migrations: Migrations(migrations),
            application_credential: Some(facts.access.id().to_owned()),
            agents: self.agents(facts.access.id(), desired),
            outdated: Some(unmapped).filter(|unmapped| !unmapped.is_ready()),
        })
    }

    /// Whether the pods outside cells wait for a cell: for those that worked, or that are mapped anew, and for all before they first start.
    fn waits_for(&self, cell: &str, state: &Prerequisite<State>) -> bool {
        let is_mapping = matches!(
            state,
            Ok(State {
                mapped: Progress::Waiting { .. },
                ..
            })
        );
        let mut known = self.status.cells.iter();
        let has_worked =
            known.any(|known| known.name == cell && known.status.as_deref() == Some("Ready"));
        has_worked
            || is_mapping && self.mappings.contains_key(cell)
            || self.service.installed.is_none()
    }

    /// What the pods outside cells run.
    fn control(
        &self,
        control: &Control<'_>,
        files: Files,
        pending: &Progress,
        desired: &mut DesiredState,
    ) -> Vec<Pods> {
        let files = files.compose(self.service, desired).source();
        let pods = |pods: Pods| Pods {
            prerequisites: pending.clone(),
            workers: workers(self.service.release),
            ..pods
        };
        let daemon_of = |component: &str| {
            let program = program(&format!("nova-{component}"), files.clone());
            pods(control.bus.watched(component, program))
        };
        let api = daemon(files.clone())
            .variable("OS_NOVA_CONFIG_DIR", NOVA.folder)
            .variable(
                "OS_NOVA_CONFIG_FILES",
                format!("/etc/nova/api-paste.ini;{}", config::CONFIG),
            );
        vec![
            self.calls_computes(daemon_of(NOVA_CONDUCTOR.name)),
            self.calls_computes(daemon_of(NOVA_SCHEDULER.name)),
            pods(Pods::of(NOVA_METADATA.name, api.clone())),
            self.calls_computes(pods(Pods::of(NOVA.api.name, api))),
        ]
    }

    /// What the pods of a cell run, and what its hypervisors run: from when the cell is mapped. Hypervisors get a new image after
    /// everything else.
    fn cell(
        &mut self,
        facts: &Facts<'_>,
        cell: &Cell<'_>,
        state: Prerequisite<State>,
        desired: &mut DesiredState,
    ) -> Vec<Pods> {
        let (service, name) = (self.service, &cell.spec.name);
        let [conductor, proxy] =
            [NOVA_CONDUCTOR.name, NOVA_NOVNCPROXY.name].map(|part| format!("{name}-{part}"));
        let (Ok(database), Ok(bus), Ok(state)) = (&cell.database, &cell.bus, &state) else {
            let pending = progress(&state);
            self.keep_compute(cell, &pending, desired);
            // No upgrade is complete without the cell, whose database is then migrated, too.
            return vec![
                self.calls_computes(Pods::waiting(conductor, pending.clone())),
                Pods::waiting(proxy, pending),
            ];
        };
        let (rolled, upgrades) = (self.context.is_rolled(), service.upgrades());
        let published = &cell.published;
        let publishes = match published {
            Lookup::Found(_) if rolled => Ok(()),
            Lookup::Missing if rolled || !upgrades => match &state.mapped {
                Progress::Ready => Ok(()),
                // Hosts would register in the database of a former cell, and start its servers.
                pending => Err(pending.clone()),
            },
            Lookup::Found(_) | Lookup::Missing => Err(upgrade::waits_for_pods(service)),
            Lookup::Unknown(why) => Err(Progress::unknown(why)),
        };
        let consoles = match &cell.consoles {
            // `ConsolesReady` says why. Nothing but consoles needs the certificates.
            Err(Progress::Waiting { .. } | Progress::Failed { .. }) => {
                Consoles::published(service, name, published)
            }
            known => known.clone(),
        };
        let told = publishes.and_then(|()| compute::publish(facts, cell, bus, &consoles, desired));
        if let Err(why) = told {
            self.keep_compute(cell, &why, desired);
        }
        let files = facts.cell(name, database, bus, false);
        let files = files.compose(service, desired).source();
        let pods = |pods: Pods| Pods {
            prerequisites: state.synced.clone(),
            ..pods
        };
        let proxy = match self.certificate(&proxy, &consoles) {
            Ok(None) => pods(Pods::of(proxy, console_proxy(files.clone()))),
            Ok(Some(secret)) => {
                // Options of the proxy alone replace no conductor.
                let files = facts.cell(name, database, bus, true);
                let files = files.compose(service, desired).source();
                pods(Pods::of(
                    proxy,
                    consoles::mount(console_proxy(files), secret),
                ))
            }
            Err(pending) => Pods::waiting(proxy, pending),
        };
        let conductor = bus.watched(conductor, program("nova-conductor", files));
        vec![self.calls_computes(pods(conductor)), proxy]
    }

    /// The Secret with the certificate of a proxy. Pods that run have the certificate that was there when they started, so they stay while
    /// it is away; new pods of another image start without one, because an upgrade doesn't wait for it.
    fn certificate<'c>(
        &self,
        proxy: &str,
        consoles: &'c Prerequisite<Option<Consoles>>,
    ) -> Prerequisite<Option<&'c str>> {
        let consoles = consoles.as_ref().map_err(Clone::clone)?;
        let secret = consoles.as_ref().map(Consoles::proxy).transpose();
        match secret {
            Err(Progress::Waiting { .. } | Progress::Failed { .. })
                if self.context.is_behind(proxy) =>
            {
                Ok(None)
            }
            secret => secret,
        }
    }

    /// Leaves what isn't known yet, because something is `pending`, as it is: the Secrets of hypervisors, cells that are being removed, the
    /// CronJob.
    pub fn keep(&mut self, pending: &Progress, desired: &mut DesiredState) {
        for cell in self.cells {
            self.keep_compute(cell, pending, desired);
        }
        for cell in self.removed.clone() {
            cells::keep(&cell, self.service, desired);
            let progress = Progress::waiting(
                Reason::Removing,
                "is removed once Nova's databases can be reached",
            );
            self.states.push((cell, progress));
        }
        databases::keep_archive(&self.context.jobs, desired);
        upgrade::keep(&self.context.jobs, desired);
    }
}

/// Keeps the first that isn't ready.
fn keep_first_unready(first: &mut Progress, next: &Progress) {
    if first.is_ready() {
        *first = next.clone();
    }
}
