//! Who is woken by what.

mod lists;

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use provider_composer::{
    Composed, Failure, ObservedState, Reason, Resource, Selection, Source, Use,
};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::*;
use crate::api::PAGE;
use crate::external::ExternalSystems;
use crate::queue::Outcome;
use crate::testing::{POOL, SECRET, Server, WIDGET, during, facts, things, until};

/// An operator whose subjects have namespaces of their own, and that reads Nodes and Pods.
struct Agents;

impl Operator for Agents {
    facts! { "agents", POOL, Unordered, [Use::reads(Node::KIND), Use::reads(Pod::KIND)] }

    fn namespace_prefix(&self) -> Option<&'static str> {
        Some("agents-")
    }

    fn composed(&self, _: &Value, _: &ObservedState<'_>) -> Result<Composed, Failure> {
        Err(Failure::new(Reason::Invalid, "not called in this test"))
    }
}

fn agents() -> [Box<dyn Operator>; 1] {
    [Box::new(Agents)]
}

/// A cache in which one subject depends on a Secret, in its first version.
fn cache() -> (Cache, Key, Id) {
    let cache = Cache::new(&things(), &[]);
    let key = Key::new(SECRET, "default", "shared");
    let id = Id {
        operator: 0,
        place: Place::new("default", "who-asked"),
    };
    cache.set_dependencies(&id, &BTreeSet::from([Dependency::Object(key.clone())]));
    saw(&cache, &key, 1);
    (cache, key, id)
}

fn secret(version: u64) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": "shared", "namespace": "default", "resourceVersion": version.to_string() },
        "data": { "version": version.to_string() },
    })
}

/// As the watch does it.
fn saw(cache: &Cache, key: &Key, version: u64) {
    let place = Place::of(key);
    let seen = cache.seen(key.kind, &place, secret(version), false);
    let change = cache
        .objects(key.kind, "default")
        .unwrap()
        .saw(&place, seen.unwrap());
    if let Some(change) = change {
        cache.changed(key.kind, &place, &change);
    }
}

/// Takes the next subject from the queue, if there is one, and reports it as done.
async fn woken(cache: &Cache) -> Option<Id> {
    let next = timeout(Duration::from_secs(5), cache.queue().next());
    let id = next.await.ok().flatten()?;
    cache.queue().done(&id, Outcome::Done(None));
    Some(id)
}

#[tokio::test(start_paused = true)]
async fn dependent_is_woken_once_by_what_another_wrote() {
    let (cache, key, id) = cache();
    assert_eq!(woken(&cache).await.as_ref(), Some(&id), "it came");
    // The response to a write arrives before the watch event.
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
async fn body_that_is_read_is_no_change_unless_it_is_newer() {
    let (cache, key, id) = cache();
    woken(&cache).await;
    cache.fetched(&key, secret(1));
    assert_eq!(woken(&cache).await, None);
    cache.fetched(&key, secret(2));
    assert_eq!(woken(&cache).await.as_ref(), Some(&id));
    saw(&cache, &key, 2);
    assert_eq!(woken(&cache).await, None);
}

#[tokio::test(start_paused = true)]
async fn change_of_the_version_alone_wakes_no_dependent() {
    let (cache, key, id) = cache();
    woken(&cache).await;
    let versioned = |version: &str, data: &str| {
        let metadata =
            json!({ "name": "shared", "namespace": "default", "resourceVersion": version });
        json!({ "metadata": metadata, "data": { "key": data } })
    };
    cache.learn(&key, versioned("2", "a"));
    assert_eq!(woken(&cache).await.as_ref(), Some(&id));
    cache.learn(&key, versioned("3", "a"));
    assert_eq!(woken(&cache).await, None);
    let versions: Vec<String> = {
        let objects = cache.objects(SECRET, "default").unwrap();
        let heads = objects.within("default").map(|(_, entry)| &entry.head);
        heads.map(|head| head.resource_version.clone()).collect()
    };
    assert_eq!(versions, ["3"]);
    cache.learn(&key, versioned("4", "b"));
    assert_eq!(woken(&cache).await.as_ref(), Some(&id));
}

#[test]
fn foreign_objects_take_little_memory_however_large_they_are() {
    let cache = Cache::new(&things(), &[]);
    let long = "x".repeat(256 * 1024);
    for (kind, whole) in [(SECRET, false), (WIDGET, true)] {
        for number in 0..250 {
            let labels: BTreeMap<String, &str> = (0..300)
                .map(|label| (format!("label-{label:050}"), "value"))
                .collect();
            let metadata = json!({
                "name": number.to_string(), "namespace": "b", "resourceVersion": "1",
                "annotations": { "note": long, "kubectl.kubernetes.io/last-applied-configuration": long },
                "labels": labels,
                "managedFields": [{ "manager": "things", "operation": "Apply", "fieldsV1": { "f:data": { ".": long } } }],
                "ownerReferences": [{ "controller": true, "kind": long, "name": "one", "uid": "1" }],
            });
            let object = json!({ "metadata": metadata, "data": long });
            let place = Place::new("b", &number.to_string());
            let seen = cache.seen(kind, &place, object, whole).unwrap();
            cache.objects(kind, "b").unwrap().saw(&place, seen);
        }
        let objects = cache.objects(kind, "b").unwrap();
        let sizes = objects.within("b").map(|(_, entry)| entry.size());
        let size: usize = sizes.sum();
        assert!(size < 250 * 512, "{kind}: {size} bytes");
    }
}

#[test]
fn object_takes_little_memory_beside_another_of_its_kind() {
    let cache = Cache::new(&things(), &[]);
    cache.set_state(WIDGET, "", State::Live);
    // Nothing in them repeats.
    let words = (1..500_u64).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let words: Vec<String> = words.map(|word| word.to_string()).collect();
    let widget = |name: &str| {
        let metadata = json!({ "name": name, "namespace": "a", "resourceVersion": "1" });
        json!({ "metadata": metadata, "spec": { "words": words } })
    };
    let cached = |name: &str| {
        let key = Key::new(WIDGET, "a", name);
        cache.fetched(&key, widget(name));
        cache.find(&key).found().unwrap()
    };
    cached("one");
    let second = cached("two");
    assert_eq!(second.value(), Some(widget("two")));
    assert!(second.size() < 1000, "{} bytes", second.size());
}

/// Otherwise the first reconcile would read each Node by itself.
#[test]
fn nodes_are_kept_before_anyone_reads_them_unless_they_are_large() {
    let cache = Cache::new(&things(), &[]);
    let is_whole = |kind: ResourceKind, label: &str| {
        let labels = json!({ "role": label });
        let object =
            json!({ "metadata": { "name": "a", "resourceVersion": "1", "labels": labels } });
        let seen = cache.seen(kind, &Place::new("", "a"), object, true);
        seen.unwrap().is_whole()
    };
    assert!(is_whole(Node::KIND, "hypervisor"));
    assert!(!is_whole(Node::KIND, &"x".repeat(64 * 1024)));
    assert!(!is_whole(Pod::KIND, "agent"));
}

/// Otherwise the first reconcile would read each pod by itself.
#[test]
fn pods_in_the_namespace_of_a_subject_are_kept_before_anyone_reads_them() {
    let cache = Cache::new(&agents(), &[]);
    let is_whole = |namespace: &str, label: &str| {
        let labels = json!({ "component": label });
        let metadata = json!({ "name": "a", "namespace": namespace, "resourceVersion": "1", "labels": labels });
        let object = json!({ "metadata": metadata, "spec": { "nodeName": "b" } });
        let place = Place::new(namespace, "a");
        let seen = cache.seen(Pod::KIND, &place, object, true);
        seen.unwrap().is_whole()
    };
    assert!(is_whole("agents-prod", "agent"));
    assert!(!is_whole("agents-prod", &"x".repeat(64 * 1024)));
    assert!(!is_whole("kube-system", "agent"));
}

#[test]
fn nodes_are_listed_by_a_label_as_it_is_now() {
    let cache = Cache::new(&agents(), &[]);
    cache.set_state(Node::KIND, "", State::Live);
    let put = |name: &str, version: u64, labels: Value| {
        let metadata =
            json!({ "name": name, "resourceVersion": version.to_string(), "labels": labels });
        cache.learn(
            &Key::new(Node::KIND, "", name),
            json!({ "metadata": metadata }),
        );
    };
    let external = ExternalSystems::new(Vec::new());
    let failed = BTreeMap::new();
    let listed = |value: &str, labels: &[(&str, &str)]| -> Vec<String> {
        let mut responses = Responses::new();
        let view = View::new(&cache, &external, &failed, &mut responses);
        let all = [labels, &[("lease", value)]].concat();
        let nodes = view.objects(&Selection::new(Node::KIND, "", &all)).found();
        let nodes = nodes.unwrap_or_default();
        let names = nodes.iter().map(|node| node["metadata"]["name"].as_str());
        names.flatten().map(str::to_owned).collect()
    };
    put("a", 1, json!({ "lease": "one", "zone": "x" }));
    put("b", 2, json!({ "zone": "x" }));
    assert_eq!(listed("one", &[]), ["a"]);
    put("b", 3, json!({ "lease": "one", "zone": "y" }));
    put("c", 4, json!({ "lease": "one" }));
    assert_eq!(listed("one", &[]), ["a", "b", "c"]);
    assert_eq!(listed("one", &[("zone", "y")]), ["b"]);
    put("a", 5, json!({ "lease": "two", "zone": "x" }));
    let gone = Place::new("", "c");
    let objects = cache.objects(Node::KIND, "");
    objects.unwrap().saw_deleted(&gone, 6);
    assert_eq!(listed("one", &[]), ["b"]);
    assert_eq!(listed("two", &[]), ["a"]);
    put("a", 7, json!({ "zone": "x" }));
    assert_eq!(listed("two", &[]), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn lists_are_read_in_pages_one_at_a_time() {
    let server = Server::default();
    let cache = Cache::new(&things(), &[]);
    let api = server.api();
    for number in 0..250 {
        server.put(SECRET, "a", &format!("{number:03}"), json!({}));
    }
    during(follow(&cache, &api, SECRET, ""), async {
        until("all", || {
            cache.unknown().iter().all(|(kind, _)| *kind != SECRET)
        })
        .await;
        let lists = server.requests("limit");
        let wanted = ["", "&continue=100", "&continue=200"];
        assert_eq!(
            lists,
            wanted.map(|rest| format!("GET /api/v1/secrets?limit=100{rest}"))
        );
        let list = async || {
            let mut limit = PAGE;
            api.list(SECRET, "", Extent::Whole, "", &mut limit).await
        };
        let first = list().await.unwrap();
        let second = timeout(Duration::from_secs(60), list());
        assert!(second.await.is_err(), "a second page");
        drop(first);
        list().await.unwrap();
    })
    .await;
}

/// Users who may create objects may make them as large as the API server accepts.
#[tokio::test(start_paused = true)]
async fn lists_of_large_objects_are_read_in_small_pages() {
    let server = Server::default();
    let cache = Cache::new(&things(), &[]);
    let api = server.api();
    let annotations = json!({ "large": "x".repeat(200 * 1024) });
    for number in 0..30 {
        let object = json!({ "metadata": { "annotations": annotations } });
        server.put(SECRET, "a", &format!("{number:02}"), object);
    }
    during(follow(&cache, &api, SECRET, ""), async {
        until("all", || cache.state(SECRET, "") == State::Live).await;
        let wanted = ["100", "10", "10&continue=10", "10&continue=20"];
        assert_eq!(
            server.requests("limit"),
            wanted.map(|limit| format!("GET /api/v1/secrets?limit={limit}"))
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn kind_that_is_not_installed_is_awaited_without_asking() {
    let server = Server::default();
    server.state().absent.insert(WIDGET.plural);
    let cache = Cache::new(&things(), &[]);
    let api = server.api();
    let watches = futures::future::join(
        follow(&cache, &api, DEFINITION, ""),
        follow(&cache, &api, WIDGET, ""),
    );
    during(watches, async {
        let is_live = |kind| cache.state(kind, "") == State::Live;
        until("definitions", || is_live(DEFINITION)).await;
        sleep(Duration::from_secs(10)).await;
        let asked = server.requests("widgets?").len();
        server.put(DEFINITION, "", "others.test", json!({}));
        sleep(Duration::from_secs(24 * 3600)).await;
        assert_eq!(server.requests("widgets?").len(), asked);

        server.put(DEFINITION, "", "widgets.test", json!({}));
        sleep(Duration::from_secs(1)).await;
        server.state().absent.clear();
        until("the kind", || is_live(WIDGET)).await;
        assert!(server.requests("widgets?").len() < asked + 10);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn operator_reads_only_watched_namespaces() {
    let server = Server::default();
    let namespaces = ["a", "b"].map(str::to_owned);
    let cache = Cache::new(&things(), &namespaces);
    let api = server.api();
    for namespace in ["a", "b", "c"] {
        server.put(SECRET, namespace, "one", json!({}));
    }
    let watched = cache.watched();
    let watches = watched.map(|(kind, namespace)| follow(&cache, &api, kind, namespace));
    during(futures::future::join_all(watches), async {
        until("all", || cache.unknown().is_empty()).await;
        let found = |namespace| {
            cache
                .find(&Key::new(SECRET, namespace, "one"))
                .found()
                .is_some()
        };
        assert_eq!(["a", "b", "c"].map(found), [true, true, false]);
        assert_eq!(
            cache.find(&Key::new(SECRET, "c", "one")).map(drop),
            Lookup::Unknown(
                "Secret objects in the namespace \"c\" are not watched by the operator".to_owned()
            )
        );
        let everywhere = server.requests("").into_iter();
        let everywhere: Vec<String> = everywhere
            .filter(|line| !line.contains("/namespaces/"))
            .collect();
        assert_eq!(everywhere, [""; 0]);
    })
    .await;
}
