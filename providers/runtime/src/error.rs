//! Why operators can't be run, and clusters can't be reached.

use std::io;

use c5c3_process::ListenError;
use thiserror::Error;

/// Why the configuration of a cluster can't be used, and what to do. It has no text of a kubeconfig but names of files.
#[derive(Debug, Error)]
#[error("{origin} can't be used: {problem}")]
pub struct ConfigError {
    pub(crate) origin: String,
    pub(crate) problem: String,
}

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
    /// A kind of this project's names has another's definition.
    #[error(
        "the definition of {plural}.{group} in this cluster isn't this project's, so that its resources have other fields: if an \
         earlier version of this project installed it, apply package/charts/c5c3-crds/definitions; otherwise run these operators in \
         another cluster; or, if no operator uses that definition any more and no resource of it is left, delete it and install \
         the chart c5c3-crds"
    )]
    Foreign {
        /// The kind in the plural.
        plural: &'static str,
        /// Its group.
        group: &'static str,
    },
    /// A kind has the definition of an earlier version.
    #[error(
        "the definition of {plural}.{group} in this cluster is an earlier version's, with which the API server drops fields that these \
         operators write: upgrade the chart c5c3-crds first, or go on with the earlier operators"
    )]
    Outdated {
        /// The kind in the plural.
        plural: &'static str,
        /// Its group.
        group: &'static str,
    },
    /// The operating system gives no threads or signals.
    #[error("the process cannot be set up: {0}")]
    Process(#[from] io::Error),
}
