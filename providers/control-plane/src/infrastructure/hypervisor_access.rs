//! Load balancers at which agents on hypervisors of other clusters reach a control plane.
//!
//! The agents keep the names that pods of the control plane's cluster have for its Services, and that its certificates are
//! for. Only the addresses differ: the HypervisorShare has them, from the ControlPlane's status.

use std::collections::BTreeMap;
use std::net::IpAddr;

use c5c3_api::control_plane::HypervisorAccess;
use c5c3_api::ovn_cluster::{NeutronIntegration, OvnService};
use c5c3_api::parts::AgentEndpoint;
use k8s_openapi::api::core::v1::{Service, ServiceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use provider_composer::{DesiredState, ObservedState, Progress, Reason};
use provider_openstack::{NOVA_METADATA, service_port};

use super::RABBITMQ;
use super::network::{INSTANCE, NAME};
use crate::graph::{Node, definition};
use crate::recipe::Recipe;

/// Label of pods: the part of a program.
const COMPONENT: &str = "app.kubernetes.io/component";
/// The part of the relays of OVN's southbound database, which listen at the same port as its members.
const RELAYS: &str = "sb-relay";
/// The services with agents, which connect to what the services' pods connect to.
const WITH_AGENTS: [Node; 2] = [Node::Nova, Node::Neutron];

/// A part of a control plane that agents connect to.
struct Target {
    /// The name of its Service.
    name: String,
    /// Labels that only its pods have.
    pods: BTreeMap<String, String>,
    port: u16,
    /// The names that agents have for it.
    hostnames: Vec<String>,
}

impl Recipe<'_> {
    /// Composes the load balancers. Returns where they are, once all have addresses.
    pub(crate) fn hypervisor_access(&self, desired: &mut DesiredState) -> Vec<AgentEndpoint> {
        let Some(access) = &self.spec().global.network.hypervisor_access else {
            return Vec::new();
        };
        let mut endpoints = Vec::new();
        let mut progress = Progress::Ready;
        let nodes = self.graph.steps().map(|step| step.node);
        for target in nodes.flat_map(|node| self.targets(node)) {
            let name = format!("{}-hypervisors", target.name);
            desired.apply(self.namespace(), &name, &self.balancer(access, &target));
            match addresses(self.namespace(), &name, self.observed) {
                Ok(addresses) => endpoints.push(AgentEndpoint {
                    name: target.name,
                    hostnames: target.hostnames,
                    addresses,
                }),
                Err(waits) => progress = waits,
            }
        }
        desired.conditions.set("HypervisorAccessReady", &progress);
        match progress {
            Progress::Ready => endpoints,
            // Some of the addresses would be of no use, and the last ones most likely still hold.
            _ => self.subject.status.agent_endpoints.clone(),
        }
    }

    /// What agents connect to of a node, and the hypervisor-pool-operator.
    fn targets(&self, node: Node) -> Vec<Target> {
        let connects =
            |agent: &Node| *agent == node || agent.step().connects().any(|server| server == node);
        if !WITH_AGENTS.iter().any(connects) {
            return Vec::new();
        }
        let target = |name: &str, labels: &[(&str, &str)], port| Target {
            name: name.to_owned(),
            pods: labels
                .iter()
                .map(|(label, value)| ((*label).to_owned(), (*value).to_owned()))
                .collect(),
            port,
            hostnames: self.hostnames(name),
        };
        match node {
            Node::RabbitMq => vec![target(RABBITMQ, &[(NAME, RABBITMQ)], 5671)],
            Node::Ovn => {
                let ovn = node.step().name;
                let labels = [(NAME, ovn), (INSTANCE, ovn), (COMPONENT, "sb")];
                let OvnService { name, port } = NeutronIntegration::default().sb_connection.service;
                let said = &self.spec().infrastructure.ovn;
                // Agents connect to any member by its own name, or to relays as soon as they are told of them.
                let members = 0..self.ovn_members(&said.southbound);
                let members = members.map(|member| format!("{name}-{member}.{name}"));
                let members = Target {
                    hostnames: members.flat_map(|member| self.hostnames(&member)).collect(),
                    ..target(&name, &labels, port)
                };
                let relays = (said.relay.replicas > 0).then(|| {
                    let labels = [(NAME, ovn), (INSTANCE, ovn), (COMPONENT, RELAYS)];
                    target(&format!("{ovn}-{RELAYS}"), &labels, port)
                });
                std::iter::once(members).chain(relays).collect()
            }
            node => {
                let Some(service) = definition(node) else {
                    return Vec::new();
                };
                let mut components = vec![(service.name.to_owned(), &service.api)];
                if node == Node::Nova {
                    components.push((service.part(NOVA_METADATA.name), &NOVA_METADATA));
                }
                let targets = components.into_iter().filter_map(|(name, component)| {
                    let labels = [
                        (NAME, service.name),
                        (INSTANCE, service.name),
                        (COMPONENT, component.name),
                    ];
                    Some(target(&name, &labels, component.port()?))
                });
                targets.collect()
            }
        }
    }

    /// The names of a Service, or of a pod of one, within the cluster.
    fn hostnames(&self, name: &str) -> Vec<String> {
        let short = format!("{name}.{}.svc", self.namespace());
        vec![format!("{short}.cluster.local"), short]
    }

    fn balancer(&self, access: &HypervisorAccess, target: &Target) -> Service {
        let networks = self.spec().global.network.hypervisor_networks.iter();
        let annotations = Some(access.annotations.clone());
        Service {
            metadata: ObjectMeta {
                annotations: annotations.filter(|annotations| !annotations.is_empty()),
                ..ObjectMeta::default()
            },
            spec: Some(ServiceSpec {
                type_: Some("LoadBalancer".to_owned()),
                load_balancer_class: access.load_balancer_class.clone(),
                load_balancer_source_ranges: Some(
                    networks.flatten().map(ToString::to_string).collect(),
                ),
                // NetworkPolicies see the node's address, not that of a proxy.
                external_traffic_policy: Some("Local".to_owned()),
                selector: Some(target.pods.clone()),
                ports: Some(vec![service_port("agents", target.port)]),
                ..ServiceSpec::default()
            }),
            ..Service::default()
        }
    }
}

/// The addresses of a load balancer.
fn addresses(
    namespace: &str,
    name: &str,
    observed: &ObservedState<'_>,
) -> Result<Vec<IpAddr>, Progress> {
    let service = observed.body::<Service>(namespace, name).optional()?;
    let ingress = service
        .and_then(|service| service.status)
        .and_then(|status| status.load_balancer)
        .and_then(|balancer| balancer.ingress)
        .unwrap_or_default();
    let addresses = ingress.iter().filter_map(|ingress| ingress.ip.as_deref());
    let addresses = addresses.filter(|ip| !ip.is_empty());
    let addresses: Result<Vec<IpAddr>, Progress> = addresses
        .map(|ip| {
            ip.parse::<IpAddr>().map_err(|_| Progress::Unknown {
                message: format!(
                    "{ip} of the load balancer of the Service {name} is not a valid address"
                ),
            })
        })
        .collect();
    let addresses = addresses?;
    let hostname = ingress.iter().find_map(|ingress| ingress.hostname.as_ref());
    match (addresses.is_empty(), hostname) {
        (false, _) => Ok(addresses),
        (true, Some(hostname)) => Err(Progress::failed(
            Reason::NoAddress,
            format!(
                "the load balancer of the Service {name} has the host name {hostname} and no address, which agents need: set \
                 global.network.hypervisorAccess to load balancers with addresses"
            ),
        )),
        (true, None) => Err(Progress::waiting(
            Reason::WaitingFor("LoadBalancer"),
            format!(
                "waits for an address of the load balancer of the Service {name}: its controller assigns one, see kubectl \
                 describe service"
            ),
        )),
    }
}
