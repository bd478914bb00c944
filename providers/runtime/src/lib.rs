//! Runs operators' composers in a Kubernetes cluster: watch, compose, apply, prune, report.

mod api;
mod apply;
mod backoff;
mod cache;
mod controller;
mod driver;
mod error;
mod events;
mod external;
mod gauges;
mod generate;
mod head;
mod kubeconfig;
mod lease;
mod lease_guard;
mod metrics;
mod options;
mod origin;
mod pages;
mod process;
mod processor;
mod queue;
mod reconcile;
#[cfg(test)]
mod testing;

pub use apply::applied;
pub use controller::run_until;
pub use driver::{Driver, DriverError, TypedDriver};
pub use error::{ConfigError, RunError};
pub use kubeconfig::ClusterConfig;
pub use options::{DEFAULT_ADDRESS, Leadership, Options};
pub use process::{client, run};
