//! TLS of a server.

mod accept;
mod files;
mod follow;

pub use accept::accept;
pub use files::{Clients, TlsError};
pub use follow::Credentials;
