//! Rules in CEL that the API server checks beyond the schema, each with a message that says what to do.

use serde::Serialize;

/// One rule, an entry of `x-kubernetes-validations`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// A CEL expression over `self`. One that mentions `oldSelf` is checked when a resource is changed.
    #[serde(rename = "rule")]
    pub expression: &'static str,
    /// What to do where it is false.
    pub message: &'static str,
    /// Whether `oldSelf` is optional: the rule is checked of new resources, too.
    #[serde(rename = "optionalOldSelf", skip_serializing_if = "std::ops::Not::not")]
    pub is_old_optional: bool,
}

impl Rule {
    /// A rule and what to do where it is false.
    pub const fn new(expression: &'static str, message: &'static str) -> Self {
        Self {
            expression,
            message,
            is_old_optional: false,
        }
    }

    /// A rule for which `oldSelf` is optional. What was stored before the rule existed must stay writable: the API server checks
    /// each rule again whenever anything of the resource is written, its status included.
    pub(crate) const fn with_optional_old(expression: &'static str, message: &'static str) -> Self {
        Self {
            is_old_optional: true,
            ..Self::new(expression, message)
        }
    }

    /// A value that stays as it was first given.
    pub(crate) const fn immutable(message: &'static str) -> Self {
        Self::new("self == oldSelf", message)
    }
}

pub(crate) const REGION: Rule =
    Rule::immutable("region can't be changed: create another resource in the other region");

pub(crate) const FIRST_NETWORK: Rule = Rule::immutable(
    "bootstrap.network can't be changed, since servers may be in it: restore its cidr, and create further networks by `openstack network \
     create`",
);

pub(crate) const POOL_NAME: Rule =
    Rule::immutable("name can't be changed: create another pool and move the consumers");

pub(crate) const RANGES: Rule = Rule::new(
    "(!has(self.nodes) || !has(oldSelf.nodes) || self.nodes == oldSelf.nodes) && \
     (!has(self.pods) || !has(oldSelf.pods) || self.pods == oldSelf.pods) && \
     (!has(self.services) || !has(oldSelf.services) || self.services == oldSelf.services)",
    "nodes, pods and services can't be changed: create a cluster with other ranges; before Gardener has created it, remove the field \
     first, then set it",
);

/// The claim's ranges overlap neither each other nor 224.0.0.0/3, which is reserved (gardener, pkg/utils/validation/cidr/disjoint.go):
/// each is contained in no range but itself. Optional elements of the list, or a comparison with the old ranges, exceed the budget of
/// rules.
pub(crate) const DISJOINT: Rule = Rule::with_optional_old(
    "oldSelf.hasValue() || [(has(self.nodes) ? [self.nodes] : []) + (has(self.pods) ? [self.pods] : []) + \
     (has(self.services) ? [self.services] : []) + ['224.0.0.0/3']].all(ranges, ranges.all(range, \
     ranges.exists_one(other, cidr(other).containsCIDR(range))))",
    "nodes, pods and services must not overlap, and must end before 224.0.0.0: set other ranges",
);

/// The beginning of a rule that concerns new clusters, and those that are to have more machines.
macro_rules! not_more {
    ($machines:literal) => {
        concat!(
            "self.",
            $machines,
            " <= oldSelf.?",
            $machines,
            ".orValue(0) || "
        )
    };
}

/// The rule that `network.nodes` has an address for each machine and five more (`RESERVED_NODE_ADDRESSES` of function-c5c3). CEL has no
/// powers, so the list has the sizes of ranges with prefixes of 18 to 32 bits; a shorter prefix is enough for 10,000 machines, the most
/// that a claim may have.
macro_rules! node_addresses {
    ($machines:literal) => {
        Rule::with_optional_old(
            concat!(
                not_more!($machines),
                "!has(self.network) || !has(self.network.nodes) || cidr(self.network.nodes).prefixLength() < 18 || self.",
                $machines,
                " + 5 <= [16384, 8192, 4096, 2048, 1024, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1]\
                 [cidr(self.network.nodes).prefixLength() - 18]"
            ),
            concat!(
                "network.nodes needs an address for each machine and five more: set a larger range, or lower ",
                $machines,
                "; the range of an existing cluster can't be changed"
            ),
        )
    };
}

/// The rule that `network.pods` has a block with a prefix of 24 bits for each machine (`NODE_POD_PREFIX` of function-c5c3). The list has
/// the numbers of blocks of ranges with prefixes of 10 to 24 bits.
macro_rules! pod_blocks {
    ($machines:literal) => {
        Rule::with_optional_old(
            concat!(
                not_more!($machines),
                "!has(self.network) || !has(self.network.pods) || cidr(self.network.pods).prefixLength() < 10 || \
                 (cidr(self.network.pods).prefixLength() <= 24 && self.",
                $machines,
                " <= [16384, 8192, 4096, 2048, 1024, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1]\
                 [cidr(self.network.pods).prefixLength() - 10])"
            ),
            concat!(
                "network.pods needs a /24 block for each machine: set a larger range, or lower ",
                $machines,
                "; the range of an existing cluster can't be changed"
            ),
        )
    };
}

pub(crate) const NODE_ADDRESSES_FOR_WORKERS: Rule = node_addresses!("workers");

pub(crate) const NODE_ADDRESSES_FOR_MAX_WORKERS: Rule = node_addresses!("maxWorkers");

pub(crate) const POD_BLOCKS_FOR_WORKERS: Rule = pod_blocks!("workers");

pub(crate) const POD_BLOCKS_FOR_MAX_WORKERS: Rule = pod_blocks!("maxWorkers");

pub(crate) const UNIQUE: Rule = Rule::new(
    "self.all(pool, self.exists_one(other, other == pool))",
    "a pool is named twice: name each pool once",
);

pub(crate) const UNIQUE_SHARES: Rule = Rule::new(
    "self.all(share, self.exists_one(other, other.name == share.name))",
    "hypervisorShares names a pool twice: keep one entry for each pool",
);

pub(crate) const SHARES_OF_POOLS: Rule = Rule::new(
    "!has(self.hypervisorShares) || self.hypervisorShares.all(share, share.name in self.hypervisorClusters)",
    "hypervisorShares names a pool that isn't in hypervisorClusters: write it as there, or remove the entry",
);

pub(crate) const CELL_NAME: Rule = Rule::new(
    "!(self.name in ['api', 'cell0', 'cell1'])",
    "the names api, cell0 and cell1 are taken: choose another name, and leave cell1 out, which has the pools that no cell names",
);

/// Users in databases and message buses that replace the first ones have such names: `nova-credentials-2` (`SUFFIX` of
/// provider-openstack).
pub(crate) const CELL_NOT_OF_A_USER: Rule = Rule::with_optional_old(
    "!self.name.matches('(^|-)credentials-[0-9]+$') || oldSelf.hasValue()",
    "the cell's name ends as those of users that rotations create, with credentials and a number: choose another name",
);

pub(crate) const ONE_CELL: Rule = Rule::new(
    "self.all(cell, cell.hypervisorClusters.all(pool, self.exists_one(other, pool in other.hypervisorClusters)))",
    "a hypervisor pool is in two cells, and Nova has each host in one: name the pool in one of them",
);

pub(crate) const CELLS_OF_POOLS: Rule = Rule::new(
    "!has(self.cells) || self.cells.all(cell, cell.hypervisorClusters.all(pool, \
     has(self.hypervisorClusters) && pool in self.hypervisorClusters))",
    "a cell names a hypervisor pool that isn't in hypervisorClusters: write it as there, or remove it from the cell",
);

pub(crate) const LEAST_BELOW_MOST: Rule = Rule::new(
    "!has(self.minHosts) || !has(self.maxHosts) || self.minHosts <= self.maxHosts",
    "minHosts is above maxHosts: lower minHosts or raise maxHosts",
);

pub(crate) const FIRST_STORAGE_CLUSTER: Rule = Rule::new(
    "self[0] == oldSelf[0]",
    "the first storage pool can't be changed, since images live there: put other pools after it",
);

pub(crate) const CONTROL_PLANE_CLUSTER: Rule = Rule::new(
    "(has(self.controlPlaneCluster) ? self.controlPlaneCluster : self.region + '-control-plane') == \
     (has(oldSelf.controlPlaneCluster) ? oldSelf.controlPlaneCluster : oldSelf.region + '-control-plane')",
    "controlPlaneCluster can't be changed: create another OpenStackCluster on the other control plane cluster",
);

pub(crate) const REGION_OF_CONTROL_PLANE: Rule = Rule::new(
    "has(self.controlPlaneCluster) || self.region.matches('^[a-z0-9]([-a-z0-9]{0,47}[a-z0-9])?$')",
    "no cluster can be called <region>-control-plane: name controlPlaneCluster",
);

pub(crate) const NOVA_NEEDS: Rule = Rule::new(
    "!self.services.nova || (self.services.glance && self.services.neutron)",
    "nova needs glance and neutron: switch them on, or nova off",
);

pub(crate) const OCTAVIA_NEEDS: Rule = Rule::new(
    "!self.services.octavia || (self.services.nova && self.services.neutron)",
    "octavia needs nova and neutron: switch them on, or octavia off",
);

/// The databases of OVN refuse another protocol (`SAME_PROTOCOL` of the OVNCluster), and the ControlPlane would be changed in part.
pub(crate) const SAME_TLS: Rule = Rule::new(
    "!self.services.neutron || !oldSelf.services.neutron || self.tls.enabled == oldSelf.tls.enabled",
    "tls.enabled can't be changed while neutron is on, since the databases of OVN keep their protocol: create another OpenStackCluster",
);

/// The same of a ControlPlane, which has its services by either name, or all of them without one.
pub(crate) const SAME_GLOBAL_TLS: Rule = Rule::new(
    "!(has(self.services) ? self.services.neutron.enabled : !has(self.openstack) || self.openstack.neutron.enabled) || \
     !(has(oldSelf.services) ? oldSelf.services.neutron.enabled : !has(oldSelf.openstack) || oldSelf.openstack.neutron.enabled) || \
     self.global.tls.enabled == oldSelf.global.tls.enabled",
    "global.tls.enabled can't be changed while neutron is enabled, since the databases of OVN keep their protocol: create another \
     ControlPlane",
);

pub(crate) const BACKUPS_NEED: Rule = Rule::new(
    "!self.storage.ceph.backupPool.enabled || self.services.cinder",
    "storage.ceph.backupPool needs cinder: switch cinder on, or backupPool off",
);

pub(crate) const BACKUPS_OF_POOLS: Rule = Rule::new(
    "!self.storage.ceph.backupPool.enabled || !has(self.storage.ceph.backupPool.storageCluster) || \
     self.storage.ceph.backupPool.storageCluster in self.storageClusters",
    "storage.ceph.backupPool.storageCluster isn't in storageClusters: write it as there, or keep the pool while it has the backups",
);

pub(crate) const BACKUPS_STAY: Rule = Rule::new(
    "!self.enabled || !oldSelf.enabled || (has(self.storageCluster) ? self.storageCluster : '') == \
     (has(oldSelf.storageCluster) ? oldSelf.storageCluster : '')",
    "storageCluster can't be changed, since the backups are there: set enabled to false first, which keeps them",
);

pub(crate) const VERIFIED_SERVICES: Rule = Rule::new(
    "!has(self.verify) || !has(self.verify.services) || self.verify.services.all(service, \
     (service != 'glance' || self.services.glance) && (service != 'nova' || self.services.nova) && \
     (service != 'neutron' || self.services.neutron) && (service != 'cinder' || self.services.cinder))",
    "verify.services names a service that services disables: enable it, or remove it from verify.services",
);

pub(crate) const MAX_WORKERS: Rule = Rule::new(
    "self.maxWorkers >= self.workers",
    "maxWorkers is below workers: raise maxWorkers or lower workers",
);

pub(crate) const IRONCORE: Rule = Rule::new(
    "!has(oldSelf.ironcore) || (has(self.ironcore) && self.ironcore == oldSelf.ironcore)",
    "ironcore can't be changed: create a new pool on the other machines and move the consumers",
);

pub(crate) const SHARED_BUT_DEDICATED: Rule = Rule::new(
    "!has(self.sharing) || !has(self.sharing.mode) || self.sharing.mode != 'Shared' || !has(self.labels) || \
     !('dedicated' in self.labels) || self.labels['dedicated'] != 'true'",
    "sharing.mode Shared contradicts the label dedicated \"true\": remove one of them",
);

pub(crate) const LABEL_KEYS: Rule = Rule::new(
    "self.all(key, key.matches('^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",
    "a label's name is not valid: use at most 63 letters, digits, dashes, underscores and dots, without a prefix",
);

pub(crate) const ZONE: Rule = Rule::new(
    "!('availability-zone' in self) || self['availability-zone'] != ''",
    "availability-zone is empty: name the zone, or remove the label",
);

/// Labels of a pool are labels of its nodes with a prefix, and these two have a meaning for the hypervisor-pool-operator (`FORMER_LEASE` and
/// `FORMER_MAINTENANCE`).
pub(crate) const LABELS_OF_LEASES: Rule = Rule::with_optional_old(
    "!['control-plane', 'maintenance'].exists(key, key in self && !(key in oldSelf.orValue({})))",
    "a label control-plane or maintenance would have all nodes count as leased or drained: give the label another name",
);

pub(crate) const RESERVE: Rule = Rule::new(
    "!has(self.sharing) || self.sharing.reserve < self.workers",
    "sharing.reserve leaves no node to consume: lower it or raise workers",
);

pub(crate) const UNIQUE_NETWORKS: Rule = Rule::new(
    "self.all(network, self.exists_one(other, other.name == network.name))",
    "a physical network is listed twice: give each a name of its own",
);

/// A rule on the networks of a pool.
pub(crate) const ONE_UPLINK: Rule = Rule::new(
    "self.all(network, self.all(other, !has(network.interface) || !has(other.interface) || \
     (network.bridge == other.bridge) == (network.interface == other.interface)))",
    "a bridge has one uplink, and an interface is in one bridge: name the same interface for networks of one bridge alone",
);

pub(crate) const VLAN_ORDER: Rule = Rule::new(
    "int(self.split('-')[0]) <= int(self.split('-')[1])",
    "vlanRange ends before it starts: write the lower VLAN first, for instance 1000-1999",
);

pub(crate) const ONE_CAPACITY: Rule = Rule::new(
    "!has(self.capacity) || !has(self.ceph) || !has(self.ceph.targetCapacity)",
    "capacity is the short form of ceph.targetCapacity: give one or the other",
);

pub(crate) const ENOUGH_HOSTS: Rule = Rule::new(
    "!has(self.ceph) || self.ceph.replicationFactor <= self.workers",
    "each copy needs a node of its own: raise workers or lower ceph.replicationFactor",
);

pub(crate) const ARBITER: Rule = Rule::new(
    "(has(self.arbiterCluster) ? self.arbiterCluster : '') == (has(oldSelf.arbiterCluster) ? oldSelf.arbiterCluster : '')",
    "arbiterCluster can't be changed, since Ceph is stretched when it is created: create another pool and move the consumers",
);

pub(crate) const ENCRYPTED: Rule = Rule::immutable(
    "ceph.encrypted can't be changed, since disks are encrypted when they are created: create another pool and move the consumers",
);

pub(crate) const DEVICE_CLASS: Rule = Rule::immutable(
    "ceph.deviceClass can't be changed, since the pools of consumers are on disks of this kind: create another pool and move the consumers",
);

pub(crate) const SAME_NAME: Rule = Rule::new(
    "self.spec.name == self.metadata.name",
    "spec.name and metadata.name differ: give the pool the same name in both places",
);

pub(crate) const NO_DOTS: Rule = Rule::new(
    "!self.metadata.name.contains('.')",
    "metadata.name has a dot: use lower-case letters, digits and dashes, since namespaces and clusters are named after it",
);

pub(crate) const NOT_RESERVED: Rule = Rule::new(
    "!(self.metadata.name in ['operators', 'system'])",
    "metadata.name is reserved, since its namespace belongs to operators: choose another name",
);

pub(crate) const NOT_A_PROVIDER_CONFIG: Rule = Rule::new(
    "!(self.metadata.name in ['gardener', 'management'])",
    "metadata.name is that of a provider configuration of the site: choose another name",
);

pub(crate) const HYPERVISORS_IN_USE: Rule = Rule::new(
    "self.spec.workers >= oldSelf.spec.workers || !has(self.status) || !has(self.status.consumers) || \
     self.status.consumers.map(consumer, has(consumer.minHosts) ? consumer.minHosts : 1).sum() <= self.spec.workers",
    "workers is below what the pool's consumers need: see status.consumers, and remove one of them or keep more nodes",
);

pub(crate) const STORAGE_IN_USE: Rule = Rule::new(
    "self.spec.workers >= oldSelf.spec.workers || !has(self.status) || !has(self.status.consumers) || \
     self.status.consumers.all(consumer, !has(consumer.minHosts) || consumer.minHosts <= self.spec.workers)",
    "workers is below the copies that a consumer keeps: see status.consumers, and lower its replication or keep more nodes",
);
