//! What is left of a claim that is being deleted, or that is gone: unless a claim is deleted in the foreground, Crossplane 2 deletes it at
//! once, and its Objects afterwards.

use std::fmt;

use c5c3_plan::{Key, Manifest, Readiness, conditions, readiness};
use serde_json::json;

use super::deleted::{GONE, OBJECTS, claim_kind, claim_name, data, drain, is_deleted};
use super::{HERE, Selection, Snapshot};
use crate::cluster::Cluster;

/// An object in another cluster that is left of a claim.
pub(crate) struct Left<'a> {
    /// The cluster.
    pub cluster: &'a str,
    /// The object, as it was composed.
    pub object: Manifest,
    /// What its deletion waits for; none where it isn't being deleted.
    pub message: Option<String>,
}

impl fmt::Display for Left<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} in {}", self.object.title(), self.cluster)
    }
}

impl Snapshot {
    /// Adds the selected claims that aren't there and of which Objects are left, with these.
    pub(super) fn insert_gone(&mut self, objects: Vec<Manifest>, selection: &Selection) {
        let left = objects.into_iter().filter_map(|object| {
            let claim = gone(&object)?;
            let is_there = self.0.contains_key(&Key::of(HERE, &claim));
            (!is_there && selection.picks(&claim)).then_some([claim, object])
        });
        let left: Vec<[Manifest; 2]> = left.collect();
        for manifest in left.into_iter().flatten() {
            self.insert(manifest);
        }
    }

    /// The objects of a claim that is being deleted, or gone, but for those of [`drains`](Self::drains) and [`data`](Self::data).
    pub(crate) fn left<'a>(&'a self, claim: &'a Manifest) -> Vec<Left<'a>> {
        let objects = self.objects(claim);
        let others = objects.filter(|object| drain(object).is_none() && data(object).is_none());
        others.filter_map(left).collect()
    }

    /// What each of these objects waits for, and which of them aren't being deleted.
    pub(super) fn remains(&self, claim: &Manifest) -> Vec<String> {
        let (mut lines, mut others) = (Vec::new(), Vec::new());
        for left in self.left(claim) {
            match &left.message {
                Some(message) => lines.push(format!("{left}: {message}")),
                None => others.push(left.to_string()),
            }
        }
        if !others.is_empty() {
            let title = match self.objects(claim).any(is_deleted) {
                true => "Deleted afterwards",
                false => "Not being deleted",
            };
            lines.push(format!("{title}: {}", others.join(", ")));
        }
        lines
    }
}

/// The metadata of the Objects of all claims, or of those of a name, by which claims that are gone are found. They are read before the
/// claims: one that is created meanwhile isn't taken for gone. Whoever may not list Objects sees none.
pub(super) async fn objects_of_claims(cluster: &Cluster, selection: &Selection) -> Vec<Manifest> {
    let name = selection.name.as_deref();
    let name = name.map(|name| name.rsplit('/').next().unwrap_or_default());
    let mut objects = Vec::new();
    for (kind, label) in OBJECTS.into_iter().zip(["claim-name", "composite"]) {
        let label = format!("crossplane.io/{label}");
        let selector = match name {
            Some(name) => format!("{label}={name}"),
            None => label,
        };
        let found = cluster
            .list_metadata(&kind.api_version(), kind.kind, &selector)
            .await;
        objects.extend(found.unwrap_or_default());
    }
    objects
}

/// The claim that an Object was composed for, as if it were gone.
fn gone(object: &Manifest) -> Option<Manifest> {
    let kind = claim_kind(object)?;
    let (namespace, name) = claim_name(object)?;
    let claim = json!({
        "apiVersion": kind.api_version(),
        "kind": kind.name(),
        "metadata": { "namespace": namespace, "name": name },
        "status": { "phase": GONE },
    });
    Manifest::try_from(claim).ok()
}

fn left(object: &Manifest) -> Option<Left<'_>> {
    let composed = object.spec()["forProvider"]["manifest"].clone();
    Some(Left {
        cluster: object.text("/spec/providerConfigRef/name"),
        object: Manifest::try_from(composed).ok()?,
        message: is_deleted(object).then(|| pending(object)),
    })
}

/// What the deletion of an Object waits for: why provider-kubernetes can't go on, or what the object in the other cluster reports.
fn pending(object: &Manifest) -> String {
    let mut known = conditions(object).into_iter();
    let failed = known.find(|known| known.type_ == "Synced" && known.status == "False");
    if let Some(failed) = failed.filter(|failed| !failed.message.is_empty()) {
        return failed.message;
    }
    let observed = object.status()["atProvider"]["manifest"].clone();
    let observed = Manifest::try_from(observed).ok();
    let reported = observed.as_ref().and_then(reported);
    reported.unwrap_or_else(|| "is being deleted".to_owned())
}

/// What an object that is being deleted reports. Of a namespace, these are conditions that are True while something is in it.
fn reported(observed: &Manifest) -> Option<String> {
    let held = conditions(observed).into_iter().filter(|known| {
        observed.kind() == "Namespace" && known.status == "True" && !known.message.is_empty()
    });
    let held: Vec<String> = held.map(|known| known.message).collect();
    match (held.is_empty(), readiness(observed)) {
        (false, _) => Some(held.join("; ")),
        (true, Readiness::Waiting(why)) if !why.is_empty() => Some(why),
        (true, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use c5c3_plan::Page;
    use http::{Request, Response};
    use kube::Client;
    use kube::client::Body;
    use serde_json::Value;
    use tower::service_fn;

    use super::*;

    fn named(name: &str) -> Selection {
        Selection {
            name: Some(name.to_owned()),
            namespace: None,
        }
    }

    /// An Object of the claim `cloud` for an object, which is so in its own cluster.
    fn object(composed: Value, observed: Value, is_deleted: bool) -> Value {
        let mut object = json!({
            "apiVersion": "kubernetes.m.crossplane.io/v1alpha1",
            "kind": "Object",
            "metadata": {
                "name": format!("cloud-{}", composed["kind"].as_str().unwrap().to_lowercase()),
                "namespace": "tenant",
                "labels": { "crossplane.io/composite": "cloud" },
                "ownerReferences": [{
                    "apiVersion": "c5c3.io/v1alpha1", "kind": "OpenStackCluster", "name": "cloud", "controller": true,
                }],
            },
            "spec": {
                "forProvider": { "manifest": composed },
                "providerConfigRef": { "name": "control-planes" },
            },
            "status": { "atProvider": { "manifest": observed } },
        });
        if is_deleted {
            object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        object
    }

    fn kind(api_version: &str, kind: &str, status: Value) -> Value {
        json!({
            "apiVersion": api_version, "kind": kind, "metadata": { "name": "cloud" }, "status": status,
        })
    }

    fn control_plane(is_deleted: bool) -> Value {
        let status = json!({ "conditions": [{
            "type": "Ready", "status": "False", "reason": "Deleting", "message": "left: Nova nova",
        }] });
        let control_plane = |status| kind("c5c3.io/v1alpha1", "ControlPlane", status);
        object(
            control_plane(Value::Null),
            control_plane(status),
            is_deleted,
        )
    }

    fn namespace(status: Value, is_deleted: bool) -> Value {
        let namespace = |status| kind("v1", "Namespace", status);
        object(namespace(Value::Null), namespace(status), is_deleted)
    }

    fn share() -> Value {
        let status = json!({ "conditions": [{
            "type": "NodesDrained", "status": "False", "message": "servers left: 3",
        }] });
        let share = |status| kind("hypervisor.c5c3.io/v1alpha1", "HypervisorShare", status);
        object(share(Value::Null), share(status), true)
    }

    fn manifest(object: Value) -> Manifest {
        Manifest::try_from(object).unwrap()
    }

    /// What is seen of these Objects where there is no claim.
    fn snapshot(objects: Vec<Value>) -> Snapshot {
        let mut snapshot = Snapshot::default();
        let objects = objects.into_iter().map(manifest);
        snapshot.insert_gone(objects.collect(), &named("cloud"));
        snapshot
    }

    /// What is left of the claim.
    fn remains(snapshot: &Snapshot) -> Vec<String> {
        let selection = named("tenant/cloud");
        let claim = snapshot.claims(&selection).next();
        claim.map_or_else(Vec::new, |claim| snapshot.remains(claim))
    }

    #[test]
    fn claim_that_is_gone_shows_what_is_deleted_and_what_follows() {
        let objects = vec![control_plane(true), namespace(json!({}), false), share()];
        let snapshot = snapshot(objects);
        assert!(snapshot.has(&named("cloud")));
        assert_eq!(
            remains(&snapshot),
            [
                "ControlPlane cloud in control-planes: left: Nova nova",
                "Deleted afterwards: Namespace cloud in control-planes",
            ]
        );
        let tree = snapshot.tree(&named("cloud"), Page::PLAIN);
        let first = "○ OpenStackCluster tenant/cloud: Deleted\n├─ Nodes of control-planes: servers left: 3\n";
        assert!(tree.starts_with(first), "{tree}");

        let json = snapshot.json(&named("cloud"))[0].clone();
        let message = "the claim is deleted, and objects that were composed for it are left";
        assert_eq!(json["message"], message);
        assert_eq!(json["drains"][0]["message"], "servers left: 3");
        let left = |kind: &str, message: Value| {
            json!({
                "cluster": "control-planes", "kind": kind, "namespace": "", "name": "cloud", "message": message,
            })
        };
        let expected = [
            left("ControlPlane", json!("left: Nova nova")),
            left("Namespace", Value::Null),
        ];
        assert_eq!(json["left"], json!(expected));
    }

    #[test]
    fn claim_of_crossplane_1_that_is_gone_is_shown_too() {
        let mut object = control_plane(true);
        object["apiVersion"] = json!("kubernetes.crossplane.io/v1alpha2");
        object["metadata"]["labels"] = json!({
            "crossplane.io/claim-name": "cloud", "crossplane.io/claim-namespace": "tenant",
        });
        object["metadata"]["ownerReferences"][0]["kind"] = json!("XOpenStackCluster");
        let line = "ControlPlane cloud in control-planes: left: Nova nova";
        assert_eq!(remains(&snapshot(vec![object])), [line]);
    }

    #[test]
    fn claim_that_is_deleted_in_the_foreground_shows_what_is_left_too() {
        let mut claim = kind("c5c3.io/v1alpha1", "OpenStackCluster", json!({}));
        claim["metadata"]["namespace"] = json!("tenant");
        claim["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let mut snapshot = Snapshot::default();
        for object in [claim, control_plane(true)] {
            snapshot.insert(manifest(object));
        }
        let line = "ControlPlane cloud in control-planes: left: Nova nova";
        assert_eq!(remains(&snapshot), [line]);
    }

    #[test]
    fn object_that_is_left_says_why_it_cannot_be_deleted() {
        let mut unreachable = control_plane(true);
        unreachable["status"]["conditions"] = json!([{
            "type": "Synced", "status": "False", "message": "connect failed: no route to host",
        }]);
        let held = json!({ "conditions": [
            { "type": "NamespaceContentRemaining", "status": "True", "message": "1 pod remains" },
            { "type": "NamespaceDeletionContentFailure", "status": "False", "message": "all is deleted" },
        ] });
        let snapshot = snapshot(vec![unreachable, namespace(held, true)]);
        assert_eq!(
            remains(&snapshot),
            [
                "ControlPlane cloud in control-planes: connect failed: no route to host",
                "Namespace cloud in control-planes: 1 pod remains",
            ]
        );
        let quiet = self::snapshot(vec![namespace(json!({}), true)]);
        let line = "Namespace cloud in control-planes: is being deleted";
        assert_eq!(remains(&quiet), [line]);
    }

    /// A cluster that serves namespaced Objects alone, and writes down what it is asked.
    fn management(object: Value, asked: &Arc<Mutex<Vec<String>>>) -> Cluster {
        let asked = Arc::clone(asked);
        let answer = move |request: Request<Body>| {
            let (code, body) = match request.uri().path() {
                "/apis/kubernetes.m.crossplane.io/v1alpha1" => {
                    let objects =
                        json!({ "name": "objects", "kind": "Object", "namespaced": true });
                    let group = "kubernetes.m.crossplane.io/v1alpha1";
                    (
                        200,
                        json!({ "groupVersion": group, "resources": [objects] }),
                    )
                }
                "/apis/kubernetes.m.crossplane.io/v1alpha1/objects" => {
                    let item = json!({ "metadata": object["metadata"] });
                    (200, json!({ "items": [item] }))
                }
                _ => (404, json!({ "code": 404 })),
            };
            asked.lock().unwrap().push(request.uri().to_string());
            async move {
                let response = Response::builder().status::<u16>(code);
                response.body(Body::from(body.to_string().into_bytes()))
            }
        };
        let client = Client::new(service_fn(answer), "default");
        Cluster::of(client, "https://api.example.com:6443/".to_owned())
    }

    #[tokio::test]
    async fn claims_that_are_gone_are_listed_without_a_name_by_one_request_for_all() {
        let asked = Arc::default();
        let cluster = management(control_plane(true), &asked);
        let mut snapshot = Snapshot::default();
        let all = Selection::default();
        let objects = objects_of_claims(&cluster, &all).await;
        snapshot.insert_gone(objects, &all);
        let line = "○ OpenStackCluster tenant/cloud: Deleted\n";
        assert_eq!(snapshot.tree(&all, Page::PLAIN), line);
        let lists = asked.lock().unwrap();
        let lists: Vec<&str> = lists
            .iter()
            .filter_map(|path| path.split_once('?')?.1.split_once('='))
            .map(|(_, selector)| selector)
            .collect();
        assert_eq!(lists, ["crossplane.io%2Fcomposite"]);
    }

    #[test]
    fn objects_that_outlive_their_claim_are_not_said_to_be_deleted() {
        let snapshot = snapshot(vec![control_plane(false)]);
        let line = "Not being deleted: ControlPlane cloud in control-planes";
        assert_eq!(remains(&snapshot), [line]);
    }

    #[test]
    fn claim_that_is_there_or_of_another_name_is_not_taken_for_gone() {
        let mut claim = kind("c5c3.io/v1alpha1", "OpenStackCluster", json!({}));
        claim["metadata"]["namespace"] = json!("tenant");
        let mut snapshot = Snapshot::default();
        snapshot.insert(manifest(claim));
        snapshot.insert_gone(vec![manifest(control_plane(true))], &named("cloud"));
        assert_eq!(snapshot.0.len(), 1);

        let mut snapshot = Snapshot::default();
        let other = named("elsewhere/cloud");
        snapshot.insert_gone(vec![manifest(control_plane(true))], &other);
        assert!(!snapshot.has(&other));

        let mut pool = control_plane(true);
        let owner = &mut pool["metadata"]["ownerReferences"][0];
        owner["apiVersion"] = json!("crossplane.c5c3.io/v1alpha1");
        owner["kind"] = json!("StorageCluster");
        let objects = vec![manifest(pool), manifest(namespace(json!({}), true))];
        snapshot.insert_gone(objects, &named("cloud"));
        let selection = named("cloud");
        let claims = snapshot.claims(&selection);
        let counts = claims.map(|claim| snapshot.remains(claim).len());
        assert_eq!(counts.collect::<Vec<_>>(), [1, 1]);
    }
}
