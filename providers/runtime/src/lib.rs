//! Carries operators' composers in a Kubernetes cluster: watch, compose, apply, prune, say so.

mod api;
mod apply;
mod backoff;
mod cache;
mod carry;
mod driver;
mod error;
mod events;
mod generate;
mod lease;
mod metrics;
mod options;
mod outside;
mod process;
mod processor;
mod queue;
mod reconcile;
#[cfg(test)]
mod testing;

pub use apply::applied;
pub use carry::carry;
pub use driver::{Driver, DriverError};
pub use error::CarryError;
pub use generate::WHILE_WANTED;
pub use options::{DEFAULT_ADDRESS, Leadership, Options};
pub use process::run;
