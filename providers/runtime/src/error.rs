//! Why operators can't be carried.

use std::io;

use thiserror::Error;

/// Why operators can't be carried.
#[derive(Debug, Error)]
pub enum CarryError {
    /// It isn't known which cluster is meant.
    #[error(
        "the cluster can't be found: {0}; give --kubeconfig, set KUBECONFIG, or run in a cluster"
    )]
    Config(String),
    /// The API server's address or the credentials can't be used.
    #[error("the cluster can't be used: {0}")]
    Client(#[source] kube::Error),
    /// The operating system gives no threads, signals or ports.
    #[error("the process cannot be set up: {0}")]
    Process(#[from] io::Error),
}
