//! Agents on hypervisors, which have Nova's application credential and the user of their cell's message bus: whether all of them have the
//! present ones. HypervisorShares report which configuration that is, those of other clusters through the ControlPlane.

use std::collections::BTreeSet;

use c5c3_api::hypervisor::HypervisorShareSpec;
use c5c3_api::parts::PoolAgents;
use provider_composer::{Custom, DesiredState, Progress, Reason, named};
use provider_openstack::{COMPUTES_CONFIGURED, Prerequisite};

use crate::compute;
use crate::recipe::Recipe;

impl Recipe<'_> {
    /// What nova-compute waits for until it has the present configuration, with this application credential, on all hypervisors; none if it
    /// has. Sets `ComputesConfigured` where a share reports which one it has.
    pub fn agents(&self, credential: &str, desired: &mut DesiredState) -> Option<Progress> {
        let progress = match self.reported() {
            Ok(pools) if pools.is_empty() => return None,
            Ok(pools) => self.configured(&pools, credential, desired),
            Err(unknown) => unknown,
        };
        desired.conditions.note(COMPUTES_CONFIGURED, &progress);
        Some(progress).filter(|progress| !progress.is_ready())
    }

    /// What the agents of each pool run with.
    ///
    /// # Errors
    /// The shares of this cluster can't be read.
    fn reported(&self) -> Prerequisite<Vec<PoolAgents>> {
        let service = self.service;
        let shares = service
            .observed
            .list::<Custom<HypervisorShareSpec>>("", &[])
            .or_default()?;
        let here = shares.into_iter().filter_map(|share| {
            let (spec, status) = (share.body.spec, share.body.status);
            let is_own = spec.control_plane_namespace() == service.namespace;
            // The namespace of this name in another cluster is another one.
            (is_own && spec.endpoints.is_empty()).then_some(PoolAgents {
                name: share.metadata.name,
                configuration: status.configuration?,
            })
        });
        Ok(here.chain(self.spec.agents.iter().cloned()).collect())
    }

    fn configured(
        &self,
        pools: &[PoolAgents],
        credential: &str,
        desired: &DesiredState,
    ) -> Progress {
        let service = self.service;
        let composed = self.cells.iter();
        let composed =
            composed.filter_map(|cell| compute::configuration(service, &cell.spec.name, desired));
        let removed = self.removed.iter();
        let removed =
            removed.filter_map(|cell| compute::last_configuration(service, cell, credential));
        let present: BTreeSet<String> = composed.chain(removed).collect();
        let former = pools
            .iter()
            .filter(|pool| !present.contains(&pool.configuration));
        let former: Vec<&str> = former.map(|pool| pool.name.as_str()).collect();
        match former.is_empty() {
            true => Progress::Ready,
            false => Progress::waiting(
                Reason::WaitingFor("Compute"),
                format!(
                    "waits for nova-compute of {} to have the present configuration; former users of message buses and application \
                     credentials stay until then. ComputeReady of the HypervisorShare names what it waits for. If a node is lost for good, \
                     delete its Node",
                    named(&former, ", ")
                ),
            ),
        }
    }
}
