//! Which pods of a control plane may connect to which: one table, and the NetworkPolicies that follow from it and the graph.
//!
//! Everything else is denied. The APIs' own ports are opened by the services' operators, and traffic between a node and its
//! pods, probes for instance, is never subject to a policy.

use std::collections::BTreeMap;
use std::net::IpAddr;

use c5c3_api::parts::HostPort;
use k8s_openapi::api::networking::v1::{
    IPBlock, NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer,
    NetworkPolicyPort, NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    LabelSelector, LabelSelectorRequirement, ObjectMeta,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use provider_composer::DesiredState;

use super::{MARIADB, MEMCACHED, RABBITMQ, VALKEY, placement};
use crate::graph::Node;
use crate::recipe::Recipe;

/// Label of a namespace: its name, which the API server sets.
const NAMESPACE: &str = "kubernetes.io/metadata.name";
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
/// Ports of DNS servers; Gardener's listen at 8053 behind port 53.
const DNS: [u16; 2] = [53, 8053];
/// Where a node's own DNS cache listens.
const NODE_LOCAL_DNS: &str = "169.254.20.10/32";
/// Where operators and Prometheus run if nothing is said: as their installation guides have it, or with these operators.
const OPERATOR_NAMESPACES: [&str; 5] = [
    "c5c3-system",
    "infrastructure-operators",
    "mariadb-system",
    "monitoring",
    "rabbitmq-system",
];
/// What is no public address: private, shared, loopback and link-local ones (RFC 6890).
const NOT_PUBLIC: [&str; 7] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.168.0.0/16",
];

/// Pods of one part of a control plane.
struct Pods {
    /// What they are called, and their NetworkPolicy.
    name: &'static str,
    node: Node,
    /// A label that only they have.
    label: (&'static str, &'static str),
    /// Ports for the parts that use this one.
    serves: &'static [u16],
    /// Ports for operators and Prometheus.
    managed: &'static [u16],
    /// Ports for the agents on hypervisors, which have the addresses of their nodes.
    agents: &'static [u16],
    /// What they connect to beyond other parts.
    beyond: &'static [Beyond],
}

/// Something outside a control plane that its pods connect to, at an address that the control plane doesn't know.
#[derive(Clone, Copy)]
enum Beyond {
    /// Kubernetes' API server.
    ApiServer,
    /// The object store of MariaDB's backups.
    Backups,
    /// The object store of volumes' backups, where they are in a bucket.
    VolumeBackups,
    /// Monitors and daemons of Ceph (<https://docs.ceph.com/en/latest/rados/configuration/network-config-ref/>).
    Ceph,
    /// Web servers with public addresses, from which users import images.
    Web,
    /// The identity provider of federated users, where there is one.
    IdentityProvider,
    /// Cortex's PostgreSQL, which is always external.
    PostgreSql,
    /// The consoles of servers on hypervisors, by VNC: libvirt takes the lowest free port from 5900, and 200 servers are more than
    /// a node has.
    Consoles,
}

/// A service of OpenStack, whose operator opens its API's port.
const fn service(name: &'static str, node: Node, serves: &'static [u16]) -> Pods {
    Pods {
        name,
        node,
        label: (NAME, name),
        serves,
        managed: &[],
        agents: &[],
        beyond: &[],
    }
}

/// All pods of a control plane. Pods of one part connect to each other at any port.
static PODS: [Pods; 15] = [
    Pods {
        name: MARIADB,
        node: Node::MariaDb,
        label: (INSTANCE, MARIADB),
        serves: &[3306],
        // Besides SQL the agent beside each member of a Galera cluster.
        managed: &[3306, 5555],
        agents: &[],
        beyond: &[Beyond::ApiServer, Beyond::Backups],
    },
    Pods {
        name: "openstack-db-maxscale",
        node: Node::MariaDb,
        label: (INSTANCE, "openstack-db-maxscale"),
        serves: &[3306],
        managed: &[3306, 8989],
        agents: &[],
        beyond: &[],
    },
    Pods {
        name: "openstack-db-metrics",
        node: Node::MariaDb,
        label: (INSTANCE, "openstack-db-metrics"),
        serves: &[],
        managed: &[9104],
        agents: &[],
        beyond: &[],
    },
    Pods {
        name: RABBITMQ,
        node: Node::RabbitMq,
        label: (NAME, RABBITMQ),
        serves: &[5671, 5672],
        // The management API, and metrics.
        managed: &[15671, 15672, 15691, 15692],
        agents: &[5671, 5672],
        beyond: &[Beyond::ApiServer],
    },
    Pods {
        name: VALKEY,
        node: Node::Valkey,
        label: ("c5c3.io/component", VALKEY),
        serves: &[6379, 26379],
        managed: &[9121],
        agents: &[],
        beyond: &[],
    },
    Pods {
        name: MEMCACHED,
        node: Node::Memcached,
        label: (INSTANCE, MEMCACHED),
        serves: &[11211],
        managed: &[],
        agents: &[],
        beyond: &[],
    },
    Pods {
        beyond: &[Beyond::IdentityProvider],
        ..service("keystone", Node::Keystone, &[5000])
    },
    Pods {
        beyond: &[Beyond::Ceph, Beyond::Web],
        ..service("glance", Node::Glance, &[9292])
    },
    service("placement", Node::Placement, &[8778]),
    Pods {
        agents: &[6642],
        // OVN's operator asks both databases how their members are.
        managed: &[6641, 6642],
        ..service("ovn", Node::Ovn, &[6641, 6642])
    },
    Pods {
        beyond: &[Beyond::Consoles],
        ..service("nova", Node::Nova, &[8774, 8775, 6080])
    },
    service("neutron", Node::Neutron, &[9696]),
    Pods {
        beyond: &[Beyond::Ceph, Beyond::VolumeBackups],
        ..service("cinder", Node::Cinder, &[8776])
    },
    Pods {
        beyond: &[Beyond::PostgreSql],
        ..service("cortex", Node::Cortex, &[8080])
    },
    service("tempest", Node::Tempest, &[]),
];

/// Peers and ports of a rule, as ingress and egress rules have them; none stands for all.
type Allowed = (
    Option<Vec<NetworkPolicyPeer>>,
    Option<Vec<NetworkPolicyPort>>,
);

impl Recipe<'_> {
    /// Composes the NetworkPolicies of a control plane's namespace.
    pub(crate) fn network(&self, desired: &mut DesiredState) {
        let rules = |pods: &Pods| (self.ingress(pods), self.egress(pods));
        let each = self.pods(|_| true).map(|pods| {
            let label = BTreeMap::from([(pods.label.0.to_owned(), pods.label.1.to_owned())]);
            let name = format!("connections-{}", pods.name);
            (name, label, rules(pods))
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
    }

    /// The pods that this control plane has, of some parts.
    fn pods(&self, belongs: impl Fn(Node) -> bool) -> impl Iterator<Item = &'static Pods> {
        PODS.iter()
            .filter(move |pods| self.graph.contains(pods.node) && belongs(pods.node))
    }

    fn ingress(&self, pods: &Pods) -> Vec<Allowed> {
        let operators = self.spec().global.network.operator_namespaces.clone();
        let operators =
            operators.unwrap_or_else(|| OPERATOR_NAMESPACES.map(str::to_owned).to_vec());
        let clients = self.pods(|node| node.step().connects().any(|server| server == pods.node));
        let clients = (clients.map(peer).collect(), pods.serves);
        let operators = (namespaces(&operators), pods.managed);
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
            .map(|server| (Some(vec![peer(server)]), ports(server.serves)));
        let external = servers.iter().flat_map(|server| self.external(*server));
        let beyond = pods.beyond.iter().filter_map(|beyond| self.beyond(*beyond));
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

    fn beyond(&self, beyond: Beyond) -> Option<Allowed> {
        Some(match beyond {
            Beyond::ApiServer => (None, ports(&[443, 6443])),
            Beyond::Backups => {
                let bucket = self.spec().backup.as_ref()?.s3.as_ref()?;
                let server: HostPort = bucket.host().parse().ok()?;
                let port = server.port().unwrap_or(443);
                (address(server.host()), ports(&[port]))
            }
            Beyond::VolumeBackups => {
                let backup = self.services.cinder.backup.as_ref()?;
                let (scheme, rest) = backup.s3.as_ref()?.endpoint.split_once("://")?;
                let server: HostPort = rest.split('/').next()?.parse().ok()?;
                let usual = if scheme == "http" { 80 } else { 443 };
                (
                    address(server.host()),
                    ports(&[server.port().unwrap_or(usual)]),
                )
            }
            Beyond::Ceph => {
                self.spec().storage.as_ref()?;
                let daemons = NetworkPolicyPort {
                    end_port: Some(7568),
                    ..port("TCP", 6800)
                };
                let monitors = ports(&[3300, 6789]).into_iter().flatten();
                (None, Some(monitors.chain([daemons]).collect()))
            }
            Beyond::Web => (Some(public().collect()), ports(&[80, 443])),
            Beyond::IdentityProvider => {
                let federation = &self.services.keystone.federation;
                let provider = federation.identity_provider.as_ref()?;
                let host = provider.issuer.split('/').nth(2)?;
                let port = host
                    .rsplit_once(':')
                    .and_then(|(_, port)| port.parse().ok());
                (None, ports(&[port.unwrap_or(443)]))
            }
            Beyond::PostgreSql => (None, ports(&[5432])),
            Beyond::Consoles => {
                let consoles = NetworkPolicyPort {
                    end_port: Some(6099),
                    ..port("TCP", 5900)
                };
                (self.hypervisors(), Some(vec![consoles]))
            }
        })
    }
}

fn peer(pods: &Pods) -> NetworkPolicyPeer {
    let label = BTreeMap::from([(pods.label.0.to_owned(), pods.label.1.to_owned())]);
    NetworkPolicyPeer {
        pod_selector: Some(placement::selector(&label)),
        ..NetworkPolicyPeer::default()
    }
}

fn namespaces(names: &[String]) -> Vec<NetworkPolicyPeer> {
    let named = LabelSelectorRequirement {
        key: NAMESPACE.to_owned(),
        operator: "In".to_owned(),
        values: Some(names.to_vec()),
    };
    let peer = NetworkPolicyPeer {
        namespace_selector: Some(LabelSelector {
            match_expressions: Some(vec![named]),
            ..LabelSelector::default()
        }),
        ..NetworkPolicyPeer::default()
    };
    Some(peer)
        .into_iter()
        .filter(|_| !names.is_empty())
        .collect()
}

fn block(cidr: impl Into<String>, except: &[&str]) -> NetworkPolicyPeer {
    let except: Vec<String> = except.iter().map(|&cidr| cidr.to_owned()).collect();
    NetworkPolicyPeer {
        ip_block: Some(IPBlock {
            cidr: cidr.into(),
            except: Some(except).filter(|except| !except.is_empty()),
        }),
        ..NetworkPolicyPeer::default()
    }
}

/// The one address of a host that is given by its address.
fn address(host: &str) -> Option<Vec<NetworkPolicyPeer>> {
    let address: IpAddr = host.parse().ok()?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    Some(vec![block(format!("{address}/{bits}"), &[])])
}

/// All public addresses.
fn public() -> impl Iterator<Item = NetworkPolicyPeer> {
    [block("0.0.0.0/0", &NOT_PUBLIC), block("2000::/3", &[])].into_iter()
}

/// The cluster's DNS.
fn dns() -> Allowed {
    let servers = namespaces(&["kube-system".to_owned()]);
    let servers = servers.into_iter().chain([block(NODE_LOCAL_DNS, &[])]);
    let both = ["UDP", "TCP"].iter();
    let both = both.flat_map(|protocol| DNS.map(|number| port(protocol, number)));
    (Some(servers.collect()), Some(both.collect()))
}

fn ports(allowed: &[u16]) -> Option<Vec<NetworkPolicyPort>> {
    Some(allowed.iter().map(|number| port("TCP", *number)).collect())
}

fn port(protocol: &str, port: u16) -> NetworkPolicyPort {
    NetworkPolicyPort {
        port: Some(IntOrString::Int(port.into())),
        protocol: Some(protocol.to_owned()),
        ..NetworkPolicyPort::default()
    }
}
