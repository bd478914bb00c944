//! A request as Crossplane would send it, from the files under examples/ and compositions/.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use function_c5c3::Claims;
use function_protocol::{Document, run, v1};
use serde_json::{Map, Value, json};

/// A file of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The documents of a YAML file.
pub fn yaml(path: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(repository(path)).unwrap();
    text.split("\n---\n").map(|document| serde_saphyr::from_str(document).unwrap()).collect()
}

/// The composite resource that Crossplane 1.20 makes of a claim.
pub fn composite(mut claim: Value) -> Value {
    let (name, namespace) = (text(&claim, "/metadata/name"), text(&claim, "/metadata/namespace"));
    claim["kind"] = json!(format!("X{}", text(&claim, "/kind")));
    claim["metadata"] = json!({
        "name": format!("{name}-abcde"),
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"crossplane.io/claim-name": name, "crossplane.io/claim-namespace": namespace},
    });
    claim
}

pub fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// A pool that is ready, with whoever consumes it.
pub fn ready(mut pool: Value, consumers: &[(&str, &str)]) -> Value {
    let consumers: Vec<Value> = consumers
        .iter()
        .map(|(namespace, name)| json!({"namespace": namespace, "name": name}))
        .collect();
    pool["status"] = json!({"phase": "Ready", "consumers": consumers});
    pool
}

/// Everything one call of the function sees.
pub struct Call {
    pub composite: Value,
    pub input: Option<Value>,
    /// Composite resources that exist beside this one.
    pub world: Vec<Value>,
    pub observed: BTreeMap<String, Value>,
}

/// What came out, read back.
#[derive(Debug)]
pub struct Outcome {
    pub desired: BTreeMap<String, Value>,
    pub ready: BTreeMap<String, bool>,
    pub status: Value,
    pub composite_ready: Option<bool>,
    pub conditions: BTreeMap<String, (String, String, String)>,
    pub events: Vec<String>,
    pub fatal: Option<String>,
}

impl Call {
    pub fn of(claim: Value, input: &str) -> Call {
        Call {
            composite: composite(claim),
            input: Some(yaml(&format!("compositions/input/{input}.yaml")).remove(0)),
            world: Vec::new(),
            observed: BTreeMap::new(),
        }
    }

    pub fn with(mut self, world: impl IntoIterator<Item = Value>) -> Call {
        self.world.extend(world);
        self
    }

    /// The message, without any required resources.
    pub fn message(&self) -> v1::RunFunctionRequest {
        let resource = |value: &Value| v1::Resource {
            resource: Some(Document::from_value(value).unwrap()),
            ..v1::Resource::default()
        };
        v1::RunFunctionRequest {
            meta: Some(v1::RequestMeta { tag: "tag".to_owned(), capabilities: Vec::new() }),
            observed: Some(v1::State {
                composite: Some(resource(&self.composite)),
                resources: self.observed.iter().map(|(k, v)| (k.clone(), resource(v))).collect(),
            }),
            input: self.input.as_ref().map(|input| Document::from_value(input).unwrap()),
            ..v1::RunFunctionRequest::default()
        }
    }

    /// The message with what the function asks for, as Crossplane sends it in the last round.
    pub fn settled(&self) -> v1::RunFunctionRequest {
        let mut message = self.message();
        for _ in 0..5 {
            let response = run(&Claims, message.clone());
            let asked = response.requirements.unwrap_or_default().extra_resources;
            let given: BTreeMap<_, _> =
                asked.iter().map(|(key, selector)| (key.clone(), self.select(selector))).collect();
            if given == message.extra_resources {
                break;
            }
            message.extra_resources = given;
        }
        message
    }

    pub fn run(&self) -> Outcome {
        Outcome::of(run(&Claims, self.settled()))
    }

    /// Takes what came out as what exists, each object with the status that `status` gives it.
    pub fn applied(mut self, outcome: &Outcome, status: impl Fn(&str, &Value) -> Value) -> Call {
        self.observed = outcome
            .desired
            .iter()
            .map(|(name, object)| {
                let mut object = object.clone();
                let manifest = object.pointer("/spec/forProvider/manifest").cloned();
                if object["metadata"].is_null() {
                    object["metadata"] = json!({"name": format!("xr-{name}")});
                }
                if let Some(mut manifest) = manifest {
                    manifest["status"] = status(name, &manifest);
                    object["status"] = json!({
                        "conditions": [
                            {"type": "Synced", "status": "True"}, {"type": "Ready", "status": "True"},
                        ],
                        "atProvider": {"manifest": manifest},
                    });
                }
                (name.clone(), object)
            })
            .collect();
        self.composite["status"] = outcome.status.clone();
        self
    }

    fn select(&self, selector: &v1::ResourceSelector) -> v1::Resources {
        use v1::resource_selector::Match;
        let matches = |value: &&Value| {
            text(value, "/kind") == selector.kind
                && text(value, "/apiVersion") == selector.api_version
                && selector.namespace.as_ref().is_none_or(|n| *n == text(value, "/metadata/namespace"))
                && match selector.r#match.as_ref() {
                    Some(Match::MatchName(name)) => text(value, "/metadata/name") == *name,
                    Some(Match::MatchLabels(labels)) => {
                        let empty = Map::new();
                        let has = value.pointer("/metadata/labels").and_then(Value::as_object);
                        let has = has.unwrap_or(&empty);
                        labels.labels.iter().all(|(k, v)| has.get(k) == Some(&json!(v)))
                    }
                    None => false,
                }
        };
        let resource = |value: &Value| v1::Resource {
            resource: Some(Document::from_value(value).unwrap()),
            ..v1::Resource::default()
        };
        let mut world = self.world.clone();
        world.push(self.composite.clone());
        v1::Resources { items: world.iter().filter(matches).map(resource).collect() }
    }
}

impl Outcome {
    pub fn of(response: v1::RunFunctionResponse) -> Outcome {
        let state = response.desired.unwrap_or_default();
        let value = |resource: &v1::Resource| -> Value {
            resource.resource.as_ref().map(|document| document.parse().unwrap()).unwrap_or_default()
        };
        let status = |condition: &v1::Condition| match condition.status() {
            v1::Status::ConditionTrue => "True",
            v1::Status::ConditionFalse => "False",
            _ => "Unknown",
        };
        Outcome {
            desired: state.resources.iter().map(|(k, v)| (k.clone(), value(v))).collect(),
            ready: state
                .resources
                .iter()
                .map(|(k, v)| (k.clone(), v.ready() == v1::Ready::True))
                .collect(),
            status: state.composite.as_ref().map(value).unwrap_or_default()["status"].take(),
            composite_ready: state.composite.as_ref().and_then(|composite| match composite.ready() {
                v1::Ready::True => Some(true),
                v1::Ready::False => Some(false),
                _ => None,
            }),
            conditions: response
                .conditions
                .iter()
                .map(|condition| {
                    let message = condition.message.clone().unwrap_or_default();
                    let rest = (status(condition).to_owned(), condition.reason.clone(), message);
                    (condition.r#type.clone(), rest)
                })
                .collect(),
            events: response.results.iter().map(|result| result.message.clone()).collect(),
            fatal: response
                .results
                .iter()
                .find(|result| result.severity() == v1::Severity::Fatal)
                .map(|result| result.message.clone()),
        }
    }

    /// The conditions as Crossplane writes them to the composite resource.
    pub fn written_conditions(&self) -> Value {
        let conditions = self.conditions.iter().map(|(type_, (status, reason, message))| {
            json!({"type": type_, "status": status, "reason": reason, "message": message})
        });
        conditions.collect()
    }

    pub fn manifest(&self, name: &str) -> &Value {
        let object = self.desired.get(name).unwrap_or_else(|| panic!("{name} isn't composed"));
        object.pointer("/spec/forProvider/manifest").unwrap()
    }

    /// Names of the composed Objects, Usages left out.
    pub fn objects(&self) -> Vec<&str> {
        self.desired.iter().filter(|(_, v)| v["kind"] != "Usage").map(|(k, _)| k.as_str()).collect()
    }
}

/// The status that a foreign operator writes when all is well.
pub fn well(_name: &str, manifest: &Value) -> Value {
    let ready = json!({"conditions": [{"type": "Ready", "status": "True", "reason": "Ready"}]});
    match manifest["kind"].as_str().unwrap_or_default() {
        "Namespace" => json!({"phase": "Active"}),
        "Shoot" => json!({"lastOperation": {"type": "Create", "state": "Succeeded", "progress": 100}}),
        "CephCluster" => json!({"phase": "Ready", "ceph": {"health": "HEALTH_OK", "capacity": {
            "bytesTotal": 1_u64 << 50, "bytesUsed": 1_u64 << 40, "bytesAvailable": (1_u64 << 50) - (1_u64 << 40)}}}),
        "CephBlockPool" | "CephClient" | "CephFilesystem" | "CephObjectStore" | "CephObjectStoreUser" => {
            json!({"phase": "Ready"})
        }
        "HypervisorShare" => {
            let mut status = ready;
            status["hosts"] = json!(["node-1", "node-2"]);
            status
        }
        "HypervisorPool" => json!({"nodeCount": 50, "freeVcpus": 6400, "freeMemoryGB": 25600}),
        "ControlPlane" => {
            let mut status = ready;
            status["endpoints"] = json!({"keystone": "https://keystone.example.com"});
            status
        }
        _ => ready,
    }
}
