//! Which connections the NetworkPolicies of a control plane allow, those of all operators together.

use provider_control_plane_fixtures::NAMESPACE;
use provider_control_plane_fixtures::network::{End, address, connections, pod, policies};

use crate::given::{assuming_ready, written};

/// The pods of a control plane, as their operators label them, and others.
fn pods() -> Vec<(&'static str, End)> {
    let own = |labels: &[(&str, &str)]| pod(NAMESPACE, labels);
    let program = |name: &str, instance: &str| {
        own(&[
            ("app.kubernetes.io/name", name),
            ("app.kubernetes.io/instance", instance),
        ])
    };
    let part = |name: &str, component: &str| {
        own(&[
            ("app.kubernetes.io/name", name),
            ("app.kubernetes.io/instance", name),
            ("app.kubernetes.io/component", component),
        ])
    };
    vec![
        ("mariadb", program("mariadb", "openstack-db")),
        ("exporter", program("exporter", "openstack-db-metrics")),
        ("rabbitmq", program("openstack-rabbitmq", "")),
        ("memcached", program("memcached", "openstack-memcached")),
        ("keystone", part("keystone", "api")),
        ("glance", part("glance", "api")),
        ("placement", part("placement", "api")),
        ("nova", part("nova", "api")),
        ("nova's conductor", part("nova", "cell1-conductor")),
        ("nova's console proxy", part("nova", "cell1-novncproxy")),
        ("neutron", part("neutron", "api")),
        ("northbound", part("ovn", "nb")),
        ("southbound", part("ovn", "sb")),
        ("cinder", part("cinder", "api")),
        (
            "tempest's Job",
            own(&[
                ("app.kubernetes.io/name", "tempest"),
                ("c5c3.io/task", "run"),
            ]),
        ),
        ("unknown pod", own(&[("app", "unknown")])),
        (
            "tenant's pod",
            pod("tenant", &[("app.kubernetes.io/name", "glance")]),
        ),
        ("mariadb-operator", pod("mariadb-system", &[])),
        ("Prometheus", pod("monitoring", &[])),
        ("DNS", pod("kube-system", &[("k8s-app", "kube-dns")])),
        ("hypervisor", address("10.9.0.1")),
        ("web server", address("192.0.2.80")),
        ("metadata service", address("169.254.169.254")),
        ("private address", address("10.0.0.1")),
    ]
}

const PORTS: [u16; 29] = [
    53, 80, 443, 3300, 3306, 4567, 4369, 5000, 5432, 5555, 5671, 5672, 5900, 6080, 6379, 6443,
    6641, 6642, 6643, 8774, 8776, 8778, 9104, 9117, 9292, 9696, 11211, 15671, 15672,
];

fn allowed(tls: bool) -> String {
    let plan = written(
        &format!(
            "
apiVersion: c5c3.io/v1alpha1
kind: ControlPlane
metadata: {{name: production, namespace: {NAMESPACE}}}
spec:
  openStackRelease: '2025.2'
  tempest: {{enabled: true}}
  global:
    tls: {{enabled: {tls}}}
    monitoring: {{enabled: true}}
    network: {{hypervisorNetworks: [10.9.0.0/16]}}
"
        ),
        &assuming_ready(),
    );
    let plan = plan.unwrap();
    let objects = plan.applied.iter().map(|applied| applied.manifest.value());
    connections(&policies(objects), &pods(), &PORTS)
}

#[test]
fn pods_reach_only_what_their_part_uses() {
    insta::assert_snapshot!(allowed(true));
}

#[test]
fn southbound_database_without_tls_is_closed_to_strangers() {
    let lines = allowed(false);
    let reaching = lines.lines().filter_map(|line| {
        let (client, ports) = line.split_once(" -> southbound: ")?;
        Some((client.to_owned(), ports.to_owned()))
    });
    let of = |client: &str, ports: &str| (client.to_owned(), ports.to_owned());
    assert_eq!(
        reaching.collect::<Vec<_>>(),
        [
            of("neutron", "[6641, 6642]"),
            of("northbound", "all"),
            of("mariadb-operator", "[6642]"),
            of("Prometheus", "[6642]"),
            of("hypervisor", "[6642]"),
        ]
    );
}
