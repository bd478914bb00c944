//! External systems.

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

/// How long a response is valid, unless its driver says otherwise. External systems have no watch, so what depends on a
/// response is reconciled again then.
pub(crate) const REMEMBERED: Duration = Duration::from_secs(300);

/// Reads and changes one external system, for instance Keystone. Requests are JSON that a composer writes and this driver
/// understands; they may hold a credential, so they are never shown. The field `access` tells instances of a system apart: a call
/// invalidates what is cached of the same instance.
pub trait Driver: Send + Sync {
    /// The system's name in [`ExternalRequest::system`](provider_composer::ExternalRequest::system).
    fn system(&self) -> &'static str;

    /// How long a response is valid. A reconcile that has seen it keeps it to its end. A composer that needs the next one then requests a
    /// reconcile at that time.
    fn validity(&self) -> Duration {
        REMEMBERED
    }

    /// Reads from the system. The response is cached while it is valid, or until the next call of the system.
    fn observe<'a>(&'a self, query: &'a str) -> BoxFuture<'a, Result<Value, DriverError>>;

    /// Changes the system. Calls are idempotent.
    fn call<'a>(&'a self, content: &'a str) -> BoxFuture<'a, Result<(), DriverError>>;
}

/// Why a request to an external system failed, without credentials.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// The system can't be reached now.
    #[error("{0}")]
    Unavailable(String),
    /// The system refused the request: repeating it fails until a user corrects something. The text says what.
    #[error("{0}")]
    Refused(String),
}
