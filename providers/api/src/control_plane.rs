//! ControlPlane: one OpenStack control plane, as the c5c3-operator reconciles it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::Condition;

/// What a control plane consists of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneSpec {
    /// OpenStack release by its date, for example `2025.2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_stack_release: Option<String>,
    /// The hypervisor pools whose leased nodes run this control plane's agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute: Option<Compute>,
    /// The storage pools and what was made in them for this control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// Databases, message bus and caches.
    #[serde(default)]
    pub infrastructure: Infrastructure,
    /// The OpenStack services.
    #[serde(default)]
    pub services: ControlPlaneServices,
    /// The scheduler that places workloads across services.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cortex: Option<CortexComponent>,
    /// Settings that hold for every service.
    #[serde(default)]
    pub global: Global,
}

/// The hypervisor pools of a control plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Compute {
    /// Names of the pools.
    #[serde(default)]
    pub hypervisor_clusters: Vec<String>,
}

/// The storage pools of a control plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Storage {
    /// Names of the pools; images and ephemeral disks live in the first.
    #[serde(default)]
    pub storage_clusters: Vec<String>,
    /// What the services find in Ceph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceph: Option<ControlPlaneCeph>,
}

/// Ceph as the services of one control plane see it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneCeph {
    /// The RBD pools by purpose.
    pub pools: CephPoolNames,
    /// The filesystem for shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<NamedRef>,
    /// The object store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_store: Option<NamedRef>,
    /// Ceph users, each with the Secret in the control plane's namespace that holds its key.
    #[serde(default)]
    pub clients: Vec<CephClientRef>,
}

/// Names of the RBD pools of one control plane, the same in every storage cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CephPoolNames {
    /// Cinder's volumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volumes: Option<String>,
    /// Glance's images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<String>,
    /// Nova's ephemeral disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ephemeral: Option<String>,
}

/// A reference by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NamedRef {
    /// Name of what is meant.
    pub name: String,
}

/// A Ceph user of one service in one storage cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CephClientRef {
    /// The OpenStack service: cinder, glance, nova or manila.
    pub service: String,
    /// The storage pool whose Ceph knows the user.
    pub storage_cluster: String,
    /// The user's name, without the `client.` prefix.
    pub user: String,
    /// Secret with `userID`, `userKey`, `keyring` and `ceph.conf`.
    pub secret_ref: NamedRef,
}

/// Databases, message bus and caches of a control plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Infrastructure {
    /// MariaDB; Galera from three replicas on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mariadb: Option<Store>,
    /// RabbitMQ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rabbitmq: Option<Store>,
    /// Valkey.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valkey: Option<Valkey>,
    /// Memcached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memcached: Option<Memcached>,
}

/// A replicated store with a volume for each replica.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Store {
    /// Members.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    /// Size of each member's volume, as a Kubernetes quantity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_size: Option<String>,
    /// StorageClass of the volumes; the cluster's default where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_class: Option<String>,
    /// CPU and memory of each member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
}

/// Valkey, with Sentinel where more than one replica must fail over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Valkey {
    /// Members.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    /// Fail-over by Sentinel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sentinel: Option<Switch>,
}

/// Memcached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Memcached {
    /// Members.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    /// Cache size of each member, as a Kubernetes quantity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
}

/// Something that is on or off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Switch {
    /// Whether it is on.
    pub enabled: bool,
}

/// The OpenStack services of a control plane. One that is absent takes the operator's defaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneServices {
    /// Identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keystone: Option<Service>,
    /// Images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub glance: Option<Service>,
    /// Resource inventory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<Service>,
    /// Compute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nova: Option<ComponentService>,
    /// Networks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neutron: Option<ComponentService>,
    /// Volumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cinder: Option<ComponentService>,
    /// Load balancers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub octavia: Option<Service>,
    /// Shared filesystems.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manila: Option<Service>,
}

/// A service that is one Deployment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Service {
    /// Whether the service runs; it does where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Replicas of the API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    /// CPU and memory of each replica.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
}

/// A service of several components, each scaled by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentService {
    /// Whether the service runs; it does where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// The API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api: Option<Component>,
    /// The scheduler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<Component>,
    /// The conductor (Nova).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conductor: Option<Component>,
}

/// One component of a service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Component {
    /// Replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    /// CPU and memory of each replica.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
}

/// CPU and memory, as Kubernetes quantities by resource name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resources {
    /// What the scheduler sets aside.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<String, String>,
    /// What a container may not exceed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, String>,
}

/// Cortex in a control plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CortexComponent {
    /// Whether Cortex runs.
    pub enabled: bool,
    /// Replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    /// What Cortex schedules: nova, cinder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pipelines: Vec<String>,
}

/// Settings that hold for every service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Global {
    /// Keystone's region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Certificates of the endpoints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<ControlPlaneTls>,
    /// Networks the services offer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<ControlPlaneNetwork>,
    /// Whether ServiceMonitors are made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monitoring: Option<Switch>,
}

/// Certificates of a control plane's endpoints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneTls {
    /// Whether endpoints speak TLS.
    pub enabled: bool,
    /// cert-manager's issuer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer_ref: Option<IssuerRef>,
}

/// cert-manager's issuer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IssuerRef {
    /// Name of the issuer.
    pub name: String,
    /// `Issuer` or `ClusterIssuer`.
    pub kind: String,
}

/// Networks of a control plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneNetwork {
    /// Network of the floating IP addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_network: Option<String>,
    /// Largest packet of the underlay, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
}

/// What the c5c3-operator says of a control plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ControlPlaneStatus {
    /// `Ready` is the sum of the others.
    pub conditions: Vec<Condition>,
    /// How far a change of release has come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_phase: Option<UpdatePhase>,
    /// Public endpoints by service.
    pub endpoints: BTreeMap<String, String>,
}

/// Steps of a change of release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum UpdatePhase {
    /// Nothing changes.
    Idle,
    /// The wanted release is checked.
    Validating,
    /// Databases, message bus and caches change.
    UpdatingInfra,
    /// Keystone changes.
    UpdatingKeystone,
    /// The other services change.
    UpdatingServices,
    /// The new release is checked.
    Verifying,
    /// The change is done.
    Complete,
    /// The last good release comes back.
    RollingBack,
}
