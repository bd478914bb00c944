//! A small operator to try the runtime with. What it composes is set by the resource: a ConfigMap for each source, a
//! Secret with a password for the target, and by annotations whatever else there is to try.

use std::collections::BTreeMap;

use c5c3_api::secret_aggregate::{SecretAggregateSpec, SecretAggregateStatus};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use provider_composer::{
    Composer, DesiredState, ExternalRequest, Failure, Generated, Key, Lookup, ObservedState,
    Operator, Progress, Reason, Resource, ResourceKind, Retention, Subject, Use,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A kind that comes late.
#[derive(Clone, Serialize, Deserialize)]
pub struct Late {
    spec: LateSpec,
}

#[derive(Clone, Serialize, Deserialize)]
struct LateSpec {
    text: String,
}

impl Resource for Late {
    const KIND: ResourceKind = ResourceKind::namespaced("lab.c5c3.io", "v1", "Late", "lates");
}

/// Its parts may go in any order, or only one after the other.
pub struct Trial<const ORDERED: bool>;

/// The operator whose parts go in any order.
pub fn trial() -> Vec<Box<dyn Operator>> {
    vec![Box::new(Trial::<false>)]
}

/// The operator whose parts go one after the other, the last source first.
pub fn ordered() -> Vec<Box<dyn Operator>> {
    vec![Box::new(Trial::<true>)]
}

impl<const ORDERED: bool> Composer for Trial<ORDERED> {
    type Spec = SecretAggregateSpec;
    type Status = SecretAggregateStatus;
    const OPERATOR: &'static str = "trial-operator";
    const ORDERED_DELETION: bool = ORDERED;

    fn uses(&self) -> Vec<Use> {
        vec![
            Use::composes(ConfigMap::KIND),
            Use::composes(Secret::KIND),
            Use::composes(Deployment::KIND),
            Use::composes(Late::KIND),
        ]
    }

    fn compose(
        &self,
        subject: &Subject<SecretAggregateSpec>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<SecretAggregateStatus, Failure> {
        let namespace = subject.namespace();
        let annotations = &subject.metadata.annotations;
        let names = subject
            .spec
            .sources
            .iter()
            .map(|source| source.secret_ref.name.as_str());
        if ORDERED && subject.is_deleted() {
            let left = names.filter(|name| {
                !observed
                    .object(&Key::of::<ConfigMap>(namespace, name))
                    .is_missing()
            });
            let left: Vec<&str> = left.collect();
            for name in left.iter().rev().skip(1) {
                desired.keep(Key::of::<ConfigMap>(namespace, name));
            }
            return Ok(SecretAggregateStatus::default());
        }
        if let Some(wrong) = annotations.get("fails") {
            return Err(Failure::new(
                Reason::Invalid,
                format!("take the annotation fails away: {wrong}"),
            ));
        }
        for name in names {
            let mut data = BTreeMap::from([("key".to_owned(), "value".to_owned())]);
            if let Some(extra) = annotations.get("extra") {
                data.insert("extra".to_owned(), extra.clone());
            }
            desired.apply(namespace, name, &map(data));
        }
        if let Some(elsewhere) = annotations.get("elsewhere") {
            desired.apply(elsewhere, "there", &map(BTreeMap::new()));
        }
        let target = &subject.spec.target.name;
        desired.generate(namespace, target, Generated::credentials("trial"));
        if annotations.contains_key("for-a-while") {
            let brief = Generated {
                retention: Retention::WhileWanted,
                ..Generated::credentials("brief")
            };
            desired.generate(namespace, "brief", brief);
        }
        let has_password = |secret: Secret| {
            secret
                .data
                .is_some_and(|data| data.contains_key("password"))
        };
        let made = match observed
            .get::<Secret>(namespace, target)
            .map(|secret| has_password(secret.body))
        {
            Lookup::Found(true) => Progress::Ready,
            Lookup::Found(false) => Progress::failed(
                Reason::InvalidSecret,
                format!("Secret {target} has no password"),
            ),
            Lookup::Missing => Progress::waiting(
                Reason::WaitingFor("Secret"),
                format!("waits for Secret {target}"),
            ),
            Lookup::Unknown(message) => Progress::Unknown { message },
        };
        desired.conditions.set("SourcesResolved", &made);
        if annotations.contains_key("deployment") {
            desired.apply(namespace, "deployed", &deployment()?);
        }
        if let Some(text) = annotations.get("late") {
            desired.apply(
                namespace,
                "late",
                &Late {
                    spec: LateSpec { text: text.clone() },
                },
            );
        }
        if let Some(query) = annotations.get("asks") {
            let outside = |content: &str| ExternalRequest {
                system: "trial",
                content: content.to_owned(),
            };
            let progress = match observed.external(outside(query)) {
                Lookup::Found(answer) if *answer == "done" => Progress::Ready,
                Lookup::Found(_) => {
                    desired.call(outside("do"));
                    Progress::waiting(Reason::Waiting, "calls trial")
                }
                Lookup::Missing => Progress::waiting(Reason::Waiting, "trial knows nothing"),
                Lookup::Unknown(message) => Progress::Unknown { message },
            };
            desired.conditions.set("TrialReady", &progress);
        }
        Ok(SecretAggregateStatus::default())
    }
}

fn map(data: BTreeMap<String, String>) -> ConfigMap {
    ConfigMap {
        data: Some(data),
        ..ConfigMap::default()
    }
}

/// With quantities and ports that the API server writes in its own way.
fn deployment() -> Result<Deployment, Failure> {
    let deployment = json!({
        "spec": {
            "replicas": 1,
            "selector": { "matchLabels": { "app": "deployed" } },
            "template": {
                "metadata": { "labels": { "app": "deployed" } },
                "spec": {
                    "volumes": [{ "name": "tmp", "emptyDir": {} }],
                    "containers": [{
                        "name": "main",
                        "image": "main:1",
                        "ports": [{ "containerPort": 80 }],
                        "resources": { "requests": { "cpu": "1000m", "memory": "1024Mi" } },
                        "volumeMounts": [{ "name": "tmp", "mountPath": "/tmp" }],
                    }],
                },
            },
        },
    });
    serde_json::from_value(deployment)
        .map_err(|error| Failure::new(Reason::InternalError, error.to_string()))
}
