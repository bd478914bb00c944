//! Why operators can't be run.

use std::io;

use c5c3_process::ListenError;
use thiserror::Error;

use crate::ConfigError;

/// Why operators can't be carried.
#[derive(Debug, Error)]
pub enum RunError {
    /// It isn't known which cluster is meant.
    #[error("no cluster is known: give --kubeconfig, set KUBECONFIG, or run in a cluster ({0})")]
    Cluster(String),
    /// The configuration of the cluster can't be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The address for health and metrics can't be listened on.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The operating system gives no threads or signals.
    #[error("the process cannot be set up: {0}")]
    Process(#[from] io::Error),
}
