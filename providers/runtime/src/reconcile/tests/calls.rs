//! Calls of an external system that fail.

use futures::FutureExt;
use futures::future::BoxFuture;
use provider_composer::{
    Composed, DesiredState, ExternalRequest, Failure, ObservedState, Operator, ResourceKind, Use,
};
use serde_json::{Value, json};

use crate::driver::{Driver, DriverError};
use crate::testing::{Server, THING, composed, controller, facts, until, working};

const SYSTEM: &str = "failing";

/// Calls that the system doesn't answer, and that it refuses.
const SLOW: &str = "slow";
const WRONG: &str = "wrong";

/// A system of which all calls fail.
struct Failing;

impl Driver for Failing {
    fn system(&self) -> &'static str {
        SYSTEM
    }

    fn observe<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Value, DriverError>> {
        async { Ok(Value::Null) }.boxed()
    }

    fn call<'a>(&'a self, content: &'a str) -> BoxFuture<'a, Result<(), DriverError>> {
        let failure = match content {
            SLOW => DriverError::Unavailable("it doesn't answer".to_owned()),
            _ => DriverError::Refused("it refuses this".to_owned()),
        };
        async move { Err(failure) }.boxed()
    }
}

/// Makes both calls.
struct Caller;

impl Operator for Caller {
    facts! { "test-operator", THING, Unordered, [] }

    fn composed(&self, resource: &Value, _: &ObservedState<'_>) -> Result<Composed, Failure> {
        let mut desired = DesiredState::default();
        for content in [SLOW, WRONG] {
            desired.call(ExternalRequest {
                system: SYSTEM,
                content: content.to_owned(),
            });
        }
        composed(resource, desired, json!({}))
    }
}

#[tokio::test(start_paused = true)]
async fn call_that_is_refused_is_reported_though_another_is_tried_again() {
    let server = Server::default();
    let controller = controller(&server, vec![Box::new(Caller)], vec![Box::new(Failing)]);
    server.put(THING, "a", "one", json!({}));
    let reason = || {
        let thing = server.get(THING, "a", "one")?;
        let mut conditions = thing["status"]["conditions"].as_array()?.iter();
        let ready = conditions.find(|condition| condition["type"] == "Ready")?;
        Some(ready["reason"].as_str()?.to_owned())
    };
    let reported = until("a status", || reason().is_some());
    working(&controller, &[THING], reported).await;
    assert_eq!(reason().as_deref(), Some("SystemRefused"));
}
