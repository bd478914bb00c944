//! External systems.

use std::future::ready;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
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

/// A driver whose requests and responses have types. [`Driver`] follows from it.
pub trait TypedDriver: Send + Sync {
    /// What [`Driver::system`] returns.
    const SYSTEM: &'static str;
    /// What [`Driver::validity`] returns.
    const VALIDITY: Duration = REMEMBERED;
    /// What a request to read is.
    type Query: DeserializeOwned + Send;
    /// What a response is.
    type Answer: Serialize;
    /// What a request to change is.
    type Call: DeserializeOwned + Send;

    /// Reads from the system.
    fn answer(
        &self,
        query: Self::Query,
    ) -> impl Future<Output = Result<Self::Answer, DriverError>> + Send;

    /// Changes the system. Calls are idempotent. A system that is only read refuses them.
    fn carry_out(&self, _call: Self::Call) -> impl Future<Output = Result<(), DriverError>> + Send {
        ready(Err(DriverError::not_understood(Self::SYSTEM)))
    }
}

impl<D: TypedDriver> Driver for D {
    fn system(&self) -> &'static str {
        D::SYSTEM
    }

    fn validity(&self) -> Duration {
        D::VALIDITY
    }

    fn observe<'a>(&'a self, query: &'a str) -> BoxFuture<'a, Result<Value, DriverError>> {
        async move {
            let not_understood = |_| DriverError::not_understood(D::SYSTEM);
            let query = serde_json::from_str(query).map_err(not_understood)?;
            let answer = self.answer(query).await?;
            serde_json::to_value(answer).map_err(not_understood)
        }
        .boxed()
    }

    fn call<'a>(&'a self, content: &'a str) -> BoxFuture<'a, Result<(), DriverError>> {
        async move {
            let call = serde_json::from_str(content);
            let call = call.map_err(|_| DriverError::not_understood(D::SYSTEM))?;
            self.carry_out(call).await
        }
        .boxed()
    }
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

impl DriverError {
    /// A request that the driver of a system doesn't understand.
    pub fn not_understood(system: &str) -> Self {
        Self::Refused(format!(
            "a request to {system} isn't valid: run the same version of all operators"
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde::de::IgnoredAny;

    use super::*;

    struct Successor;

    impl TypedDriver for Successor {
        const SYSTEM: &'static str = "successor";
        type Query = u32;
        type Answer = u32;
        type Call = IgnoredAny;

        async fn answer(&self, query: u32) -> Result<u32, DriverError> {
            Ok(query + 1)
        }
    }

    #[tokio::test]
    async fn typed_driver_refuses_what_it_does_not_understand() {
        let refused = DriverError::not_understood("successor");
        assert_eq!(Successor.observe("1").await, Ok(Value::from(2)));
        assert_eq!(Successor.observe("one").await, Err(refused.clone()));
        assert_eq!(Successor.call("1").await, Err(refused));
    }
}
