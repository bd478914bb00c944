//! Who is woken by what.

use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;

use super::*;
use crate::queue::Turn;
use crate::testing::{SECRET, things};

/// A cache in which one subject looks at a Secret that is there in its first version.
fn cache() -> (Cache, Key, Id) {
    let cache = Cache::new(&things());
    let key = Key::new(SECRET, "default", "shared");
    let id = Id {
        operator: 0,
        place: Place::new("default", "who-asked"),
    };
    cache.asked(&id, &BTreeSet::from([Ask::Object(key.clone())]));
    saw(&cache, &key, 1);
    (cache, key, id)
}

fn secret(version: u64) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": "shared", "namespace": "default", "resourceVersion": version.to_string() },
    })
}

/// As the watch does it.
fn saw(cache: &Cache, key: &Key, version: u64) {
    let entry = cache.entry(key.kind, secret(version), false);
    let place = Place::of(key);
    let change = cache.objects(key.kind).unwrap().saw(&place, entry);
    if let Some(change) = change {
        cache.changed(key.kind, &place, &change);
    }
}

/// Whose turn it is, if it is anybody's, and that it had it.
async fn woken(cache: &Cache) -> Option<Id> {
    let next = timeout(Duration::from_secs(5), cache.queue().next());
    let id = next.await.ok().flatten()?;
    cache.queue().done(&id, Turn::Done(None));
    Some(id)
}

#[tokio::test(start_paused = true)]
async fn who_asked_is_woken_by_what_another_wrote_and_only_once() {
    let (cache, key, id) = cache();
    assert_eq!(woken(&cache).await.as_ref(), Some(&id), "it came");
    // The answer to a write is here before the watch shows it.
    cache.learn(&key, secret(2));
    assert_eq!(woken(&cache).await.as_ref(), Some(&id));
    saw(&cache, &key, 2);
    assert_eq!(woken(&cache).await, None);
    // The other way round.
    saw(&cache, &key, 3);
    assert_eq!(woken(&cache).await.as_ref(), Some(&id));
    cache.learn(&key, secret(3));
    assert_eq!(woken(&cache).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_read_is_no_change_unless_it_is_newer() {
    let (cache, key, id) = cache();
    woken(&cache).await;
    cache.fetched(&key, secret(1));
    assert_eq!(woken(&cache).await, None);
    cache.fetched(&key, secret(2));
    assert_eq!(woken(&cache).await.as_ref(), Some(&id));
    saw(&cache, &key, 2);
    assert_eq!(woken(&cache).await, None);
}
