//! A simulated Nova.

mod beginning;
mod system;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use jiff::SignedDuration;
use provider_composer_testing::Cluster;
use provider_hypervisor_pool::nova::{
    Access, Aggregate, Change, Occupants, ProviderTraits, SYSTEM, Service,
};
use serde_json::Value;

use crate::drain::drained;
use crate::fixture::*;

pub use beginning::{Beginning, in_zone_a, started};

/// Why a person disables compute services.
pub const PERSON: &str = "broken fan";

/// What a Nova has.
#[derive(Clone, Default)]
pub struct State {
    pub services: BTreeMap<String, Service>,
    /// The host whose compute service a person disables right before the next call.
    pub disabled_next: Option<String>,
    pub occupants: BTreeMap<String, Occupants>,
    pub is_unreachable: bool,
    /// The hosts of which it doesn't say what is on them.
    pub silent: BTreeSet<String>,
    pub aggregates: Vec<Aggregate>,
    /// Whether it doesn't say which aggregates it has.
    pub hides_aggregates: bool,
    /// The hosts with a compute service and without a hypervisor.
    pub starting: BTreeSet<String>,
    /// By host, the name that libvirt has for it, where that is another.
    pub named: BTreeMap<String, String>,
    /// The hosts without a resource provider.
    pub without_provider: BTreeSet<String>,
    /// The hosts of aggregates that aren't in these in Placement.
    pub uncopied: BTreeSet<String>,
    /// Whether it deletes compute services without their resource providers.
    pub leaves_providers: bool,
    /// By ID, the hosts of resource providers that are left.
    pub left: BTreeMap<String, String>,
    /// Whether something is allocated of these.
    pub is_allocated: bool,
    /// The custom traits of the hosts' resource providers.
    pub traits: BTreeMap<String, BTreeSet<String>>,
    /// The hosts with a chassis, and whether its ovn-controller runs.
    pub chassis: BTreeMap<String, bool>,
    /// Whether Neutron doesn't answer.
    pub hides_chassis: bool,
    pub placement: Placement,
    pub access: Option<Access>,
    pub asked: BTreeSet<String>,
    /// Whether it doesn't say which hypervisors it has.
    pub hides_hypervisors: bool,
    /// The hosts whose hypervisors it was asked for.
    pub sought: BTreeSet<String>,
    /// How often servers on all hosts were counted.
    pub counted: usize,
    pub calls: usize,
    /// Whether calls fail.
    pub fails_calls: bool,
}

/// How a Placement answers.
#[derive(Clone, Copy, Default, PartialEq)]
pub enum Placement {
    #[default]
    Answering,
    Silent,
    /// The clouds.yaml is of an older nova-operator.
    NotInClouds,
}

impl Placement {
    fn answer(self, answer: Value) -> Option<Value> {
        match self {
            Self::Answering => Some(answer),
            Self::Silent => None,
            Self::NotInClouds => Some(Value::Null),
        }
    }
}

impl State {
    /// The hosts with a compute service or a resource provider.
    pub fn hosts(&self) -> BTreeSet<String> {
        let hosts = self.services.keys().chain(self.left.values());
        hosts.cloned().collect()
    }

    /// Changes something as the driver does, unless Nova would refuse it.
    fn change(&mut self, change: Change) -> Result<(), String> {
        if let Some(host) = self.disabled_next.take() {
            let service = self.services.get_mut(&host).unwrap();
            service.disabled = Some(PERSON.to_owned());
        }
        if !change.is_due(&self.services) {
            return Ok(());
        }
        match change {
            Change::Disable {
                service, reason, ..
            } => self.service(&service).1.disabled = Some(reason),
            Change::Enable { service, .. } => self.service(&service).1.disabled = None,
            Change::Delete { service, host } => {
                assert_eq!(*self.service(&service).0, host);
                let found = self.occupants.get(&host).copied().unwrap_or_default();
                refuse(found != Occupants::default(), "servers are there")?;
                self.services.remove(&host);
                self.chassis.remove(&host);
                for aggregate in &mut self.aggregates {
                    aggregate.hosts.remove(&host);
                }
                if self.leaves_providers {
                    self.left.insert(format!("provider-{host}"), host);
                }
            }
            Change::JoinProvider {
                aggregate,
                provider,
                host,
            } => {
                let mut aggregates = self.aggregates.iter();
                let of_id = aggregates.find(|one| one.uuid == aggregate).unwrap();
                assert!(of_id.hosts.contains(&host));
                assert_eq!(provider, format!("provider-{host}"));
                refuse(self.without_provider.contains(&host), "no such provider")?;
                self.uncopied.remove(&host);
            }
            Change::DeleteProvider { id, host } => {
                assert_eq!(self.left.get(&id), Some(&host));
                refuse(self.is_allocated, "something is allocated there")?;
                self.left.remove(&id);
            }
            Change::RemoveTraits { provider, traits } => {
                let host = provider.strip_prefix("provider-").unwrap();
                let own = self.traits.get_mut(host).unwrap();
                assert!(own.is_superset(&traits), "they were read");
                own.retain(|name| !traits.contains(name));
            }
            Change::DeleteChassis { host } => {
                assert!(!self.services.contains_key(&host));
                self.chassis.remove(&host);
            }
            Change::CreateAggregate { name, zone } => {
                self.refuse_name(&name, None)?;
                self.aggregates.push(Aggregate {
                    id: self.calls as u64,
                    uuid: format!("uuid-of-{name}"),
                    name,
                    zone,
                    ..Aggregate::default()
                });
            }
            Change::UpdateAggregate { id, name, zone } => {
                self.refuse_name(&name, Some(id))?;
                let own = self.aggregate(id).clone();
                self.refuse_move(&own.hosts, own.zone.as_deref(), zone.as_deref())?;
                (self.aggregate(id).name, self.aggregate(id).zone) = (name, zone);
            }
            Change::SetMetadata { id, metadata } => {
                let own = &mut self.aggregate(id).metadata;
                for (key, value) in metadata {
                    match value {
                        Some(value) => own.insert(key, value),
                        None => own.remove(&key),
                    };
                }
            }
            Change::AddHost { id, host } => {
                let zone = self.aggregate(id).zone.clone();
                refuse(!self.services.contains_key(&host), "no such host")?;
                self.refuse_move(&BTreeSet::from([host.clone()]), None, zone.as_deref())?;
                self.aggregate(id).hosts.insert(host.clone());
                // Nova's membership stays, though it is copied to Placement afterwards.
                refuse(self.starting.contains(&host), "no compute node")?;
                if self.without_provider.contains(&host) {
                    self.uncopied.insert(host);
                }
            }
            Change::RemoveHost { id, host } => {
                let zone = self.aggregate(id).zone.clone();
                self.refuse_move(&BTreeSet::from([host.clone()]), zone.as_deref(), None)?;
                self.aggregate(id).hosts.remove(&host);
            }
            Change::DeleteAggregate { id } => {
                refuse(!self.aggregate(id).hosts.is_empty(), "it has hosts")?;
                self.aggregates.retain(|one| one.id != id);
            }
        }
        Ok(())
    }

    /// The ID of a host's hypervisor, which is found by the name that libvirt has for the host.
    fn hypervisor(&self, host: &str) -> Option<String> {
        let has = self.services.contains_key(host) && !self.starting.contains(host);
        let name = self.named.get(host).map_or(host, String::as_str);
        (has && name.contains(host)).then(|| format!("provider-{host}"))
    }

    /// The hosts with a hypervisor.
    fn listed(&self) -> impl Iterator<Item = &String> {
        let hosts = self.services.keys();
        hosts.filter(move |host| !self.starting.contains(*host))
    }

    /// The IDs of all hypervisors, by host.
    fn hypervisors(&self) -> BTreeMap<&String, String> {
        let listed = self.listed();
        listed
            .map(|host| (host, format!("provider-{host}")))
            .collect()
    }

    /// The number of servers on each host with a hypervisor.
    fn servers(&self) -> BTreeMap<&String, u32> {
        let servers = |host| self.occupants.get(host).map_or(0, |found| found.servers);
        self.listed().map(|host| (host, servers(host))).collect()
    }

    /// The resource providers with some of these traits, by ID.
    fn with_traits(&self, sought: &BTreeSet<String>) -> BTreeMap<String, ProviderTraits> {
        let providers = self.traits.iter().map(|(host, own)| {
            let name = self.named.get(host).unwrap_or(host).clone();
            let traits = own.intersection(sought).cloned().collect();
            (format!("provider-{host}"), ProviderTraits { name, traits })
        });
        providers
            .filter(|(_, provider)| !provider.traits.is_empty())
            .collect()
    }

    /// The resource providers in an aggregate, by ID.
    fn members(&self, aggregate: &str) -> BTreeMap<String, &String> {
        let mut aggregates = self.aggregates.iter();
        let aggregate = aggregates.find(|one| one.uuid == aggregate);
        let hosts = aggregate.into_iter().flat_map(|one| &one.hosts);
        let hosts = hosts.filter(|host| !self.uncopied.contains(*host));
        hosts
            .map(|host| {
                let name = self.named.get(host).unwrap_or(host);
                (format!("provider-{host}"), name)
            })
            .collect()
    }

    fn service(&mut self, id: &str) -> (&String, &mut Service) {
        let mut services = self.services.iter_mut();
        services.find(|(_, service)| service.id == id).unwrap()
    }

    fn aggregate(&mut self, id: u64) -> &mut Aggregate {
        let mut aggregates = self.aggregates.iter_mut();
        aggregates.find(|one| one.id == id).unwrap()
    }

    fn refuse_name(&self, name: &str, own: Option<u64>) -> Result<(), String> {
        let mut others = self.aggregates.iter().filter(|one| Some(one.id) != own);
        refuse(others.any(|one| one.name == name), "another has this name")
    }

    fn refuse_move(
        &self,
        hosts: &BTreeSet<String>,
        from: Option<&str>,
        to: Option<&str>,
    ) -> Result<(), String> {
        let servers = |host| self.occupants.get(host).map_or(0, |found| found.servers);
        let has_servers = hosts.iter().any(|host| servers(host) > 0);
        refuse(from != to && has_servers, "servers stay in their zone")
    }
}

fn refuse(is_refused: bool, why: &str) -> Result<(), String> {
    match is_refused {
        true => Err(why.to_owned()),
        false => Ok(()),
    }
}

/// An enabled compute service of a node.
pub fn service(node: &str, is_up: bool) -> Service {
    Service {
        id: format!("id-{node}"),
        is_up,
        disabled: None,
    }
}

/// A Nova.
#[derive(Clone, Default)]
pub struct Nova(Arc<Mutex<State>>);

impl Nova {
    /// Adds one to a cluster in which nova-compute of both nodes has registered.
    pub fn connect(cluster: &mut Cluster) -> Self {
        let nova = Self::default();
        for node in ["node-a", "node-b"] {
            nova.change(|state| {
                state.services.insert(node.to_owned(), service(node, true));
            });
        }
        cluster.join(SYSTEM, nova.clone());
        put_clouds(cluster);
        nova
    }

    /// Returns another Nova that has the same.
    pub fn copied(&self) -> Self {
        Self(Arc::new(Mutex::new(self.change(|state| state.clone()))))
    }

    pub fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.0.lock().unwrap())
    }

    pub fn disabled(&self, node: &str) -> Option<String> {
        self.change(|state| state.services[node].disabled.clone())
    }

    pub fn occupy(&self, node: &str, servers: u32, migrations: u32) {
        let occupants = Occupants {
            servers,
            migrations,
        };
        self.change(|state| state.occupants.insert(node.to_owned(), occupants));
    }

    /// Lets nova-compute of a host report, which registers first, or stop.
    pub fn set_up(&self, host: &str, is_up: bool) {
        self.change(|state| match state.services.get_mut(host) {
            Some(service) => service.is_up = is_up,
            None if is_up => {
                state.services.insert(host.to_owned(), service(host, true));
            }
            None => {}
        });
    }

    /// Deletes a compute service, which Nova refuses while servers are there.
    pub fn delete_service(&self, host: &str) {
        self.change(|state| {
            let Some(service) = state.services.get(host) else {
                return;
            };
            let change = Change::Delete {
                service: service.id.clone(),
                host: host.to_owned(),
            };
            let _ = state.change(change);
        });
    }
}

/// Lets both controllers run, each after the other, until Nova's answers are old.
pub fn later(cluster: &mut Cluster) -> [String; 3] {
    for _ in 0..3 {
        cluster.wait(SignedDuration::from_secs(15));
        reconcile(cluster, "prod");
    }
    drained(cluster)
}
