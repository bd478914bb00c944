//! Serves a Crossplane composition function over gRPC. Knows nothing of OpenStack.
//!
//! [`run`] is all a binary needs: it serves a [`Function`](function_protocol::Function) until the process is told to stop.
//! One port carries the function protocol, v1 and v1beta1, with gRPC health and reflection; a second one carries metrics.
//! The facts are those of crossplane's `contributing/specifications/functions.md`.

mod calls;
mod error;
mod metrics;
mod options;
mod process;
mod server;
mod service;

pub use c5c3_process::tls::TlsError;
pub use c5c3_process::{LogFormat, init_logs};
pub use error::ServeError;
pub use options::{
    DEFAULT_ADDRESS, DEFAULT_MAX_MESSAGE_BYTES, DEFAULT_METRICS_ADDRESS, Options, Tls,
};
pub use process::run;
pub use server::{Server, serve};
