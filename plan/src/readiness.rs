//! Whether an object is ready, by the status that its operator writes.

use c5c3_api::Condition;
use c5c3_kinds::rabbitmq;
use serde::Deserialize;
use serde_json::Value;

use crate::manifest::Manifest;

/// The readiness of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It is there and serves.
    Ready,
    /// Not yet, with the message of its operator; empty where it has none.
    Waiting(String),
}

impl Readiness {
    /// Whether it serves.
    pub fn is_ready(&self) -> bool {
        *self == Self::Ready
    }
}

/// Groups whose objects are ready once they exist.
const AT_ONCE: [&str; 5] = [
    "",
    "monitoring.coreos.com",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
];

/// Whether an object serves. What its operator said of an earlier generation doesn't count, and what is being deleted
/// doesn't serve.
pub fn readiness(manifest: &Manifest) -> Readiness {
    match (said_of(manifest), leaving(manifest)) {
        (Readiness::Waiting(why), _) if !why.is_empty() => Readiness::Waiting(why),
        (_, Some(leaving)) => Readiness::Waiting(leaving),
        (readiness, None) => readiness,
    }
}

/// The finalizers of an object that is being deleted; empty where it isn't being deleted.
fn leaving(manifest: &Manifest) -> Option<String> {
    let metadata = &manifest.value()["metadata"];
    metadata["deletionTimestamp"].as_str()?;
    let finalizers = metadata["finalizers"].as_array().into_iter().flatten();
    let finalizers: Vec<&str> = finalizers.filter_map(Value::as_str).collect();
    Some(match finalizers.as_slice() {
        [] => "is being deleted".to_owned(),
        finalizers => format!("is being deleted, held by {}", finalizers.join(", ")),
    })
}

fn said_of(manifest: &Manifest) -> Readiness {
    match (manifest.group(), manifest.kind()) {
        ("networking.k8s.io", "Ingress") => ingress(manifest),
        (group, _) if AT_ONCE.contains(&group) => Readiness::Ready,
        ("apps", "StatefulSet" | "Deployment") => {
            let replicas = manifest.spec()["replicas"].as_u64().unwrap_or(1);
            pods(manifest, "readyReplicas", replicas)
        }
        ("apps", "DaemonSet") => {
            let wanted = manifest.status()["desiredNumberScheduled"].as_u64();
            pods(manifest, "numberReady", wanted.unwrap_or_default())
        }
        // The condition BackedUp of the ControlPlane or OVNCluster reports whether its Jobs succeed.
        ("batch", "CronJob") | ("k8s.mariadb.com", "Backup") => Readiness::Ready,
        ("batch", _) => all(manifest, &["Complete"]),
        ("rabbitmq.com", "RabbitmqCluster") => all(manifest, &rabbitmq::READY),
        ("cache.cs.sap.com", _) => state(manifest),
        ("gateway.networking.k8s.io", "BackendTLSPolicy") => Readiness::Ready,
        ("gateway.networking.k8s.io", "Gateway") => all(manifest, &["Programmed"]),
        ("gateway.networking.k8s.io", _) => route(manifest),
        ("openstack.k-orc.cloud", _) => all(manifest, &["Available"]),
        ("ceph.rook.io", _) => match manifest.text("/status/phase") {
            "Ready" => Readiness::Ready,
            phase => Readiness::Waiting(phase.to_owned()),
        },
        _ => all(manifest, &["Ready"]),
    }
}

/// The conditions of an object, as far as they can be understood.
pub fn conditions(manifest: &Manifest) -> Vec<Condition> {
    conditions_of(manifest.status())
}

fn conditions_of(status: &Value) -> Vec<Condition> {
    let conditions = status["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .filter_map(|condition| Condition::deserialize(condition).ok())
        .collect()
}

fn pods(manifest: &Manifest, field: &str, wanted: u64) -> Readiness {
    let ready = manifest.status()[field].as_u64().unwrap_or_default();
    let seen = manifest.status()["observedGeneration"].as_i64();
    if is_stale(manifest, seen) || manifest.status().is_null() {
        return Readiness::Waiting(String::new());
    }
    match ready >= wanted {
        true => Readiness::Ready,
        false => Readiness::Waiting(format!("{ready} of {wanted} pods are ready")),
    }
}

/// The controller of an Ingress writes its address into the status once it serves the Ingress.
fn ingress(manifest: &Manifest) -> Readiness {
    let addresses = manifest.status()["loadBalancer"]["ingress"].as_array();
    match addresses.is_some_and(|addresses| !addresses.is_empty()) {
        true => Readiness::Ready,
        false => Readiness::Waiting("status.loadBalancer.ingress is empty".to_owned()),
    }
}

/// Each Gateway that a route names says whether it accepts the route and has resolved its references. One is enough.
fn route(manifest: &Manifest) -> Readiness {
    let parents = manifest.status()["parents"].as_array();
    let mut each = parents.into_iter().flatten().map(|parent| {
        let conditions = conditions_of(parent);
        are_true(manifest, &conditions, &["Accepted", "ResolvedRefs"])
    });
    let first = each.next().unwrap_or(Readiness::Waiting(String::new()));
    match first.is_ready() || each.any(|parent| parent.is_ready()) {
        true => Readiness::Ready,
        false => first,
    }
}

/// SAP's operators say in one word how an object is.
fn state(manifest: &Manifest) -> Readiness {
    let seen = manifest.status()["observedGeneration"].as_i64();
    match manifest.text("/status/state") {
        _ if is_stale(manifest, seen) => Readiness::Waiting(String::new()),
        "Ready" => Readiness::Ready,
        state => Readiness::Waiting(state.to_owned()),
    }
}

fn all(manifest: &Manifest, types: &[&str]) -> Readiness {
    are_true(manifest, &conditions(manifest), types)
}

/// Whether conditions that are for the present generation of an object are True.
fn are_true(manifest: &Manifest, conditions: &[Condition], types: &[&str]) -> Readiness {
    for type_ in types {
        let condition = conditions
            .iter()
            .find(|condition| condition.type_ == *type_);
        let Some(condition) = condition else {
            return Readiness::Waiting(String::new());
        };
        if is_stale(manifest, condition.observed_generation) {
            return Readiness::Waiting(String::new());
        }
        if condition.status != "True" {
            return Readiness::Waiting(said(condition));
        }
    }
    Readiness::Ready
}

/// The message of a condition, or its reason where it has none.
fn said(condition: &Condition) -> String {
    match (condition.reason.as_str(), condition.message.as_str()) {
        (reason, "") => reason.to_owned(),
        (_, message) => message.to_owned(),
    }
}

fn is_stale(manifest: &Manifest, observed: Option<i64>) -> bool {
    let generation = manifest.value()["metadata"]["generation"].as_i64();
    observed.is_some() && observed < generation
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(api_version: &str, kind: &str, status: Value) -> Readiness {
        let object = json!({
            "apiVersion": api_version, "kind": kind, "metadata": { "name": "a", "generation": 2 },
            "spec": { "replicas": 3 }, "status": status,
        });
        readiness(&Manifest::try_from(object).unwrap())
    }

    #[test]
    fn each_kind_says_in_its_own_way_that_it_serves() {
        let holds = |types: &[&str]| {
            let conditions: Vec<Value> = types
                .iter()
                .map(|type_| json!({ "type": type_, "status": "True" }))
                .collect();
            json!({ "conditions": conditions })
        };
        for (api_version, kind, status) in [
            ("v1", "Secret", Value::Null),
            ("apps/v1", "StatefulSet", json!({ "readyReplicas": 3 })),
            (
                "rabbitmq.com/v1beta1",
                "RabbitmqCluster",
                holds(&rabbitmq::READY),
            ),
            (
                "cache.cs.sap.com/v1alpha1",
                "Valkey",
                json!({ "state": "Ready", "observedGeneration": 2 }),
            ),
            (
                "gateway.networking.k8s.io/v1",
                "HTTPRoute",
                json!({ "parents": [holds(&[]), holds(&["Accepted", "ResolvedRefs"])] }),
            ),
            (
                "gateway.networking.k8s.io/v1",
                "Gateway",
                holds(&["Programmed"]),
            ),
            (
                "networking.k8s.io/v1",
                "Ingress",
                json!({ "loadBalancer": { "ingress": [{ "ip": "192.0.2.1" }] } }),
            ),
            ("networking.k8s.io/v1", "NetworkPolicy", Value::Null),
            (
                "openstack.k-orc.cloud/v1alpha1",
                "Role",
                holds(&["Available"]),
            ),
            (
                "keystone.openstack.c5c3.io/v1alpha1",
                "Keystone",
                holds(&["Ready"]),
            ),
        ] {
            assert_eq!(
                object(api_version, kind, status),
                Readiness::Ready,
                "{kind}"
            );
        }
        let waiting = |why: &str| Readiness::Waiting(why.to_owned());
        let route = json!({ "parents": [holds(&["Accepted"])] });
        assert_eq!(
            object("gateway.networking.k8s.io/v1", "HTTPRoute", route),
            waiting("")
        );
        assert_eq!(
            object("networking.k8s.io/v1", "Ingress", Value::Null),
            waiting("status.loadBalancer.ingress is empty")
        );
        let half = json!({ "readyReplicas": 1 });
        assert_eq!(
            object("apps/v1", "StatefulSet", half),
            waiting("1 of 3 pods are ready")
        );
        let half = holds(&rabbitmq::READY[..1]);
        assert_eq!(
            object("rabbitmq.com/v1beta1", "RabbitmqCluster", half),
            waiting("")
        );
        let state = |state: &str, seen: u64| {
            let status = json!({ "state": state, "observedGeneration": seen });
            object("cache.cs.sap.com/v1alpha1", "Valkey", status)
        };
        assert_eq!(state("Processing", 2), waiting("Processing"));
        assert_eq!(state("Ready", 1), waiting(""));
    }

    #[test]
    fn what_is_being_deleted_says_who_holds_it() {
        let leaving = |finalizers: Value, ready: &str, message: &str| {
            let object = json!({
                "apiVersion": "k8s.mariadb.com/v1alpha1", "kind": "MariaDB",
                "metadata": {
                    "name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": finalizers,
                },
                "status": { "conditions": [{ "type": "Ready", "status": ready, "message": message }] },
            });
            readiness(&Manifest::try_from(object).unwrap())
        };
        let waiting = |why: &str| Readiness::Waiting(why.to_owned());
        assert_eq!(
            leaving(json!(["a/b", "c/d"]), "True", ""),
            waiting("is being deleted, held by a/b, c/d")
        );
        assert_eq!(leaving(json!([]), "False", ""), waiting("is being deleted"));
        assert_eq!(
            leaving(json!(["a/b"]), "False", "backup first"),
            waiting("backup first")
        );
    }

    #[test]
    fn what_was_said_of_an_earlier_generation_does_not_count() {
        let said = |generation: i64| json!({ "conditions": [{ "type": "Ready", "status": "True", "observedGeneration": generation }] });
        assert!(object("c5c3.io/v1alpha1", "ControlPlane", said(2)).is_ready());
        assert!(!object("c5c3.io/v1alpha1", "ControlPlane", said(1)).is_ready());
    }
}
