//! Why a server does not start, or stops.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

use crate::TlsError;

/// Why a server does not start, or stops.
#[derive(Debug, Error)]
pub enum ServeError {
    /// Neither TLS nor its absence was asked for.
    #[error(
        "no certificates given: set --tls-certs-dir (or TLS_SERVER_CERTS_DIR) to a folder with tls.crt, tls.key and \
         ca.crt, or serve without TLS with --insecure"
    )]
    NoTls,
    /// Another process has the port.
    #[error(
        "{what} cannot listen on {address}: the port is in use; stop what listens there or choose another"
    )]
    InUse {
        /// What would have listened.
        what: &'static str,
        /// Where.
        address: SocketAddr,
    },
    /// The address cannot be listened on.
    #[error("{what} cannot listen on {address}: {source}")]
    Listen {
        /// What would have listened.
        what: &'static str,
        /// Where.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The certificates cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The protocol's descriptors cannot be served.
    #[error("reflection cannot be served: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
    /// The gRPC server stopped.
    #[error("the gRPC server stopped: {0}")]
    Transport(#[from] tonic::transport::Error),
    /// The operating system gives no threads or signals.
    #[error("the process cannot be set up: {0}")]
    Process(#[from] io::Error),
}

impl ServeError {
    pub(crate) fn listen(what: &'static str, address: SocketAddr, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::AddrInUse => Self::InUse { what, address },
            _ => Self::Listen {
                what,
                address,
                source,
            },
        }
    }
}
