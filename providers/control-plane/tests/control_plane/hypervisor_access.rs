//! Load balancers for hypervisors of other clusters.

use std::sync::LazyLock;

use k8s_openapi::api::core::v1::Service;
use provider_composer::Key;
use provider_composer_testing::Contents;
use serde_json::{Value, json};

use crate::stage::{NAMESPACE, Stage};

const PARTS: [&str; 8] = [
    "glance",
    "keystone",
    "neutron",
    "nova",
    "nova-metadata",
    "openstack-rabbitmq",
    "ovn-sb",
    "placement",
];

fn spec() -> Value {
    json!({
        "infrastructure": { "mariadb": { "replicas": 3 } },
        "services": { "cinder": { "enabled": false } },
        "global": { "network": {
            "hypervisorNetworks": ["10.9.0.0/16"],
            "hypervisorAccess": { "annotations": { "example.com/network": "internal" } },
        } },
    })
}

fn balancer(part: &str) -> Key {
    Key::of::<Service>(NAMESPACE, &format!("{part}-hypervisors"))
}

fn assign(stage: &mut Stage, part: &str, ingress: &Value) {
    let status = json!({ "loadBalancer": { "ingress": [ingress] } });
    stage.cluster.set_status(&balancer(part), status);
}

/// A control plane whose load balancers have addresses. All are copies of one.
fn reachable() -> Stage {
    static REACHABLE: LazyLock<Contents> = LazyLock::new(|| {
        let mut stage = Stage::new(spec());
        stage.simulate();
        for (part, last) in PARTS.iter().zip(1..) {
            let address = json!({ "ip": format!("192.0.2.{last}") });
            assign(&mut stage, part, &address);
        }
        stage.simulate();
        stage.cluster.contents().clone()
    });
    Stage::of(Contents::clone(&REACHABLE))
}

#[test]
fn every_part_that_agents_connect_to_has_a_load_balancer() {
    let stage = reachable();
    let services = stage.cluster.objects().iter();
    let balancers = services
        .filter(|(key, object)| {
            key.kind.kind == "Service" && object["spec"]["type"] == "LoadBalancer"
        })
        .map(|(key, object)| (key.name.clone(), &object["spec"]));
    let ports = balancers.map(|(name, spec)| {
        assert_eq!(spec["loadBalancerSourceRanges"], json!(["10.9.0.0/16"]));
        assert_eq!(spec["externalTrafficPolicy"], "Local");
        (name, spec["ports"][0]["port"].as_u64().unwrap())
    });
    let expected = [9292, 5000, 9696, 8774, 8775, 5671, 6642, 8778];
    let expected = PARTS.iter().zip(expected);
    let expected: Vec<_> = expected
        .map(|(part, port)| (balancer(part).name, port))
        .collect();
    assert_eq!(ports.collect::<Vec<_>>(), expected);
    let metadata = &stage.cluster.get(&balancer("nova-metadata")).unwrap();
    assert_eq!(
        metadata["metadata"]["annotations"],
        json!({ "example.com/network": "internal" })
    );
    assert_eq!(
        metadata["spec"]["selector"],
        json!({
            "app.kubernetes.io/name": "nova", "app.kubernetes.io/instance": "nova",
            "app.kubernetes.io/component": "metadata",
        })
    );
}

#[test]
fn endpoints_have_the_names_that_agents_are_configured_with() {
    let stage = reachable();
    assert_eq!(stage.condition("HypervisorAccessReady").0, "True");
    let endpoints = stage.status()["agentEndpoints"].as_array().unwrap();
    let find = |name: &str| endpoints.iter().find(|one| one["name"] == name).unwrap();
    assert_eq!(
        find("openstack-rabbitmq"),
        &json!({
            "name": "openstack-rabbitmq",
            "hostnames": [
                "openstack-rabbitmq.openstack.svc.cluster.local", "openstack-rabbitmq.openstack.svc",
            ],
            "addresses": ["192.0.2.6"],
        })
    );
    let members = find("ovn-sb")["hostnames"].as_array().unwrap();
    assert_eq!(members.len(), 6);
    assert_eq!(members[4], "ovn-sb-2.ovn-sb.openstack.svc.cluster.local");
}

#[test]
fn a_load_balancer_without_an_address_is_named() {
    let mut stage = reachable();
    let before = stage.status()["agentEndpoints"].clone();
    let condition = |stage: &mut Stage, ingress: Value| {
        assign(stage, "keystone", &ingress);
        stage.simulate();
        assert_eq!(stage.condition("Ready").0, "False");
        stage.condition("HypervisorAccessReady")
    };
    let (_, reason, message) = condition(&mut stage, json!({}));
    assert_eq!(reason, "WaitingForLoadBalancer");
    assert!(
        message.contains("Service keystone-hypervisors"),
        "{message}"
    );
    let (_, reason, message) = condition(&mut stage, json!({ "hostname": "lb.example.com" }));
    assert_eq!(reason, "NoAddress");
    assert!(message.contains("lb.example.com"), "{message}");
    assert_eq!(stage.status()["agentEndpoints"], before);
}

#[test]
fn address_that_is_not_valid_changes_no_endpoint() {
    let mut stage = reachable();
    let before = stage.status()["agentEndpoints"].clone();
    let ingress = json!([{ "ip": "192.0.2.99" }, { "ip": "192.0.2" }]);
    let status = json!({ "loadBalancer": { "ingress": ingress } });
    stage.cluster.set_status(&balancer("keystone"), status);
    stage.simulate();
    let (status, _, message) = stage.condition("HypervisorAccessReady");
    assert_eq!(status, "Unknown");
    assert_eq!(
        message,
        "192.0.2 of the load balancer of the Service keystone-hypervisors is not a valid address"
    );
    assert_eq!(stage.status()["agentEndpoints"], before);
}

#[test]
fn load_balancers_are_deleted_with_the_setting() {
    let mut stage = reachable();
    stage.want(|spec| spec["global"]["network"]["hypervisorAccess"] = Value::Null);
    stage.simulate();
    for part in PARTS {
        assert!(stage.cluster.get(&balancer(part)).is_none(), "{part}");
    }
    assert_eq!(stage.status().get("agentEndpoints"), None);
    assert_eq!(stage.condition("Ready").0, "True");
}
