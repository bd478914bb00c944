//! A Neutron in memory, for plans and tests.

use std::collections::BTreeMap;

use c5c3_api::control_plane::AddressRange;

use super::{Answer, Change, Network, Question, Router, Subnet};

/// What a Neutron has. IDs are made of names.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// External networks, by name.
    pub external: BTreeMap<String, Network>,
    /// Networks and routers of projects, by the project's ID.
    pub projects: BTreeMap<String, Answer>,
}

impl Model {
    /// Answers a question.
    pub fn answer(&self, question: &Question) -> Answer {
        match question {
            Question::External { name } => Answer {
                networks: self.external.get(name).cloned().into_iter().collect(),
                routers: Vec::new(),
            },
            Question::Project { project, .. } => {
                self.projects.get(project).cloned().unwrap_or_default()
            }
        }
    }

    /// Changes what a call says.
    pub fn change(&mut self, change: Change) {
        match change {
            Change::CreateExternalNetwork { name, network } => {
                let network = Network {
                    physical_network: Some(network.physical_network),
                    vlan: network.vlan,
                    ..named(&name)
                };
                self.external.insert(name, network);
            }
            Change::CreateExternalSubnet {
                network, subnet, ..
            } => {
                let cidr = subnet.cidr.to_string();
                self.add(&network, cidr, subnet.allocation_pools);
            }
            Change::SetPools { subnet, pools } => {
                let networks = self.networks();
                let mut subnets = networks.flat_map(|network| &mut network.subnets);
                if let Some(found) = subnets.find(|found| found.id == subnet) {
                    found.pools = pools;
                }
            }
            Change::CreateNetwork { project, name } => {
                let networks = &mut self.projects.entry(project).or_default().networks;
                networks.push(named(&name));
            }
            Change::CreateSubnet { network, cidr, .. } => {
                self.add(&network, cidr.to_string(), Vec::new());
            }
            Change::CreateRouter { project, name, .. } => {
                let routers = &mut self.projects.entry(project).or_default().routers;
                routers.push(Router {
                    id: format!("id-of-{name}"),
                    subnets: Vec::new(),
                });
            }
            Change::Connect { router, subnet } => {
                let projects = self.projects.values_mut();
                let mut routers = projects.flat_map(|project| &mut project.routers);
                if let Some(found) = routers.find(|found| found.id == router) {
                    found.subnets.push(subnet);
                }
            }
        }
    }

    fn networks(&mut self) -> impl Iterator<Item = &mut Network> {
        let projects = self.projects.values_mut();
        let internal = projects.flat_map(|project| &mut project.networks);
        self.external.values_mut().chain(internal)
    }

    fn add(&mut self, network: &str, cidr: String, pools: Vec<AddressRange>) {
        if let Some(found) = self.networks().find(|found| found.id == network) {
            found.subnets.push(Subnet {
                id: format!("id-of-{cidr}"),
                cidr,
                pools,
            });
        }
    }
}

fn named(name: &str) -> Network {
    Network {
        id: format!("id-of-{name}"),
        physical_network: None,
        vlan: None,
        subnets: Vec::new(),
    }
}
