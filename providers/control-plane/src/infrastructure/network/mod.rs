//! Which pods of a control plane may connect to which: one table, and the NetworkPolicies that follow from it and the graph.
//!
//! Everything else is denied. The APIs' own ports are opened by the services' operators, and traffic between a node and its
//! pods, probes for instance, is never subject to a policy.

mod peers;
mod pods;

use std::collections::BTreeMap;

use c5c3_api::parts::HostPort;
use k8s_openapi::api::networking::v1::{
    NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer,
    NetworkPolicyPort, NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use provider_composer::{DesiredState, Key};
use provider_openstack::{Egress, pods_of};

use super::placement;
use crate::graph::Node;
use crate::recipe::Recipe;
use peers::{Allowed, address, block, dns, peer, port, ports, public};
use pods::{PODS, Pods};

/// Label of pods that belong to one instance of a program.
pub(super) const INSTANCE: &str = "app.kubernetes.io/instance";
/// Label of pods: the program's name, for OpenStack's services the service's.
pub(super) const NAME: &str = "app.kubernetes.io/name";
/// The policy that denies what no other one allows.
const DEFAULT: &str = "default-deny";
/// The policy that lets issuers reach pods by which cert-manager proves that a name is the control plane's.
const SOLVERS: &str = "acme-solvers";
/// Label of these pods.
const SOLVER: &str = "acme.cert-manager.io/http01-solver";
impl Recipe<'_> {
    /// Composes the NetworkPolicies of a control plane's namespace. Those of parts that are being deleted stay as they are, and their pods
    /// still reach what they use.
    pub(crate) fn network(&self, desired: &mut DesiredState) {
        let rules = |pods: &Pods| (self.ingress(pods), self.egress(pods));
        let each = self.pods(|_| true).map(|pods| {
            let label = BTreeMap::from([(pods.label.0.to_owned(), pods.label.1.to_owned())]);
            (pods.policy(), label, rules(pods))
        });
        let dns = (
            DEFAULT.to_owned(),
            BTreeMap::new(),
            (Vec::new(), vec![dns()]),
        );
        let solver = BTreeMap::from([(SOLVER.to_owned(), "true".to_owned())]);
        let solver = (
            SOLVERS.to_owned(),
            solver,
            (vec![(None, ports(&[8089]))], Vec::new()),
        );
        for (name, labels, (ingress, egress)) in each.chain([dns, solver]) {
            let ingress = ingress
                .into_iter()
                .map(|(from, ports)| NetworkPolicyIngressRule { from, ports });
            let egress = egress
                .into_iter()
                .map(|(to, ports)| NetworkPolicyEgressRule { to, ports });
            let policy = NetworkPolicy {
                metadata: ObjectMeta::default(),
                spec: Some(NetworkPolicySpec {
                    // The API server drops what is empty, and would seem to differ from it.
                    pod_selector: Some(match labels.is_empty() {
                        true => LabelSelector::default(),
                        false => placement::selector(&labels),
                    }),
                    policy_types: Some(vec!["Ingress".to_owned(), "Egress".to_owned()]),
                    ingress: Some(ingress.collect()).filter(|rules: &Vec<_>| !rules.is_empty()),
                    egress: Some(egress.collect()).filter(|rules: &Vec<_>| !rules.is_empty()),
                }),
            };
            desired.apply(self.namespace(), &name, &policy);
        }
        let removed = PODS.iter().filter(|pods| self.is_removed(pods));
        let kept = removed.map(|pods| Key::of::<NetworkPolicy>(self.namespace(), &pods.policy()));
        desired.kept.extend(kept);
    }

    fn is_removed(&self, pods: &Pods) -> bool {
        self.graph.removed().contains(&pods.node)
    }

    /// The pods that this control plane has, of some parts.
    fn pods(&self, belongs: impl Fn(Node) -> bool) -> impl Iterator<Item = &'static Pods> {
        PODS.iter()
            .filter(move |pods| self.graph.contains(pods.node) && belongs(pods.node))
    }

    fn ingress(&self, pods: &Pods) -> Vec<Allowed> {
        let connects = |node: Node| node.step().connects().any(|server| server == pods.node);
        let removed = PODS.iter().filter(|pods| self.is_removed(pods));
        let removed = removed.filter(|client| connects(client.node));
        let clients = self.pods(connects).chain(removed);
        let clients = (clients.map(peer).collect(), pods.serves.as_slice());
        let operators = pods_of(&self.spec().global.network.operator_namespaces.0);
        let operators = (operators.into_iter().collect(), pods.managed);
        let listed = [clients, operators].into_iter();
        let listed = listed
            .filter(|(peers, allowed): &(Vec<_>, _)| !peers.is_empty() && !allowed.is_empty());
        let listed = listed.map(|(peers, allowed)| (Some(peers), ports(allowed)));
        let agents = self.hypervisors().filter(|_| !pods.agents.is_empty());
        let agents = agents.map(|nodes| (Some(nodes), ports(pods.agents)));
        [self.own(pods)]
            .into_iter()
            .chain(listed)
            .chain(agents)
            .collect()
    }

    /// The nodes of hypervisors, whose addresses their agents have. A policy can't select nodes by their labels.
    fn hypervisors(&self) -> Option<Vec<NetworkPolicyPeer>> {
        let networks = self.spec().global.network.hypervisor_networks.as_ref()?;
        let networks = networks.iter();
        Some(
            networks
                .map(|network| block(network.to_string(), &[]))
                .collect(),
        )
    }

    fn egress(&self, pods: &Pods) -> Vec<Allowed> {
        let servers: Vec<Node> = pods.node.step().connects().collect();
        let inside = self.pods(|node| servers.contains(&node) && node != pods.node);
        let inside = inside
            .filter(|server| !server.serves.is_empty())
            .map(|server| (Some(vec![peer(server)]), ports(&server.serves)));
        let external = servers.iter().flat_map(|server| self.external(*server));
        let beyond = pods.egress.iter().filter_map(|egress| self.beyond(*egress));
        [self.own(pods)]
            .into_iter()
            .chain(inside)
            .chain(external)
            .chain(beyond)
            .collect()
    }

    /// The pods of the same part, at any port.
    fn own(&self, pods: &Pods) -> Allowed {
        let own = self.pods(|node| node == pods.node);
        (Some(own.map(peer).collect()), None)
    }

    /// The servers that an external part consists of. A policy knows no names, so that only the port limits where a name
    /// leads.
    fn external(&self, node: Node) -> Vec<Allowed> {
        let infrastructure = &self.spec().infrastructure;
        let servers = |servers: &[HostPort], port| {
            let each = servers.iter();
            each.map(|server| (server.host().to_owned(), server.port().unwrap_or(port)))
                .collect()
        };
        let servers: Vec<(String, u16)> = match node {
            Node::MariaDb => {
                let server = infrastructure.mariadb.external.iter();
                server
                    .map(|server| (server.host.clone(), server.port))
                    .collect()
            }
            Node::RabbitMq => {
                let bus = infrastructure.rabbitmq.external.as_ref();
                bus.map_or_else(Vec::new, |bus| servers(&bus.hosts, 5672))
            }
            Node::Memcached => {
                let cache = infrastructure.memcached.external.as_ref();
                cache.map_or_else(Vec::new, |cache| servers(&cache.servers, 11211))
            }
            _ => Vec::new(),
        };
        let each = servers.into_iter();
        each.map(|(host, port)| (address(&host), ports(&[port])))
            .collect()
    }

    fn beyond(&self, egress: Egress) -> Option<Allowed> {
        Some(match egress {
            Egress::ApiServer => (None, ports(&[443, 6443])),
            Egress::Backups => {
                let bucket = self.spec().backup.as_ref()?.s3.as_ref()?;
                let server: HostPort = bucket.host().parse().ok()?;
                let port = server.port().unwrap_or(443);
                (address(server.host()), ports(&[port]))
            }
            Egress::VolumeBackups => {
                let backup = self.services.cinder.backup.as_ref()?;
                let (scheme, rest) = backup.s3.as_ref()?.endpoint.split_once("://")?;
                let server: HostPort = rest.split('/').next()?.parse().ok()?;
                let usual = if scheme == "http" { 80 } else { 443 };
                (
                    address(server.host()),
                    ports(&[server.port().unwrap_or(usual)]),
                )
            }
            Egress::Ceph => {
                self.spec().storage.as_ref()?;
                let daemons = NetworkPolicyPort {
                    end_port: Some(7568),
                    ..port("TCP", 6800)
                };
                let monitors = ports(&[3300, 6789]).into_iter().flatten();
                (None, Some(monitors.chain([daemons]).collect()))
            }
            Egress::Web => (Some(public().collect()), ports(&[80, 443])),
            Egress::IdentityProvider => {
                let federation = &self.services.keystone.federation;
                let provider = federation.identity_provider.as_ref()?;
                let host = provider.issuer.split('/').nth(2)?;
                let port = host
                    .rsplit_once(':')
                    .and_then(|(_, port)| port.parse().ok());
                (None, ports(&[port.unwrap_or(443)]))
            }
            Egress::PostgreSql => (None, ports(&[5432])),
            Egress::Consoles => {
                let consoles = NetworkPolicyPort {
                    end_port: Some(6099),
                    ..port("TCP", 5900)
                };
                (self.hypervisors(), Some(vec![consoles]))
            }
        })
    }
}
