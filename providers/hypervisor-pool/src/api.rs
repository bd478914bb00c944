//! The Nova of a share's control plane, of which the share's nodes are hypervisors.

use std::collections::BTreeMap;

use c5c3_api::hypervisor::HypervisorShareSpec;
use provider_composer::{DesiredState, Failure, Lookup, ObservedState, Progress, Reason, Subject};

use crate::leftovers;
use crate::nova::{Access, Call, Change, Occupants, Question, Service, request};

/// A Nova that answers.
pub struct Api {
    /// How it is reached.
    pub access: Access,
    /// Its compute services, by host.
    pub services: BTreeMap<String, Service>,
}

impl Api {
    /// The resource providers in an aggregate, unless it isn't known where Placement is.
    pub fn members(
        &self,
        aggregate: &str,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Lookup<Option<BTreeMap<String, String>>> {
        let aggregate = aggregate.to_owned();
        let members = self.access.read(Question::Members { aggregate }, observed);
        if let Lookup::Found(None) = members {
            desired
                .conditions
                .note(leftovers::CONDITION, &leftovers::unchecked());
        }
        members
    }

    /// What is on a host.
    pub fn occupants(&self, host: &str, observed: &ObservedState<'_>) -> Lookup<Occupants> {
        let host = host.to_owned();
        self.access.read(Question::Occupants { host }, observed)
    }

    /// Changes something.
    ///
    /// # Errors
    /// The call can't be written.
    pub fn call(&self, change: Change, desired: &mut DesiredState) -> Result<(), Failure> {
        let access = self.access.clone();
        let call = request(&Call { access, change }).map_err(|error| {
            let message = format!("a call of Nova can't be written: {error}");
            Failure::new(Reason::InternalError, message)
        })?;
        desired.call(call);
        Ok(())
    }
}

/// Sets a condition, which Ready waits for unless the share is being deleted. Servers run while Nova or Placement doesn't answer.
pub fn report(
    share: &Subject<HypervisorShareSpec>,
    type_: &str,
    progress: &Progress,
    desired: &mut DesiredState,
) {
    let is_unknown = matches!(progress, Progress::Unknown { .. });
    match share.is_deleted() || is_unknown {
        true => desired.conditions.note(type_, progress),
        false => desired.conditions.set(type_, progress),
    }
}
