//! Whole reconciles on an API server in memory.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use futures::FutureExt;
use futures::future::{BoxFuture, join, join_all};
use provider_composer::{
    Composed, DesiredState, ExternalRequest, Failure, Metadata, Owner, Reason, ResourceKind, Use,
};
use serde_json::{Value, json};

use super::*;
use crate::cache::{Place, State, follow};
use crate::driver::{Driver, DriverError};
use crate::testing::{CONFIG_MAP, POOL, Server, THING, WIDGET, controller, during, until};

/// Composes nothing and keeps every ConfigMap that it observes. A kind that it can't read recovers right after the
/// lookup.
#[derive(Clone, Default)]
struct Keeper(Arc<OnceLock<Arc<Cache>>>);

impl Operator for Keeper {
    fn name(&self) -> &'static str {
        "test-operator"
    }

    fn subject(&self) -> ResourceKind {
        THING
    }

    fn ordered_deletion(&self) -> bool {
        true
    }

    fn uses(&self) -> Vec<Use> {
        vec![Use::composes(CONFIG_MAP)]
    }

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
        let name = resource["metadata"]["name"].as_str().unwrap();
        let metadata = Metadata {
            name: name.to_owned(),
            namespace: Some(namespace.to_owned()),
            ..Metadata::default()
        };
        let mut desired = DesiredState::default();
        desired.kept.extend(kept.into_iter().flatten());
        Ok(Composed {
            desired,
            status: json!({ "seen": true }),
            failed: BTreeSet::new(),
            owner: Owner::of(THING, &metadata),
        })
    }
}

/// A ConfigMap as the operator applied it for the Thing `one` in `a`.
fn applied(uid: &str) -> Value {
    let owner = json!([{ "apiVersion": "test/v1", "kind": "Thing", "name": "one", "uid": uid, "controller": true }]);
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
    server.put(CONFIG_MAP, "a", "kept", applied("uid-1"));
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
        let mut look_alike = applied("uid-1");
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
    let api = server.api();
    let watches =
        join_all([THING, CONFIG_MAP].map(|kind| follow(&controller.cache, &api, kind, "")));
    during(join(watches, controller.work()), async {
        until("requests", || asked.load(Ordering::Relaxed) >= WORKERS).await;
        server.put(THING, "a", "fast", thing());
        let reconciled = until("the fast one", || {
            !server.requests("fast/status").is_empty()
        });
        let reconciled = tokio::time::timeout(Duration::from_secs(5), reconciled);
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
    let api = server.api();
    let watches =
        join_all([THING, CONFIG_MAP].map(|kind| follow(&controller.cache, &api, kind, "")));
    during(join(watches, controller.work()), async {
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

/// The namespace of what [`Labeller`] composes for the Pool `pool`.
const OF_POOL: &str = "of-pool";

/// Wants a ConfigMap that is named by a label of its cluster-scoped subject, and labels on two Widgets, as long as these don't have
/// the label `held`.
#[derive(Clone, Default)]
struct Labeller {
    /// Where the Widget `theirs` gets the label `held` once it was looked up, before anything is written.
    held_meanwhile: Arc<OnceLock<(Server, Arc<Cache>)>>,
}

impl Operator for Labeller {
    fn name(&self) -> &'static str {
        "test-operator"
    }

    fn subject(&self) -> ResourceKind {
        POOL
    }

    fn ordered_deletion(&self) -> bool {
        true
    }

    fn namespace_prefix(&self) -> Option<&'static str> {
        Some("of-")
    }

    fn uses(&self) -> Vec<Use> {
        vec![Use::composes(CONFIG_MAP), Use::labels(WIDGET)]
    }

    fn composed(
        &self,
        resource: &Value,
        observed: &ObservedState<'_>,
    ) -> Result<Composed, Failure> {
        let metadata = &resource["metadata"];
        let map = metadata["labels"]["map"].as_str().unwrap();
        let owner =
            json!([{ "kind": "Pool", "name": "pool", "uid": metadata["uid"], "controller": true }]);
        let labels = json!({ "metadata": { "labels": { "leased": "yes", "former": null } } });
        let mut desired = DesiredState::default();
        if metadata["deletionTimestamp"].is_null() {
            desired.objects.insert(
                Key::new(CONFIG_MAP, OF_POOL, map),
                json!({ "metadata": { "ownerReferences": owner }, "data": {} }),
            );
            for key in ["theirs", "missing"].map(|name| Key::new(WIDGET, OF_POOL, name)) {
                let widget = observed.object(&key).found().unwrap_or_default();
                let version = widget["metadata"]["resourceVersion"].as_str();
                if widget["metadata"]["labels"]["held"].is_string() {
                    continue;
                }
                if version.is_some()
                    && let Some((server, cache)) = self.held_meanwhile.get()
                {
                    let mut held = Value::clone(&widget);
                    held["metadata"]["labels"]["held"] = json!("by-hand");
                    server.put(WIDGET, OF_POOL, &key.name, held);
                    cache.learn(&key, server.get(WIDGET, OF_POOL, &key.name).unwrap());
                }
                let version = version.map(str::to_owned);
                desired.labelled.insert(key.clone(), version);
                desired.objects.insert(key, labels.clone());
            }
        }
        Ok(Composed {
            desired,
            status: json!({}),
            failed: BTreeSet::new(),
            owner: Owner::of(POOL, &Metadata::default()),
        })
    }
}

/// A Pool that wants a ConfigMap of a name.
fn pool(map: &str) -> Value {
    json!({ "metadata": { "labels": { "map": map }, "finalizers": ["test/pool"] } })
}

#[tokio::test(start_paused = true)]
async fn look_alike_in_another_namespace_neither_wakes_nor_holds_a_cluster_scoped_owner() {
    let server = Server::default();
    let controller = controller(&server, vec![Box::new(Labeller::default())], Vec::new());
    server.put(POOL, "", "pool", pool("made"));
    let uid = server.get(POOL, "", "pool").unwrap()["metadata"]["uid"].clone();
    let api = server.api();
    let kinds = [POOL, CONFIG_MAP, WIDGET];
    let watches = join_all(kinds.map(|kind| follow(&controller.cache, &api, kind, "")));
    during(join(watches, controller.work()), async {
        let is_there = |name| server.get(CONFIG_MAP, OF_POOL, name).is_some();
        until("the ConfigMap", || is_there("made")).await;
        let owned = |name: &str| {
            let owner = json!([{ "kind": "Pool", "name": "pool", "uid": uid, "controller": true }]);
            let fields = json!([{ "manager": "test-operator", "operation": "Apply", "fieldsV1": { "f:data": {} } }]);
            json!({
                "metadata": {
                    "name": name, "ownerReferences": owner, "managedFields": fields, "finalizers": ["b/held"],
                },
                "data": {},
            })
        };
        for namespace in ["b", "of-", "of-pool-2"] {
            server.put(CONFIG_MAP, namespace, "look-alike", owned("look-alike"));
        }
        server.delete(POOL, "", "pool");
        until("the end of the Pool", || server.get(POOL, "", "pool").is_none()).await;
        assert!(!is_there("made"));
        let deleted: Vec<String> = server
            .requests("DELETE")
            .into_iter()
            .filter(|line| line.contains("look-alike"))
            .collect();
        assert_eq!(deleted, [""; 0]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn subject_without_a_namespace_owns_objects_and_labels_those_of_others() {
    let server = Server::default();
    let controller = controller(&server, vec![Box::new(Labeller::default())], Vec::new());
    server.put(POOL, "", "pool", pool("made"));
    let theirs = json!({ "metadata": { "labels": { "former": "x", "kept": "y" } }, "spec": {} });
    server.put(WIDGET, OF_POOL, "theirs", theirs);
    let api = server.api();
    let kinds = [POOL, CONFIG_MAP, WIDGET];
    let watches = join_all(kinds.map(|kind| follow(&controller.cache, &api, kind, "")));
    during(join(watches, controller.work()), async {
        let label = |name| {
            let widget = server.get(WIDGET, OF_POOL, name)?;
            Some(widget["metadata"]["labels"]["leased"].clone())
        };
        until("the label", || label("theirs") == Some(json!("yes"))).await;
        until("the ConfigMap", || {
            server.get(CONFIG_MAP, OF_POOL, "made").is_some()
        })
        .await;
        assert_eq!(label("missing"), None, "it isn't created");
        let labels = server.get(WIDGET, OF_POOL, "theirs").unwrap()["metadata"]["labels"].clone();
        assert_eq!(labels, json!({ "kept": "y", "leased": "yes" }));

        server.delete(CONFIG_MAP, OF_POOL, "made");
        until("another", || {
            server.get(CONFIG_MAP, OF_POOL, "made").is_some()
        })
        .await;

        server.put(POOL, "", "pool", pool("other"));
        until("the new ConfigMap", || {
            server.get(CONFIG_MAP, OF_POOL, "other").is_some()
        })
        .await;
        until("the end of the old one", || {
            server.get(CONFIG_MAP, OF_POOL, "made").is_none()
        })
        .await;
        assert_eq!(label("theirs"), Some(json!("yes")), "labels stay");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn object_that_changed_since_it_was_observed_is_not_labelled() {
    let server = Server::default();
    let labeller = Labeller::default();
    let controller = controller(&server, vec![Box::new(labeller.clone())], Vec::new());
    let cache = &controller.cache;
    server.put(POOL, "", "pool", pool("made"));
    let theirs = json!({ "metadata": { "labels": { "former": "x" } }, "spec": {} });
    server.put(WIDGET, OF_POOL, "theirs", theirs);
    let api = server.api();
    let follow = join_all([POOL, CONFIG_MAP, WIDGET].map(|kind| follow(cache, &api, kind, "")));
    during(follow, async {
        until("the first look", || cache.unknown().is_empty()).await;
        let id = Id {
            operator: 0,
            place: Place::new("", "pool"),
        };
        let meanwhile = (server.clone(), Arc::clone(cache));
        assert!(labeller.held_meanwhile.set(meanwhile).is_ok());
        let labels = || {
            let widget = server.get(WIDGET, OF_POOL, "theirs").unwrap();
            widget["metadata"]["labels"].clone()
        };
        let by_hand = json!({ "former": "x", "held": "by-hand" });

        let outcome = controller.reconcile(&id).await;
        assert_eq!(outcome, Outcome::Failed, "it is repeated after a pause");
        assert_eq!(labels(), by_hand);
        assert_eq!(
            server.requests("pool/status").len(),
            1,
            "one object that changes all the time doesn't hold the status of all others"
        );

        let outcome = controller.reconcile(&id).await;
        assert_ne!(outcome, Outcome::Failed, "it decides anew");
        assert_eq!(labels(), by_hand);
        assert_eq!(server.requests("pool/status").len(), 1);
        assert!(server.state().events.is_empty());
    })
    .await;
}
