//! An external system whose responses take longer than they are valid.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::SignedDuration;
use provider_composer::{
    Composed, DesiredState, ExternalRequest, Failure, ObservedState, Operator, ResourceKind, Use,
};
use serde_json::{Value, json};
use tokio::time::{advance, sleep};

use super::super::{Moment, REST};
use crate::driver::{Driver, DriverError};
use crate::testing::{Server, THING, composed, controller, facts, until, working};

/// How many requests the operator sends at once.
const MANY: usize = 20;

/// A system that records requests.
struct Slow(Arc<Mutex<Vec<String>>>);

impl Driver for Slow {
    fn system(&self) -> &'static str {
        "slow"
    }

    fn validity(&self) -> Duration {
        Duration::from_secs(10)
    }

    fn observe<'a>(&'a self, content: &'a str) -> BoxFuture<'a, Result<Value, DriverError>> {
        self.0.lock().unwrap().push(content.to_owned());
        let response = async {
            sleep(Duration::from_secs(4)).await;
            Ok(Value::Null)
        };
        response.boxed()
    }

    fn call<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), DriverError>> {
        async { Ok(()) }.boxed()
    }
}

/// Sends many requests that have the time in them, and one more once it has their responses.
struct Requester;

impl Operator for Requester {
    facts! { "test-operator", THING, Unordered, [] }

    fn composed(
        &self,
        resource: &Value,
        observed: &ObservedState<'_>,
    ) -> Result<Composed, Failure> {
        let is_known = |what: &usize| {
            let content = format!("{what} at {}", observed.now());
            let request = ExternalRequest {
                system: "slow",
                content,
            };
            observed.external(request).found().is_some()
        };
        let known = (0..MANY).filter(is_known).count();
        let status = json!({ "known": known == MANY && is_known(&MANY) });
        composed(resource, DesiredState::default(), status)
    }
}

#[tokio::test(start_paused = true)]
async fn reconcile_reads_nothing_again_that_expires_while_it_reads_more() {
    let server = Server::default();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let slow = Slow(Arc::clone(&asked));
    let controller = controller(&server, vec![Box::new(Requester)], vec![Box::new(slow)]);
    server.put(THING, "a", "one", json!({}));
    let is_known = || {
        let thing = server.get(THING, "a", "one");
        thing.is_some_and(|thing| thing["status"]["known"] == true)
    };
    let all = until("the last response", is_known);
    working(&controller, &[THING], all).await;
    let asked = asked.lock().unwrap();
    // The next reconcile, which has another time, may have begun.
    let time = |content: &String| content.split_once(" at ").map(|(_, time)| time.to_owned());
    let first = asked
        .iter()
        .filter(|content| time(content) == time(&asked[0]));
    assert_eq!(first.count(), MANY + 1);
}

#[tokio::test(start_paused = true)]
async fn reconcile_that_took_long_is_followed_by_as_long_a_pause() {
    let moment = Moment::begin();
    let valid = moment.now + SignedDuration::from_secs(10);
    assert!(moment.pause(valid) <= Duration::from_secs(10));
    assert_eq!(moment.pause(moment.now), Duration::from_secs(1));
    advance(Duration::from_secs(40)).await;
    assert_eq!(moment.pause(valid), Duration::from_secs(40));
    advance(Duration::from_secs(400)).await;
    assert_eq!(moment.pause(valid), REST);
}
