//! A small composer, run on a few objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use c5c3_api::secret_aggregate::{SecretAggregateSpec, SecretAggregateStatus};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use provider_composer::{
    Composer, Dependency, DesiredState, ExternalRequest, Failure, Gauge, Generated, Key, Lookup,
    Metric, ObservedState, Operator, Progress, Reason, Resource, Selection, Source, Subject, Use,
    status_of_failure,
};
use serde_json::{Value, json};

const SOURCES: Metric = Metric {
    name: "small_sources",
    help: "Sources.",
};

/// Makes a ConfigMap here and one elsewhere, and waits for a Secret.
struct Small;

impl Composer for Small {
    type Spec = SecretAggregateSpec;
    type Status = SecretAggregateStatus;
    const OPERATOR: &'static str = "small-operator";

    fn uses(&self) -> Vec<Use> {
        vec![Use::composes(ConfigMap::KIND), Use::reads(Secret::KIND)]
    }

    fn compose(
        &self,
        subject: &Subject<SecretAggregateSpec>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<SecretAggregateStatus, Failure> {
        if subject.spec.target.name.starts_with("measured") {
            desired.gauge(SOURCES, &[], 1);
        }
        if subject.spec.target.name.ends_with("wrong") {
            return Err(Failure::new(Reason::Invalid, "choose another target"));
        }
        let map = ConfigMap {
            data: Some(BTreeMap::from([("key".to_owned(), "value".to_owned())])),
            ..ConfigMap::default()
        };
        desired.apply(subject.namespace(), "here", &map);
        desired.apply("elsewhere", "there", &map);
        desired.generate(subject.namespace(), "made", Generated::credentials("nova"));
        let progress = match observed.object(&Key::of::<Secret>(subject.namespace(), "waited-for"))
        {
            Lookup::Found(_) => Progress::Ready,
            Lookup::Missing => {
                Progress::waiting(Reason::WaitingFor("Secret"), "waits for Secret waited-for")
            }
            Lookup::Unknown(message) => Progress::Unknown { message },
        };
        desired.conditions.set("SourcesResolved", &progress);
        if subject.spec.target.name == "twice" {
            desired.apply(subject.namespace(), "here", &map);
        }
        if subject.spec.target.name == "taken" {
            desired.apply(subject.namespace(), "here", &ConfigMap::default());
        }
        if subject.spec.target.name == "generated-twice" {
            desired.generate(subject.namespace(), "made", Generated::credentials("nova"));
        }
        if subject.spec.target.name == "generated-otherwise" {
            desired.generate(
                subject.namespace(),
                "made",
                Generated::credentials("glance"),
            );
        }
        if subject.spec.target.name == "generated-and-applied" {
            desired.apply(subject.namespace(), "made", &Secret::default());
        }
        if subject.spec.target.name == "applied-and-generated" {
            desired.apply(subject.namespace(), "both", &Secret::default());
            desired.generate(subject.namespace(), "both", Generated::credentials("nova"));
        }
        if subject.spec.target.name.ends_with("unwritable") {
            desired.json("the map", &BTreeMap::from([((1, 2), "three")]));
        }
        if subject.spec.target.name == "noted" {
            desired.conditions.note("Noted", &progress);
            desired.conditions.note_result("Found", &progress);
            desired.conditions.set("SourcesResolved", &Progress::Ready);
        }
        Ok(SecretAggregateStatus::default())
    }
}

struct Objects(BTreeMap<Key, Lookup<Arc<Value>>>);

impl Source for Objects {
    fn object(&self, key: &Key) -> Lookup<Arc<Value>> {
        self.0.get(key).cloned().unwrap_or(Lookup::Missing)
    }

    fn objects(&self, _: &Selection) -> Lookup<Vec<Arc<Value>>> {
        Lookup::Found(Vec::new())
    }

    fn external(&self, _: &ExternalRequest) -> Lookup<Arc<Value>> {
        Lookup::Missing
    }
}

/// 2026-02-01T00:00:00Z.
const NOW: Timestamp = Timestamp::constant(1_769_904_000, 0);

fn subject(target: &str) -> Value {
    json!({
        "apiVersion": "c5c3.io/v1alpha1",
        "kind": "SecretAggregate",
        "metadata": { "name": "all", "namespace": "openstack", "uid": "1234", "generation": 2 },
        "spec": { "sources": [{ "secretRef": { "name": "one" } }], "target": { "name": target } },
        "status": { "conditions": [
            { "type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z" },
            { "type": "SourcesResolved", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z" },
        ] },
    })
}

fn secret(seen: Lookup<Arc<Value>>) -> Objects {
    Objects(BTreeMap::from([(
        Key::of::<Secret>("openstack", "waited-for"),
        seen,
    )]))
}

#[test]
fn objects_show_whose_they_are() {
    let source = secret(Lookup::Missing);
    let observed = ObservedState::new(&source, NOW);
    let composed = Small.composed(&subject("sum"), &observed).unwrap();

    let here = &composed.desired.objects[&Key::of::<ConfigMap>("openstack", "here")];
    assert_eq!(
        *here,
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": "here",
                "namespace": "openstack",
                "labels": {
                    "app.kubernetes.io/name": "secretaggregate",
                    "app.kubernetes.io/instance": "all",
                    "app.kubernetes.io/component": "configmap",
                    "app.kubernetes.io/part-of": "all",
                    "app.kubernetes.io/managed-by": "small-operator",
                    "c5c3.io/owner-kind": "SecretAggregate",
                    "c5c3.io/owner-namespace": "openstack",
                    "c5c3.io/owner-name": "all",
                },
                "ownerReferences": [{
                    "apiVersion": "c5c3.io/v1alpha1",
                    "kind": "SecretAggregate",
                    "name": "all",
                    "uid": "1234",
                    "controller": true,
                    "blockOwnerDeletion": true,
                }],
            },
            "data": { "key": "value" },
        })
    );
    let there = &composed.desired.objects[&Key::of::<ConfigMap>("elsewhere", "there")];
    assert_eq!(there["metadata"]["namespace"], "elsewhere");
    assert!(
        there["metadata"].get("ownerReferences").is_none(),
        "an owner in another namespace would let the garbage collector delete the object"
    );
    assert!(!composed.desired.is_empty());
}

#[test]
fn ready_repeats_what_does_not_hold_and_keeps_its_time() {
    let source = secret(Lookup::Missing);
    let observed = ObservedState::new(&source, NOW);
    let composed = Small.composed(&subject("sum"), &observed).unwrap();
    assert_eq!(
        composed.status["conditions"],
        json!([
            {
                "type": "SourcesResolved",
                "status": "False",
                "reason": "WaitingForSecret",
                "message": "waits for Secret waited-for",
                "observedGeneration": 2,
                "lastTransitionTime": "2026-02-01T00:00:00Z",
            },
            {
                "type": "Ready",
                "status": "False",
                "reason": "WaitingForSecret",
                "message": "waits for Secret waited-for",
                "observedGeneration": 2,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            },
            {
                "type": "Reconciling",
                "status": "True",
                "reason": "WaitingForSecret",
                "message": "waits for Secret waited-for",
                "observedGeneration": 2,
                "lastTransitionTime": "2026-02-01T00:00:00Z",
            },
        ])
    );
    let asked = Dependency::Object(Key::of::<Secret>("openstack", "waited-for"));
    assert!(observed.into_dependencies().contains(&asked));
}

#[test]
fn ready_does_not_wait_for_what_is_only_noted() {
    let source = secret(Lookup::Missing);
    let observed = ObservedState::new(&source, NOW);
    let composed = Small.composed(&subject("noted"), &observed).unwrap();
    let said = composed.status["conditions"].as_array().unwrap().iter();
    let said: Vec<(&str, &str)> = said
        .filter_map(|said| Some((said["type"].as_str()?, said["status"].as_str()?)))
        .collect();
    assert_eq!(
        said,
        [
            ("SourcesResolved", "True"),
            ("Noted", "False"),
            ("Found", "Unknown"),
            ("Ready", "True")
        ]
    );
}

#[test]
fn what_is_unread_is_unknown_and_not_missing() {
    let source = secret(Lookup::Unknown("secrets are forbidden".to_owned()));
    let observed = ObservedState::new(&source, NOW);
    let composed = Small.composed(&subject("sum"), &observed).unwrap();
    assert_eq!(composed.status["conditions"][0]["status"], "Unknown");
    assert_eq!(
        composed.status["conditions"][0]["message"],
        "secrets are forbidden"
    );
}

#[test]
fn a_resource_that_cannot_be_composed_keeps_its_status_but_for_ready() {
    let source = secret(Lookup::Missing);
    let now = NOW;
    let observed = ObservedState::new(&source, now);
    let failure = Small.composed(&subject("wrong"), &observed).err().unwrap();
    let status = status_of_failure(&subject("wrong"), &failure, now);
    assert_eq!(status["conditions"][0]["message"], "choose another target");
    assert_eq!(
        status["conditions"][0]["lastTransitionTime"],
        "2026-01-01T00:00:00Z"
    );
    assert_eq!(status["conditions"][1]["status"], "True");
}

#[test]
fn requests_above_limits_are_refused_with_their_field_unless_the_resource_is_being_deleted() {
    let source = secret(Lookup::Missing);
    let observed = ObservedState::new(&source, NOW);
    let mut resource = subject("sum");
    resource["spec"]["agents"] = json!([
        { "resources": { "requests": { "cpu": 1 }, "limits": { "cpu": "1000m" } } },
        { "resources": { "requests": { "cpu": 2, "memory": "1Gi" }, "limits": { "cpu": "1500m" } } },
    ]);
    let failure = Small.composed(&resource, &observed).err().unwrap();
    assert_eq!(failure.reason(), Reason::Invalid);
    assert_eq!(
        failure.to_string(),
        "spec.agents[1].resources: requests.cpu 2 is above limits.cpu 1500m: raise the limit or lower the request"
    );

    resource["metadata"]["deletionTimestamp"] = json!("2026-02-01T00:00:00Z");
    assert!(Small.composed(&resource, &observed).is_ok());
}

#[test]
fn a_condition_of_an_older_generation_says_nothing() {
    let object = json!({
        "metadata": { "name": "waited-for", "generation": 3 },
        "status": { "conditions": [{ "type": "Ready", "status": "True", "observedGeneration": 2 }] },
    });
    let source = secret(Lookup::Found(Arc::new(object)));
    let observed = ObservedState::new(&source, NOW);
    let key = Key::of::<Secret>("openstack", "waited-for");
    assert_eq!(observed.condition(&key, "Ready"), Lookup::Found(None));
}

#[test]
fn nothing_secret_is_shown() {
    let query = ExternalRequest::new("keystone", &"s3cret");
    assert_eq!(query.content, r#""s3cret""#);
    assert_eq!(format!("{query:?}"), "ExternalRequest(keystone)");
}

#[test]
fn external_request_that_json_cannot_hold_is_empty() {
    let content = BTreeMap::from([(["a list"], "a value")]);
    assert_eq!(ExternalRequest::new("keystone", &content).content, "");
}

#[test]
fn composition_that_json_cannot_hold_fails_the_reconcile() {
    let source = secret(Lookup::Missing);
    let observed = ObservedState::new(&source, NOW);
    let failure = Small.composed(&subject("unwritable"), &observed).err();
    let message = "the map can't be written as JSON: key must be a string";
    assert_eq!(failure, Some(Failure::new(Reason::InternalError, message)));
}

#[test]
fn gauges_are_exported_with_a_failure_whether_it_is_returned_or_noted() {
    let source = secret(Lookup::Missing);
    let observed = ObservedState::new(&source, NOW);
    for target in ["measured-wrong", "measured-unwritable"] {
        let failure = Small.composed(&subject(target), &observed).err().unwrap();
        assert_eq!(failure.gauges(), [Gauge::new(SOURCES, &[], 1)], "{target}");
    }
}

/// A composer may add what several parts have in common once for each.
#[test]
fn object_of_two_parts_fails_the_reconcile_unless_both_have_the_same() {
    let source = secret(Lookup::Missing);
    let observed = ObservedState::new(&source, NOW);
    assert!(Small.composed(&subject("twice"), &observed).is_ok());
    let failure = Small.composed(&subject("taken"), &observed).err();
    let message =
        "two parts of this resource would create ConfigMap here: give one of them another name";
    assert_eq!(failure, Some(Failure::new(Reason::Invalid, message)));
}

#[test]
fn generated_secret_of_two_parts_fails_the_reconcile_unless_both_have_the_same() {
    let source = secret(Lookup::Missing);
    let observed = ObservedState::new(&source, NOW);
    let same = Small.composed(&subject("generated-twice"), &observed);
    assert!(same.is_ok());
    for (target, name) in [
        ("generated-otherwise", "made"),
        ("generated-and-applied", "made"),
        ("applied-and-generated", "both"),
    ] {
        let failure = Small.composed(&subject(target), &observed).err();
        let message = format!(
            "two parts of this resource would create Secret {name}: give one of them another name"
        );
        let expected = Some(Failure::new(Reason::Invalid, message));
        assert_eq!(failure, expected, "{target}");
    }
}

#[test]
fn a_failure_stalls_until_it_is_corrected_and_a_transient_one_does_not() {
    let activity = |status: &Value| -> Vec<(String, String)> {
        let conditions = status["conditions"].as_array().unwrap().iter();
        let text = |condition: &Value, field: &str| condition[field].as_str().unwrap().to_owned();
        conditions
            .filter(|condition| {
                ["Stalled", "Reconciling"].contains(&condition["type"].as_str().unwrap())
            })
            .map(|condition| (text(condition, "type"), text(condition, "reason")))
            .collect()
    };
    let pair = |type_: &str, reason: &str| vec![(type_.to_owned(), reason.to_owned())];
    let mut resource = subject("sum");
    let failures = [
        (
            Failure::new(Reason::Invalid, "correct it"),
            pair("Stalled", "Invalid"),
        ),
        (
            Failure::transient(Reason::SystemUnavailable, "the API server restarts"),
            pair("Reconciling", "SystemUnavailable"),
        ),
    ];
    for (failure, expected) in failures {
        resource["status"] = status_of_failure(&resource, &failure, NOW);
        assert_eq!(activity(&resource["status"]), expected);
        assert_eq!(resource["status"]["observedGeneration"], 2);
    }
    let source = secret(Lookup::Found(Arc::new(json!({}))));
    let observed = ObservedState::new(&source, NOW);
    let composed = Small.composed(&resource, &observed).unwrap();
    assert_eq!(activity(&composed.status), []);
    assert_eq!(composed.status["observedGeneration"], 2);
}

#[test]
fn a_failure_that_is_retried_stays_one_in_other_words() {
    let explain = |message: &str| format!("cell1: {message}");
    let failing = Progress::failing(Reason::Unavailable, "no pod is ready");
    let explained = Progress::failing(Reason::Unavailable, "cell1: no pod is ready");
    assert_eq!(failing.explained(explain), explained);
    assert_eq!(explained.message(), "cell1: no pod is ready");
    assert_eq!(Progress::Ready.explained(explain), Progress::Ready);
}
