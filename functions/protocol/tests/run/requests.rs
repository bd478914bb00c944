//! What a composer reads of a request, and what it asks for.

use std::collections::BTreeMap;

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
fn the_composite_and_the_input_are_read_into_types() {
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
