//! A cluster in memory with a pool, a share, nodes and configuration.

use std::sync::{Arc, LazyLock};

use c5c3_api::cinder::CinderSpec;
use c5c3_api::hypervisor::{HypervisorPoolSpec, HypervisorShareSpec};
use c5c3_api::neutron::NeutronSpec;
use c5c3_api::nova::NovaSpec;
use c5c3_api::ovn_cluster::OvnClusterSpec;
use k8s_openapi::api::apps::v1::{DaemonSet, StatefulSet};
use k8s_openapi::api::core::v1::{Node, Pod, Secret};
use provider_composer::{
    Composed, Custom, Key, ObservedState, Operator, Resource, ResourceKind, Subject,
};
use provider_composer_testing::{Cluster, Contents};
use provider_hypervisor_pool::{HypervisorPool, HypervisorShare};
use serde_json::{Value, json};

pub const OWNERS: [(&str, ResourceKind); 4] = [
    ("ovn", Custom::<OvnClusterSpec>::KIND),
    ("neutron", Custom::<NeutronSpec>::KIND),
    ("nova", Custom::<NovaSpec>::KIND),
    ("cinder", Custom::<CinderSpec>::KIND),
];
pub const AGENTS: [&str; 6] = [
    "openvswitch",
    "ovn-controller",
    "neutron-ovn-agent",
    "libvirt",
    "nova-compute",
    "nova-migration",
];

pub fn share_key(name: &str) -> Key {
    Key::of::<Subject<HypervisorShareSpec>>("", name)
}

pub fn pool_key() -> Key {
    Key::of::<Subject<HypervisorPoolSpec>>("", "pool")
}

pub fn put<T: Resource>(cluster: &mut Cluster, namespace: &str, name: &str, body: &Value) {
    cluster.put(&Key::of::<T>(namespace, name), body);
}

/// What a DaemonSet's pod of a share on a node reports by being Ready; none without a pod.
pub fn pod_of(
    cluster: &mut Cluster,
    share: &str,
    component: &str,
    node: &str,
    is_ready: Option<bool>,
) {
    let key = Key::of::<Pod>(&format!("agents-{share}"), &format!("{component}-{node}"));
    let Some(is_ready) = is_ready else {
        return cluster.delete(&key);
    };
    let labels = json!({ "app.kubernetes.io/component": component });
    cluster.put(
        &key,
        &json!({ "metadata": { "labels": labels }, "spec": { "nodeName": node, "containers": [] } }),
    );
    let status = if is_ready { "True" } else { "False" };
    cluster.set_status(
        &key,
        json!({ "conditions": [{ "type": "Ready", "status": status }] }),
    );
}

pub fn put_pool(cluster: &mut Cluster, spec: Value) {
    cluster.put(
        &pool_key(),
        &json!({ "metadata": { "name": "pool" }, "spec": spec }),
    );
}

pub fn put_share(cluster: &mut Cluster, name: &str, agents: Value) {
    let spec = json!({
        "controlPlane": name, "weight": 1, "traits": ["CUSTOM_TIER_PREMIUM"], "agents": agents,
    });
    let share = json!({ "metadata": { "name": name }, "spec": spec });
    cluster.put(&share_key(name), &share);
}

/// Puts the certificate of the nodes of the share `prod`, which cert-manager has issued.
pub fn put_certificate(cluster: &mut Cluster) {
    let secret = json!({ "data": { "tls.crt": "YQ==", "tls.key": "YQ==" } });
    put::<Secret>(cluster, "agents-prod", "hypervisor-tls", &secret);
}

/// Sets a field of a share's spec.
pub fn set(cluster: &mut Cluster, share: &str, field: &str, value: Value) {
    cluster.edit(&share_key(share), |share| share["spec"][field] = value);
}

pub fn put_node(cluster: &mut Cluster, name: &str, address: &str) {
    let node = json!({ "metadata": { "labels": { "node-role.kubernetes.io/hypervisor": "" } } });
    put::<Node>(cluster, "", name, &node);
    let key = Key::of::<Node>("", name);
    let addresses = json!([{ "type": "InternalIP", "address": address }]);
    let status = json!({
        "addresses": addresses,
        "capacity": { "cpu": "64", "memory": "256Gi" },
        "conditions": [{ "type": "Ready", "status": "True" }],
    });
    cluster.set_status(&key, status);
}

/// Sets a label of a node.
pub fn set_label(cluster: &mut Cluster, node: &str, label: &str, value: &str) {
    let key = Key::of::<Node>("", node);
    cluster.edit(&key, |node| {
        node["metadata"]["labels"][label] = json!(value)
    });
}

/// A Secret as another operator writes it for its own resource. The values are Base64.
pub fn put_secret(cluster: &mut Cluster, name: &str, mut labels: Value, data: Value) {
    let agents = labels["c5c3.io/agents"].as_str().unwrap().to_owned();
    let (_, kind) = OWNERS.into_iter().find(|(of, _)| *of == agents).unwrap();
    let owner = Key::new(kind, "openstack-prod", &agents);
    if cluster.get(&owner).is_none() {
        cluster.put(&owner, &json!({}));
    }
    labels["c5c3.io/owner-kind"] = json!(kind.kind);
    labels["c5c3.io/owner-namespace"] = json!("openstack-prod");
    labels["c5c3.io/owner-name"] = json!(agents);
    let uid = cluster.get(&owner).unwrap()["metadata"]["uid"].clone();
    let references = json!([{ "uid": uid, "controller": true }]);
    let secret =
        json!({ "metadata": { "labels": labels, "ownerReferences": references }, "data": data });
    put::<Secret>(cluster, "openstack-prod", name, &secret);
}

pub fn put_configuration(cluster: &mut Cluster) {
    let (release, files) = ("MjAyNS4y", "c2VjcmV0");
    put_secret(
        cluster,
        "ovn-chassis",
        json!({ "c5c3.io/agents": "ovn" }),
        json!({
            "remote": "c3NsOmE6NjY0Mg==", "release": "MjUuMDMuMA==",
            "ca.crt": files, "tls.crt": files, "tls.key": files,
        }),
    );
    put_secret(
        cluster,
        "neutron-agent",
        json!({ "c5c3.io/agents": "neutron" }),
        json!({ "neutron-ovn-agent.ini": files, "release": release }),
    );
    for cell in ["cell1", "cell2"] {
        put_secret(
            cluster,
            &format!("nova-{cell}-compute"),
            json!({ "c5c3.io/agents": "nova", "c5c3.io/cell": cell }),
            json!({ "nova.conf": files, "release": release, "migration.key": "a2V5" }),
        );
    }
}

/// Deletes what the control plane says of its Nova.
pub fn delete_nova(cluster: &mut Cluster) {
    for cell in ["cell1", "cell2"] {
        let name = format!("nova-{cell}-compute");
        cluster.delete(&Key::of::<Secret>("openstack-prod", &name));
    }
}

/// Lets the operator call Nova.
pub fn put_clouds(cluster: &mut Cluster) {
    let data = json!({
        "nova.conf": "c2VjcmV0", "release": "MjAyNS4y", "migration.key": "a2V5", "clouds.yaml": "e30=", "cacert": "Q0E=",
    });
    let labels = json!({ "c5c3.io/agents": "nova", "c5c3.io/cell": "cell1" });
    put_secret(cluster, "nova-cell1-compute", labels, data);
}

pub fn cluster() -> Cluster {
    let mut cluster = Cluster::default();
    put_node(&mut cluster, "node-a", "10.0.0.1");
    put_node(&mut cluster, "node-b", "10.0.0.2");
    put::<Node>(&mut cluster, "", "node-c", &json!({}));
    put_configuration(&mut cluster);
    put_pool(&mut cluster, json!({ "mode": "Shared" }));
    put_share(&mut cluster, "prod", json!({}));
    cluster
}

/// A cluster whose share has leased its nodes. All are copies of one.
pub fn settled() -> Cluster {
    static SETTLED: LazyLock<Contents> = LazyLock::new(|| {
        let mut cluster = cluster();
        reconcile(&mut cluster, "prod");
        cluster.contents().clone()
    });
    Contents::clone(&SETTLED).into()
}

pub fn reconcile(cluster: &mut Cluster, share: &str) {
    cluster.settle(&HypervisorPool, &pool_key());
    cluster.settle(&HypervisorShare, &share_key(share));
}

pub fn settle(cluster: &mut Cluster, share: &str) -> Composed {
    reconcile(cluster, share);
    answer(cluster, share)
}

pub fn answer(cluster: &Cluster, name: &str) -> Composed {
    let share = Arc::new(cluster.get(&share_key(name)).unwrap().clone());
    let observed = ObservedState::new(cluster, cluster.now());
    HypervisorShare.composed(&share, &observed).unwrap()
}

pub fn condition(cluster: &Cluster, share: &str, type_: &str) -> [String; 3] {
    condition_of(cluster, &share_key(share), type_)
}

pub fn condition_of(cluster: &Cluster, key: &Key, type_: &str) -> [String; 3] {
    let found = cluster.condition(key, type_);
    found.unwrap_or_else(|| panic!("no condition {type_}"))
}

/// What the pool gives a share.
pub fn share_of(cluster: &Cluster, name: &str) -> Value {
    let shares = &cluster.get(&pool_key()).unwrap()["status"]["shares"];
    let mut shares = shares.as_array().unwrap().iter();
    shares.find(|share| share["name"] == name).unwrap().clone()
}

pub fn lease(cluster: &Cluster, node: &str) -> Option<String> {
    let node = cluster.get(&Key::of::<Node>("", node))?;
    let lease =
        node.pointer("/metadata/labels/c5c3.node-restriction.kubernetes.io~1control-plane")?;
    lease.as_str().map(str::to_owned)
}

/// Lets a pod of each agent of a share run on these nodes.
pub fn run_pods(cluster: &mut Cluster, share: &str, nodes: &[&str]) {
    for node in nodes {
        for agent in AGENTS {
            pod_of(cluster, share, agent, node, Some(true));
        }
    }
}

pub fn run_agents(cluster: &mut Cluster, share: &str) {
    run_pods(cluster, share, &["node-a", "node-b"]);
    for agent in AGENTS {
        let key = Key::of::<DaemonSet>(&format!("agents-{share}"), agent);
        let status = json!({
            "observedGeneration": 1, "desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberReady": 2,
            "currentNumberScheduled": 2, "numberMisscheduled": 0,
        });
        cluster.set_status(&key, status);
    }
    let keys = cluster.objects().keys();
    let holds = keys.filter(|key| key.kind == StatefulSet::KIND).cloned();
    for hold in holds.collect::<Vec<Key>>() {
        cluster.set_status(&hold, json!({ "replicas": 1, "readyReplicas": 1 }));
    }
}

pub fn leases(cluster: &Cluster) -> Vec<Option<String>> {
    let nodes = ["node-a", "node-b", "node-d", "node-e"];
    nodes.map(|node| lease(cluster, node)).into()
}

pub fn planes(planes: [&str; 4]) -> Vec<Option<String>> {
    planes
        .map(|plane| Some(plane.to_owned()).filter(|plane| !plane.is_empty()))
        .into()
}
