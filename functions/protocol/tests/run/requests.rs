//! What a composer reads of a request, and what it asks for.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use function_protocol::v1::{self, Capability, Resources, RunFunctionRequest};
use function_protocol::{Match, Request, Required, Response, Selector, Severity};
use serde::Deserialize;
use serde_json::json;

use crate::{answer, capable, condition, document, observing, resource};

#[derive(Debug, Deserialize)]
struct Xr<'a> {
    #[serde(borrow)]
    spec: Spec<'a>,
}

#[derive(Debug, Deserialize)]
struct Spec<'a> {
    region: &'a str,
}

#[test]
fn request_reads_the_composite_and_the_input_into_types() {
    let mut request = observing(json!({"spec": {"region": "eu-de-1"}}));
    let (asked, _) = Request::split(request.clone());
    assert_eq!(asked.composite::<Xr>().unwrap().spec.region, "eu-de-1");
    assert_eq!(asked.input::<BTreeMap<String, u32>>(), Ok(None));

    request.input = Some(document(json!({"small": "one"})));
    let (asked, _) = Request::split(request);
    let message = asked.input::<BTreeMap<String, u32>>().unwrap_err().message;
    assert_eq!(
        message,
        "input: small: invalid type: string \"one\", expected u32"
    );

    let (asked, _) = Request::split(observing(json!({"spec": {}})));
    assert_eq!(
        asked.composite::<Xr>().unwrap_err().message,
        "spec: missing field `region`"
    );
    let (asked, _) = Request::split(RunFunctionRequest::default());
    let message = asked.composite::<Xr>().unwrap_err().message;
    assert!(
        message.starts_with("the request has no observed composite resource"),
        "{message}"
    );
}

#[test]
fn head_names_the_composite_and_its_version() {
    let metadata = json!({"namespace": "a", "name": "b", "resourceVersion": "17"});
    let composite = json!({"kind": "Cluster", "metadata": metadata, "status": {"conditions": 1}});
    let (asked, _) = Request::split(observing(composite));
    let head = asked.head().unwrap();
    assert_eq!(head.to_string(), "Cluster a/b");
    assert_eq!(head.metadata.resource_version, "17");

    let (asked, _) = Request::split(observing(json!({"kind": 1})));
    assert_eq!(
        asked.head().unwrap_err().message,
        "kind: invalid type: integer `1`, expected a string"
    );
}

#[test]
fn required_resources_are_found_under_either_field() {
    let (asked, _) = Request::split(RunFunctionRequest {
        extra_resources: [(
            "old".into(),
            Resources {
                items: vec![resource(json!({"a": 1}))],
            },
        )]
        .into(),
        required_resources: [("none".into(), Resources::default())].into(),
        ..RunFunctionRequest::default()
    });
    assert_eq!(
        asked.required("old"),
        Required::Found(&[resource(json!({"a": 1}))])
    );
    assert_eq!(asked.required("none"), Required::Found(&[]));
    assert_eq!(asked.required("unasked"), Required::Unresolved);
}

#[test]
fn request_observes_what_is_added_under_a_name_that_is_free() {
    let (first, second) = (resource(json!({"a": 1})), resource(json!({"a": 2})));
    let (mut asked, _) = Request::split(observing(json!({})));
    asked.observe("one".into(), first.clone());
    asked.observe("one".into(), second.clone());
    asked.observe("other".into(), second.clone());
    let expected = [("one".to_owned(), first), ("other".to_owned(), second)];
    assert_eq!(*asked.observed(), BTreeMap::from(expected));
    assert!(asked.is_added("other"));
    assert!(!asked.is_added("another"));
}

#[test]
fn request_adds_nothing_under_a_name_that_the_core_hands_over() {
    let mut message = observing(json!({}));
    let (handed, added) = (resource(json!({"a": 1})), resource(json!({"a": 2})));
    let observed = message.observed.get_or_insert_default();
    observed.resources.insert("one".into(), handed.clone());
    let (mut asked, _) = Request::split(message);
    asked.observe("one".into(), added);
    assert_eq!(asked.observed()["one"], handed);
    assert!(!asked.is_added("one"));
}

#[test]
fn requirements_go_where_the_core_looks_for_them() {
    let compose = |_: Request, response: &mut Response| {
        let labels = [("crossplane.io/claim-name".into(), "hv-pool-a".into())].into();
        let selector = Selector {
            api_version: "crossplane.c5c3.io/v1alpha1".into(),
            kind: "XHypervisorCluster".into(),
            namespace: Some("infrastructure".into()),
            by: Match::Labels(labels),
        };
        response.require("pool", selector.clone());
        response.require(
            "named",
            Selector {
                by: Match::Name("hv-pool-a".into()),
                namespace: None,
                ..selector
            },
        );
        Ok(())
    };
    let older = answer(observing(json!({})), compose).requirements.unwrap();
    assert!(older.resources.is_empty());
    let newer = answer(
        capable(&[Capability::Capabilities, Capability::RequiredResources]),
        compose,
    );
    let newer = newer.requirements.unwrap();
    assert!(newer.extra_resources.is_empty());
    assert_eq!(newer.resources, older.extra_resources);
    assert_eq!(
        newer.resources["pool"].namespace.as_deref(),
        Some("infrastructure")
    );
    assert_eq!(
        newer.resources["named"].r#match,
        Some(v1::resource_selector::Match::MatchName("hv-pool-a".into()))
    );
}

const POOL: &[&str] = &["pool"];

/// Requires resources under these names; returns the response and whether the core is known to watch them.
fn watched(names: &[&str], request: RunFunctionRequest) -> (v1::RunFunctionResponse, bool) {
    let watched = AtomicBool::new(false);
    let response = answer(request, |_, response| {
        for name in names {
            response.require(
                *name,
                Selector {
                    api_version: "crossplane.c5c3.io/v1alpha1".into(),
                    kind: "HypervisorCluster".into(),
                    namespace: None,
                    by: Match::Name("hv-pool-a".into()),
                },
            );
        }
        watched.store(response.is_watched(), Ordering::Relaxed);
        Ok(())
    });
    (response, watched.into_inner())
}

/// A call of Crossplane 2.2 or newer with these required resources.
fn given(names: &[&str]) -> RunFunctionRequest {
    let names = names.iter();
    RunFunctionRequest {
        required_resources: names
            .map(|name| ((*name).into(), Resources::default()))
            .collect(),
        context: Some(document(json!({"earlier": "step"}))),
        ..capable(&[Capability::Capabilities, Capability::RequiredResources])
    }
}

#[test]
fn resources_are_watched_by_a_core_that_remembers_them() {
    let (response, is_watched) = watched(POOL, given(&["pool"]));
    assert!(is_watched);
    assert_eq!(response.context, Some(document(json!({"earlier": "step"}))));
}

#[test]
fn resources_that_are_fetched_after_the_first_call_are_not_known_to_be_watched() {
    let (first, is_watched) = watched(POOL, given(&[]));
    assert!(!is_watched);
    let fetched = |context| RunFunctionRequest {
        context,
        ..given(&["pool"])
    };
    let (second, is_watched) = watched(POOL, fetched(first.context.clone()));
    assert!(!is_watched);
    assert_eq!(second.context, first.context);
    let context: serde_json::Value = second.context.as_ref().unwrap().parse().unwrap();
    assert_eq!(context, json!({"earlier": "step", "c5c3.io/fetched": true}));
    let (_, is_watched) = watched(POOL, fetched(second.context));
    assert!(!is_watched, "in later calls neither");
}

#[test]
fn resources_of_the_composition_say_nothing_of_what_is_required() {
    let (first, is_watched) = watched(POOL, given(&["of-the-composition"]));
    assert!(!is_watched);
    let second = RunFunctionRequest {
        context: first.context,
        ..given(&["of-the-composition", "pool"])
    };
    let (_, is_watched) = watched(POOL, second);
    assert!(!is_watched);
    let (_, is_watched) = watched(&[], given(POOL));
    assert!(!is_watched, "nothing is required");
}

#[test]
fn resources_are_watched_only_by_a_core_that_remembers_all_of_them() {
    let both: &[&str] = &["pool", "another-pool"];
    let (first, is_watched) = watched(both, given(POOL));
    assert!(!is_watched);
    let second = RunFunctionRequest {
        context: first.context,
        ..given(both)
    };
    let (_, is_watched) = watched(both, second);
    assert!(!is_watched, "the other one was fetched");
    let (_, is_watched) = watched(both, given(both));
    assert!(is_watched, "in the next reconcile");
}

#[test]
fn resources_are_not_known_to_be_watched_while_the_core_drops_changes_or_could_not_apply_all() {
    let condition = |type_: &str, status: &str| json!([{"type": type_, "status": status}]);
    for (conditions, expected) in [
        (json!([]), true),
        (condition("Responsive", "True"), true),
        (condition("Responsive", "False"), false),
        (condition("Synced", "True"), true),
        (condition("Synced", "False"), false),
        (condition("Ready", "False"), true),
    ] {
        let composite = json!({"status": {"conditions": conditions}});
        let request = RunFunctionRequest {
            observed: observing(composite).observed,
            ..given(POOL)
        };
        let (_, is_watched) = watched(POOL, request);
        assert_eq!(is_watched, expected, "{conditions}");
    }
}

#[test]
fn older_cores_get_the_context_as_it_is() {
    let request = RunFunctionRequest {
        context: Some(document(json!({"earlier": "step"}))),
        ..RunFunctionRequest::default()
    };
    let (response, is_watched) = watched(POOL, request.clone());
    assert!(!is_watched);
    assert_eq!(response.context, request.context);
}

#[test]
fn capabilities_mean_something_only_when_they_are_advertised() {
    let compose = |_: Request, response: &mut Response| {
        response.condition(condition("Waiting"));
        response.transition(condition("Waiting"), Severity::Warning);
        Ok(())
    };
    let cannot = answer(capable(&[Capability::Capabilities]), compose);
    assert_eq!((cannot.conditions.len(), cannot.results.len()), (0, 0));
    let mut newer = capable(&[Capability::Capabilities]);
    newer.meta.as_mut().unwrap().capabilities.extend([99, -1]);
    assert_eq!(answer(newer, compose), cannot);
    let silent = answer(capable(&[]), compose);
    assert_eq!((silent.conditions.len(), silent.results.len()), (2, 1));
}
