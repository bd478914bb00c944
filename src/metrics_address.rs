//! Where metrics are served.

use std::net::SocketAddr;

/// An address, or none.
#[derive(Clone, Copy)]
pub struct MetricsAddress(pub Option<SocketAddr>);

impl std::str::FromStr for MetricsAddress {
    type Err = std::net::AddrParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "none" => Ok(Self(None)),
            address => address.parse().map(|address| Self(Some(address))),
        }
    }
}

impl std::fmt::Display for MetricsAddress {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(address) => address.fmt(out),
            None => out.write_str("none"),
        }
    }
}
