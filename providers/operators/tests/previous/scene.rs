//! A control plane in a cluster in memory, with whatever operators are given and third-party ones that are simulated.

use c5c3_api::control_plane::ControlPlaneSpec;
use c5c3_plan::{Manifest, defaulted, simulated};
use jiff::SignedDuration;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{Pod, Secret};
use provider_composer::{Key, Operator, Resource, ResourceKind};
use provider_composer_testing::Cluster;
use provider_composer_testing::dump::Dump;
use provider_control_plane_fixtures::join_systems;
use provider_operators::control_plane_operators;
use serde_json::{Value, json};

const NAMESPACE: &str = "openstack";
const MEMCACHED: &str = "openstack-memcached";

const GATEWAY: ResourceKind =
    ResourceKind::namespaced("gateway.networking.k8s.io", "v1", "Gateway", "gateways");

/// Longer than a pod takes to terminate, which some steps wait for.
const PAUSE: SignedDuration = SignedDuration::from_mins(5);

/// Reconciles in which a control plane has to settle.
const MOST_ROUNDS: usize = 200;

/// A control plane and its cluster.
pub struct Scene {
    pub cluster: Cluster,
    is_gateway_away: bool,
}

impl Scene {
    /// A control plane that runs, as this version's operators compose it from documents.
    pub fn running(documents: &str) -> Self {
        let mut scene = Self {
            cluster: Cluster::default(),
            is_gateway_away: false,
        };
        join_systems(&mut scene.cluster);
        let documents: Vec<Value> = serde_saphyr::from_multiple(documents).unwrap();
        for document in documents {
            let manifest = Manifest::try_from(document).unwrap();
            let manifest = defaulted(&manifest).unwrap_or(manifest);
            let kind = match manifest.kind() {
                "ControlPlane" => ResourceKind::of::<ControlPlaneSpec>(),
                _ => Secret::KIND,
            };
            let key = Key::new(kind, NAMESPACE, manifest.name());
            scene.cluster.put(&key, manifest.value());
        }
        scene.settle(&control_plane_operators(), &mut |_| ());
        scene
    }

    /// The control plane of a dump, and the Gateway that its routes name.
    pub fn restored(dump: &Dump) -> Self {
        let mut cluster = dump.restored();
        join_systems(&mut cluster);
        let gateway = Key::new(GATEWAY, "gateways", "public");
        if cluster.get(&gateway).is_none() {
            cluster.put(&gateway, &json!({}));
        }
        Self {
            cluster,
            is_gateway_away: false,
        }
    }

    /// Has the Gateway accept no route any more.
    pub fn lose_gateway(&mut self) {
        self.is_gateway_away = true;
        let keys = self.cluster.objects().keys();
        let routes: Vec<Key> = keys.filter(|key| is_route(key)).cloned().collect();
        assert!(!routes.is_empty());
        for route in routes {
            self.cluster.set_status(&route, json!({}));
        }
    }

    /// Reconciles everything until nothing changes, now and later, and has the cluster checked after every step.
    pub fn settle(&mut self, operators: &[Box<dyn Operator>], check: &mut dyn FnMut(&Cluster)) {
        for _ in 0..3 {
            self.settle_now(operators, check);
            self.cluster.wait(PAUSE);
        }
    }

    /// Third-party operators are slow: they act when the operators have nothing left to do.
    fn settle_now(&mut self, operators: &[Box<dyn Operator>], check: &mut dyn FnMut(&Cluster)) {
        let mut was_quiet = false;
        for _ in 0..MOST_ROUNDS {
            let before = self.cluster.writes();
            for operator in operators {
                for subject in subjects(&self.cluster, operator.as_ref()) {
                    // A failure is in the status.
                    let _ = self.cluster.reconcile(operator.as_ref(), &subject);
                    check(&self.cluster);
                }
            }
            let is_quiet = self.cluster.writes() == before;
            if is_quiet && was_quiet {
                return;
            }
            if is_quiet {
                self.act_as_others();
                check(&self.cluster);
            }
            was_quiet = is_quiet && self.cluster.writes() == before;
        }
        panic!("the control plane never settles");
    }

    /// Does what Kubernetes and third-party operators do with objects as they are now.
    fn act_as_others(&mut self) {
        let objects = self.cluster.objects().iter();
        let objects: Vec<(Key, Value)> = objects
            .map(|(key, object)| (key.clone(), Value::clone(object)))
            .collect();
        for (key, object) in objects {
            if self.is_gateway_away && is_route(&key) {
                continue;
            }
            let secret = |name: &str| {
                self.cluster
                    .get(&Key::of::<Secret>(NAMESPACE, name))
                    .cloned()
            };
            let replacing = replacing(&key, &object);
            let manifest = Manifest::try_from(object).unwrap();
            let Some((status, created)) = simulated(&manifest, &secret) else {
                continue;
            };
            for object in created {
                let kind = match object["kind"].as_str() {
                    Some("Pod") => Pod::KIND,
                    Some("Gateway") => GATEWAY,
                    _ => Secret::KIND,
                };
                let text = |field: &str| object["metadata"][field].as_str().unwrap();
                let created = Key::new(kind, text("namespace"), text("name"));
                if self.cluster.get(&created).is_none() {
                    self.cluster.put(&created, &object);
                }
            }
            let status = replacing.unwrap_or(status);
            if !status.is_null() {
                self.cluster.set_status(&key, status);
            }
        }
    }
}

/// The status of a Memcached whose template has changed, while a pod of it is replaced. A control plane stays Ready without that pod, but
/// not without one of another StatefulSet: all of these are ready as soon as their controller acts.
fn replacing(key: &Key, object: &Value) -> Option<Value> {
    let number = |pointer| object.pointer(pointer).and_then(Value::as_u64);
    let generation = number("/metadata/generation")?;
    let is_changed = number("/status/observedGeneration")? < generation;
    let ready = number("/status/readyReplicas")?;
    let is_memcached = key.kind == StatefulSet::KIND && key.name == MEMCACHED;
    (is_memcached && is_changed).then(|| {
        json!({
            "observedGeneration": generation, "replicas": ready, "readyReplicas": ready.saturating_sub(1),
            "currentRevision": "before", "updateRevision": "after",
        })
    })
}

fn is_route(key: &Key) -> bool {
    key.kind.kind == "HTTPRoute"
}

/// The resources of an operator.
pub fn subjects(cluster: &Cluster, operator: &dyn Operator) -> Vec<Key> {
    let keys = cluster.objects().keys();
    keys.filter(|key| key.kind == operator.subject())
        .cloned()
        .collect()
}

/// Why resources aren't Ready.
pub fn problems(cluster: &Cluster) -> Vec<String> {
    let operators = control_plane_operators();
    let subjects = operators
        .iter()
        .flat_map(|operator| subjects(cluster, operator.as_ref()));
    let problem = |key: Key| {
        let conditions = cluster.get(&key)?["status"]["conditions"]
            .as_array()
            .cloned();
        let mut conditions = conditions.unwrap_or_default().into_iter();
        let ready = conditions
            .find(|condition| condition["type"] == "Ready")
            .unwrap_or(json!("no condition Ready"));
        (ready["status"] != "True").then(|| format!("{key}: {ready}"))
    };
    subjects.filter_map(problem).collect()
}
