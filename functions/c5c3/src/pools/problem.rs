//! Why a cluster can't be consumed.

use c5c3_api::{Cidr, Reason};
use thiserror::Error;

/// Why a cluster can't be consumed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// Crossplane hasn't fetched it yet.
    #[error("it isn't read yet")]
    Unread,
    /// No cluster has that name.
    #[error(
        "it doesn't exist in namespace {namespace}; create it or name another{}", instead(.others)
    )]
    Missing {
        /// Where it was looked for.
        namespace: String,
        /// Names of pools there that the claim may name instead.
        others: Vec<String>,
    },
    /// It is being deleted.
    #[error("it is being deleted; name another")]
    Deleting,
    /// It belongs to another region.
    #[error("it is in region {region}; name one of the claim's region")]
    OtherRegion {
        /// The pool's region.
        region: String,
    },
    /// It takes no claims from this namespace.
    #[error(
        "it doesn't allow claims from namespace {namespace}; ask its owner to add it to sharing.allowedNamespaces"
    )]
    NotAllowed {
        /// The claim's namespace.
        namespace: String,
    },
    /// It serves another claim alone, which only the pool names.
    #[error("it is dedicated to another claim; name another pool")]
    Dedicated,
    /// Its composer hasn't admitted the claim yet.
    #[error("it hasn't admitted this claim yet")]
    AwaitingAdmission,
    /// Its nodes have addresses of another cluster that the claim names.
    #[error(
        "its nodes have {nodes}, and {other} has {taken}; name another, or recreate one of them with other network.nodes"
    )]
    NetworkTaken {
        /// Addresses of its nodes.
        nodes: Cidr,
        /// The other cluster.
        other: String,
        /// Addresses of the other cluster's nodes.
        taken: Cidr,
    },
    /// The nodes that it can have are promised to others.
    #[error(
        "it has {free} nodes to promise and the claim needs {needed}; raise the pool's maxWorkers or name another"
    )]
    Full {
        /// Nodes that no consumer was promised.
        free: u32,
        /// Nodes that the claim can't do without.
        needed: u32,
    },
    /// It has as many consumers as it admits.
    #[error(
        "it has {most} consumers and admits no more; ask its owner to raise sharing.maxConsumers, or name another"
    )]
    TooManyConsumers {
        /// How many it admits.
        most: u32,
    },
    /// It isn't ready.
    #[error("it is {phase}")]
    NotReady {
        /// The pool's phase.
        phase: String,
    },
}

/// What a claim may name instead of a pool that is missing.
fn instead(others: &[String]) -> String {
    match others {
        [] => String::new(),
        others => format!(": {}", others.join(", ")),
    }
}

impl Problem {
    /// The reason of a condition.
    pub fn reason(&self) -> Reason {
        match self {
            Problem::Unread => Reason::PoolLookupFailed,
            Problem::Missing { .. } => Reason::PoolMissing,
            Problem::Deleting => Reason::PoolDeleting,
            Problem::OtherRegion { .. } => Reason::PoolInOtherRegion,
            Problem::NotAllowed { .. } => Reason::PoolNotAllowed,
            Problem::Dedicated => Reason::PoolDedicated,
            Problem::AwaitingAdmission => Reason::PoolAwaitingAdmission,
            Problem::NetworkTaken { .. } => Reason::PoolNetworkTaken,
            Problem::Full { .. } | Problem::TooManyConsumers { .. } => Reason::PoolFull,
            Problem::NotReady { .. } => Reason::PoolNotReady,
        }
    }
}
