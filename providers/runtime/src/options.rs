//! Where and how to carry operators.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Where health and metrics are served.
pub const DEFAULT_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 8080);

/// Where and how to carry operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// For `/healthz`, `/readyz` and `/metrics`; none: not served. Port 0 takes any free one.
    pub address: Option<SocketAddr>,
    /// The namespace of the Leases by which replicas agree who leads; none: there is only one replica.
    pub lease_namespace: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            address: Some(DEFAULT_ADDRESS),
            lease_namespace: None,
        }
    }
}
