//! External systems: their drivers, and a cache of their responses.

use std::collections::{BTreeMap, HashMap};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use provider_composer::{ExternalRequest, Lookup};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use crate::driver::{Driver, DriverError};

/// How long a response is valid, unless its driver says otherwise. External systems have no watch, so what depends on a
/// response is reconciled again then.
pub(crate) const REMEMBERED: Duration = Duration::from_secs(300);

/// How many requests to external systems run concurrently. Others wait. One subject has a few at once, so that many slow systems
/// are needed to delay another's requests.
const REQUESTS: usize = 64;

/// The timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Responses by system and request, with the moment until which they are valid.
type Responses = HashMap<(&'static str, String), (Instant, Arc<Value>)>;

/// All external systems.
pub(crate) struct ExternalSystems {
    drivers: BTreeMap<&'static str, Box<dyn Driver>>,
    responses: Mutex<Responses>,
    requests: Semaphore,
}

impl ExternalSystems {
    pub(crate) fn new(drivers: Vec<Box<dyn Driver>>) -> Self {
        Self {
            drivers: drivers
                .into_iter()
                .map(|driver| (driver.system(), driver))
                .collect(),
            responses: Mutex::default(),
            requests: Semaphore::new(REQUESTS),
        }
    }

    /// Returns the cached response, if it is still valid.
    pub(crate) fn cached(&self, request: &ExternalRequest) -> Option<Lookup<Arc<Value>>> {
        let now = Instant::now();
        let mut responses = self.responses();
        responses.retain(|_, (until, _)| *until > now);
        let (_, response) = responses.get(&(request.system, request.content.clone()))?;
        Some(Lookup::Found(Arc::clone(response)))
    }

    /// Sends a request that only reads, and remembers the response.
    pub(crate) async fn observe(&self, request: &ExternalRequest) -> Result<(), DriverError> {
        let driver = self.driver(request)?;
        let reading = guarded(driver.observe(&request.content));
        let _permit = self.requests.acquire().await;
        let response = timeout(TIMEOUT, reading)
            .await
            .map_err(|_| slow(request))??;
        let until = Instant::now() + driver.validity();
        let place = (request.system, request.content.clone());
        self.responses().insert(place, (until, Arc::new(response)));
        Ok(())
    }

    /// Calls the system, and drops the cached responses of the same instance of it.
    pub(crate) async fn call(&self, call: &ExternalRequest) -> Result<(), DriverError> {
        let called = guarded(self.driver(call)?.call(&call.content));
        let _permit = self.requests.acquire().await;
        let called = timeout(TIMEOUT, called).await;
        let instance = instance(&call.content);
        self.responses().retain(|(system, content), _| {
            *system != call.system || self::instance(content) != instance
        });
        called.map_err(|_| slow(call))?
    }

    fn driver(&self, request: &ExternalRequest) -> Result<&dyn Driver, DriverError> {
        let driver = self.drivers.get(request.system).map(AsRef::as_ref);
        driver.ok_or_else(|| {
            DriverError::Refused(format!("this program can't talk to {}", request.system))
        })
    }

    fn responses(&self) -> MutexGuard<'_, Responses> {
        self.responses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The instance of a system that a request is sent to, as the request has it.
fn instance(content: &str) -> Option<Value> {
    let mut request: Value = serde_json::from_str(content).ok()?;
    request.get_mut("access").map(Value::take)
}

/// A driver that panics on a response fails the request, and not the operator.
async fn guarded<T>(
    request: impl Future<Output = Result<T, DriverError>>,
) -> Result<T, DriverError> {
    let done = AssertUnwindSafe(request).catch_unwind().await;
    done.unwrap_or_else(|_| {
        Err(DriverError::Unavailable(
            "the driver failed because of a defect: report it with the operator's log".to_owned(),
        ))
    })
}

fn slow(request: &ExternalRequest) -> DriverError {
    DriverError::Unavailable(format!(
        "{} did not respond within {} s",
        request.system,
        TIMEOUT.as_secs()
    ))
}

#[cfg(test)]
mod tests {
    use futures::future::BoxFuture;

    use super::*;

    struct Echo;

    impl Driver for Echo {
        fn system(&self) -> &'static str {
            "echo"
        }

        fn observe<'a>(&'a self, query: &'a str) -> BoxFuture<'a, Result<Value, DriverError>> {
            async move {
                assert!(!query.contains("defect"), "a defect");
                Ok(Value::from(query))
            }
            .boxed()
        }

        fn call<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), DriverError>> {
            async { Ok(()) }.boxed()
        }
    }

    fn request(access: &str, what: &str) -> ExternalRequest {
        ExternalRequest {
            system: "echo",
            content: serde_json::json!({ "access": access, "what": what }).to_string(),
        }
    }

    #[tokio::test]
    async fn call_invalidates_what_is_cached_of_the_same_instance() {
        let systems = ExternalSystems::new(vec![Box::new(Echo)]);
        let (own, others) = (request("own", "servers"), request("another", "servers"));
        for request in [&own, &others] {
            systems.observe(request).await.unwrap();
        }
        systems.call(&request("own", "change")).await.unwrap();
        assert!(systems.cached(&own).is_none());
        assert!(
            systems.cached(&others).is_some(),
            "a tenant delays no other"
        );
    }

    #[tokio::test]
    async fn driver_that_panics_fails_one_request() {
        let systems = ExternalSystems::new(vec![Box::new(Echo)]);
        let failure = systems
            .observe(&request("own", "defect"))
            .await
            .unwrap_err();
        assert!(matches!(failure, DriverError::Unavailable(_)), "{failure}");
        systems.observe(&request("own", "servers")).await.unwrap();
    }
}
