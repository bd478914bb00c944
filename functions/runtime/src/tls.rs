//! Mutual TLS.

mod accept;
mod files;
mod follow;

pub(crate) use accept::accept;
pub use files::TlsError;
pub(crate) use follow::Credentials;
