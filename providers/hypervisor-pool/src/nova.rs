//! What is read from the Nova of a share's control plane and its Placement and changed there, as the driver of Nova understands it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use provider_composer::{DesiredState, ExternalRequest, Lookup, ObservedState};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub(crate) use provider_openstack::after;

/// The system, as [`ExternalRequest`] names it.
pub const SYSTEM: &str = "nova";
/// The cloud in the clouds.yaml.
pub const CLOUD: &str = "nova";
/// How long an answer is valid, in seconds.
pub const VALID: u32 = 10;

/// How to reach a Nova, and as whom. It can't be printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// The clouds.yaml, which says where Keystone, Nova, Neutron and Placement are.
    pub clouds: String,
    /// Certificates in PEM that theirs are checked against; none: the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// Addresses of their hosts. If there are any, no other host is connected to.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub addresses: BTreeMap<String, Vec<IpAddr>>,
}

/// What is read.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Query {
    /// Which Nova.
    pub access: Access,
    /// What of it.
    pub question: Question,
}

/// What is read of a Nova.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Question {
    /// Its compute services: each [`Service`] by its host.
    Services,
    /// Its aggregates: a list of [`Aggregate`].
    Aggregates,
    /// The ID of a host's hypervisor, and of its resource provider in Placement. nova-compute creates them after its compute service:
    /// null before. Null too if the name that libvirt has for the host doesn't contain the host's.
    Hypervisor {
        /// The host.
        host: String,
    },
    /// The ID of each hypervisor that Nova lists, by the host of its compute service, whatever libvirt calls it. Of a large Nova that takes
    /// many requests.
    Hypervisors,
    /// The number of servers on each host whose hypervisor Nova lists. A host that isn't listed may have any number. nova-compute
    /// counts them every minute (`update_resources_interval`), and those that are created or deleted at once. Nova lists hypervisors of
    /// hosts whose cell it knows alone (nova/api/openstack/compute/hypervisors.py, `HostMappingNotFound`).
    Servers,
    /// The resource providers in an aggregate in Placement: by ID, the name that libvirt has for the host. Null if the clouds.yaml
    /// doesn't say where Placement is.
    Members {
        /// The aggregate's ID in Placement.
        aggregate: String,
    },
    /// The [`Occupants`] of a host.
    Occupants {
        /// The host.
        host: String,
    },
    /// The resource providers in Placement that are left of hosts without a compute service: each [`Leftover`] by its ID. Null if the
    /// clouds.yaml doesn't say where Placement is.
    Leftovers {
        /// The hosts.
        hosts: BTreeSet<String>,
    },
    /// The resource providers in Placement with some of these traits: each [`ProviderTraits`] by its ID. Null if the clouds.yaml doesn't
    /// say where Placement is.
    Traits {
        /// The traits that are sought.
        traits: BTreeSet<String>,
    },
    /// The hosts with a chassis in OVN: by host, whether Neutron says that its ovn-controller runs. Null if the clouds.yaml doesn't say
    /// where Neutron is.
    Chassis {
        /// The hosts that are sought.
        hosts: BTreeSet<String>,
    },
}

/// A compute service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    /// Its UUID.
    pub id: String,
    /// Whether its nova-compute has reported lately.
    pub is_up: bool,
    /// Why it is disabled, or that it is forced down; none if it is enabled.
    pub disabled: Option<String>,
}

/// Why a compute service is disabled that registered in a cell whose conductors have `enable_new_services = false`
/// (nova/db/main/api.py, `service_create`).
const NEW: &str = "New compute service disabled due to config option.";
/// How the reason of a compute service begins that this operator disabled. One that is disabled for another reason stays so.
const DRAINED: &str = "drained by the HypervisorShare";

impl Service {
    /// Whether it is disabled since it registered, so that it never had a server from the scheduler.
    pub(crate) fn is_new(&self) -> bool {
        self.disabled.as_deref() == Some(NEW)
    }

    /// Whether this operator disabled it for a drain.
    pub(crate) fn is_drained(&self) -> bool {
        let reason = self.disabled.as_deref();
        reason.is_some_and(|reason| reason.starts_with(DRAINED))
    }
}

/// Returns why a compute service is disabled while its node is drained, for users of Nova.
pub(crate) fn drained(share: &str, since: &str) -> String {
    format!("{DRAINED} {share} since {since}")
}

/// What is on a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occupants {
    /// Servers.
    pub servers: u32,
    /// Migrations and resizes from or to it that haven't ended.
    pub migrations: u32,
}

impl Occupants {
    /// Their number.
    pub(crate) fn count(&self) -> u32 {
        self.servers.saturating_add(self.migrations)
    }
}

/// A resource provider in Placement that is left of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftover {
    /// The host.
    pub host: String,
    /// Whether something is allocated of it or of one below it, so that Placement wouldn't delete it.
    pub is_allocated: bool,
}

/// A resource provider in Placement with some of the traits that are sought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderTraits {
    /// The name that libvirt has for its host.
    pub name: String,
    /// The traits that it has of those that are sought.
    pub traits: BTreeSet<String>,
}

/// A group of hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aggregate {
    /// Its ID.
    pub id: u64,
    /// Its ID in Placement.
    pub uuid: String,
    /// Its name.
    pub name: String,
    /// The availability zone of its hosts.
    pub zone: Option<String>,
    /// Its metadata, without the zone.
    pub metadata: BTreeMap<String, String>,
    /// Its hosts.
    pub hosts: BTreeSet<String>,
}

/// A change in a Nova.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Which Nova.
    pub access: Access,
    /// What changes.
    pub change: Change,
}

/// What changes in a Nova.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// A compute service gets no further server.
    Disable {
        /// Its UUID.
        service: String,
        /// The host.
        host: String,
        /// Why, for users of Nova.
        reason: String,
    },
    /// A compute service gets servers again.
    Enable {
        /// Its UUID.
        service: String,
        /// The host.
        host: String,
    },
    /// A compute service is deleted, with its resource provider and the chassis of its host.
    Delete {
        /// Its UUID.
        service: String,
        /// The host.
        host: String,
    },
    /// An aggregate is created.
    CreateAggregate {
        /// Its name.
        name: String,
        /// The availability zone of its hosts.
        zone: Option<String>,
    },
    /// An aggregate gets a name and a zone.
    UpdateAggregate {
        /// Its ID.
        id: u64,
        /// Its name.
        name: String,
        /// The availability zone of its hosts.
        zone: Option<String>,
    },
    /// Metadata of an aggregate is set.
    SetMetadata {
        /// The ID of the aggregate.
        id: u64,
        /// By key, the value; none removes the key.
        metadata: BTreeMap<String, Option<String>>,
    },
    /// A host becomes a member of an aggregate.
    AddHost {
        /// The ID of the aggregate.
        id: u64,
        /// The host.
        host: String,
    },
    /// A host is no longer a member of an aggregate.
    RemoveHost {
        /// The ID of the aggregate.
        id: u64,
        /// The host.
        host: String,
    },
    /// An aggregate is deleted.
    DeleteAggregate {
        /// Its ID.
        id: u64,
    },
    /// The resource provider of a host becomes a member of an aggregate in Placement too.
    JoinProvider {
        /// The aggregate's ID in Placement.
        aggregate: String,
        /// The ID of the resource provider.
        provider: String,
        /// The host.
        host: String,
    },
    /// A resource provider is deleted that Nova has left in Placement.
    DeleteProvider {
        /// Its ID.
        id: String,
        /// The host that it was of.
        host: String,
    },
    /// A resource provider has these traits no longer.
    RemoveTraits {
        /// Its ID.
        provider: String,
        /// The traits.
        traits: BTreeSet<String>,
    },
    /// The chassis is deleted of a host whose compute service was deleted by others.
    DeleteChassis {
        /// The host.
        host: String,
    },
}

impl Change {
    /// Returns whether it is to be carried out, given the compute services, by host, as they are right before. An answer is valid for
    /// [`VALID`] seconds, in which a person may disable a compute service: it stays so, for the person's reason.
    pub fn is_due(&self, services: &BTreeMap<String, Service>) -> bool {
        let (Self::Enable { service, host } | Self::Disable { service, host, .. }) = self else {
            return true;
        };
        let found = services.get(host).filter(|found| found.id == *service);
        found.is_some_and(|found| {
            let is_permitted = match self {
                Self::Enable { .. } => found.is_new(),
                _ => found.disabled.is_none(),
            };
            is_permitted || found.is_drained()
        })
    }
}

impl Access {
    /// Reads something. What isn't an answer counts as unread.
    pub(crate) fn read<T: DeserializeOwned>(
        &self,
        question: Question,
        observed: &ObservedState<'_>,
    ) -> Lookup<T> {
        let access = self.clone();
        let query = Query { access, question };
        let answer = observed.external(ExternalRequest::new(SYSTEM, &query));
        answer.parsed(|error| format!("Nova's answer isn't valid: {error}"))
    }

    /// Changes something.
    pub(crate) fn call(&self, change: Change, desired: &mut DesiredState) {
        let access = self.clone();
        desired.call(ExternalRequest::new(SYSTEM, &Call { access, change }));
    }
}

/// Returns the hosts of which a hypervisor or resource provider may be, by the name that libvirt has for its host: the host's own, or
/// that with a domain. The longest is the first.
pub fn hosts_of(name: &str) -> impl Iterator<Item = &str> {
    let without_domain = name.rmatch_indices('.');
    let without_domain = without_domain.filter_map(move |(dot, _)| name.get(..dot));
    std::iter::once(name).chain(without_domain)
}
