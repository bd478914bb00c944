//! The Nova of a share's control plane, of which the share's nodes are hypervisors.

use std::collections::BTreeMap;

use c5c3_api::hypervisor::{CLOUDS_AUTHORITY, CLOUDS_FILE, HypervisorShareSpec};
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{DesiredState, Lookup, ObservedState, Progress, Subject};
use provider_openstack::Prerequisite;

use crate::configuration::Configuration;
use crate::drain;
use crate::leftovers;
use crate::nova::{Access, Change, Occupants, Question, Service};

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

    /// The ID of a host's hypervisor, if it has one. Where the name that libvirt has for the host tells nothing of it, the list of all does.
    pub fn hypervisor(&self, host: &str, observed: &ObservedState<'_>) -> Lookup<Option<String>> {
        let named = Question::Hypervisor {
            host: host.to_owned(),
        };
        let named = self.access.read::<Option<String>>(named, observed);
        if named != Lookup::Found(None) {
            return named;
        }
        let all = self
            .access
            .read::<BTreeMap<String, String>>(Question::Hypervisors, observed);
        all.map(|mut all| all.remove(host))
    }

    /// What is on a host.
    pub fn occupants(&self, host: &str, observed: &ObservedState<'_>) -> Lookup<Occupants> {
        let host = host.to_owned();
        self.access.read(Question::Occupants { host }, observed)
    }

    /// Changes something.
    pub fn call(&self, change: Change, desired: &mut DesiredState) {
        self.access.call(change, desired);
    }
}

/// How Nova is reached. None where nova-compute never had a configuration.
///
/// # Errors
/// Its configuration is gone for now, or can't be read.
pub fn access(
    share: &Subject<HypervisorShareSpec>,
    observed: &ObservedState<'_>,
) -> Prerequisite<Option<Access>> {
    let spec = &share.spec;
    let nova = match Configuration::find("nova", Some(spec.cell()), spec, observed) {
        Ok(nova) => nova,
        Err(progress @ Progress::Waiting { .. }) => {
            let copy = observed.get::<Secret>(&drain::namespace(share.name()), "nova");
            return match copy {
                Lookup::Missing => Ok(None),
                Lookup::Found(_) => Err(progress),
                Lookup::Unknown(message) => Err(Progress::Unknown { message }),
            };
        }
        Err(progress) => return Err(progress),
    };
    let endpoints = spec.endpoints.iter();
    let addresses = endpoints.flat_map(|endpoint| {
        let names = endpoint.hostnames.iter();
        names.map(|name| (name.clone(), endpoint.addresses.clone()))
    });
    Ok(Some(Access {
        clouds: nova.values.text(CLOUDS_FILE)?.to_owned(),
        ca: nova
            .values
            .optional_text(CLOUDS_AUTHORITY)?
            .map(str::to_owned),
        addresses: addresses.collect(),
    }))
}

/// Sets a condition, which Ready waits for unless the share is being deleted. Servers run while Nova or Placement doesn't answer.
pub fn report(
    share: &Subject<HypervisorShareSpec>,
    type_: &str,
    progress: &Progress,
    desired: &mut DesiredState,
) {
    match share.is_deleted() || progress.is_unknown() {
        true => desired.conditions.note(type_, progress),
        false => desired.conditions.set(type_, progress),
    }
}
