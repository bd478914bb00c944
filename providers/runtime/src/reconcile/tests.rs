//! Whole reconciles on an API server in memory.

use std::sync::{Arc, OnceLock};

use futures::future::join_all;
use provider_composer::{Answer, Failure, Owner, ResourceKind, Use};
use serde_json::{Value, json};

use super::*;
use crate::cache::State;
use crate::testing::{CONFIG_MAP, Server, THING, carrier, until};

/// Wants nothing and keeps every ConfigMap that it sees. A kind that it can't read recovers right after it was looked at.
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
        false
    }

    fn uses(&self) -> Vec<Use> {
        vec![Use::composes(CONFIG_MAP)]
    }

    fn answer(&self, resource: &Value, world: &World<'_>) -> Result<Answer, Failure> {
        let namespace = resource["metadata"]["namespace"].as_str().unwrap();
        let kept = world.keys(CONFIG_MAP, namespace, &[]).found();
        if let Some(cache) = self.0.get() {
            cache.set_state(CONFIG_MAP, State::Live);
        }
        let name = resource["metadata"]["name"].as_str().unwrap();
        let metadata = Metadata {
            name: name.to_owned(),
            namespace: Some(namespace.to_owned()),
            ..Metadata::default()
        };
        Ok(Answer {
            objects: BTreeMap::new(),
            generated: BTreeMap::new(),
            kept: kept.into_iter().flatten().collect(),
            calls: Vec::new(),
            status: json!({}),
            failed: BTreeSet::new(),
            wake: None,
            owner: Owner::of(THING, &metadata),
        })
    }
}

/// A ConfigMap as the operator applied it for the Thing `one`.
fn applied(uid: &str) -> Value {
    let owner = json!([{ "apiVersion": "test/v1", "kind": "Thing", "name": "one", "uid": uid, "controller": true }]);
    let labels = json!({ "c5c3.io/owner-kind": "Thing", "c5c3.io/owner-namespace": "a", "c5c3.io/owner-name": "one" });
    let fields =
        json!([{ "manager": "test-operator", "operation": "Apply", "fieldsV1": { "f:data": {} } }]);
    json!({ "metadata": { "labels": labels, "ownerReferences": owner, "managedFields": fields }, "data": {} })
}

#[tokio::test(start_paused = true)]
async fn kind_that_was_unknown_when_composing_is_not_pruned_after_it_recovers() {
    let server = Server::default();
    let keeper = Keeper::default();
    let carrier = carrier(&server, vec![Box::new(keeper.clone())], Vec::new());
    let cache = &carrier.cache;
    server.put(THING, "a", "one", json!({}));
    server.put(CONFIG_MAP, "a", "kept", applied("uid-1"));
    let api = server.api();
    let follow = join_all([THING, CONFIG_MAP].map(|kind| crate::cache::follow(cache, &api, kind)));
    crate::testing::during(follow, async {
        until("the first look", || cache.unknown().is_empty()).await;
        let id = Id {
            operator: 0,
            place: crate::cache::Place::new("a", "one"),
        };
        keeper.0.set(Arc::clone(cache)).unwrap_or_default();
        cache.set_state(CONFIG_MAP, State::Unread("the connection is lost".into()));
        carrier.turn(&id).await;
        assert_eq!(server.requests("DELETE"), [""; 0]);
    })
    .await;
}
