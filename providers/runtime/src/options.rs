//! The options of a process that runs operators.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// Where health and metrics are served.
pub const DEFAULT_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 8080);

/// Where and how to carry operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The kubeconfig; none: `KUBECONFIG`, `~/.kube/config`, or the cluster that the process runs in.
    pub kubeconfig: Option<PathBuf>,
    /// For `/healthz`, `/readyz` and `/metrics`; none: not served. Port 0 takes any free one.
    pub address: Option<SocketAddr>,
    /// Who leads.
    pub leadership: Leadership,
    /// The namespaces that are watched; none: the whole cluster.
    pub namespaces: Vec<String>,
}

/// Who leads where there may be several replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leadership {
    /// This process, the only replica.
    Alone,
    /// The replica that holds the operator's Lease.
    Elected {
        /// Where the Leases are; none: in the namespace that the process itself is in.
        namespace: Option<String>,
    },
}

impl Default for Options {
    fn default() -> Self {
        Self {
            kubeconfig: None,
            address: Some(DEFAULT_ADDRESS),
            leadership: Leadership::Elected { namespace: None },
            namespaces: Vec::new(),
        }
    }
}
