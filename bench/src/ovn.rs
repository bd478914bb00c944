//! An OVNCluster whose databases and pods are simulated.

use std::hint::black_box;

use c5c3_api::ovn_cluster::OvnClusterSpec;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::core::v1::{Pod, Secret};
use provider_composer::{Key, ObservedState, Operator, Resource, Subject};
use provider_composer_testing::{Cluster, System};
use provider_ovn::{OvnCluster, ovsdb};
use serde_json::{Value, json};

use crate::case::{Again, Case};

const NAMESPACE: &str = "openstack";
/// Members of each database.
const MEMBERS: usize = 3;

/// Databases whose members are all connected.
struct Databases;

impl System for Databases {
    fn answer(&self, query: &str) -> Option<Value> {
        let query: ovsdb::Query = serde_json::from_str(query).ok()?;
        let members = query.access.members.keys().map(|pod| {
            let member = json!({ "connected": true, "leader": pod.ends_with("-0"), "index": 12 });
            (pod.clone(), member)
        });
        let members: serde_json::Map<_, _> = members.collect();
        Some(json!({ "members": members, "sequence": 7, "behind": 0, "chassis": {} }))
    }

    fn call(&mut self, _: &str) -> Result<(), String> {
        Ok(())
    }
}

/// Returns a reconcile of an OVNCluster.
pub fn again(case: Case) -> Again {
    let subject = key::<Subject<OvnClusterSpec>>("ovn");
    let mut cluster = Cluster::default();
    cluster.join(ovsdb::SYSTEM, Databases);
    let certificate = json!({ "ca.crt": "Y2E=", "tls.crt": "Y3J0", "tls.key": "a2V5" });
    cluster.put(&key::<Secret>("ovn-tls"), &json!({ "data": certificate }));
    let resource = json!({
        "metadata": { "name": "ovn", "namespace": NAMESPACE },
        "spec": { "relay": { "replicas": 2 }, "backup": {} },
    });
    cluster.put(&subject, &resource);
    let operator = OvnCluster;
    if case == Case::Running {
        for _ in 0..4 {
            cluster.settle(&operator, &subject);
            start(&mut cluster);
        }
    }
    Box::new(move || {
        let cluster = black_box(&cluster);
        let resource = cluster.get(&subject).unwrap_or(&Value::Null);
        operator.composed(resource, &ObservedState::new(cluster, cluster.now()))
    })
}

fn key<T: Resource>(name: &str) -> Key {
    Key::of::<T>(NAMESPACE, name)
}

/// Has all pods run.
fn start(cluster: &mut Cluster) {
    let workloads = cluster
        .objects()
        .iter()
        .filter(|(key, _)| [StatefulSet::KIND, Deployment::KIND].contains(&key.kind));
    let workloads: Vec<(Key, Value)> = workloads
        .map(|(key, object)| (key.clone(), Value::clone(object)))
        .collect();
    for (key, object) in workloads {
        let replicas = &object["spec"]["replicas"];
        let status = json!({
            "observedGeneration": object["metadata"]["generation"],
            "replicas": replicas,
            "updatedReplicas": replicas,
            "readyReplicas": replicas,
            "availableReplicas": replicas,
        });
        cluster.set_status(&key, status);
        if key.kind != StatefulSet::KIND {
            continue;
        }
        for ordinal in 0..MEMBERS {
            let pod = Key::of::<Pod>(NAMESPACE, &format!("{}-{ordinal}", key.name));
            let labels = &object["spec"]["template"]["metadata"]["labels"];
            cluster.put(&pod, &json!({ "metadata": { "labels": labels } }));
            let ready = json!([{ "type": "Ready", "status": "True" }]);
            cluster.set_status(&pod, json!({ "conditions": ready }));
        }
    }
}
