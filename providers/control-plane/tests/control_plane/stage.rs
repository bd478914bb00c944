//! A cluster in memory with one control plane, and everybody whose part the tests play.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::control_plane::ControlPlaneSpec;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{Carried, Key, ResourceKind};
use provider_composer_testing::{Cluster, System};
use provider_control_plane::ControlPlaneComposer;
use provider_control_plane::credentials::keystone::{Answer, Call, Change, SYSTEM};
use provider_control_plane::graph::{GRAPH, Node};
use serde_json::{Value, json};

pub const NAMESPACE: &str = "openstack";
pub const OPERATOR: Carried<ControlPlaneComposer> = Carried(ControlPlaneComposer);

/// A control plane in a cluster.
pub struct Stage {
    pub cluster: Cluster,
    pub key: Key,
    /// The nodes that don't become ready, and don't stay so.
    pub held: BTreeSet<Node>,
}

/// Keystone, as far as it is asked.
#[derive(Default)]
struct Keystone(Answer);

impl System for Keystone {
    fn answer(&self, _: &str) -> Option<Value> {
        serde_json::to_value(&self.0).ok()
    }

    fn call(&mut self, call: &str) {
        let call: Call = serde_json::from_str(call).unwrap();
        match call.change {
            Change::Grant { user, role, .. } => {
                self.0.roles.entry(user).or_default().insert(role);
            }
            Change::Place { endpoint, region } => {
                self.0.regions.insert(endpoint, region);
            }
        }
    }
}

impl Stage {
    /// A control plane that was just made.
    pub fn new(spec: Value) -> Self {
        let key = key("production");
        let mut cluster = Cluster::default();
        cluster.join(SYSTEM, Keystone::default());
        cluster.put(&key, &json!({ "spec": spec }));
        // Cortex's PostgreSQL is always somebody else's.
        cluster.put(&secret("cortex-db-credentials"), &given("s3cret"));
        Self {
            cluster,
            key,
            held: BTreeSet::new(),
        }
    }

    /// One that runs.
    pub fn running(spec: Value) -> Self {
        let mut stage = Self::new(spec);
        stage.play();
        assert_eq!(stage.condition("Ready").0, "True", "{:#}", stage.status());
        stage
    }

    /// Lets everybody play their part until nothing changes.
    pub fn play(&mut self) {
        for _ in 0..64 {
            let before = self.cluster.writes();
            self.settle();
            self.grant();
            if self.cluster.writes() == before {
                return;
            }
        }
        panic!("it never ends: {:#}", self.status());
    }

    /// Lets the operator alone play its part.
    pub fn settle(&mut self) {
        self.cluster.settle(&OPERATOR, &self.key);
    }

    /// Everybody else says how their objects are.
    pub fn grant(&mut self) {
        let objects = self.cluster.objects().iter();
        let statuses: Vec<(Key, Value)> = objects
            .filter_map(|(key, object)| Some((key.clone(), self.said(key, object)?)))
            .collect();
        for (key, status) in statuses {
            self.cluster.set_status(&key, status);
        }
    }

    /// What an object's own operator says of it.
    fn said(&self, key: &Key, object: &Value) -> Option<Value> {
        let generation = object["metadata"]["generation"].clone();
        let ready = !node_of(key).is_some_and(|node| self.held.contains(&node));
        let status = if ready { "True" } else { "False" };
        let condition = |type_: &str| {
            json!({
                "type": type_, "status": status, "reason": "Played", "message": "as the test has it",
                "observedGeneration": generation,
            })
        };
        Some(match key.kind.group {
            "k8s.mariadb.com" => json!({ "conditions": [
                { "type": "Ready", "status": status, "reason": "Played", "message": "as the test has it" },
            ]}),
            "rabbitmq.com" => json!({
                "observedGeneration": generation,
                "conditions": [condition("AllReplicasReady"), condition("ClusterAvailable")],
            }),
            "cache.cs.sap.com" => json!({
                "observedGeneration": generation,
                "state": if ready { "Ready" } else { "Processing" },
            }),
            "apps" => json!({
                "observedGeneration": generation,
                "readyReplicas": if ready { object["spec"]["replicas"].clone() } else { json!(0) },
            }),
            "openstack.k-orc.cloud" => json!({
                "id": format!("id-of-{}", key.name),
                "resource": { "appliedPasswordRef": object["spec"]["resource"]["passwordRef"] },
                "conditions": [
                    condition("Available"),
                    {
                        "type": "Progressing", "status": "False", "reason": "Success",
                        "observedGeneration": generation,
                    },
                ],
            }),
            group if group.ends_with("c5c3.io") && *key != self.key => {
                let mut said = json!({
                    "conditions": [condition("Ready")],
                    "endpoint": format!("https://{}.{NAMESPACE}.svc.cluster.local", key.name),
                });
                if let Some(release) = object["spec"].get("release").filter(|_| ready) {
                    said["release"] = release.clone();
                }
                said
            }
            _ => return None,
        })
    }

    /// What is said of the control plane.
    pub fn status(&self) -> &Value {
        &self.cluster.get(&self.key).unwrap()["status"]
    }

    /// Status, reason and message of a condition.
    pub fn condition(&self, type_: &str) -> (String, String, String) {
        let conditions = self.status()["conditions"].as_array().unwrap();
        let condition = conditions
            .iter()
            .find(|condition| condition["type"] == type_)
            .unwrap_or_else(|| panic!("no condition {type_} in {:#}", self.status()));
        let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
        (text("status"), text("reason"), text("message"))
    }

    /// Changes what is wanted.
    pub fn want(&mut self, change: impl FnOnce(&mut Value)) {
        let key = self.key.clone();
        self.cluster
            .edit(&key, |object| change(&mut object["spec"]));
    }

    /// The nodes that there are.
    pub fn nodes(&self) -> BTreeSet<Node> {
        self.cluster.objects().keys().filter_map(node_of).collect()
    }

    /// A node's first object.
    pub fn object(&self, node: Node) -> Option<&Value> {
        let key = node.step().keys(NAMESPACE).next()?;
        self.cluster.get(&key)
    }

    /// A node's release, as it is wanted.
    pub fn release(&self, node: Node) -> &str {
        self.object(node).unwrap()["spec"]["release"]
            .as_str()
            .unwrap()
    }

    /// Every object, without what servers and clocks put in.
    pub fn world(&self) -> BTreeMap<String, Value> {
        let objects = self.cluster.objects().iter();
        objects
            .map(|(key, object)| {
                let mut object = Value::clone(object);
                for field in ["uid", "generation", "creationTimestamp", "ownerReferences"] {
                    object["metadata"].as_object_mut().unwrap().remove(field);
                }
                (format!("{key} in {}", key.kind.group), object)
            })
            .collect()
    }
}

/// Checks that two worlds are the same, and says where they aren't.
pub fn assert_same(left: &BTreeMap<String, Value>, right: &BTreeMap<String, Value>) {
    for key in left.keys().chain(right.keys()) {
        let (left, right) = (left.get(key), right.get(key));
        assert!(left == right, "{key} differs:\n{left:?}\n{right:?}");
    }
}

/// What there is but for ControlPlanes.
pub fn without_control_planes(mut world: BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    world.retain(|key, _| !key.starts_with("ControlPlane"));
    world
}

/// A Secret's key.
pub fn secret(name: &str) -> Key {
    Key::of::<Secret>(NAMESPACE, name)
}

/// A Secret with a password that a user gives.
pub fn given(password: &str) -> Value {
    json!({ "data": { "password": ByteString(password.as_bytes().to_vec()) } })
}

/// A ControlPlane's key.
pub fn key(name: &str) -> Key {
    Key::new(ResourceKind::of::<ControlPlaneSpec>(), NAMESPACE, name)
}

/// The node that an object belongs to.
pub fn node_of(key: &Key) -> Option<Node> {
    if key.kind.group == "openstack.k-orc.cloud" {
        return Some(Node::Catalogue);
    }
    let mut steps = GRAPH.iter();
    steps
        .find(|step| step.keys(NAMESPACE).any(|other| other == *key))
        .map(|step| step.node)
}
