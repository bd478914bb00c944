//! An object that goes while its owner is reconciled.

use futures::future::join_all;
use serde_json::json;

use super::applied;
use super::rest::Maker;
use crate::cache::{Id, Place, follow};
use crate::queue::Outcome;
use crate::testing::{CONFIG_MAP, Server, THING, controller, during, until, working};

#[tokio::test(start_paused = true)]
async fn nothing_is_pruned_while_an_object_to_apply_has_just_gone() {
    let server = Server::default();
    let controller = controller(&server, vec![Box::new(Maker(CONFIG_MAP))], Vec::new());
    server.put(THING, "a", "one", json!({}));
    for name in ["read", "unread", "old"] {
        server.put(CONFIG_MAP, "a", name, applied());
    }
    let (cache, api) = (&controller.cache, server.api());
    let kinds = [THING, CONFIG_MAP];
    let watches = join_all(kinds.map(|kind| follow(cache, &api, kind, "")));
    let is_there = |name: &str| server.get(CONFIG_MAP, "a", name).is_some();
    let listed = until("the first look", || cache.unknown().is_empty());
    during(watches, listed).await;
    server.delete(CONFIG_MAP, "a", "unread");
    let id = Id {
        operator: 0,
        place: Place::new("a", "one"),
    };
    assert_eq!(controller.reconcile(&id).await, Outcome::Failed);
    assert_eq!(server.requests("DELETE"), [""; 0]);

    let repaired = until("the repair", || is_there("unread") && !is_there("old"));
    working(&controller, &kinds, repaired).await;
}
