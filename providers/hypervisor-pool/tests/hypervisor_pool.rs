//! Shares of hypervisors, in a cluster in memory.

#![cfg(test)]

use std::sync::Arc;

use c5c3_api::hypervisor::{HypervisorPoolSpec, HypervisorShareSpec};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, Secret};
use provider_composer::{Composed, Custom, Key, ObservedState, Operator, Resource, Subject};
use provider_composer_testing::Cluster;
use provider_hypervisor_pool::HypervisorPool;
use provider_openstack_fixtures::shown;
use serde_json::{Value, json};

const OPERATOR: HypervisorPool = HypervisorPool;
const AGENTS: [&str; 5] = [
    "openvswitch",
    "ovn-controller",
    "neutron-ovn-agent",
    "libvirt",
    "nova-compute",
];

fn share_key(name: &str) -> Key {
    Key::of::<Subject<HypervisorShareSpec>>("", name)
}

fn put<T: Resource>(cluster: &mut Cluster, namespace: &str, name: &str, body: &Value) {
    cluster.put(&Key::of::<T>(namespace, name), body);
}

fn put_share(cluster: &mut Cluster, name: &str, agents: Value) {
    let spec = json!({
        "controlPlane": name, "weight": 1, "traits": ["CUSTOM_TIER_PREMIUM"], "agents": agents,
    });
    let share = json!({ "metadata": { "name": name }, "spec": spec });
    cluster.put(&share_key(name), &share);
}

fn put_node(cluster: &mut Cluster, name: &str, address: &str) {
    let node = json!({ "metadata": { "labels": { "node-role.kubernetes.io/hypervisor": "" } } });
    put::<Node>(cluster, "", name, &node);
    let key = Key::of::<Node>("", name);
    let addresses = json!([{ "type": "InternalIP", "address": address }]);
    cluster.set_status(&key, json!({ "addresses": addresses }));
}

/// A Secret as another operator writes it. The values are Base64.
fn put_secret(cluster: &mut Cluster, name: &str, labels: Value, data: Value) {
    let secret = json!({ "metadata": { "labels": labels }, "data": data });
    put::<Secret>(cluster, "openstack-prod", name, &secret);
}

fn put_configuration(cluster: &mut Cluster) {
    let (image, files) = ("aW1hZ2U=", "c2VjcmV0");
    put_secret(
        cluster,
        "ovn-chassis",
        json!({ "c5c3.io/agents": "ovn" }),
        json!({
            "remote": "c3NsOmE6NjY0Mg==", "image": image, "ovsImage": image,
            "ca.crt": files, "tls.crt": files, "tls.key": files,
        }),
    );
    put_secret(
        cluster,
        "neutron-agent",
        json!({ "c5c3.io/agents": "neutron" }),
        json!({ "neutron-ovn-agent.ini": files, "image": image }),
    );
    for cell in ["cell1", "cell2"] {
        put_secret(
            cluster,
            &format!("nova-{cell}-compute"),
            json!({ "c5c3.io/agents": "nova", "c5c3.io/cell": cell }),
            json!({ "nova.conf": files, "image": image }),
        );
    }
}

fn cluster() -> Cluster {
    let mut cluster = Cluster::default();
    put_node(&mut cluster, "node-a", "10.0.0.1");
    put_node(&mut cluster, "node-b", "10.0.0.2");
    put::<Node>(&mut cluster, "", "node-c", &json!({}));
    put_configuration(&mut cluster);
    put_share(&mut cluster, "prod", json!({}));
    cluster
}

fn settle(cluster: &mut Cluster, name: &str) -> Composed {
    cluster.settle(&OPERATOR, &share_key(name));
    answer(cluster, name)
}

fn answer(cluster: &Cluster, name: &str) -> Composed {
    let share = Arc::new(cluster.get(&share_key(name)).unwrap().clone());
    let observed = ObservedState::new(cluster, cluster.now());
    OPERATOR.composed(&share, &observed).unwrap()
}

fn condition(cluster: &Cluster, share: &str, type_: &str) -> [String; 3] {
    let share = cluster.get(&share_key(share)).unwrap();
    let conditions = share["status"]["conditions"].as_array().unwrap();
    let found = conditions.iter().find(|other| other["type"] == type_);
    let found = found.unwrap_or_else(|| panic!("no condition {type_}"));
    ["status", "reason", "message"]
        .map(|field| found[field].as_str().unwrap_or_default().to_owned())
}

fn lease(cluster: &Cluster, node: &str) -> Option<String> {
    let node = cluster.get(&Key::of::<Node>("", node)).unwrap();
    let lease = node.pointer("/metadata/labels/c5c3.io~1control-plane")?;
    lease.as_str().map(str::to_owned)
}

fn run_agents(cluster: &mut Cluster, share: &str) {
    for agent in AGENTS {
        let key = Key::of::<DaemonSet>(&format!("agents-{share}"), agent);
        let status = json!({
            "observedGeneration": 1, "desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberReady": 2,
            "currentNumberScheduled": 2, "numberMisscheduled": 0,
        });
        cluster.set_status(&key, status);
    }
}

#[test]
fn share_leases_every_hypervisor_and_runs_agents_on_them() {
    let mut cluster = cluster();
    settle(&mut cluster, "prod");
    run_agents(&mut cluster, "prod");
    let answer = settle(&mut cluster, "prod");
    insta::assert_yaml_snapshot!(shown(&answer));
    let leases = ["node-a", "node-b", "node-c"].map(|node| lease(&cluster, node));
    assert_eq!(
        leases,
        [Some("prod".to_owned()), Some("prod".to_owned()), None]
    );
}

#[test]
fn share_with_every_setting_composes_agents_accordingly() {
    let mut cluster = cluster();
    let pool = json!({ "spec": {
        "mode": "Dedicated",
        "physicalNetworks": [{ "name": "physnet1", "bridge": "br-ex", "vlanRange": "100-199" }],
    } });
    put::<Custom<HypervisorPoolSpec>>(&mut cluster, "", "pool", &pool);
    put_share(
        &mut cluster,
        "prod",
        json!({
            "virtualization": "qemu", "datapath": "netdev", "tunnelInterface": "under0", "gateway": true,
            "issuerRef": { "name": "internal", "kind": "Issuer" },
            "libvirtImage": "registry.example.org/libvirt:1",
        }),
    );
    let answer = settle(&mut cluster, "prod");
    insta::assert_yaml_snapshot!(shown(&answer));
}

#[test]
fn second_share_gets_no_node_and_the_elder_keeps_its_nodes() {
    let mut cluster = cluster();
    settle(&mut cluster, "prod");
    put_share(&mut cluster, "staging", json!({}));
    put_node(&mut cluster, "node-d", "10.0.0.4");
    settle(&mut cluster, "staging");
    let before = cluster.writes();
    settle(&mut cluster, "prod");
    run_agents(&mut cluster, "prod");
    settle(&mut cluster, "prod");
    assert!(cluster.writes() > before);

    let refused = "no further node is leased, since this cluster has the HypervisorShares prod, staging, and this version \
                   doesn't divide a cluster: delete all but one of them; leased nodes stay as they are";
    let failed = |refused: &str| ["False", "SeveralShares", refused].map(str::to_owned);
    assert_eq!(condition(&cluster, "staging", "Ready"), failed(refused));
    assert_eq!(
        condition(&cluster, "prod", "FurtherNodesLeased"),
        failed(refused)
    );
    assert_eq!(condition(&cluster, "prod", "Ready")[0], "True");
    let leases = ["node-a", "node-b", "node-d"].map(|node| lease(&cluster, node));
    assert_eq!(
        leases,
        [Some("prod".to_owned()), Some("prod".to_owned()), None]
    );
    let elsewhere = Key::of::<Namespace>("", "agents-staging");
    assert_eq!(cluster.get(&elsewhere), None);
}

#[test]
fn unreadable_nodes_change_nothing() {
    let mut cluster = cluster();
    settle(&mut cluster, "prod");
    let before: Vec<Key> = cluster.objects().keys().cloned().collect();
    cluster.set_readable(&Key::of::<Node>("", "node-a"), false);
    cluster.settle(&OPERATOR, &share_key("prod"));
    assert_eq!(
        cluster.objects().keys().cloned().collect::<Vec<_>>(),
        before
    );
    assert_eq!(
        condition(&cluster, "prod", "Ready"),
        [
            "False",
            "LookupFailed",
            "the cluster's nodes can't be read, so nothing changes: nodes can't be listed"
        ]
        .map(str::to_owned)
    );
}

#[test]
fn deleted_node_is_not_created_again() {
    let mut cluster = cluster();
    settle(&mut cluster, "prod");
    cluster.delete(&Key::of::<Node>("", "node-b"));
    let answer = settle(&mut cluster, "prod");
    assert_eq!(answer.status["hosts"], json!(["node-a"]));
    assert_eq!(cluster.get(&Key::of::<Node>("", "node-b")), None);
}

#[test]
fn agents_stay_when_their_configuration_is_missing() {
    let mut cluster = cluster();
    settle(&mut cluster, "prod");
    cluster.delete(&Key::of::<Secret>("openstack-prod", "ovn-chassis"));
    settle(&mut cluster, "prod");
    for agent in AGENTS {
        let key = Key::of::<DaemonSet>("agents-prod", agent);
        assert!(cluster.get(&key).is_some(), "{agent}");
    }
    assert!(
        cluster
            .get(&Key::of::<Secret>("agents-prod", "ovn"))
            .is_some()
    );
    assert_eq!(
        condition(&cluster, "prod", "OpenVSwitchReady"),
        [
            "False",
            "WaitingForConfiguration",
            "waits for a Secret with the labels c5c3.io/agents=ovn in the namespace openstack-prod, which the ovn-operator \
             writes"
        ]
        .map(str::to_owned)
    );
}

#[test]
fn share_takes_the_configuration_of_its_cell_alone() {
    let mut cluster = cluster();
    put_secret(
        &mut cluster,
        "other-compute",
        json!({ "c5c3.io/agents": "nova", "c5c3.io/cell": "cell1" }),
        json!({ "nova.conf": "YQ==", "image": "Yg==" }),
    );
    settle(&mut cluster, "prod");
    assert_eq!(
        condition(&cluster, "prod", "ComputeReady"),
        [
            "False",
            "Ambiguous",
            "the namespace openstack-prod has several Secrets with the labels c5c3.io/agents=nova,c5c3.io/cell=cell1: delete \
             all but one of them"
        ]
        .map(str::to_owned)
    );
}

#[test]
fn share_names_nodes_that_lack_something() {
    let mut cluster = cluster();
    settle(&mut cluster, "prod");
    let pod = json!({ "spec": { "nodeName": "node-b", "containers": [] } });
    put::<Pod>(&mut cluster, "agents-prod", "openvswitch-x", &pod);
    let check = json!({
        "name": "requirements", "image": "", "imageID": "", "ready": false, "restartCount": 3,
        "state": { "waiting": { "reason": "CrashLoopBackOff" } },
        "lastState": { "terminated": {
            "exitCode": 1, "message": "/dev/net/tun is missing: load the kernel module tun\n",
        } },
    });
    let key = Key::of::<Pod>("agents-prod", "openvswitch-x");
    cluster.set_status(&key, json!({ "initContainerStatuses": [check] }));
    settle(&mut cluster, "prod");
    assert_eq!(
        condition(&cluster, "prod", "HostsReady"),
        [
            "False",
            "RequirementMissing",
            "node node-b: /dev/net/tun is missing: load the kernel module tun"
        ]
        .map(str::to_owned)
    );
}

#[test]
fn namespace_of_someone_else_gets_no_configuration() {
    let mut cluster = cluster();
    put::<Namespace>(&mut cluster, "", "agents-prod", &json!({}));
    cluster.settle(&OPERATOR, &share_key("prod"));
    let inside = cluster.objects().keys();
    let inside = inside.filter(|key| key.namespace.as_deref() == Some("agents-prod"));
    assert_eq!(inside.collect::<Vec<_>>(), Vec::<&Key>::new());
    assert_eq!(condition(&cluster, "prod", "Ready")[1], "NameTaken");
}
