//! Systems outside Kubernetes.

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::outside::REMEMBERED;

/// Asks and calls one system outside Kubernetes, Keystone for instance. Questions and calls are JSON that a composer wrote
/// and this driver understands; they may hold a credential, so neither is ever shown.
pub trait Driver: Send + Sync {
    /// The system, as composers name it in [`Outside::system`](provider_composer::Outside::system).
    fn system(&self) -> &'static str;

    /// How long an answer counts. A composer that wants the next one at once asks to be called again then.
    fn validity(&self) -> Duration {
        REMEMBERED
    }

    /// Answers a question. The answer is remembered while it is valid, or until the next call of the system.
    fn observe<'a>(&'a self, question: &'a str) -> BoxFuture<'a, Result<Value, DriverError>>;

    /// Carries out a call. One that was carried out already does no harm.
    fn call<'a>(&'a self, content: &'a str) -> BoxFuture<'a, Result<(), DriverError>>;
}

/// Why a system outside Kubernetes did not answer, in words that may be shown to everybody.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// It can't be reached, or not now.
    #[error("{0}")]
    Unavailable(String),
    /// It refused: asking again changes nothing until somebody does something. The text says what.
    #[error("{0}")]
    Refused(String),
}
