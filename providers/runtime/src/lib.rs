//! Carries operators' composers in a Kubernetes cluster: watch, compose, apply, prune, say so.

mod driver;

pub use driver::{Driver, DriverError};
