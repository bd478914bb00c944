//! A cluster in memory with an OVNCluster, and a simulated southbound database.

use std::sync::{Arc, Mutex};

use c5c3_api::ovn_chassis::OvnChassisSpec;
use c5c3_api::ovn_cluster::OvnClusterSpec;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Secret};
use provider_composer::{Custom, Key, Resource, Subject};
use provider_composer_testing::{Cluster, System};
use provider_ovn::{OvnCluster, ovsdb};
use serde_json::{Map, Value, json};

const NAMESPACE: &str = "openstack";

/// A southbound database that notes which nodes are removed from it.
#[derive(Clone, Default)]
pub struct Southbound {
    pub chassis: Value,
    /// Members that are cut off from the operator.
    pub unreachable: Vec<&'static str>,
    pub removed: Arc<Mutex<Vec<String>>>,
}

impl System for Southbound {
    fn answer(&self, query: &str) -> Option<Value> {
        let query: ovsdb::Query = serde_json::from_str(query).ok()?;
        let asked = query.access.members.keys();
        let answering = asked.filter(|pod| !self.unreachable.contains(&pod.as_str()));
        let members: Map<String, Value> = answering
            .map(|pod| {
                let is_first = pod.ends_with("-0");
                let index = if is_first { 12 } else { 10 };
                let member = json!({ "connected": true, "leader": is_first, "index": index });
                (pod.clone(), member)
            })
            .collect();
        if members.is_empty() {
            return None;
        }
        let removed = self.removed.lock().ok()?;
        let mut chassis = self.chassis.clone();
        if let Some(chassis) = chassis.as_object_mut() {
            chassis.retain(|name, _| query.chassis && !removed.contains(name));
        }
        Some(json!({
            "members": members,
            "sequence": 7,
            "behind": if query.chassis { 0 } else { 2 },
            "chassis": chassis,
        }))
    }

    fn call(&mut self, call: &str) -> Result<(), String> {
        let removal: ovsdb::Removal = serde_json::from_str(call).unwrap();
        self.removed.lock().unwrap().push(removal.system_id);
        Ok(())
    }
}

/// A cluster with an OVNCluster `ovn`, and certificates in the Secret `ovn-tls`.
pub struct Stage {
    pub cluster: Cluster,
    pub southbound: Southbound,
}

impl Stage {
    pub fn new(spec: Value) -> Self {
        let mut cluster = Cluster::default();
        let southbound = Southbound {
            chassis: json!({ "node-1": {
                "hostname": "node-1", "address": "192.0.2.9", "options": "enable-chassis-as-gw",
                "mappings": "physnet1:br-ex", "sequence": 7, "timestamp": 1_769_903_940_000_i64,
            } }),
            ..Southbound::default()
        };
        cluster.join(ovsdb::SYSTEM, southbound.clone());
        let keys = json!({ "ca.crt": "Y2E=", "tls.crt": "Y3J0", "tls.key": "a2V5" });
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": {}, "data": keys });
        for name in ["ovn-tls", "ovn-chassis-tls"] {
            cluster.put(&key::<Secret>(name), &secret);
        }
        let mut stage = Self {
            cluster,
            southbound,
        };
        stage.change(spec);
        stage
    }

    pub fn change(&mut self, spec: Value) {
        let resource = json!({
            "metadata": { "name": "ovn", "namespace": NAMESPACE },
            "spec": spec,
        });
        self.cluster.put(&subject(), &resource);
    }

    pub fn node(&mut self, name: &str, labels: Value) {
        let node = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": { "name": name, "labels": labels },
            "status": { "addresses": [{ "type": "InternalIP", "address": "192.0.2.1" }] },
        });
        self.cluster.put(&Key::of::<Node>("", name), &node);
        self.cluster
            .set_status(&Key::of::<Node>("", name), node["status"].clone());
    }

    pub fn reconcile(&mut self) {
        self.cluster.settle(&OvnCluster, &subject());
    }

    /// Lets these members of a database be ready, and no others.
    pub fn ready(&mut self, database: &str, ready: &[usize]) {
        let set = key::<StatefulSet>(&format!("ovn-{database}"));
        let spec = self.cluster.get(&set).unwrap()["spec"].clone();
        let generation = self.cluster.get(&set).unwrap()["metadata"]["generation"].clone();
        for ordinal in 0..9 {
            let pod = key::<Pod>(&format!("ovn-{database}-{ordinal}"));
            let object = json!({
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": { "labels": spec["template"]["metadata"]["labels"] },
            });
            self.cluster.delete(&pod);
            if ready.contains(&ordinal) {
                self.cluster.put(&pod, &object);
                let ready = json!([{ "type": "Ready", "status": "True" }]);
                self.cluster
                    .set_status(&pod, json!({ "conditions": ready }));
            }
        }
        let status = json!({
            "observedGeneration": generation,
            "replicas": spec["replicas"],
            "updatedReplicas": spec["replicas"],
            "readyReplicas": ready.len(),
        });
        self.cluster.set_status(&set, status);
    }

    pub fn northd_is_available(&mut self) {
        self.is_available("ovn-northd");
    }

    /// Lets two pods of a Deployment be available.
    pub fn is_available(&mut self, deployment: &str) {
        let key = key::<Deployment>(deployment);
        let live = self.cluster.get(&key).unwrap();
        let status = json!({
            "observedGeneration": live["metadata"]["generation"],
            "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2,
        });
        self.cluster.set_status(&key, status);
    }

    /// Three members of each database and northd.
    pub fn serve(&mut self) {
        self.reconcile();
        self.ready("nb", &[0, 1, 2]);
        self.ready("sb", &[0, 1, 2]);
        self.northd_is_available();
        self.reconcile();
    }

    pub fn field(&self, key: &Key, pointer: &str) -> Value {
        let object = self.cluster.get(key);
        object
            .and_then(|object| object.pointer(pointer))
            .cloned()
            .unwrap_or_default()
    }

    /// Pods of the northbound database, and members that stay.
    pub fn scale(&self) -> (Value, Value) {
        let set = key::<StatefulSet>("ovn-nb");
        let settings = key::<ConfigMap>("ovn-nb-cluster");
        (
            self.field(&set, "/spec/replicas"),
            self.field(&settings, "/data/replicas"),
        )
    }

    /// Each condition's status, reason and message.
    pub fn conditions(&self) -> Vec<String> {
        let conditions = self.field(&subject(), "/status/conditions");
        let conditions = conditions.as_array().cloned().unwrap_or_default();
        let line = |condition: &Value| {
            let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
            format!("{} {} {}", text("type"), text("reason"), text("message"))
        };
        conditions.iter().map(line).collect()
    }
}

pub fn key<T: Resource>(name: &str) -> Key {
    Key::of::<T>(NAMESPACE, name)
}

pub fn subject() -> Key {
    key::<Subject<OvnClusterSpec>>("ovn")
}

pub fn chassis(name: &str) -> Key {
    key::<Custom<OvnChassisSpec>>(name)
}

pub fn hypervisor() -> Value {
    json!({ "node-role.kubernetes.io/hypervisor": "", "zone": "a" })
}
