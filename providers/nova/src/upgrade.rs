//! The end of an upgrade. Hypervisors get the release last, and programs that call nova-compute go by the oldest one that there was when
//! they started (`_determine_version_cap` in nova/compute/rpcapi.py).

use provider_composer::{DesiredState, Failure, Lookup, Progress, Reason, SecretValues, named};
use provider_openstack::{COMPUTES_UPGRADED, Jobs, Pods, Release, Service, Source, Task};

use crate::cells::Cell;
use crate::compute;
use crate::config::path;
use crate::pods::daemon;
use crate::recipe::Recipe;

/// The task that waits until nova-compute of all hosts runs the release.
const COMPUTES: &str = "computes";
/// Its program. It reads records in the cells' databases: Nova's API doesn't say what version a nova-compute has.
const SCRIPT: &str = include_str!("computes.py");

/// Checks that no hypervisor was told to run a later release than the desired one.
///
/// # Errors
/// One was.
pub fn check(service: &Service<'_>, cells: &[Cell<'_>]) -> Result<(), Failure> {
    match told(cells).filter(|told| *told > service.release) {
        None => Ok(()),
        Some(told) => Err(Failure::new(
            Reason::TooLateToGoBack,
            format!(
                "hypervisors were told to run Nova {told}, and the rest of Nova can't be older than nova-compute: ask for {told} again"
            ),
        )),
    }
}

/// The latest release that hypervisors of a cell were told to run.
fn told(cells: &[Cell<'_>]) -> Option<Release> {
    let cells = cells.iter();
    let releases = cells.filter_map(|cell| compute::release(&cell.published));
    releases.max()
}

/// What is known of nova-compute before it is observed.
pub fn unread() -> Progress {
    Progress::waiting(
        Reason::WaitingFor("Job"),
        "waits for Nova's databases, which have the versions of nova-compute",
    )
}

/// What hypervisors wait for, which get a release last.
pub fn waits_for_pods(service: &Service<'_>) -> Progress {
    let message = format!("waits until all of Nova runs {}", service.image);
    Progress::waiting(Reason::WaitingFor("Component"), message)
}

/// Keeps the Job that waits for nova-compute.
pub fn keep(jobs: &Jobs<'_>, desired: &mut DesiredState) {
    jobs.keep(&[COMPUTES], desired);
}

impl Recipe<'_> {
    /// Finds out whether nova-compute of all hosts runs the release, once all of Nova's own pods do. `files` are those of Nova's tasks.
    pub fn observe_computes(&mut self, files: &Source, desired: &mut DesiredState) {
        let (service, jobs) = (self.service, &self.context.jobs);
        if !service.upgrades() {
            self.computes = Progress::Ready;
            return;
        }
        let command = ["python3", "-c", SCRIPT, &path()].map(str::to_owned);
        let task = Task {
            name: COMPUTES,
            purpose: format!("{} {}", service.release, service.image),
            migrates: None,
            program: daemon(files.clone()).command(command),
            often: "hosts stay older for six hours, or the database of a cell can't be reached"
                .to_owned(),
        };
        self.computes = match self.context.is_rolled() || jobs.has_done(&task) {
            true => explained(service, jobs.once(&task, desired)),
            false => {
                keep(jobs, desired);
                waits_for_pods(service)
            }
        };
    }

    /// Pods whose processes send calls to nova-compute, with the versions that it had when they started.
    pub fn calls_computes(&self, pods: Pods) -> Pods {
        Pods {
            peers: Some(self.computes.clone()),
            ..pods
        }
    }

    /// Leaves the Secret of a cell's hypervisors as it is.
    pub fn keep_compute(&mut self, cell: &Cell<'_>, why: &Progress, desired: &mut DesiredState) {
        let name = &cell.spec.name;
        compute::keep(self.service, name, desired);
        self.note_outdated(name, &cell.published, why);
    }

    /// Notes why the Secret of a cell's hypervisors stays as it is, unless it tells them to run the release.
    pub fn note_outdated(&mut self, cell: &str, published: &Lookup<SecretValues>, why: &Progress) {
        let is_told = compute::release(published) == Some(self.service.release);
        if !is_told && !published.is_missing() {
            self.outdated_cells
                .push(format!("{cell} ({})", why.message()));
        }
    }

    /// Sets `ComputesUpgraded` from when hypervisors are told to run a release until that is complete. Ready doesn't wait for it.
    pub fn report_computes(&self, desired: &mut DesiredState) {
        let service = self.service;
        let tells = self.context.is_rolled() || told(self.cells) == Some(service.release);
        if service.upgrades() && tells {
            let outdated = match self.outdated_cells.is_empty() {
                true => String::new(),
                false => format!(
                    ". Hypervisors of these cells haven't been told to run {}: {}",
                    service.release,
                    named(&self.outdated_cells, ", ")
                ),
            };
            let computes = self.computes.clone();
            let computes = computes.explained(|message| format!("{message}{outdated}"));
            desired.conditions.note(COMPUTES_UPGRADED, &computes);
        }
    }
}

/// Says what the Job waits for. It isn't a failure of Nova, whose release can't be taken back, if hosts stay older.
fn explained(service: &Service<'_>, job: Progress) -> Progress {
    let message = match job {
        Progress::Waiting { message, .. } | Progress::Failed { message, .. } => message,
        known => return known,
    };
    let (namespace, release) = (service.namespace, service.release);
    Progress::waiting(
        Reason::WaitingFor("Compute"),
        format!(
            "waits until nova-compute of all hosts runs {release}: `kubectl logs -n {namespace} -l c5c3.io/task={COMPUTES} --tail=-1` names \
             the others. One that is down for long doesn't count after `openstack --os-compute-api-version 2.11 compute service set --down \
             HOST nova-compute` ({message})"
        ),
    )
}
