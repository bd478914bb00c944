//! Why operators can't be run.

use std::io;

use c5c3_process::ListenError;
use thiserror::Error;

/// Why operators can't be carried.
#[derive(Debug, Error)]
pub enum RunError {
    /// It isn't known which cluster is meant.
    #[error("no cluster is known: give --kubeconfig, set KUBECONFIG, or run in a cluster ({0})")]
    Cluster(String),
    /// A kubeconfig can't be used.
    #[error("{0} can't be used as kubeconfig: {1}")]
    Kubeconfig(String, String),
    /// The API server's address or the credentials can't be used.
    #[error("the cluster can't be used: {0}")]
    Client(#[source] kube::Error),
    /// The address for health and metrics can't be listened on.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The operating system gives no threads or signals.
    #[error("the process cannot be set up: {0}")]
    Process(#[from] io::Error),
}
