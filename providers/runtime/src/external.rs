//! External systems: their drivers, and a cache of their responses.

use std::collections::{BTreeMap, HashMap};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use provider_composer::ExternalRequest;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use crate::apply::Digest;
use crate::driver::{Driver, DriverError};

/// How many requests to one instance of a system run concurrently. Others wait, so a slow instance delays its own requests only.
const REQUESTS: usize = 4;

/// The timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A response that is cached.
struct Response {
    /// When it becomes invalid.
    until: Instant,
    /// The instance that sent it.
    instance: Option<Digest>,
    value: Arc<Value>,
}

/// Responses by system and request. Of the request, which may hold a credential, only the digest is kept.
type Responses = HashMap<(&'static str, Digest), Response>;

/// What limits the concurrent requests, by system and instance.
type Limits = HashMap<(&'static str, Option<Digest>), Arc<Semaphore>>;

/// All external systems.
pub(crate) struct ExternalSystems {
    drivers: BTreeMap<&'static str, Box<dyn Driver>>,
    responses: Mutex<Responses>,
    limits: Mutex<Limits>,
}

impl ExternalSystems {
    pub(crate) fn new(drivers: Vec<Box<dyn Driver>>) -> Self {
        Self {
            drivers: drivers
                .into_iter()
                .map(|driver| (driver.system(), driver))
                .collect(),
            responses: Mutex::default(),
            limits: Mutex::default(),
        }
    }

    /// Returns the cached response, if it is still valid.
    pub(crate) fn cached(&self, request: &ExternalRequest) -> Option<Arc<Value>> {
        let now = Instant::now();
        let mut responses = self.responses();
        responses.retain(|_, response| response.until > now);
        let response = responses.get(&place(request))?;
        Some(Arc::clone(&response.value))
    }

    /// Sends a request that only reads, and remembers the response.
    pub(crate) async fn observe(
        &self,
        request: &ExternalRequest,
    ) -> Result<Arc<Value>, DriverError> {
        let driver = self.driver(request)?;
        let reading = guarded(driver.observe(&request.content));
        let _permit = self.permit(request).await;
        let response = timeout(TIMEOUT, reading)
            .await
            .map_err(|_| slow(request))??;
        let value = Arc::new(response);
        let response = Response {
            until: Instant::now() + driver.validity(),
            instance: instance(&request.content),
            value: Arc::clone(&value),
        };
        self.responses().insert(place(request), response);
        Ok(value)
    }

    /// Calls the system, and drops the cached responses of the same instance of it.
    pub(crate) async fn call(&self, call: &ExternalRequest) -> Result<(), DriverError> {
        let called = guarded(self.driver(call)?.call(&call.content));
        let _permit = self.permit(call).await;
        let called = timeout(TIMEOUT, called).await;
        let instance = instance(&call.content);
        self.responses().retain(|(system, _), response| {
            *system != call.system || response.instance != instance
        });
        called.map_err(|_| slow(call))?
    }

    /// Waits until its instance of the system may get another request.
    async fn permit(&self, request: &ExternalRequest) -> Option<OwnedSemaphorePermit> {
        let instance = instance(&request.content);
        let limit = {
            let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
            // Permits, and who waits for one, share their limit.
            limits.retain(|_, limit| Arc::strong_count(limit) > 1);
            let limit = limits.entry((request.system, instance));
            Arc::clone(limit.or_insert_with(|| Arc::new(Semaphore::new(REQUESTS))))
        };
        limit.acquire_owned().await.ok()
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

/// The system that a request is sent to, and what stands for its content.
fn place(request: &ExternalRequest) -> (&'static str, Digest) {
    let content = Value::from(request.content.as_str());
    (request.system, Digest::of(&content))
}

/// What stands for the instance of a system that a request is sent to, as the request has it.
fn instance(content: &str) -> Option<Digest> {
    let request: Value = serde_json::from_str(content).ok()?;
    request.get("access").map(Digest::of)
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
                if query.contains("forever") {
                    std::future::pending::<()>().await;
                }
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

    #[tokio::test(start_paused = true)]
    async fn slow_instances_delay_no_request_to_another() {
        let systems = Arc::new(ExternalSystems::new(vec![Box::new(Echo)]));
        let instances = (0..100).map(|number| request(&format!("slow {number}"), "forever"));
        let requests = instances.flat_map(|request| std::iter::repeat_n(request, REQUESTS + 1));
        let slow: Vec<_> = requests
            .map(|request| {
                let systems = Arc::clone(&systems);
                tokio::spawn(async move { systems.observe(&request).await })
            })
            .collect();
        tokio::task::yield_now().await;
        let began = Instant::now();
        systems.observe(&request("own", "servers")).await.unwrap();
        assert_eq!(began.elapsed(), Duration::ZERO);
        for answer in slow {
            let answer = answer.await.unwrap().unwrap_err();
            let late = DriverError::Unavailable("echo did not respond within 30 s".to_owned());
            assert_eq!(answer, late);
        }
        // The last request of each instance waited for one of the others to end.
        assert_eq!(began.elapsed(), 2 * TIMEOUT);
        systems.observe(&request("own", "servers")).await.unwrap();
        assert_eq!(systems.limits.lock().unwrap().len(), 1);
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
