//! Which connections the NetworkPolicies of a control plane allow.

use k8s_openapi::api::networking::v1::NetworkPolicySpec;
use provider_composer::ResourceKind;
use serde_json::json;

use crate::stage::network::{End, address, allowed, pod};
use crate::stage::{NAMESPACE, Stage, network};

const MARIADB: ResourceKind =
    ResourceKind::namespaced("k8s.mariadb.com", "v1alpha1", "MariaDB", "mariadbs");

/// The pods of a control plane, as their operators label them.
fn pods() -> Vec<(&'static str, End)> {
    let own = |labels: &[(&str, &str)]| pod(NAMESPACE, labels);
    let program = |name: &str, instance: &str| {
        own(&[
            ("app.kubernetes.io/name", name),
            ("app.kubernetes.io/instance", instance),
        ])
    };
    vec![
        ("mariadb", program("mariadb", "openstack-db")),
        ("maxscale", program("maxscale", "openstack-db-maxscale")),
        (
            "rabbitmq",
            own(&[
                ("app.kubernetes.io/name", "openstack-rabbitmq"),
                ("app.kubernetes.io/component", "rabbitmq"),
            ]),
        ),
        ("valkey", own(&[("c5c3.io/component", "openstack-valkey")])),
        ("memcached", program("memcached", "openstack-memcached")),
        ("glance", program("glance", "glance")),
        ("nova", program("nova", "nova")),
        (
            "tenant's pod",
            pod("tenant", &[("app.kubernetes.io/name", "glance")]),
        ),
        ("unknown pod", own(&[("app", "unknown")])),
    ]
}

const PORTS: [u16; 22] = [
    53, 80, 443, 3300, 3306, 4567, 4369, 5000, 5432, 5555, 5671, 5672, 6379, 6443, 8774, 8778,
    8989, 9104, 9292, 11211, 15671, 15672,
];

fn policies(stage: &Stage) -> Vec<NetworkPolicySpec> {
    network::policies(stage.cluster.objects().values().map(|object| &**object))
}

#[test]
fn tenants_and_unknown_pods_reach_no_server() {
    let stage = Stage::running(json!({ "openStackRelease": "2025.2" }));
    let (policies, pods) = (policies(&stage), pods());
    let find = |name: &str| &pods.iter().find(|(other, _)| *other == name).unwrap().1;
    for client in ["tenant's pod", "unknown pod"] {
        for server in ["mariadb", "maxscale", "rabbitmq", "valkey", "memcached"] {
            for port in PORTS {
                assert!(
                    !allowed(&policies, find(client), find(server), port),
                    "{client} reaches {server} at {port}"
                );
            }
        }
    }
}

#[test]
fn external_servers_are_reached_at_their_address_alone() {
    let mut stage = Stage::new(json!({
        "openStackRelease": "2025.2",
        "infrastructure": {
            "mariadb": { "external": { "host": "10.0.0.1", "port": 3307 } },
            "memcached": { "external": { "servers": ["10.0.0.2:11211"] } },
        },
    }));
    stage.settle();
    let (policies, pods) = (policies(&stage), pods());
    let glance = &pods.iter().find(|(name, _)| *name == "glance").unwrap().1;
    let reaches = |host: &str, port| allowed(&policies, glance, &address(host), port);
    assert_eq!(
        [
            reaches("10.0.0.1", 3307),
            reaches("10.0.0.1", 3306),
            reaches("10.0.0.2", 11211),
            reaches("10.0.0.2", 3307),
            reaches("10.0.0.3", 11211),
        ],
        [true, false, true, false, false]
    );
}

#[test]
fn cinder_reaches_the_bucket_of_its_backups() {
    let reaches = |endpoint: Option<&str>, host: &str, port| {
        let mut spec = json!({ "openStackRelease": "2025.2" });
        if let Some(endpoint) = endpoint {
            let secret = json!({ "name": "bucket" });
            let s3 = json!({ "endpoint": endpoint, "bucket": "volumes", "secretRef": secret });
            spec["services"] = json!({ "cinder": { "backup": { "s3": s3 } } });
        }
        let mut stage = Stage::new(spec);
        stage.settle();
        let cinder = pod(NAMESPACE, &[("app.kubernetes.io/name", "cinder")]);
        allowed(&policies(&stage), &cinder, &address(host), port)
    };
    let bucket = Some("https://10.0.0.1:9000/s3");
    assert_eq!(
        [
            reaches(bucket, "10.0.0.1", 9000),
            reaches(bucket, "10.0.0.2", 9000),
            reaches(None, "10.0.0.1", 9000),
            reaches(Some("http://10.0.0.1"), "10.0.0.1", 80),
            reaches(Some("https://s3.example.com"), "10.0.0.1", 443),
        ],
        [true, false, false, true, true]
    );
}

#[test]
fn hypervisors_reach_rabbitmq_from_their_networks_alone() {
    let mut stage = Stage::new(json!({
        "openStackRelease": "2025.2",
        "global": { "network": { "hypervisorNetworks": ["10.9.0.0/16"] } },
    }));
    stage.settle();
    let (policies, pods) = (policies(&stage), pods());
    let find = |name: &str| &pods.iter().find(|(other, _)| *other == name).unwrap().1;
    let reaches = |host: &str, port| allowed(&policies, &address(host), find("rabbitmq"), port);
    let shows = |host: &str, port| allowed(&policies, find("nova"), &address(host), port);
    assert_eq!(
        [
            reaches("10.9.0.1", 5672),
            reaches("10.9.0.1", 15672),
            reaches("10.8.0.1", 5672),
            shows("10.9.0.1", 5900),
            shows("10.8.0.1", 5900),
        ],
        [true, false, false, true, false]
    );
}

#[test]
fn policies_stay_until_the_last_part_is_deleted() {
    let mut stage = Stage::running(json!({ "openStackRelease": "2025.2" }));
    let before = policies(&stage).len();
    stage.cluster.hold(MARIADB);
    let key = stage.key.clone();
    stage.cluster.delete(&key);
    stage.settle();
    assert_eq!(policies(&stage).len(), before);
    for key in stage.cluster.objects().keys().cloned().collect::<Vec<_>>() {
        if key.kind == MARIADB {
            stage.cluster.release(&key);
        }
    }
    stage.settle();
    assert_eq!(policies(&stage).len(), 0);
}
