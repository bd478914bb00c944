//! Kubernetes, databases, message bus and caches.

use provider_composer::GeneratedValue;
use provider_openstack::{TEMPEST, in_cluster};
use serde_json::{Value, json};

use super::condition;
use crate::manifest::Manifest;
use crate::placeholder;
use crate::store::Key;

pub fn kubernetes(_: &Key, manifest: &Manifest) -> Value {
    match manifest.kind() {
        "Namespace" => json!({ "phase": "Active" }),
        "Pod" => json!({ "phase": "Succeeded", "containerStatuses": [{
            "name": "tests", "image": "", "imageID": "", "ready": false, "restartCount": 0,
            "state": { "terminated": {
                "exitCode": 0, "finishedAt": "2026-01-01T00:00:00Z", "message": r#"{"passed": 100, "cleaned": true}"#,
            } },
        }] }),
        "Service" if manifest.spec()["type"] == "LoadBalancer" => load_balancer(),
        _ => Value::Null,
    }
}

/// Ingresses that a controller serves.
pub fn ingress(_: &Key, manifest: &Manifest) -> Value {
    match manifest.kind() {
        "Ingress" => load_balancer(),
        _ => Value::Null,
    }
}

/// A status with the address that a controller assigns: one for documentation (RFC 5737).
fn load_balancer() -> Value {
    json!({ "loadBalancer": { "ingress": [{ "ip": "192.0.2.1" }] } })
}

/// Deployments and StatefulSets with every pod ready, Jobs that are done.
pub fn workloads(_: &Key, manifest: &Manifest) -> Value {
    let generation = &manifest.value()["metadata"]["generation"];
    let replicas = manifest.spec()["replicas"].as_u64().unwrap_or(1);
    match manifest.kind() {
        "Job" => {
            json!({ "succeeded": 1, "conditions": [condition("Complete", "CompletionsReached")] })
        }
        "Deployment" => json!({
            "observedGeneration": generation,
            "replicas": replicas,
            "readyReplicas": replicas,
            "updatedReplicas": replicas,
            "availableReplicas": replicas,
            "conditions": [condition("Available", "MinimumReplicasAvailable")],
        }),
        "StatefulSet" => json!({
            "observedGeneration": generation,
            "replicas": replicas,
            "readyReplicas": replicas,
            "updatedReplicas": replicas,
            "currentReplicas": replicas,
            "availableReplicas": replicas,
        }),
        _ => Value::Null,
    }
}

/// Gateways that serve, and routes that they accept.
pub fn gateway(_: &Key, manifest: &Manifest) -> Value {
    let conditions = |types: &[&str]| -> Vec<Value> {
        let each = types.iter().map(|type_| {
            let mut condition = condition(type_, type_);
            condition["message"] = "".into();
            condition["lastTransitionTime"] = "2026-01-01T00:00:00Z".into();
            condition
        });
        each.collect()
    };
    match manifest.kind() {
        "Gateway" => json!({ "conditions": conditions(&["Accepted", "Programmed"]) }),
        "HTTPRoute" => {
            let conditions = conditions(&["Accepted", "ResolvedRefs"]);
            let parents = manifest.spec()["parentRefs"].as_array();
            let parents = parents.into_iter().flatten().map(|parent| {
                json!({
                    "parentRef": parent, "controllerName": "example.com/gateways",
                    "conditions": conditions,
                })
            });
            json!({ "parents": parents.collect::<Vec<_>>() })
        }
        _ => Value::Null,
    }
}

/// The Gateways that a route names: a site has them, and nobody gives them to a plan.
pub fn of_routes(manifest: &Manifest, _: &dyn Fn(&str) -> Option<Value>) -> Vec<Value> {
    let parents = manifest.spec()["parentRefs"].as_array();
    let parents = parents.into_iter().flatten().map(|parent| {
        let namespace = parent["namespace"].as_str();
        json!({
            "apiVersion": manifest.api_version(), "kind": "Gateway",
            "metadata": { "name": parent["name"], "namespace": namespace.unwrap_or(manifest.namespace()) },
        })
    });
    parents.collect()
}

/// The Pod of a Job that runs tests, which pass.
pub fn of_workloads(manifest: &Manifest, _: &dyn Fn(&str) -> Option<Value>) -> Vec<Value> {
    let pod = &manifest.spec()["template"]["metadata"]["labels"];
    let is_tempest = pod["app.kubernetes.io/name"] == TEMPEST.name;
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": manifest.name(), "namespace": manifest.namespace(), "labels": pod },
    });
    (manifest.kind() == "Job" && is_tempest)
        .then_some(pod)
        .into_iter()
        .collect()
}

/// Servers, databases, users and grants (mariadb-operator 0.38).
pub fn mariadb(_: &Key, manifest: &Manifest) -> Value {
    let replicas = manifest.spec()["replicas"].as_u64().unwrap_or(1);
    match manifest.kind() {
        "MariaDB" => json!({
            "replicas": replicas,
            "currentPrimary": format!("{}-0", manifest.name()),
            "conditions": [condition("Ready", "StatefulSetReady")],
        }),
        _ => json!({ "conditions": [condition("Ready", "Created")] }),
    }
}

/// The root password, where MariaDB's operator draws it.
pub fn of_mariadb(manifest: &Manifest, _: &dyn Fn(&str) -> Option<Value>) -> Vec<Value> {
    let spec = manifest.spec();
    if manifest.kind() != "MariaDB" {
        return Vec::new();
    }
    let (namespace, server) = (manifest.namespace(), manifest.name());
    let root = &spec["rootPasswordSecretKeyRef"];
    let generated = (root["generate"] != false).then(|| {
        let usual = format!("{server}-root");
        let name = root["name"].as_str().unwrap_or(&usual);
        drawn(
            namespace,
            name,
            &[root["key"].as_str().unwrap_or("password")],
            &[],
        )
    });
    let bundle = (spec["tls"]["enabled"] == true)
        .then(|| drawn(namespace, &format!("{server}-ca-bundle"), &["ca.crt"], &[]));
    generated.into_iter().chain(bundle).collect()
}

/// Clusters (cluster-operator 2.16), and what is made in them (messaging-topology-operator 1.14).
pub fn rabbitmq(_: &Key, manifest: &Manifest) -> Value {
    let generation = &manifest.value()["metadata"]["generation"];
    let credentials = match manifest.kind() {
        "RabbitmqCluster" => {
            let secret = format!("{}-default-user", manifest.name());
            return json!({
                "observedGeneration": generation,
                "binding": { "name": secret },
                "defaultUser": {
                    "secretReference": { "name": secret, "namespace": manifest.namespace() },
                    "serviceReference": { "name": manifest.name(), "namespace": manifest.namespace() },
                },
                "conditions": [
                    condition("AllReplicasReady", "AllPodsAreReady"),
                    condition("ClusterAvailable", "AtLeastOneEndpointAvailable"),
                    condition("ReconcileSuccess", "Success"),
                ],
            });
        }
        "User" => json!({ "name": format!("{}-user-credentials", manifest.name()) }),
        _ => Value::Null,
    };
    json!({
        "observedGeneration": generation,
        "credentials": credentials,
        "conditions": [condition("Ready", "SuccessfulCreateOrUpdate")],
    })
}

/// The credentials of the first user of a cluster, and those that each user imports.
pub fn of_rabbitmq(manifest: &Manifest, beside: &dyn Fn(&str) -> Option<Value>) -> Vec<Value> {
    let namespace = manifest.namespace();
    match manifest.kind() {
        "RabbitmqCluster" => {
            let host = format!("{}.{namespace}.svc", manifest.name());
            let known = [
                ("host", host.as_str()),
                ("port", "5672"),
                ("type", "rabbitmq"),
            ];
            let name = format!("{}-default-user", manifest.name());
            vec![drawn(namespace, &name, &["username", "password"], &known)]
        }
        "User" => {
            let name = format!("{}-user-credentials", manifest.name());
            let imported = manifest.spec()["importCredentialsSecret"]["name"].as_str();
            match imported {
                None => vec![drawn(namespace, &name, &["username", "password"], &[])],
                Some(imported) => beside(imported)
                    .map(|mut secret| {
                        secret["metadata"] = json!({ "namespace": namespace, "name": name });
                        secret
                    })
                    .into_iter()
                    .collect(),
            }
        }
        _ => Vec::new(),
    }
}

/// Caches (SAP's valkey-operator 0.1).
pub fn valkey(_: &Key, manifest: &Manifest) -> Value {
    json!({
        "state": "Ready",
        "observedGeneration": manifest.value()["metadata"]["generation"],
        "conditions": [condition("Ready", "Ready")],
    })
}

/// A cache's password, and how it is reached.
pub fn of_valkey(manifest: &Manifest, _: &dyn Fn(&str) -> Option<Value>) -> Vec<Value> {
    let (namespace, name) = (manifest.namespace(), manifest.name());
    let sentinel = manifest.spec()["sentinel"]["enabled"] == true;
    let service = match sentinel {
        true => format!("valkey-{name}"),
        false => format!("valkey-{name}-primary"),
    };
    let host = in_cluster(&service, namespace);
    let known = match sentinel {
        true => [("host", host.as_str()), ("port", "6379")],
        false => [("primaryHost", host.as_str()), ("primaryPort", "6379")],
    };
    let usual = format!("valkey-{name}-binding");
    let binding = manifest.spec()["binding"]["secretName"].as_str();
    vec![
        drawn(
            namespace,
            &format!("valkey-{name}"),
            &["valkey-password"],
            &[],
        ),
        drawn(namespace, binding.unwrap_or(&usual), &["password"], &known),
    ]
}

/// A Secret with placeholders for what an operator draws, and with what is known.
pub(super) fn drawn(namespace: &str, name: &str, drawn: &[&str], known: &[(&str, &str)]) -> Value {
    let drawn = drawn
        .iter()
        .map(|key| ((*key).to_owned(), GeneratedValue::Password(24)));
    let known = known
        .iter()
        .map(|(key, text)| ((*key).to_owned(), GeneratedValue::Text((*text).to_owned())));
    placeholder::secret(namespace, name, &drawn.chain(known).collect())
}
