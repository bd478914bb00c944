//! Lists that can't be read, or not in whole.

use super::*;

#[tokio::test(start_paused = true)]
async fn kind_with_an_object_that_cannot_be_understood_is_unknown_and_not_shorter() {
    let server = Server::default();
    let cache = Cache::new(&things(), &[]);
    let api = server.api();
    let is_live = || cache.state(SECRET, "") == State::Live;
    let is_unknown = || matches!(cache.state(SECRET, ""), State::Unknown(_));
    let odd = Key::new(SECRET, "a", "odd");
    server.put(SECRET, "a", "one", json!({}));
    during(follow(&cache, &api, SECRET, ""), async {
        until("the first list", is_live).await;
        let labels = json!({ "metadata": { "labels": "not a map" } });
        server.put(SECRET, "a", "odd", labels);
        until("the loss", is_unknown).await;
        assert_eq!(
            cache.find(&odd).map(drop),
            Lookup::Unknown(
                "secrets can't be read now: the metadata of an object can't be understood"
                    .to_owned()
            )
        );
        server.delete(SECRET, "a", "odd");
        until("the recovery", is_live).await;
        assert!(cache.find(&odd).is_missing());
    })
    .await;
}

#[test]
fn response_without_items_is_no_empty_list() {
    let page = |items: &str| {
        let text = format!("{{ \"metadata\": {{ \"resourceVersion\": \"1\" }}{items} }}");
        let page = serde_json::from_str::<crate::api::Page>(&text);
        page.ok().map(|page| page.items.len())
    };
    assert_eq!(page(", \"items\": [{}]"), Some(1));
    assert_eq!(page(", \"items\": null"), Some(0));
    assert_eq!(page(""), None);
}

/// A cache in which Secrets are known by their metadata.
fn secrets(names: &[&str]) -> Cache {
    let cache = Cache::new(&things(), &[]);
    cache.set_state(SECRET, "", State::Live);
    for name in names {
        let metadata = json!({ "name": name, "namespace": "default", "resourceVersion": "1" });
        let place = Place::new("default", name);
        let object = json!({ "metadata": metadata });
        let seen = cache.seen(SECRET, &place, object, false).unwrap();
        cache.objects(SECRET, "default").unwrap().saw(&place, seen);
    }
    cache
}

#[test]
fn list_with_an_object_that_cannot_be_read_is_unknown_and_not_shorter() {
    let (cache, external) = (secrets(&["one", "two"]), ExternalSystems::new(Vec::new()));
    let keys = ["one", "two"].map(|name| Key::new(SECRET, "default", name));
    let whole =
        json!({ "metadata": { "name": "one", "namespace": "default", "resourceVersion": "1" } });
    cache.fetched(&keys[0], whole);
    let why = "Secret two can't be read: Forbidden (403)".to_owned();
    let failed = BTreeMap::from([(Wanted::Object(keys[1].clone()), why.clone())]);
    let mut responses = Responses::new();
    let view = View::new(&cache, &external, &failed, &mut responses);
    let all = Selection::new(SECRET, "default", &[]);
    assert_eq!(view.objects(&all), Lookup::Unknown(why));
    // Their names are known.
    assert_eq!(view.keys(&all), Lookup::Found(keys.to_vec()));
    assert_eq!(view.wanted(), BTreeSet::new());
}

#[test]
fn list_does_not_wait_for_what_is_read_besides() {
    let (cache, external) = (secrets(&["one"]), ExternalSystems::new(Vec::new()));
    cache.set_state(WIDGET, "", State::Live);
    let failed = BTreeMap::new();
    let mut responses = Responses::new();
    let view = View::new(&cache, &external, &failed, &mut responses);
    let one = Key::new(SECRET, "default", "one");
    assert!(view.object(&one).found().is_none());
    let all = Selection::new(WIDGET, "default", &[]);
    assert_eq!(view.objects(&all), Lookup::Found(Vec::new()));
    assert_eq!(view.wanted(), BTreeSet::from([Wanted::Object(one)]));
}

#[test]
fn kind_is_installed_unless_the_api_server_does_not_know_it() {
    let (cache, external) = (secrets(&[]), ExternalSystems::new(Vec::new()));
    let is_installed = |state: State| {
        cache.set_state(WIDGET, "", state);
        let (failed, mut responses) = (BTreeMap::new(), Responses::new());
        let view = View::new(&cache, &external, &failed, &mut responses);
        view.is_installed(WIDGET, "default")
    };
    assert!(is_installed(State::Live));
    assert!(is_installed(State::Unknown("forbidden".into())));
    assert!(!is_installed(State::Absent("not found".into())));
}

#[test]
fn list_is_unknown_while_an_own_object_has_more_labels_than_are_kept() {
    let external = ExternalSystems::new(Vec::new());
    let failed = BTreeMap::new();
    let listed = |manager: &str, number: usize| {
        let cache = secrets(&[]);
        let labels = (0..number).map(|label| (format!("label-{label:050}"), "value"));
        let labels: BTreeMap<String, &str> = labels.chain([("role".to_owned(), "key")]).collect();
        let fields = json!([{ "manager": manager, "operation": "Update", "fieldsV1": {} }]);
        let metadata = json!({
            "name": "one", "namespace": "default", "resourceVersion": "1", "labels": labels, "managedFields": fields,
        });
        let place = Place::new("default", "one");
        let object = json!({ "metadata": metadata });
        let seen = cache.seen(SECRET, &place, object, false).unwrap();
        cache.objects(SECRET, "default").unwrap().saw(&place, seen);
        let mut responses = Responses::new();
        let view = View::new(&cache, &external, &failed, &mut responses);
        view.keys(&Selection::new(SECRET, "default", &[("role", "key")]))
    };
    let one = Key::new(SECRET, "default", "one");
    assert_eq!(listed("things", 1), Lookup::Found(vec![one]));
    assert!(matches!(listed("things", 300), Lookup::Unknown(_)));
    assert_eq!(listed("others", 300), Lookup::Found(Vec::new()));
}

/// Otherwise a share would lose a large node while its operator starts.
#[test]
fn list_by_a_label_is_unknown_while_an_own_node_has_more_labels_than_are_kept() {
    let cache = Cache::new(&agents(), &[]);
    cache.set_state(Node::KIND, "", State::Live);
    let node = |name: &str| Key::new(Node::KIND, "", name);
    let labelled = |version: u64, manager: &str, number: usize| {
        let labels = (0..number).map(|label| (format!("label-{label:050}"), "value"));
        let labels: BTreeMap<String, &str> = labels.chain([("lease".to_owned(), "one")]).collect();
        let fields = json!([{ "manager": manager, "operation": "Update", "fieldsV1": {} }]);
        json!({ "metadata": {
            "resourceVersion": version.to_string(), "labels": labels, "managedFields": fields,
        } })
    };
    let external = ExternalSystems::new(Vec::new());
    let failed = BTreeMap::new();
    let listed = || {
        let mut responses = Responses::new();
        let view = View::new(&cache, &external, &failed, &mut responses);
        view.keys(&Selection::new(Node::KIND, "", &[("lease", "one")]))
    };
    cache.learn(&node("a"), labelled(1, "agents", 1));
    cache.learn(&node("b"), labelled(2, "others", 600));
    assert_eq!(listed(), Lookup::Found(vec![node("a")]));
    let many = labelled(3, "agents", 600);
    cache.learn(&node("c"), many.clone());
    assert!(matches!(listed(), Lookup::Unknown(_)));
    cache.fetched(&node("c"), many);
    assert_eq!(listed(), Lookup::Found(vec![node("a"), node("c")]));

    cache.learn(&node("d"), labelled(4, "agents", 600));
    assert!(matches!(listed(), Lookup::Unknown(_)));
    let gone = Place::new("", "d");
    cache.objects(Node::KIND, "").unwrap().saw_deleted(&gone, 5);
    assert_eq!(listed(), Lookup::Found(vec![node("a"), node("c")]));
}
