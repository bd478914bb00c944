//! An operator that labels objects of others, for a subject without a namespace.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use futures::future::join_all;
use provider_composer::{
    Composed, DesiredState, Failure, Key, Metadata, ObservedState, Operator, Owner, ResourceKind,
    Use,
};
use serde_json::{Value, json};

use crate::cache::{Cache, Id, Place, follow};
use crate::queue::Outcome;
use crate::testing::{CONFIG_MAP, POOL, Server, WIDGET, controller, during, facts, until, working};

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
    facts! { "test-operator", POOL, Composed, [Use::composes(CONFIG_MAP), Use::labels(WIDGET)] }

    fn namespace_prefix(&self) -> Option<&'static str> {
        Some("of-")
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
    working(&controller, &[POOL, CONFIG_MAP, WIDGET], async {
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
    working(&controller, &[POOL, CONFIG_MAP, WIDGET], async {
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
