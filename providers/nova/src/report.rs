//! What Nova's status and conditions say beyond those of every service.

use std::collections::BTreeSet;

use c5c3_api::nova::{CellStatus, Compute};
use provider_composer::{DesiredState, Progress, Reason};
use provider_openstack::{NOVA_CONDUCTOR, NOVA_NOVNCPROXY, progress, said, sum};

use crate::recipe::Recipe;

impl Recipe<'_> {
    /// Sets `CellsReady`, and says how each cell is.
    pub fn report(mut self, desired: &mut DesiredState) -> Vec<CellStatus> {
        let known: BTreeSet<String> = self.states.iter().map(|(name, _)| name.clone()).collect();
        for cell in self
            .cells
            .iter()
            .filter(|cell| !known.contains(&cell.spec.name))
        {
            let progress = Progress::waiting(Reason::Starting, "waits for Nova's databases");
            self.states.push((cell.spec.name.clone(), progress));
        }
        // The next reconcile takes the first for the one with the servers of the first cell, so those that are removed come last.
        let order = |name: &str| self.cells.iter().position(|cell| cell.spec.name == name);
        self.states
            .sort_by_key(|(name, _)| order(name).unwrap_or(usize::MAX));
        for (name, state) in &mut self.states {
            for component in [NOVA_CONDUCTOR.name, NOVA_NOVNCPROXY.name] {
                if state.is_ready() {
                    *state = self.context.availability(&format!("{name}-{component}"));
                }
            }
        }
        desired.conditions.set("CellsReady", &sum(&self.states));
        self.consoles(desired);
        self.report_computes(desired);
        let states = self.states.into_iter();
        states
            .map(|(name, state)| CellStatus {
                status: Some(said(&state).to_owned()),
                compute_nodes: None,
                mapping: self.mappings.remove(&name),
                name,
            })
            .collect()
    }

    /// Sets `ConsolesReady`, where consoles have certificates. Nothing but consoles waits for them.
    fn consoles(&self, desired: &mut DesiredState) {
        let cells = self.cells.iter();
        let cells = cells.filter(|cell| !matches!(cell.consoles, Ok(None)));
        let states: Vec<(String, Progress)> = cells
            .map(|cell| (cell.spec.name.clone(), progress(&cell.consoles)))
            .collect();
        if !states.is_empty() {
            desired.conditions.note("ConsolesReady", &sum(&states));
        }
    }

    /// Reports each field that has a value and no effect in this version, and what to do instead.
    pub fn unsupported(&self, desired: &mut DesiredState) {
        let spec = self.spec;
        let mut report = |type_, message: String| {
            let progress = Progress::waiting(Reason::Unsupported, message);
            desired.conditions.note(type_, &progress);
        };
        let own = spec.aggregates.iter().filter(|one| {
            one.availability_zone.is_some() || !one.metadata.is_empty() || !one.traits.is_empty()
        });
        let own: Vec<&str> = own.map(|one| one.name.as_str()).collect();
        if !own.is_empty() {
            report(
                "AggregatesReady",
                format!(
                    "HypervisorShares create aggregates in Nova, and what aggregates says of {} has no effect: set aggregate, \
                     availabilityZone and traits in the HypervisorShare of the pool",
                    own.join(", ")
                ),
            );
        }
        let elsewhere = spec.cells.iter().filter_map(|cell| {
            let pool = &cell.compute_ref.as_ref()?.name;
            Some(format!(
                "set cell: {} in the HypervisorShare of the pool {pool}",
                cell.name
            ))
        });
        let elsewhere: Vec<String> = elsewhere.collect();
        if !elsewhere.is_empty() {
            report(
                "CellHostsAssigned",
                format!(
                    "a HypervisorShare decides which cell its hosts join, and computeRef has no effect: {}",
                    elsewhere.join("; ")
                ),
            );
        }
        if spec.compute != Compute::default() {
            report(
                "AgentSettingsApplied",
                "compute has no effect: hypervisors belong to the platform, whose HypervisorPool and HypervisorShare say which \
                 nodes run agents; remove compute"
                    .to_owned(),
            );
        }
        let auth = &spec.service_auth;
        let others = [
            ("placement", &auth.placement_service_user_ref),
            ("neutron", &auth.neutron_service_user_ref),
            ("glance", &auth.glance_service_user_ref),
            ("cinder", &auth.cinder_service_user_ref),
        ];
        let others = others.into_iter().filter_map(|(service, user)| {
            let user = user.as_ref().filter(|user| user.name != service)?;
            Some(format!("{service}ServiceUserRef {}", user.name))
        });
        let others: Vec<String> = others.collect();
        if !others.is_empty() {
            report(
                "ServiceAuthReady",
                format!(
                    "Nova authenticates to every service as its own user, and {} has no effect: name the service's own user, or \
                     remove the field",
                    others.join(", ")
                ),
            );
        }
    }

    /// Says that nobody asks an external scheduler, where the image is of upstream's Nova, which has no option for it.
    pub fn external_scheduler(&self, desired: &mut DesiredState) {
        if self.spec.scheduler.external_scheduler.enabled {
            let progress = match self.service.common.image.fork {
                Some(_) => Progress::Ready,
                None => Progress::waiting(
                    Reason::NotInImage,
                    "upstream's Nova asks no external scheduler: use an image of SAP's Nova and set image.fork to sap, or set \
                     scheduler.externalScheduler.enabled to false",
                ),
            };
            desired.conditions.note("ExternalSchedulerReady", &progress);
        }
    }
}
