//! What hypervisor and storage pools share, and how a pool is referred to.

use std::{collections::BTreeMap, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{pattern::LABEL, rule, text::textual};

/// A reference to a pool: its name, or `namespace/name` for a pool outside the site's pool namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PoolName {
    namespace: Option<String>,
    name: String,
}

/// What a pool is named as.
const POOL_FORM: &str =
    "its name, or namespace/name, in lower-case letters, digits and dashes, for instance hv-pool-a";

impl PoolName {
    fn parse(text: &str) -> Option<Self> {
        let (namespace, name) = match text.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, text),
        };
        (is_label(name) && namespace.is_none_or(is_label)).then(|| Self {
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        })
    }

    /// The namespace, where one is given.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The name without the namespace.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for PoolName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(out, "{namespace}/{}", self.name),
            None => out.write_str(&self.name),
        }
    }
}

textual!(PoolName, PoolNameError("a valid pool", POOL_FORM), {
    "title": POOL_FORM,
    "type": "string",
    "pattern": "^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/)?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$",
    "minLength": 1,
    "maxLength": 127,
});

/// Whether a text is a DNS label (RFC 1123), which is what namespaces and clusters may be called.
pub fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&text.len())
        && text.bytes().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Who may consume a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Sharing {
    /// Shared by many control planes, or Dedicated to one. Without it, the label `dedicated: "true"` means Dedicated and
    /// anything else Shared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<SharingMode>,
    /// Namespaces whose claims may consume the pool. Empty: any namespace for a shared pool; for a dedicated one the
    /// first consumer by creation time alone.
    #[schemars(length(max = 64), inner(length(min = 1, max = 63), regex(pattern = LABEL)))]
    pub allowed_namespaces: Vec<String>,
    /// Nodes kept free of control planes.
    #[schemars(range(min = 0, max = 10000))]
    pub reserve: u32,
    /// Most control planes that the pool admits. Without it 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_CONSUMERS))]
    pub max_consumers: Option<u32>,
}

/// Most control planes of a pool: their list in its status has to fit into etcd with everything else.
const MAX_CONSUMERS: u32 = 1000;

impl Sharing {
    /// Most control planes that the pool admits.
    pub fn max_consumers(&self) -> u32 {
        self.max_consumers.unwrap_or(MAX_CONSUMERS)
    }

    /// Whether a pool with so many control planes admits no more.
    pub fn is_full(&self, consumers: usize) -> bool {
        u32::try_from(consumers).unwrap_or(u32::MAX) >= self.max_consumers()
    }
}

/// How many control planes a pool may serve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SharingMode {
    /// Any number of control planes.
    #[default]
    Shared,
    /// One control plane.
    Dedicated,
}

/// One control plane that consumes a pool.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase", default)]
pub struct Consumer {
    /// Name of the OpenStackCluster.
    pub name: String,
    /// Namespace of the OpenStackCluster.
    pub namespace: String,
    /// UID of its composite resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub uid: Option<String>,
    /// Nodes that it can't do without: the least of its share of hypervisors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_hosts: Option<u32>,
    /// Nodes of a hypervisor pool that it has, without those that are drained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<u32>,
    /// Nodes of a hypervisor pool that it is due and doesn't have yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<u32>,
}

/// Names of physical networks, of bridges and of their interfaces, which are lists in configuration files and arguments of commands.
const WIRED: &str = "^[a-zA-Z0-9][-._a-zA-Z0-9]*$";

/// A physical network, as a control plane may use it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PhysicalNetwork {
    /// What Neutron calls the network, for instance physnet1.
    #[schemars(length(min = 1, max = 64), regex(pattern = WIRED))]
    pub name: String,
    /// The Open vSwitch bridge on each node, for instance br-ex.
    #[schemars(length(min = 1, max = 15), regex(pattern = WIRED))]
    pub bridge: String,
    /// VLANs that may be used on it, first-last, for instance 1000-1999. Each control plane gets a part of its own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub vlan_range: Option<VlanRange>,
}

/// A physical network of a pool, and what connects its nodes to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolNetwork {
    /// The network with all of its VLANs.
    #[serde(flatten)]
    pub network: PhysicalNetwork,
    /// The network interface that connects a node to the network, for instance eth1 or bond1. The agents add it to the bridge on each
    /// leased node that has it, but none with an address, a route or another device on top, because the node would lose them.
    /// Without it, add one to the bridge yourself. Only nodes whose bridge has an uplink are gateways to the network.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(length(min = 1, max = 15), regex(pattern = WIRED))]
    pub interface: Option<String>,
}

impl PoolNetwork {
    /// Returns the network as a control plane may use it that has these VLANs of it.
    pub fn with_vlans(&self, vlan_range: Option<VlanRange>) -> PhysicalNetwork {
        PhysicalNetwork {
            vlan_range,
            ..self.network.clone()
        }
    }
}

/// A range of VLAN ids, both ends included, written `first-last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct VlanRange {
    first: u16,
    last: u16,
}

/// What a range of VLANs is written as.
const VLAN_FORM: &str = "first-last, between 1 and 4094, for instance 1000-1999";

impl VlanRange {
    fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.split_once('-')?;
        Self::new(vlan(first)?, vlan(last)?)
    }

    /// The range between two VLAN ids, both included; none where that isn't a range.
    pub fn new(first: u16, last: u16) -> Option<Self> {
        (1 <= first && first <= last && last <= 4094).then_some(Self { first, last })
    }

    /// The lowest VLAN id, 1 to 4094.
    pub fn first(self) -> u16 {
        self.first
    }

    /// The highest VLAN id, `first` to 4094.
    pub fn last(self) -> u16 {
        self.last
    }

    /// The VLANs that are in both ranges, if there are any.
    pub fn intersection(self, other: Self) -> Option<Self> {
        Self::new(self.first.max(other.first), self.last.min(other.last))
    }
}

/// A VLAN id, 1 to 4094, in plain digits.
fn vlan(digits: &str) -> Option<u16> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    digits
        .parse()
        .ok()
        .filter(|id| plain && (1..=4094).contains(id))
}

impl fmt::Display for VlanRange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}-{}", self.first, self.last)
    }
}

const VLAN_ID: &str = "([1-9][0-9]{0,2}|[1-3][0-9]{3}|40[0-8][0-9]|409[0-4])";

textual!(VlanRange, VlanRangeError("a valid range of VLANs", VLAN_FORM), {
    "title": VLAN_FORM,
    "type": "string",
    "pattern": format!("^{VLAN_ID}-{VLAN_ID}$"),
    "maxLength": 9,
    "x-kubernetes-validations": [rule::VLAN_ORDER],
});

/// The sharing mode given, else Dedicated where the label `dedicated` is `"true"`.
pub(crate) fn sharing_mode(sharing: &Sharing, labels: &BTreeMap<String, String>) -> SharingMode {
    let labelled = || match labels.get("dedicated").map(String::as_str) {
        Some("true") => SharingMode::Dedicated,
        _ => SharingMode::Shared,
    };
    sharing.mode.unwrap_or_else(labelled)
}
