//! The parts of each page. Pure.

use c5c3_live::Query;
use k8s_openapi::api::core::v1::Node;
use provider_composer::{Resource, ResourceKind};
use provider_hypervisor_pool::{LEASE, PHASE, ROLE};

use crate::request::{Nodes, Request, View};
use crate::tables::{self, Table};

/// How many objects are on a page of a list.
const ROWS: u32 = 100;

/// The kinds of what is in no [`Table`].
pub const KINDS: [ResourceKind; 1] = [Node::KIND];

/// A part of a page: what is listed for it.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// The objects of a kind.
    Table(&'static Table),
    /// The object that the page is about.
    Subject(&'static Table),
    /// The nodes of the cluster's pool.
    Nodes,
}

/// The name of the list of nodes in URLs.
pub const TABLE_OF_NODES: &str = "nodes";

impl Part {
    /// The parts of a page.
    pub fn of(request: &Request) -> Vec<Self> {
        let mut parts = match &request.view {
            View::Overview => vec![
                Self::Table(&tables::OPENSTACK_CLUSTERS),
                Self::Table(&tables::CONTROL_PLANES),
                Self::Table(&tables::CONTROL_PLANE_CLUSTERS),
                Self::Table(&tables::HYPERVISOR_CLUSTERS),
                Self::Table(&tables::STORAGE_CLUSTERS),
            ],
            View::Pools => vec![
                Self::Table(&tables::HYPERVISOR_CLUSTERS),
                Self::Table(&tables::POOLS),
            ],
            View::Claim { .. } => vec![Self::Subject(&tables::HYPERVISOR_CLUSTERS)],
            View::Pool { .. } => vec![
                Self::Subject(&tables::POOLS),
                Self::Table(&tables::SHARES),
                Self::Nodes,
            ],
            View::Storage => vec![Self::Table(&tables::CAPACITY), Self::Table(&tables::STORED)],
        };
        if let Some(table) = &request.table {
            parts.retain(|part| part.name().is_none_or(|name| name == table));
        }
        parts
    }

    /// Its name in URLs; none where there is no second part of it.
    fn name(self) -> Option<&'static str> {
        match self {
            Self::Table(table) => Some(table.name),
            Self::Nodes => Some(TABLE_OF_NODES),
            Self::Subject(_) => None,
        }
    }

    /// What is listed for it.
    pub fn query(self, request: &Request) -> Query {
        let is_chosen = self.name().is_some() && self.name() == request.table.as_deref();
        let next = request.next.clone().filter(|_| is_chosen);
        let list = |kind| Query {
            next,
            ..Query::of(kind, ROWS)
        };
        match (self, &request.view) {
            (Self::Subject(table), View::Claim { namespace, name }) => Query {
                namespace: Some(namespace.clone()),
                name: Some(name.clone()),
                ..Query::of(table.kind, 1)
            },
            (Self::Subject(table), View::Pool { name }) => Query {
                name: Some(name.clone()),
                ..Query::of(table.kind, 1)
            },
            (Self::Nodes, _) => Query {
                labels: labels(request),
                ..list(Node::KIND)
            },
            (Self::Subject(table) | Self::Table(table), _) => Query {
                namespace: request.namespace.clone().filter(|_| table.kind.namespaced),
                ..list(table.kind)
            },
        }
    }
}

/// Which nodes are shown, as a label selector.
fn labels(request: &Request) -> String {
    let of = match (&request.control_plane, request.nodes) {
        (Some(control_plane), _) => format!("{LEASE}={control_plane}"),
        // A leased node that is no hypervisor any more is still its control plane's.
        (None, Some(Nodes::Leased | Nodes::Draining)) => LEASE.to_owned(),
        (None, _) => ROLE.to_owned(),
    };
    match request.nodes {
        None => of,
        Some(Nodes::Leased) => format!("{of},!{PHASE}"),
        Some(Nodes::Draining) => format!("{of},{PHASE}"),
        Some(Nodes::Unleased) => format!("{of},!{LEASE}"),
    }
}
