//! What runs in a cluster. Nothing here ever writes to one.
//!
//! [`Cluster`] is a cluster that a kubeconfig reaches, [`against`] compares a plan with what runs in it, [`status`] shows
//! what our operators work on as a tree or as JSON, and [`follow`] keeps showing it. Comparing and drawing are pure; only `cluster`,
//! `against` and `follow` talk to the API server.

mod against;
mod cluster;
mod difference;
mod error;
mod follow;
mod json;
mod ours;
mod screen;
mod snapshot;

pub use against::against;
pub use cluster::{Access, Cluster};
pub use difference::{Change, Difference};
pub use error::Error;
pub use follow::follow;
pub use screen::Screen;
pub use snapshot::{Form, Selection, status};
