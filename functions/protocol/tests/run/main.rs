//! One call of a function: what comes in, what goes out, what passes through.

mod requests;

use std::collections::BTreeMap;
use std::time::Duration;

use function_protocol::v1::{
    self, Capability, Resource, RunFunctionRequest, RunFunctionResponse, State,
};
use function_protocol::{
    Condition, ConditionStatus, Document, Fatal, Readiness, Request, Response, Severity, run,
};
use prost::Message;
use serde_json::{Value, json};

fn answer(
    request: RunFunctionRequest,
    compose: impl Fn(Request, &mut Response) -> Result<(), Fatal> + Send + Sync,
) -> RunFunctionResponse {
    run(&compose, request)
}

fn document(value: Value) -> Document {
    Document::from_value(&value).unwrap_or_default()
}

fn resource(value: Value) -> Resource {
    Resource {
        resource: Some(document(value)),
        ..Resource::default()
    }
}

fn observing(composite: Value) -> RunFunctionRequest {
    let observed = State {
        composite: Some(resource(composite)),
        resources: BTreeMap::new(),
    };
    RunFunctionRequest {
        observed: Some(observed),
        ..RunFunctionRequest::default()
    }
}

fn capable(capabilities: &[Capability]) -> RunFunctionRequest {
    let mut meta = v1::RequestMeta::default();
    capabilities
        .iter()
        .for_each(|capability| meta.push_capabilities(*capability));
    RunFunctionRequest {
        meta: Some(meta),
        ..RunFunctionRequest::default()
    }
}

/// What earlier steps of a pipeline may have left.
fn later_in_a_pipeline() -> RunFunctionRequest {
    let mut composite =
        resource(json!({"status": {"phase": "Pending", "address": "192.0.2.1"}, "kind": "XThing"}));
    composite
        .connection_details
        .insert("password".into(), b"hunter2".into());
    let mut theirs = resource(json!({"kind": "Theirs"}));
    theirs.ready = v1::Ready::True.into();
    RunFunctionRequest {
        meta: Some(v1::RequestMeta {
            tag: "a-tag".into(),
            capabilities: vec![],
        }),
        desired: Some(State {
            composite: Some(composite),
            resources: [("theirs".into(), theirs)].into(),
        }),
        context: Some(document(
            json!({"apiextensions.crossplane.io/environment": {"a": 1}}),
        )),
        ..observing(json!({"spec": {}}))
    }
}

fn status_of(response: &RunFunctionResponse) -> Value {
    let composite = response
        .desired
        .as_ref()
        .and_then(|desired| desired.composite.as_ref());
    let document = composite.and_then(|composite| composite.resource.as_ref());
    document
        .and_then(|document| document.parse().ok())
        .unwrap_or_default()
}

fn condition(reason: &str) -> Condition {
    Condition {
        type_: "PoolsReady".into(),
        status: ConditionStatus::False,
        reason: reason.into(),
        message: "pool hv-pool-a is not ready".into(),
    }
}

#[test]
fn a_composer_without_an_opinion_passes_everything_through() {
    let request = later_in_a_pipeline();
    let response = answer(request.clone(), |_, _| Ok(()));
    assert_eq!(
        response.desired.as_ref().map(Message::encode_to_vec),
        request.desired.as_ref().map(Message::encode_to_vec)
    );
    assert_eq!(response.context, request.context);
    assert_eq!(response.meta.unwrap().tag, "a-tag");
    assert_eq!(response.requirements, None);
    assert_eq!((response.results.len(), response.conditions.len()), (0, 0));
}

#[test]
fn what_is_desired_is_added_to_what_earlier_steps_desire() {
    let response = answer(later_in_a_pipeline(), |_, response| {
        response.desire("namespace", &json!({"kind": "Object"}), Readiness::False)?;
        response.desire("share", &json!({"kind": "Object"}), Readiness::Unspecified)?;
        response.composite_ready(true.into());
        response.ttl(Duration::from_millis(1500));
        Ok(())
    });
    let desired = response.desired.unwrap();
    assert_eq!(
        desired.resources.keys().collect::<Vec<_>>(),
        ["namespace", "share", "theirs"]
    );
    assert_eq!(desired.resources["namespace"].ready(), v1::Ready::False);
    assert_eq!(desired.resources["theirs"].ready(), v1::Ready::True);
    assert_eq!(desired.composite.unwrap().ready(), v1::Ready::True);
    assert_eq!(
        response.meta.unwrap().ttl.unwrap(),
        prost_types::Duration {
            seconds: 1,
            nanos: 500_000_000
        }
    );
}

#[test]
fn a_fatal_leaves_what_came_in_and_nothing_half_made() {
    let request = later_in_a_pipeline();
    let response = answer(request.clone(), |_, response| {
        response.desire("namespace", &json!({"kind": "Object"}), Readiness::True)?;
        response.status(&json!({"phase": "Ready"}))?;
        response.composite_ready(Readiness::True);
        response.condition(condition("Waiting"));
        response.transition(condition("Blocked"), Severity::Warning);
        Err(Fatal::new(
            "spec.size: unknown size \"huge\"; use small, medium, large or xlarge",
        ))
    });
    let fatal = v1::Result {
        severity: v1::Severity::Fatal.into(),
        message: "spec.size: unknown size \"huge\"; use small, medium, large or xlarge".into(),
        reason: None,
        target: Some(v1::Target::CompositeAndClaim.into()),
    };
    let expected = RunFunctionResponse {
        meta: Some(v1::ResponseMeta {
            tag: "a-tag".into(),
            ttl: None,
        }),
        desired: request.desired,
        context: request.context,
        results: vec![fatal],
        ..RunFunctionResponse::default()
    };
    assert_eq!(response, expected);
}

#[test]
fn a_name_is_composed_once() {
    let twice = answer(later_in_a_pipeline(), |_, response| {
        response.desire("ours", &json!({}), Readiness::True)?;
        response.desire("ours", &json!({}), Readiness::True)
    });
    assert_eq!(
        twice.results[0].message,
        "two resources would be composed under the name \"ours\""
    );
    let taken = answer(later_in_a_pipeline(), |_, response| {
        response.desire("theirs", &json!({}), Readiness::True)
    });
    assert_eq!(
        taken.results[0].message,
        "an earlier step of the pipeline already composes a resource named \"theirs\"; rename it there"
    );
}

#[test]
fn a_status_stands_alone_or_on_top_of_an_earlier_one() {
    let alone = answer(observing(json!({})), |_, response| {
        response.status(&json!({"phase": "Ready"}))
    });
    assert_eq!(status_of(&alone), json!({"status": {"phase": "Ready"}}));

    let merged = answer(later_in_a_pipeline(), |_, response| {
        response.status(&json!({"phase": "Ready", "n": {"a": 1}}))
    });
    let expected = json!({"status": {"phase": "Ready", "n": {"a": 1}, "address": "192.0.2.1"}, "kind": "XThing"});
    assert_eq!(status_of(&merged), expected);
    let composite = merged.desired.unwrap().composite.unwrap();
    assert_eq!(composite.connection_details["password"], b"hunter2");
}

#[test]
fn values_without_a_wire_form_are_named() {
    let response = answer(observing(json!({})), |_, response| {
        response.desire(
            "pool",
            &json!({"spec": {"size": u64::MAX}}),
            Readiness::True,
        )
    });
    assert_eq!(
        response.results[0].message,
        "pool: spec.size: 18446744073709551615 is beyond 2^53 and would lose digits; write it as a string"
    );
}

#[test]
fn an_event_is_sent_when_a_condition_is_news() {
    let transition = |composite: Value| {
        answer(observing(composite), |_, response| {
            response.transition(condition("PoolNotReady"), Severity::Warning);
            Ok(())
        })
    };
    let observed = |status: &str, reason: &str| {
        json!({"status": {"conditions": [
            {"type": "Synced", "status": "True", "reason": "ReconcileSuccess"},
            {"type": "PoolsReady", "status": status, "reason": reason, "message": "of another time"},
        ]}})
    };
    let event = v1::Result {
        severity: v1::Severity::Warning.into(),
        message: "pool hv-pool-a is not ready".into(),
        reason: Some("PoolNotReady".into()),
        target: Some(v1::Target::CompositeAndClaim.into()),
    };
    for news in [
        json!({}),
        observed("True", "PoolNotReady"),
        observed("False", "PoolMissing"),
        json!({"status": 3}),
    ] {
        let response = transition(news.clone());
        assert_eq!(response.results, std::slice::from_ref(&event), "{news}");
        assert_eq!(response.conditions.len(), 1);
    }
    let again = transition(observed("False", "PoolNotReady"));
    assert!(again.results.is_empty());
    let expected = v1::Condition {
        r#type: "PoolsReady".into(),
        status: v1::Status::ConditionFalse.into(),
        reason: "PoolNotReady".into(),
        message: Some("pool hv-pool-a is not ready".into()),
        target: Some(v1::Target::CompositeAndClaim.into()),
    };
    assert_eq!(again.conditions, [expected]);
}

#[test]
fn messages_do_not_show_secrets() {
    let mut request = later_in_a_pipeline();
    let data = [("token".into(), b"hunter2".into())].into();
    let source = v1::credentials::Source::CredentialData(v1::CredentialData { data });
    request.credentials.insert(
        "openstack".into(),
        v1::Credentials {
            source: Some(source),
        },
    );
    let shown = format!("{request:?}");
    let bytes = format!("{:?}", b"hunter2");
    assert!(
        shown.contains("token") && shown.contains("password"),
        "{shown}"
    );
    assert!(
        !shown.contains("hunter2") && !shown.contains(&bytes),
        "{shown}"
    );
}
