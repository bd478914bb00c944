//! Where and how to serve.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::ServeError;

/// Where the function protocol is served: the port is the specification's.
pub const DEFAULT_ADDRESS: SocketAddr = any_address(9443);

/// Where metrics are served.
pub const DEFAULT_METRICS_ADDRESS: SocketAddr = any_address(8080);

/// The largest message taken. A request holds every observed and required resource whole: a thousand pools with a
/// thousand-line status are some 30 MiB, far more than gRPC's usual 4 MiB.
pub const DEFAULT_MAX_MESSAGE_BYTES: usize = 64 << 20;

const fn any_address(port: u16) -> SocketAddr {
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), port)
}

/// Where and how to serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// For the function protocol, health and reflection. Port 0 takes any free one.
    pub address: SocketAddr,
    /// For metrics; none: not served.
    pub metrics_address: Option<SocketAddr>,
    /// How clients are known.
    pub tls: Tls,
    /// The largest request taken, in bytes.
    pub max_message_bytes: usize,
}

/// How clients are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tls {
    /// Not at all: no encryption either.
    Insecure,
    /// By mutual TLS, with `tls.crt`, `tls.key` and `ca.crt` from this folder. They are read again when they change.
    Directory(PathBuf),
}

impl Options {
    /// The defaults of the specification and of this crate.
    pub fn new(tls: Tls) -> Self {
        Self {
            address: DEFAULT_ADDRESS,
            metrics_address: Some(DEFAULT_METRICS_ADDRESS),
            tls,
            max_message_bytes: DEFAULT_MAX_MESSAGE_BYTES,
        }
    }
}

impl Tls {
    /// From the two flags of the specification; insecure wins.
    ///
    /// # Errors
    /// Neither is given: serving without TLS must be asked for.
    pub fn from_flags(insecure: bool, directory: Option<PathBuf>) -> Result<Self, ServeError> {
        match directory {
            _ if insecure => Ok(Self::Insecure),
            Some(directory) => Ok(Self::Directory(directory)),
            None => Err(ServeError::NoTls),
        }
    }
}
