//! Settings that hold for every service of a control plane.

use std::collections::BTreeMap;

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    cidr::Cidr,
    neutron::DISJOINT_VLANS,
    parts::{
        IssuerRef, Monitoring, NamedRef, OperatorNamespaces, PolicyOverrides, Topology,
        exposure::annotation, image::REPOSITORY, is_default, keystone_access::default_region,
    },
    pattern::NAME,
    pool::PhysicalNetwork,
    rule::{Rule, UNIQUE_NETWORKS},
};

const ENCRYPTED_ACCESS: Rule = Rule::new(
    "!has(self.network) || !has(self.network.hypervisorAccess) || !has(self.tls) || !has(self.tls.enabled) || self.tls.enabled",
    "network.hypervisorAccess needs encrypted endpoints: set tls.enabled to true, or remove hypervisorAccess",
);

const LIMITED_ACCESS: Rule = Rule::new(
    "!has(self.hypervisorAccess) || has(self.hypervisorNetworks)",
    "hypervisorAccess needs hypervisorNetworks, the only addresses that its load balancers accept: set it to the networks of the hypervisors' nodes",
);

/// Settings that hold for every service.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [ENCRYPTED_ACCESS]))]
pub struct Global {
    /// Keystone's region.
    #[educe(Default = default_region())]
    #[schemars(length(min = 1, max = 255))]
    pub region: String,
    /// Encryption of the endpoints.
    pub tls: ControlPlaneTls,
    /// Networks that the services offer.
    pub network: ControlPlaneNetwork,
    /// What Prometheus scrapes.
    pub monitoring: Monitoring,
    /// Where images come from. Without it from where they are published.
    #[serde(skip_serializing_if = "is_default")]
    pub images: Images,
    /// Where pods run.
    #[serde(skip_serializing_if = "is_default")]
    pub topology: Topology,
    /// Who may do what, in every service. A service's own rule wins over one of the same name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_overrides: Option<PolicyOverrides>,
}

/// Encryption of a control plane's endpoints.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ControlPlaneTls {
    /// Whether endpoints are encrypted.
    #[educe(Default = true)]
    pub enabled: bool,
    /// Cert-manager's issuer of certificates for public host names, those of `expose`. Without it, and without
    /// internalIssuerRef, each service uses the Secret `<service>-tls`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer_ref: Option<IssuerRef>,
    /// Cert-manager's issuer of certificates for names within the cluster. Without it a certificate authority of the control
    /// plane's own, which OVN has also where this is a ClusterIssuer: every certificate of OVN's issuer gives access to its
    /// databases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub internal_issuer_ref: Option<IssuerRef>,
}

/// Networks of a control plane.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [LIMITED_ACCESS]))]
pub struct ControlPlaneNetwork {
    /// The external network in Neutron, which floating IPs come from. It is created where `bootstrap.externalNetwork` says of
    /// what, and otherwise must exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub external_network: Option<String>,
    /// Networks that the hypervisors are wired to, and the VLANs that this control plane may use on them.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 16), extend("x-kubernetes-validations" = [UNIQUE_NETWORKS, DISJOINT_VLANS]))]
    pub physical_networks: Vec<PhysicalNetwork>,
    /// Largest packet of the physical network, in bytes.
    #[educe(Default = 1500)]
    #[schemars(range(min = 1280, max = 9216))]
    pub mtu: u32,
    /// Namespaces of the operators of MariaDB, RabbitMQ and OVN and of Prometheus. Only their pods reach the servers' management
    /// ports, OVN's databases and metrics from outside the control plane's namespace. Without it c5c3-system,
    /// infrastructure-operators, mariadb-system, monitoring and rabbitmq-system.
    #[serde(skip_serializing_if = "is_default")]
    pub operator_namespaces: OperatorNamespaces,
    /// Addresses of the hypervisors' nodes, whose agents connect to RabbitMQ and OVN, and where consoles are. Without it no
    /// NetworkPolicy allows the agents' connections, since a policy can't select nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 16))]
    pub hypervisor_networks: Option<Vec<Cidr>>,
    /// Load balancers at which hypervisors of other clusters reach the control plane. Without it only agents in the control
    /// plane's own cluster can connect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hypervisor_access: Option<HypervisorAccess>,
}

/// Load balancers for the agents on hypervisors of other clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HypervisorAccess {
    /// Annotations of the Services, for the controller of the load balancers.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(extend("maxProperties" = 16, "additionalProperties" = annotation()))]
    pub annotations: BTreeMap<String, String>,
    /// Class of the load balancers. Without it the cluster's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub load_balancer_class: Option<String>,
}

/// Where the images of all services come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Images {
    /// What stands for ghcr.io/openstack-control-planes in every image's name, for instance registry.example.com/mirror.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255), regex(pattern = REPOSITORY))]
    pub registry: Option<String>,
    /// Secrets with the registry's credentials.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 8))]
    pub pull_secrets: Vec<NamedRef>,
}

/// A store of External Secrets, and where a cluster's credentials are in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretStore {
    /// The store.
    #[serde(flatten)]
    pub store: SecretStoreRef,
    /// Where this cluster's credentials are in the store: `<site>/<cluster>`, for instance `europe/eu-de-1-control-plane`. No
    /// other cluster may use it, since namespaces and names may be the same there.
    #[schemars(
        length(min = 3, max = 253),
        regex(pattern = "^[a-z0-9][-._a-z0-9]*(/[a-z0-9][-._a-z0-9]*)+$")
    )]
    pub path: String,
}

/// A store of External Secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretStoreRef {
    /// Name of the store.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub name: String,
    /// Kind of the store.
    #[serde(default)]
    pub kind: SecretStoreKind,
}

/// Where a store of External Secrets may be used (<https://external-secrets.io/latest/api/components/>).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SecretStoreKind {
    /// In its own namespace.
    #[default]
    SecretStore,
    /// In every namespace.
    ClusterSecretStore,
}
