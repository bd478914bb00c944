//! What runs in a cluster. Nothing here ever writes to one.
//!
//! [`Cluster`] is a cluster that a kubeconfig reaches, [`against`] compares a plan with what runs in it, [`status`] shows
//! what our operators work on as a tree or as JSON, and [`follow`] keeps showing it. [`pool`] shows a hypervisor pool, and [`Division`]
//! what a plan would move in it. [`Cluster::batch`] lists a part at a time. Comparing and drawing are pure; only `cluster`, `against`, `pool` and `follow` talk to the API server.

mod against;
mod batch;
mod cluster;
mod comparable;
mod difference;
mod error;
mod follow;
mod json;
mod pool;
mod screen;
mod snapshot;

pub use against::against;
pub use batch::{Batch, Query};
pub use cluster::{Access, BearerToken, Cluster};
pub use difference::{Change, Difference};
pub use error::Error;
pub use follow::follow;
pub use pool::{Division, PoolNode, nodes, pool};
pub use screen::Screen;
pub use snapshot::{Form, Selection, status};
