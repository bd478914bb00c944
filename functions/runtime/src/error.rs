//! Why a server does not start, or stops.

use std::io;

use c5c3_process::ListenError;
use thiserror::Error;

use crate::TlsError;

/// Why a server does not start, or stops.
#[derive(Debug, Error)]
pub enum ServeError {
    /// Neither a certificate nor `--insecure` was given.
    #[error(
        "no certificates given: set --tls-certs-dir (or TLS_SERVER_CERTS_DIR) to a folder with tls.crt, tls.key and \
         ca.crt, or serve without TLS with --insecure"
    )]
    NoTls,
    /// An address cannot be listened on.
    #[error(transparent)]
    Listen(#[from] ListenError),
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
