//! What the API server asks before it binds a pod to a node
//! (<https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#request>).

use serde::Deserialize;
use serde_json::{Value, json};

use crate::state::PodName;

/// A question of the API server.
#[derive(Debug, Deserialize)]
pub struct Review {
    #[serde(rename = "apiVersion")]
    api_version: String,
    request: Request,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    uid: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    dry_run: bool,
    object: Option<Binding>,
}

#[derive(Debug, Deserialize)]
struct Binding {
    #[serde(default)]
    metadata: Metadata,
    target: Target,
}

#[derive(Debug, Default, Deserialize)]
struct Metadata {
    uid: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Target {
    #[serde(default)]
    kind: String,
    name: String,
}

/// A pod that is about to be bound to a node.
#[derive(Debug, PartialEq, Eq)]
pub struct Bound {
    /// The pod.
    pub pod: PodName,
    /// Its UID, where the scheduler gives it.
    pub uid: Option<String>,
    /// The node.
    pub node: String,
}

impl Review {
    /// What is bound; none in a dry run, or where it isn't a pod to a node.
    pub fn bound(&self) -> Option<Bound> {
        let request = &self.request;
        let binding = request.object.as_ref().filter(|_| !request.dry_run)?;
        let target = &binding.target;
        let is_node = ["", "Node"].contains(&target.kind.as_str());
        let is_named = is_name(&request.namespace) && is_name(&request.name);
        (is_node && is_named).then(|| Bound {
            pod: PodName {
                namespace: request.namespace.clone(),
                name: request.name.clone(),
            },
            uid: binding.metadata.uid.clone(),
            node: target.name.clone(),
        })
    }

    /// The response: the binding is always allowed.
    pub fn allow(self) -> Value {
        json!({
            "apiVersion": self.api_version,
            "kind": "AdmissionReview",
            "response": { "uid": self.request.uid, "allowed": true },
        })
    }
}

/// Whether an object may have this name. Names become parts of a URL, and whoever reaches the webhook chooses them.
fn is_name(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= 253
        && text.bytes().next().is_some_and(is_letter)
        && text
            .bytes()
            .all(|byte| is_letter(byte) || byte == b'-' || byte == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn review(change: impl FnOnce(&mut Value)) -> Review {
        let mut review = json!({
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": "review", "namespace": "default", "name": "web", "subResource": "binding", "dryRun": false,
                "object": {
                    "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "web", "uid": "pod"},
                    "target": {"kind": "Node", "name": "n1"},
                },
            },
        });
        change(&mut review["request"]);
        serde_json::from_value(review).unwrap()
    }

    #[test]
    fn binding_names_pod_and_node_and_is_allowed() {
        let review = review(|_| {});
        let bound = review.bound().unwrap();
        assert_eq!(bound.pod.namespace, "default");
        assert_eq!(bound.pod.name, "web");
        assert_eq!(bound.uid.as_deref(), Some("pod"));
        assert_eq!(bound.node, "n1");
        assert_eq!(
            review.allow(),
            json!({
                "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                "response": {"uid": "review", "allowed": true},
            })
        );
    }

    #[test]
    fn names_that_lead_elsewhere_in_the_api_change_nothing() {
        for name in [
            "",
            "web/status",
            "web?x=y",
            "..",
            "../..",
            "web#",
            "WEB",
            "%2e",
        ] {
            assert_eq!(
                review(|request| request["name"] = json!(name)).bound(),
                None
            );
            let namespace = |request: &mut Value| request["namespace"] = json!(name);
            assert_eq!(review(namespace).bound(), None, "{name}");
        }
    }

    #[test]
    fn dry_run_and_other_targets_change_nothing() {
        assert_eq!(
            review(|request| request["dryRun"] = json!(true)).bound(),
            None
        );
        let other = |request: &mut Value| request["object"]["target"]["kind"] = json!("Machine");
        assert_eq!(review(other).bound(), None);
        assert_eq!(
            review(|request| request["object"] = Value::Null).bound(),
            None
        );
    }
}
