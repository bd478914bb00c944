//! Which connections the NetworkPolicies of a control plane allow, as Kubernetes evaluates them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use k8s_openapi::api::networking::v1::{
    NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort, NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use provider_composer::ResourceKind;
use serde_json::{Value, json};

use crate::stage::{NAMESPACE, Stage};

const MARIADB: ResourceKind =
    ResourceKind::namespaced("k8s.mariadb.com", "v1alpha1", "MariaDB", "mariadbs");

/// An end of a connection.
#[derive(Clone)]
enum End {
    Pod {
        namespace: String,
        labels: BTreeMap<String, String>,
    },
    Address(Ipv4Addr),
}

fn pod(namespace: &str, labels: &[(&str, &str)]) -> End {
    let labels = labels.iter();
    End::Pod {
        namespace: namespace.to_owned(),
        labels: labels
            .map(|(label, value)| ((*label).to_owned(), (*value).to_owned()))
            .collect(),
    }
}

fn address(address: &str) -> End {
    End::Address(address.parse().unwrap())
}

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
        ("exporter", program("exporter", "openstack-db-metrics")),
        (
            "rabbitmq",
            own(&[
                ("app.kubernetes.io/name", "openstack-rabbitmq"),
                ("app.kubernetes.io/component", "rabbitmq"),
            ]),
        ),
        ("valkey", own(&[("c5c3.io/component", "openstack-valkey")])),
        ("memcached", program("memcached", "openstack-memcached")),
        ("keystone", program("keystone", "keystone")),
        ("glance", program("glance", "glance")),
        (
            "glance's Job",
            own(&[
                ("app.kubernetes.io/name", "glance"),
                ("c5c3.io/task", "db-sync"),
            ]),
        ),
        ("placement", program("placement", "placement")),
        ("nova", program("nova", "nova")),
        (
            "tenant's pod",
            pod("tenant", &[("app.kubernetes.io/name", "glance")]),
        ),
        ("unknown pod", own(&[("app", "unknown")])),
        ("mariadb-operator", pod("mariadb-system", &[])),
        ("DNS", pod("kube-system", &[("k8s-app", "kube-dns")])),
        ("web server", address("192.0.2.80")),
        ("metadata service", address("169.254.169.254")),
        ("private address", address("10.0.0.1")),
    ]
}

const PORTS: [u16; 22] = [
    53, 80, 443, 3300, 3306, 4567, 4369, 5000, 5432, 5555, 5671, 5672, 6379, 6443, 8774, 8778,
    8989, 9104, 9292, 11211, 15671, 15672,
];

fn policies(stage: &Stage) -> Vec<NetworkPolicySpec> {
    let objects = stage.cluster.objects().iter();
    let policies = objects.filter(|(key, _)| key.kind.kind == "NetworkPolicy");
    policies
        .map(|(_, object)| {
            let policy: NetworkPolicy = serde_json::from_value(Value::clone(object)).unwrap();
            policy.spec.unwrap()
        })
        .collect()
}

fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let expressions = selector.match_expressions.iter().flatten();
    let wanted = selector.match_labels.iter().flatten();
    wanted
        .into_iter()
        .all(|(label, value)| labels.get(label) == Some(value))
        && expressions.into_iter().all(|expression| {
            assert_eq!(expression.operator, "In");
            let value = labels.get(&expression.key);
            value.is_some_and(|value| expression.values.as_ref().unwrap().contains(value))
        })
}

fn within(cidr: &str, address: Ipv4Addr) -> bool {
    let (network, bits) = cidr.split_once('/').unwrap();
    let Ok(network) = network.parse::<Ipv4Addr>() else {
        return false;
    };
    let bits: u32 = bits.parse().unwrap();
    let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
    u32::from(network) & mask == u32::from(address) & mask
}

fn matches(peers: Option<&Vec<NetworkPolicyPeer>>, other: &End) -> bool {
    let Some(peers) = peers else { return true };
    assert!(!peers.is_empty(), "an empty list allows all");
    peers.iter().any(|peer| match (other, &peer.ip_block) {
        (End::Address(address), Some(block)) => {
            let except = block.except.iter().flatten();
            within(&block.cidr, *address) && !except.into_iter().any(|cidr| within(cidr, *address))
        }
        (End::Pod { namespace, labels }, None) => {
            let name = ("kubernetes.io/metadata.name".to_owned(), namespace.clone());
            let namespaces = match &peer.namespace_selector {
                Some(selector) => selects(selector, &BTreeMap::from([name])),
                None => namespace == NAMESPACE,
            };
            let pods = peer.pod_selector.as_ref();
            namespaces && pods.is_none_or(|selector| selects(selector, labels))
        }
        _ => false,
    })
}

fn opens(ports: Option<&Vec<NetworkPolicyPort>>, wanted: u16) -> bool {
    let Some(ports) = ports else { return true };
    assert!(!ports.is_empty(), "an empty list allows all");
    ports.iter().any(|port| {
        let Some(IntOrString::Int(first)) = port.port else {
            panic!("a port is a number")
        };
        (first..=port.end_port.unwrap_or(first)).contains(&i32::from(wanted))
    })
}

/// Whether a connection is allowed. What isn't in the control plane's namespace has no policy.
fn allowed(policies: &[NetworkPolicySpec], from: &End, to: &End, port: u16) -> bool {
    let of = |end: &End, direction: &str| -> Vec<&NetworkPolicySpec> {
        let End::Pod { namespace, labels } = end else {
            return Vec::new();
        };
        let of = |policy: &&NetworkPolicySpec| {
            let types = policy.policy_types.as_ref().unwrap();
            let selector = policy.pod_selector.as_ref().unwrap();
            namespace == NAMESPACE
                && types.iter().any(|type_| type_ == direction)
                && selects(selector, labels)
        };
        policies.iter().filter(of).collect()
    };
    let (out, into) = (of(from, "Egress"), of(to, "Ingress"));
    let leaves = out.iter().flat_map(|policy| policy.egress.iter().flatten());
    let enters = into
        .iter()
        .flat_map(|policy| policy.ingress.iter().flatten());
    let mut leaves = leaves.map(|rule| (&rule.to, &rule.ports));
    let mut enters = enters.map(|rule| (&rule.from, &rule.ports));
    (out.is_empty()
        || leaves.any(|(to_, ports)| matches(to_.as_ref(), to) && opens(ports.as_ref(), port)))
        && (into.is_empty()
            || enters
                .any(|(from_, ports)| matches(from_.as_ref(), from) && opens(ports.as_ref(), port)))
}

/// Every connection that begins or ends at a control plane's pod, by who connects and where to.
fn connections(stage: &Stage) -> String {
    let (policies, pods) = (policies(stage), pods());
    let mut lines = String::new();
    for (client, from) in &pods {
        for (server, to) in &pods {
            let inside =
                |end: &End| matches!(end, End::Pod { namespace, .. } if namespace == NAMESPACE);
            if client == server || !inside(from) && !inside(to) {
                continue;
            }
            let open: Vec<u16> = PORTS
                .into_iter()
                .filter(|port| allowed(&policies, from, to, *port))
                .collect();
            if open.len() == PORTS.len() {
                lines.push_str(&format!("{client} -> {server}: all\n"));
            } else if !open.is_empty() {
                lines.push_str(&format!("{client} -> {server}: {open:?}\n"));
            }
        }
    }
    lines
}

#[test]
fn pods_reach_only_what_their_part_uses() {
    let stage = Stage::running(json!({ "openStackRelease": "2025.2" }));
    insta::assert_snapshot!(connections(&stage));
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
