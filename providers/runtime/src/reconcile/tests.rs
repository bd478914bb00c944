//! Whole reconciles on an API server in memory.

mod calls;
mod conflict;
mod gauges;
mod gone;
mod labels;
mod remembered;
mod rest;
mod slow;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use provider_composer::{
    Composed, DesiredState, ExternalRequest, Failure, ObservedState, Reason, ResourceKind, Use,
};
use serde_json::{Value, json};

use super::compose::ROUNDS;
use super::*;
use crate::cache::{Place, State, follow};
use crate::driver::{Driver, DriverError};
use crate::testing::facts;
use crate::testing::{
    CONFIG_MAP, SECRET, Server, THING, composed, controller, during, until, working,
};

/// Composes nothing and keeps every ConfigMap that it observes. A kind that it can't read recovers right after the
/// lookup.
#[derive(Clone, Default)]
struct Keeper(Arc<OnceLock<Arc<Cache>>>);

impl Operator for Keeper {
    facts! { "test-operator", THING, Composed, [Use::composes(CONFIG_MAP)] }

    fn composed(
        &self,
        resource: &Value,
        observed: &ObservedState<'_>,
    ) -> Result<Composed, Failure> {
        let namespace = resource["metadata"]["namespace"].as_str().unwrap();
        let kept = observed.keys(CONFIG_MAP, namespace, &[]).found();
        match resource["metadata"]["labels"]["fails"].as_str() {
            Some("transiently") => {
                return Err(Failure::transient(
                    Reason::LookupFailed,
                    "the API server restarts",
                ));
            }
            Some(_) => return Err(Failure::new(Reason::Invalid, "set spec.a")),
            None => {}
        }
        if resource["metadata"]["labels"]["asks"] == "yes" {
            let content = resource["metadata"]["name"].to_string();
            observed.external(ExternalRequest {
                system: "tarpit",
                content,
            });
        }
        if let Some(cache) = self.0.get() {
            cache.set_state(CONFIG_MAP, "", State::Live);
        }
        let mut desired = DesiredState::default();
        desired.kept.extend(kept.into_iter().flatten());
        composed(resource, desired, json!({ "seen": true }))
    }
}

/// A ConfigMap as the operator applied it for the Thing `one` in `a`.
fn applied() -> Value {
    let owner = json!([{ "apiVersion": "test/v1", "kind": "Thing", "name": "one", "uid": "uid-1", "controller": true }]);
    let labels = json!({ "c5c3.io/owner-kind": "Thing", "c5c3.io/owner-namespace": "a", "c5c3.io/owner-name": "one" });
    let fields =
        json!([{ "manager": "test-operator", "operation": "Apply", "fieldsV1": { "f:data": {} } }]);
    json!({ "metadata": { "labels": labels, "ownerReferences": owner, "managedFields": fields }, "data": {} })
}

/// A Thing with ordered deletion.
fn thing() -> Value {
    json!({ "metadata": { "finalizers": ["test/thing"] } })
}

#[tokio::test(start_paused = true)]
async fn kind_that_was_unknown_when_composing_is_not_pruned_after_it_recovers() {
    let server = Server::default();
    let keeper = Keeper::default();
    let controller = controller(&server, vec![Box::new(keeper.clone())], Vec::new());
    let cache = &controller.cache;
    server.put(THING, "a", "one", thing());
    server.put(CONFIG_MAP, "a", "kept", applied());
    let api = server.api();
    let follow = join_all([THING, CONFIG_MAP].map(|kind| follow(cache, &api, kind, "")));
    during(follow, async {
        until("the first look", || cache.unknown().is_empty()).await;
        let id = Id {
            operator: 0,
            place: Place::new("a", "one"),
        };
        keeper.0.set(Arc::clone(cache)).unwrap_or_default();
        cache.set_state(
            CONFIG_MAP,
            "",
            State::Unknown("the connection is lost".into()),
        );
        controller.reconcile(&id).await;
        assert_eq!(server.requests("DELETE"), [""; 0]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn look_alike_in_another_namespace_neither_wakes_nor_holds_an_owner() {
    let server = Server::default();
    let controller = controller(&server, vec![Box::new(Keeper::default())], Vec::new());
    let cache = &controller.cache;
    server.put(THING, "a", "one", thing());
    let api = server.api();
    let follow = join_all([THING, CONFIG_MAP].map(|kind| follow(cache, &api, kind, "")));
    let woken = async || {
        let next = tokio::time::timeout(Duration::from_secs(5), cache.queue().next());
        let id = next.await.ok().flatten()?;
        let outcome = controller.reconcile(&id).await;
        cache.queue().done(&id, outcome);
        Some(id.place.to_string())
    };
    during(follow, async {
        while woken().await.is_some() {}
        let mut look_alike = applied();
        look_alike["metadata"]["finalizers"] = json!(["b/held"]);
        server.put(CONFIG_MAP, "b", "look-alike", look_alike);
        assert_eq!(woken().await.as_deref(), Some("b/one"), "who is no Thing");
        assert_eq!(woken().await, None);

        server.delete(THING, "a", "one");
        while woken().await.is_some() {}
        assert_eq!(server.get(THING, "a", "one"), None);
        assert_eq!(server.requests("DELETE"), [""; 0]);
    })
    .await;
}

/// Reads from a server that accepts connections and never responds.
struct TarPit {
    address: std::net::SocketAddr,
    asked: Arc<AtomicUsize>,
}

impl Driver for TarPit {
    fn system(&self) -> &'static str {
        "tarpit"
    }

    fn observe<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Value, DriverError>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let asked = async {
            let connection = tokio::net::TcpStream::connect(self.address).await.unwrap();
            connection.readable().await.unwrap();
            Ok(Value::Null)
        };
        asked.boxed()
    }

    fn call<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), DriverError>> {
        async { Ok(()) }.boxed()
    }
}

#[tokio::test]
async fn slow_external_systems_do_not_hold_up_other_subjects() {
    let server = Server::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let tar_pit = TarPit {
        address,
        asked: Arc::clone(&asked),
    };
    let operator = Box::new(Keeper::default());
    let controller = controller(&server, vec![operator], vec![Box::new(tar_pit)]);
    for number in 0..40 {
        let labels = json!({ "asks": "yes" });
        let slow = json!({ "metadata": { "finalizers": ["test/thing"], "labels": labels } });
        server.put(THING, "a", &format!("slow-{number}"), slow);
    }
    working(&controller, &[THING, CONFIG_MAP], async {
        until("requests", || asked.load(Ordering::Relaxed) >= WORKERS).await;
        server.put(THING, "a", "fast", thing());
        let reconciled = until("the fast one", || {
            !server.requests("fast/status").is_empty()
        });
        // The others wait for 30 s.
        let reconciled = tokio::time::timeout(Duration::from_secs(20), reconciled);
        assert!(reconciled.await.is_ok(), "it waits for the others");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn only_what_needs_a_person_is_a_warning() {
    let server = Server::default();
    let controller = controller(&server, vec![Box::new(Keeper::default())], Vec::new());
    for (name, fails) in [("brief", "transiently"), ("wrong", "always")] {
        let metadata = json!({ "finalizers": ["test/thing"], "labels": { "fails": fails } });
        server.put(THING, "a", name, json!({ "metadata": metadata }));
    }
    working(&controller, &[THING, CONFIG_MAP], async {
        until("events", || server.state().events.len() == 2).await;
        let mut events = server.state().events.clone();
        events.sort_by_key(|event| event["regarding"]["name"].to_string());
        let told = events.iter().map(|event| {
            ["type", "reason", "note"].map(|field| event[field].as_str().unwrap().to_owned())
        });
        let told: Vec<_> = told.collect();
        assert_eq!(
            told,
            [
                ["Normal", "LookupFailed", "Ready: the API server restarts"],
                ["Warning", "Invalid", "Ready: set spec.a"],
            ]
        );
    })
    .await;
}

/// Looks up as many Secrets as a label says, one after the other, and says whether it has seen them all.
struct Climber;

impl Operator for Climber {
    facts! { "test-operator", THING, Unordered, [Use::reads(SECRET)] }

    fn composed(
        &self,
        resource: &Value,
        observed: &ObservedState<'_>,
    ) -> Result<Composed, Failure> {
        let depth = resource["metadata"]["labels"]["depth"].as_str().unwrap();
        let mut steps = 0..depth.parse::<usize>().unwrap();
        let seen = steps.all(|step| {
            let secret = Key::new(SECRET, "a", &step.to_string());
            observed.object(&secret).found().is_some()
        });
        composed(resource, DesiredState::default(), json!({ "seen": seen }))
    }
}

#[tokio::test(start_paused = true)]
async fn reconcile_that_reached_the_limit_of_rounds_goes_on_and_reads_nothing_twice() {
    for (depth, statuses) in [(ROUNDS - 1, 1), (2 * ROUNDS, 2)] {
        let server = Server::default();
        for step in 0..depth {
            server.put(SECRET, "a", &step.to_string(), json!({}));
        }
        let labels = json!({ "depth": depth.to_string() });
        let thing = json!({ "metadata": { "labels": labels } });
        server.put(THING, "a", "one", thing);
        let controller = controller(&server, vec![Box::new(Climber)], Vec::new());
        let has_seen = || {
            let thing = server.get(THING, "a", "one");
            thing.is_some_and(|thing| thing["status"]["seen"] == true)
        };
        let all = until("the last Secret", has_seen);
        working(&controller, &[THING, SECRET], all).await;
        assert_eq!(server.requests("/namespaces/a/secrets/").len(), depth);
        assert_eq!(server.requests("/status").len(), statuses);
    }
}

#[tokio::test(start_paused = true)]
async fn subject_is_reconciled_once_a_broken_watch_is_back() {
    let server = Server::default();
    let controller = controller(&server, vec![Box::new(Keeper::default())], Vec::new());
    let cache = &controller.cache;
    server.put(THING, "a", "one", thing());
    let is_there = || server.get(THING, "a", "one").is_some();
    working(&controller, &[THING, CONFIG_MAP], async {
        until("a status", || !server.requests("one/status").is_empty()).await;
        let broken = State::Stale("the connection is lost".into());
        cache.set_state(CONFIG_MAP, "", broken);
        let labels = json!({ "fails": "transiently" });
        let failing = json!({ "metadata": { "finalizers": ["test/thing"], "labels": labels } });
        server.put(THING, "a", "two", failing);
        server.delete(THING, "a", "one");
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(is_there(), "it may have ConfigMaps");
        assert!(server.requests("two/status").is_empty());
        cache.set_state(CONFIG_MAP, "", State::Live);
        until("the end", || !is_there()).await;
        until("a status", || !server.requests("two/status").is_empty()).await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn replica_that_does_not_lead_forgets_a_subject_that_is_gone() {
    let server = Server::default();
    let mut controller = controller(&server, vec![Box::new(Keeper::default())], Vec::new());
    controller.guards = vec![LeaseGuard::default()];
    server.put(THING, "a", "one", thing());
    let (cache, api) = (&controller.cache, server.api());
    let follow = join_all([THING, CONFIG_MAP].map(|kind| follow(cache, &api, kind, "")));
    let reconcile = async |name: &str| {
        let place = Place::new("a", name);
        controller.reconcile(&Id { operator: 0, place }).await
    };
    during(follow, async {
        until("the first look", || cache.unknown().is_empty()).await;
        assert_eq!(reconcile("one").await, Outcome::Done(None));
        assert_eq!(reconcile("gone").await, Outcome::Gone);
    })
    .await;
}
