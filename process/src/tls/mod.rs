//! TLS of a server.

mod accept;
mod files;
mod follow;

pub use accept::{Connections, accept};
pub use files::{Clients, TlsError};
pub use follow::Credentials;
