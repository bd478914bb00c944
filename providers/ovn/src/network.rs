//! One OVNCluster, as every part of its recipe looks at it.

use std::collections::BTreeMap;

use c5c3_api::ovn_cluster::{OvnClusterSpec, OvnConnection, OvnDatabase};
use c5c3_api::parts::Image;
use k8s_openapi::api::core::v1::{Pod, Service, ServiceSpec};
use k8s_openapi::api::networking::v1::{
    NetworkPolicy, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicyPort,
    NetworkPolicySpec,
};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use provider_composer::{DesiredState, Key, Live, Lookup, ObservedState, label_pairs};
use provider_openstack::table::OVN;
use provider_openstack::{
    PodSettings, budget, in_cluster, labelled, pods_of, selector, service_port,
};

use crate::ovsdb::{Access, ClientCertificate, Query};

/// One of OVN's databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Database {
    Northbound,
    Southbound,
}

impl Database {
    pub(crate) const ALL: [Self; 2] = [Self::Northbound, Self::Southbound];

    /// What its files and objects have in their names.
    pub(crate) fn short(self) -> &'static str {
        match self {
            Self::Northbound => "nb",
            Self::Southbound => "sb",
        }
    }

    /// Its name in OVSDB.
    pub(crate) fn schema(self) -> &'static str {
        match self {
            Self::Northbound => "OVN_Northbound",
            Self::Southbound => "OVN_Southbound",
        }
    }

    /// The condition that says whether it serves.
    pub(crate) fn condition(self) -> &'static str {
        match self {
            Self::Northbound => "NorthboundReady",
            Self::Southbound => "SouthboundReady",
        }
    }

    /// The port at which members talk to each other.
    pub(crate) fn raft_port(self) -> u16 {
        match self {
            Self::Northbound => 6643,
            Self::Southbound => 6644,
        }
    }
}

/// Who may connect to a port of pods.
pub(crate) enum Peers {
    /// Pods of the same component.
    Members,
    /// Pods of the OVNCluster's namespace, and of those of operators.
    Clients,
    /// Everybody: hypervisors are nodes, some of other clusters.
    Anywhere,
}

/// One OVNCluster.
pub(crate) struct Network<'a> {
    pub(crate) name: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) spec: &'a OvnClusterSpec,
    /// The image of OVN, with its tag or digest.
    pub(crate) image: String,
}

impl<'a> Network<'a> {
    pub(crate) fn new(name: &'a str, namespace: &'a str, spec: &'a OvnClusterSpec) -> Self {
        Self {
            name,
            namespace,
            spec,
            image: OVN.unless_given(&spec.ovn_image),
        }
    }

    /// What something of this OVNCluster is called: its name and what for.
    pub(crate) fn named(&self, purpose: &str) -> String {
        format!("{}-{purpose}", self.name)
    }

    /// The labels that only the pods of a component have.
    pub(crate) fn labels(&self, component: &str) -> BTreeMap<String, String> {
        let labels = [
            ("app.kubernetes.io/name", "ovn"),
            ("app.kubernetes.io/instance", self.name),
            ("app.kubernetes.io/component", component),
        ];
        labels
            .map(|(label, value)| (label.to_owned(), value.to_owned()))
            .into()
    }

    pub(crate) fn metadata(&self, component: &str) -> ObjectMeta {
        labelled(self.labels(component))
    }

    /// What pods that run an image have besides.
    pub(crate) fn pods<'b>(&'b self, image: &'b str) -> PodSettings<'b> {
        PodSettings {
            image,
            pull: &self.spec.ovn_image,
            topology: &self.spec.topology,
        }
    }

    pub(crate) fn database(&self, database: Database) -> &OvnDatabase {
        match database {
            Database::Northbound => &self.spec.northbound,
            Database::Southbound => &self.spec.southbound,
        }
    }

    fn connection(&self, database: Database) -> &OvnConnection {
        let integration = &self.spec.neutron_integration;
        match database {
            Database::Northbound => &integration.nb_connection,
            Database::Southbound => &integration.sb_connection,
        }
    }

    /// The name of a database's StatefulSet and headless Service, and what its pods' names begin with.
    pub(crate) fn service(&self, database: Database) -> &str {
        &self.connection(database).service.name
    }

    /// The port of a database for its clients.
    pub(crate) fn port(&self, database: Database) -> u16 {
        self.connection(database).service.port
    }

    /// How OVSDB writes connections: `ssl` or `tcp`.
    pub(crate) fn protocol(&self) -> &'static str {
        if self.spec.tls.enabled { "ssl" } else { "tcp" }
    }

    /// The name within the cluster of a Service.
    pub(crate) fn host(&self, service: &str) -> String {
        in_cluster(service, self.namespace)
    }

    /// The name within the cluster of a member.
    fn member(&self, database: Database, pod: &str) -> String {
        format!("{pod}.{}", self.host(self.service(database)))
    }

    /// The names of a database's pods, whether they run or not.
    pub(crate) fn members(&self, database: Database) -> impl Iterator<Item = String> {
        let service = self.service(database);
        (0..self.database(database).replicas).map(move |ordinal| format!("{service}-{ordinal}"))
    }

    /// Where a database listens, as its clients take it: all members.
    pub(crate) fn endpoint(&self, database: Database) -> String {
        let (protocol, port) = (self.protocol(), self.port(database));
        let members = self.members(database);
        let members =
            members.map(|pod| format!("{protocol}:{}:{port}", self.member(database, &pod)));
        members.collect::<Vec<_>>().join(",")
    }

    /// The pods of a database as they are.
    pub(crate) fn observe(
        &self,
        database: Database,
        observed: &ObservedState<'_>,
    ) -> Lookup<Vec<Live<Pod>>> {
        let labels = self.labels(database.short());
        observed.list::<Pod>(self.namespace, &label_pairs(&labels))
    }

    /// What is asked of a database: of its ready members, so that a change of readiness is another query. None while no
    /// member is ready.
    pub(crate) fn query(
        &self,
        database: Database,
        pods: &[Live<Pod>],
        tls: Option<&ClientCertificate>,
    ) -> Option<Query> {
        let ready = pods.iter().filter(|pod| is_ready(pod));
        let members: BTreeMap<_, _> = ready
            .map(|pod| {
                let host = self.member(database, &pod.metadata.name);
                (pod.metadata.name.clone(), (host, self.port(database)))
            })
            .collect();
        let access = Access {
            database: database.schema().to_owned(),
            members,
            tls: tls.cloned(),
        };
        (!access.members.is_empty()).then_some(Query {
            access,
            chassis: database == Database::Southbound,
        })
    }

    /// Composes what the pods of a component are reached by: a Service where they serve, a NetworkPolicy that allows nothing
    /// else, and a PodDisruptionBudget.
    pub(crate) fn connect(
        &self,
        (component, name): (&str, &str),
        ports: &[(&str, u16, Peers)],
        headless: bool,
        desired: &mut DesiredState,
    ) {
        let (labels, metadata) = (self.labels(component), self.metadata(component));
        if !ports.is_empty() {
            let service_ports = ports.iter();
            let service_ports = service_ports.map(|(name, port, _)| service_port(name, *port));
            let service = Service {
                metadata: metadata.clone(),
                spec: Some(ServiceSpec {
                    cluster_ip: headless.then(|| "None".to_owned()),
                    // Members must find each other before they are ready.
                    publish_not_ready_addresses: headless.then_some(true),
                    selector: Some(labels.clone()),
                    ports: Some(service_ports.collect()),
                    ..ServiceSpec::default()
                }),
                ..Service::default()
            };
            desired.apply(self.namespace, name, &service);
        }
        let rules = ports
            .iter()
            .map(|(_, port, peers)| self.allowed(&labels, *port, peers));
        let policy = NetworkPolicy {
            metadata: metadata.clone(),
            spec: Some(NetworkPolicySpec {
                pod_selector: Some(selector(&labels)),
                policy_types: Some(vec!["Ingress".to_owned()]),
                ingress: Some(rules.collect()).filter(|rules: &Vec<_>| !rules.is_empty()),
                ..NetworkPolicySpec::default()
            }),
        };
        desired.apply(self.namespace, name, &policy);
        let budget = budget(metadata, &labels);
        desired.apply(self.namespace, name, &budget);
    }

    /// Leaves what the pods of a component are reached by as it is.
    pub(crate) fn keep_connections(&self, name: &str, desired: &mut DesiredState) {
        desired.keep(Key::of::<Service>(self.namespace, name));
        desired.keep(Key::of::<NetworkPolicy>(self.namespace, name));
        desired.keep(Key::of::<PodDisruptionBudget>(self.namespace, name));
    }

    /// Who may connect to the southbound database: nodes, some of them of other clusters, once they have to prove who they are.
    pub(crate) fn nodes_peers(&self) -> Peers {
        match self.spec.tls.enabled {
            true => Peers::Anywhere,
            false => Peers::Clients,
        }
    }

    fn allowed(
        &self,
        own: &BTreeMap<String, String>,
        port: u16,
        peers: &Peers,
    ) -> NetworkPolicyIngressRule {
        let pods = |pods| NetworkPolicyPeer {
            pod_selector: Some(pods),
            ..NetworkPolicyPeer::default()
        };
        let from = match peers {
            Peers::Members => Some(vec![pods(selector(own))]),
            Peers::Clients => {
                let elsewhere = pods_of(&self.spec.operator_namespaces.0);
                let clients = [pods(LabelSelector::default())];
                Some(clients.into_iter().chain(elsewhere).collect())
            }
            Peers::Anywhere => None,
        };
        NetworkPolicyIngressRule {
            from,
            ports: Some(vec![NetworkPolicyPort {
                port: Some(IntOrString::Int(i32::from(port))),
                protocol: Some("TCP".to_owned()),
                ..NetworkPolicyPort::default()
            }]),
        }
    }
}

/// Whether a pod is ready, and isn't being deleted.
pub(crate) fn is_ready(pod: &Live<Pod>) -> bool {
    let status = pod.body.status.iter();
    let mut conditions = status.flat_map(|status| status.conditions.iter().flatten());
    pod.metadata.deletion_timestamp.is_none()
        && conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// The tag of an image of OVN.
pub(crate) fn tag(image: &Image) -> &str {
    image.tag.as_deref().unwrap_or(OVN.tag)
}
