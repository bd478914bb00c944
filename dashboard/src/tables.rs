//! The tables of objects, each with its columns.

use c5c3_api::control_plane::ControlPlaneSpec;
use c5c3_api::hypervisor::{HypervisorPoolSpec, HypervisorShareSpec};
use c5c3_api::openstack_cluster::CephPoolStatus;
use c5c3_api::{
    Claim, Consumer, ControlPlaneClusterSpec, HypervisorClusterSpec, OpenStackClusterSpec,
    StorageClusterSpec,
};
use c5c3_plan::Manifest;
use maud::{Markup, html};
use provider_composer::ResourceKind;

use crate::cells::{bytes, count, field, number, part, quantity, state, text, usage, waits_for};
use crate::request::View;

/// A table of the objects of one kind.
#[derive(Debug)]
pub struct Table {
    /// Its name in URLs.
    pub name: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// The kind.
    pub kind: ResourceKind,
    /// What it shows of each object, beside its name.
    pub columns: &'static [Column],
}

/// A column of a table.
#[derive(Debug)]
pub struct Column {
    /// Its heading.
    pub heading: &'static str,
    /// Whether it has numbers.
    pub is_number: bool,
    /// What it shows.
    pub cell: fn(&Manifest) -> Markup,
}

const fn column(heading: &'static str, cell: fn(&Manifest) -> Markup) -> Column {
    Column {
        heading,
        is_number: false,
        cell,
    }
}

const fn numbers(heading: &'static str, cell: fn(&Manifest) -> Markup) -> Column {
    Column {
        heading,
        is_number: true,
        cell,
    }
}

const fn claims<K: Claim>() -> ResourceKind {
    ResourceKind::namespaced(K::GROUP, K::VERSION, K::KIND, K::PLURAL)
}

/// All tables.
pub const ALL: [&Table; 9] = [
    &OPENSTACK_CLUSTERS,
    &CONTROL_PLANES,
    &CONTROL_PLANE_CLUSTERS,
    &HYPERVISOR_CLUSTERS,
    &STORAGE_CLUSTERS,
    &POOLS,
    &SHARES,
    &CAPACITY,
    &STORED,
];

const STATE: Column = column("State", state);
const WAITS_FOR: Column = column("Waits for", waits_for);
const CONSUMERS: Column = numbers("Control planes", |pool| {
    let consumers: Vec<Consumer> = part(pool, "/status/consumers");
    count(u64::try_from(consumers.len()).ok())
});
const NODES: Column = numbers("Nodes", |pool| number(pool, "/status/nodeCount"));
const LEASED: Column = numbers("Leased", |pool| number(pool, "/status/nodes/leased"));
const FREE: Column = numbers("Free", |pool| number(pool, "/status/nodes/free"));
const DRAINING: Column = numbers("Draining", |pool| number(pool, "/status/nodes/draining"));
const UNAVAILABLE: Column = numbers("Unavailable", |pool| {
    number(pool, "/status/nodes/unavailable")
});

/// The claims of tenants.
pub const OPENSTACK_CLUSTERS: Table = Table {
    name: "openstack-clusters",
    title: "OpenStack clusters",
    kind: claims::<OpenStackClusterSpec>(),
    columns: &[
        STATE,
        WAITS_FOR,
        column("Release", |claim| field(claim, "/spec/openStackRelease")),
        column("Size", |claim| field(claim, "/spec/size")),
    ],
};

/// The control planes of a control plane cluster.
pub const CONTROL_PLANES: Table = Table {
    name: "control-planes",
    title: "Control planes",
    kind: ResourceKind::of::<ControlPlaneSpec>(),
    columns: &[
        STATE,
        WAITS_FOR,
        column("Release", |plane| field(plane, "/spec/openStackRelease")),
    ],
};

/// The clusters of control planes.
pub const CONTROL_PLANE_CLUSTERS: Table = Table {
    name: "control-plane-clusters",
    title: "Control plane clusters",
    kind: claims::<ControlPlaneClusterSpec>(),
    columns: &[STATE, WAITS_FOR, CONSUMERS],
};

/// Pools of hypervisors, by their claims.
pub const HYPERVISOR_CLUSTERS: Table = Table {
    name: "hypervisor-clusters",
    title: "Hypervisor pools",
    kind: claims::<HypervisorClusterSpec>(),
    columns: &[
        STATE,
        WAITS_FOR,
        CONSUMERS,
        NODES,
        LEASED,
        FREE,
        DRAINING,
        UNAVAILABLE,
        numbers("Pending", |pool| {
            let consumers: Vec<Consumer> = part(pool, "/status/consumers");
            let pending = consumers.iter().filter_map(|consumer| consumer.pending);
            count(Some(pending.map(u64::from).sum()))
        }),
    ],
};

/// Pools of storage, by their claims.
pub const STORAGE_CLUSTERS: Table = Table {
    name: "storage-clusters",
    title: "Storage pools",
    kind: claims::<StorageClusterSpec>(),
    columns: &[STATE, WAITS_FOR, CONSUMERS],
};

/// The pool of a hypervisor cluster.
pub const POOLS: Table = Table {
    name: "pools",
    title: "Nodes of this cluster",
    kind: ResourceKind::of::<HypervisorPoolSpec>(),
    columns: &[
        STATE,
        WAITS_FOR,
        column("Sharing", |pool| field(pool, "/spec/mode")),
        NODES,
        LEASED,
        FREE,
        DRAINING,
        UNAVAILABLE,
        numbers("Reserve", |pool| number(pool, "/spec/reserve")),
        numbers("Free vCPUs", |pool| number(pool, "/status/freeVcpus")),
        numbers("Free GB", |pool| number(pool, "/status/freeMemoryGB")),
    ],
};

/// The shares of a hypervisor cluster.
pub const SHARES: Table = Table {
    name: "shares",
    title: "Shares",
    kind: ResourceKind::of::<HypervisorShareSpec>(),
    columns: &[
        STATE,
        WAITS_FOR,
        numbers("Weight", |share| number(share, "/spec/weight")),
        numbers("Min", |share| number(share, "/spec/minHosts")),
        numbers("Max", |share| number(share, "/spec/maxHosts")),
    ],
};

/// What pools of storage have.
pub const CAPACITY: Table = Table {
    name: "capacity",
    title: "Capacity of storage pools",
    kind: claims::<StorageClusterSpec>(),
    columns: &[
        STATE,
        WAITS_FOR,
        column("Ceph", |pool| field(pool, "/status/health")),
        numbers("Used", |pool| {
            let [used, total] =
                ["used", "total"].map(|field| quantity(pool, &format!("/status/capacity/{field}")));
            usage(used, total)
        }),
        numbers("Free", |pool| {
            let free = quantity(pool, "/status/capacity/available");
            html! { @match free { Some(free) => (bytes(free)), None => (count(None)) } }
        }),
        CONSUMERS,
    ],
};

/// What claims store.
pub const STORED: Table = Table {
    name: "stored",
    title: "Storage of OpenStack clusters",
    kind: claims::<OpenStackClusterSpec>(),
    columns: &[
        numbers("Volumes", |claim| stored(claim, "volumePool")),
        numbers("Images", |claim| stored(claim, "imagePool")),
        numbers("Ephemeral disks", |claim| stored(claim, "ephemeralPool")),
        numbers("Backups", |claim| stored(claim, "backupPool")),
    ],
};

/// What a claim has in one of its pools, of its quota where it has one.
fn stored(claim: &Manifest, pool: &str) -> Markup {
    let pool: CephPoolStatus = part(claim, &format!("/status/cephResources/{pool}"));
    let number = |bytes: u64| bytes as f64;
    usage(pool.used_bytes.map(number), pool.quota_bytes.map(number))
}

/// The page of an object, if it has one.
pub fn page(object: &Manifest) -> Option<View> {
    let name = object.name().to_owned();
    match object.kind() {
        kind if kind == HYPERVISOR_CLUSTERS.kind.kind => Some(View::Claim {
            namespace: object.namespace().to_owned(),
            name,
        }),
        kind if kind == POOLS.kind.kind => Some(View::Pool { name }),
        _ => None,
    }
}

/// The name of an object, with its namespace.
pub fn name(object: &Manifest) -> Markup {
    let name = text(object.name());
    html! {
        @if !object.namespace().is_empty() { span.namespace { (text(object.namespace())) "/" } }
        @match page(object) {
            Some(page) => a href=(page.path()) { (name) },
            None => (name),
        }
    }
}
