//! What a share says of the uplinks of its nodes.

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::Pod;
use provider_composer::Key;
use provider_composer_testing::Cluster;
use rstest::rstest;
use serde_json::{Value, json};

use crate::fixture::*;
use crate::nova::Nova;

/// A share of a pool with a physical network.
fn connected_cluster(network: Value) -> Cluster {
    let mut cluster = cluster();
    put_pool(
        &mut cluster,
        json!({ "mode": "Shared", "physicalNetworks": [network] }),
    );
    put_share(&mut cluster, "prod", json!({ "gateway": true }));
    Nova::connect(&mut cluster);
    settle(&mut cluster, "prod");
    cluster
}

fn template(cluster: &Cluster, agent: &str) -> Value {
    let key = Key::of::<DaemonSet>("agents-prod", agent);
    cluster.get(&key).unwrap()["spec"]["template"]["spec"].clone()
}

fn variable(container: &Value, name: &str) -> Value {
    let mut variables = container["env"].as_array().unwrap().iter();
    let found = variables.find(|variable| variable["name"] == name);
    found.unwrap()["value"].clone()
}

#[rstest]
#[case::named(
    json!({ "name": "physnet1", "bridge": "br-ex", "interface": "eth1" }),
    "physnet1:br-ex:eth1",
    json!(["NET_ADMIN"])
)]
#[case::by_hand(
    json!({ "name": "physnet1", "bridge": "br-ex" }),
    "physnet1:br-ex:",
    Value::Null
)]
fn agent_of_uplinks_has_the_networks_and_the_rights_that_it_needs(
    #[case] network: Value,
    #[case] networks: &str,
    #[case] rights: Value,
) {
    let cluster = connected_cluster(network);
    let uplinks = template(&cluster, "uplinks");
    let container = &uplinks["containers"][0];
    assert_eq!(variable(container, "NETWORKS"), networks);
    assert_eq!(variable(container, "GATEWAY"), "enable-chassis-as-gw");
    assert_eq!(container["securityContext"]["capabilities"]["add"], rights);
    let controller = &template(&cluster, "ovn-controller")["containers"][0];
    assert_eq!(variable(controller, "UPLINKS"), "true");
}

#[test]
fn pool_without_physical_networks_has_no_agent_of_uplinks() {
    let cluster = settled();
    let key = Key::of::<DaemonSet>("agents-prod", "uplinks");
    assert!(cluster.get(&key).is_none());
    let condition = cluster.condition(&share_key("prod"), "UplinksReady");
    assert_eq!(condition, None);
    let controller = &template(&cluster, "ovn-controller")["containers"][0];
    assert_eq!(variable(controller, "UPLINKS"), "false");
}

/// The status of a pod that runs.
fn ready(status: &str) -> Value {
    json!({ "phase": "Running", "conditions": [{ "type": "Ready", "status": status }] })
}

fn put_pod(cluster: &mut Cluster, node: &str, status: Value) {
    let name = format!("uplinks-{node}");
    let labels = json!({ "app.kubernetes.io/component": "uplinks" });
    let pod =
        json!({ "metadata": { "labels": labels }, "spec": { "nodeName": node, "containers": [] } });
    put::<Pod>(cluster, "agents-prod", &name, &pod);
    cluster.set_status(&Key::of::<Pod>("agents-prod", &name), status);
}

#[test]
fn share_names_nodes_without_an_uplink_and_is_ready_all_the_same() {
    let mut cluster = connected_cluster(json!({ "name": "physnet1", "bridge": "br-ex" }));
    put_pod(&mut cluster, "node-a", ready("True"));
    put_pod(&mut cluster, "node-b", ready("False"));
    run_agents(&mut cluster, "prod");
    settle(&mut cluster, "prod");
    assert_eq!(
        condition(&cluster, "prod", "UplinksReady").join(": "),
        "False: UplinkMissing: 1 of 2 nodes lack an uplink to a physical network, and have no gateways to it: node-b. If they are to have some, see \
         `kubectl logs -n agents-prod -l app.kubernetes.io/component=uplinks --prefix`, and set interface of the network in the pool"
    );
    assert_eq!(condition(&cluster, "prod", "Ready")[0], "True");
    put_pod(&mut cluster, "node-b", ready("True"));
    settle(&mut cluster, "prod");
    assert_eq!(condition(&cluster, "prod", "UplinksReady")[0], "True");
}

#[rstest]
#[case::ended("state", "False")]
#[case::runs_on("lastState", "True")]
fn share_says_which_interface_is_refused_and_is_ready_all_the_same(
    #[case] state: &str,
    #[case] is_ready: &str,
) {
    let mut cluster =
        connected_cluster(json!({ "name": "physnet1", "bridge": "br-ex", "interface": "eth1" }));
    put_pod(&mut cluster, "node-a", ready("True"));
    let said = |message: &str| {
        let mut container = json!({
            "name": "uplinks", "image": "", "imageID": "", "ready": false, "restartCount": 3, "state": {},
        });
        container[state] = json!({ "terminated": { "exitCode": 1, "message": message } });
        let mut status = ready(is_ready);
        status["containerStatuses"] = json!([container]);
        status
    };
    let refusal = "the network interface eth1 has the route default";
    put_pod(&mut cluster, "node-b", said(refusal));
    run_agents(&mut cluster, "prod");
    settle(&mut cluster, "prod");
    assert_eq!(
        condition(&cluster, "prod", "UplinksReady").join(": "),
        "False: UplinkMissing: node node-b: the network interface eth1 has the route default"
    );
    for type_ in ["HostsReady", "Ready"] {
        assert_eq!(condition(&cluster, "prod", type_)[0], "True");
    }
    // It ends with nothing to say once nothing is refused.
    put_pod(&mut cluster, "node-b", said(""));
    settle(&mut cluster, "prod");
    let status = condition(&cluster, "prod", "UplinksReady")[0].clone();
    assert_eq!(status, is_ready);
}

#[test]
fn share_waits_for_pods_of_uplinks_and_does_not_call_their_nodes_unconnected() {
    let mut cluster = connected_cluster(json!({ "name": "physnet1", "bridge": "br-ex" }));
    let waits = |nodes: &str| {
        format!(
            "waits for the pods of uplinks on {nodes}: see `kubectl get pods -n agents-prod -l app.kubernetes.io/component=uplinks -o wide`"
        )
    };
    let expected = |nodes: &str| ["False".to_owned(), "Starting".to_owned(), waits(nodes)];
    let uplinks = |cluster: &Cluster| condition(cluster, "prod", "UplinksReady");
    assert_eq!(uplinks(&cluster), expected("node-a, node-b"));
    put_pod(&mut cluster, "node-a", ready("True"));
    put_pod(&mut cluster, "node-b", json!({ "phase": "Pending" }));
    settle(&mut cluster, "prod");
    assert_eq!(uplinks(&cluster), expected("node-b"));
    put_pod(&mut cluster, "node-a", ready("False"));
    settle(&mut cluster, "prod");
    let [_, reason, message] = uplinks(&cluster);
    assert_eq!(reason, "UplinkMissing");
    assert!(
        message.starts_with("1 of 2 nodes lack an uplink"),
        "{message}"
    );
    assert!(
        message.ends_with(&format!("; {}", waits("node-b"))),
        "{message}"
    );
}
