//! What runs on leased nodes.

use std::collections::BTreeSet;
use std::process::Command;

use c5c3_api::hypervisor::MIXED;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use provider_composer::{Composed, Key};
use provider_composer_testing::Cluster;
use provider_openstack::Release;
use provider_openstack_fixtures::{difference, shown};
use serde_json::{Value, json};

use crate::fixture::*;

/// A share that runs agents on every hypervisor.
pub fn running() -> (Cluster, Value) {
    let mut cluster = settled();
    run_agents(&mut cluster, "prod");
    let answer = settle(&mut cluster, "prod");
    (cluster, shown(&answer))
}

#[test]
fn share_leases_every_hypervisor_and_runs_agents_on_them() {
    let (cluster, answer) = running();
    insta::assert_yaml_snapshot!(answer);
    let leases = ["node-a", "node-b", "node-c"].map(|node| lease(&cluster, node));
    assert_eq!(
        leases,
        [Some("prod".to_owned()), Some("prod".to_owned()), None]
    );
}

#[test]
fn share_with_every_setting_composes_agents_accordingly() {
    let mut cluster = cluster();
    let network = json!({ "name": "physnet1", "bridge": "br-ex", "vlanRange": "100-199", "interface": "eth1" });
    put_pool(
        &mut cluster,
        json!({ "mode": "Dedicated", "physicalNetworks": [network], "images": {
            "libvirt": "registry.example.org/libvirt:1", "openVSwitch": "registry.example.org/ovs:1",
            "ovn": { "25.03.0": "registry.example.org/ovn:1" }, "neutron": { "2025.2": "registry.example.org/neutron:1" },
            "nova": { "2025.2": "registry.example.org/nova:1" },
        }, "systemReserved": { "memoryMB": 16384, "diskMB": 20480 } }),
    );
    put_share(
        &mut cluster,
        "prod",
        json!({
            "virtualization": "qemu", "datapath": "netdev", "tunnelInterface": "under0", "gateway": true,
            "issuerRef": { "name": "internal", "kind": "Issuer" },
        }),
    );
    put_certificate(&mut cluster);
    let answer = settle(&mut cluster, "prod");
    let (_, without_settings) = running();
    insta::assert_yaml_snapshot!(difference(&without_settings, &shown(&answer)));
}

/// Starts nova-compute on a node with the present configuration.
fn start_compute(cluster: &mut Cluster, node: &str) {
    let set = cluster.get(&Key::of::<DaemonSet>("agents-prod", "nova-compute"));
    let annotations = set.unwrap()["spec"]["template"]["metadata"]["annotations"].clone();
    pod_of(cluster, "prod", "nova-compute", node, Some(true));
    let pod = Key::of::<Pod>("agents-prod", &format!("nova-compute-{node}"));
    cluster.edit(&pod, |pod| pod["metadata"]["annotations"] = annotations);
}

/// The control plane keeps former credentials until then.
#[test]
fn share_reports_the_configuration_that_nova_compute_has_on_all_nodes() {
    let mut cluster = settled();
    let reported = |cluster: &mut Cluster| {
        settle(cluster, "prod");
        let share = cluster.get(&share_key("prod")).unwrap();
        share["status"]["configuration"].clone()
    };
    for node in ["node-a", "node-b"] {
        start_compute(&mut cluster, node);
    }
    let first = reported(&mut cluster);
    assert_eq!(first, "4dc3b9ee");

    let labels = json!({ "c5c3.io/agents": "nova", "c5c3.io/cell": "cell1" });
    let next = json!({ "nova.conf": "bmV4dA==", "release": "MjAyNS4y", "migration.key": "a2V5" });
    put_secret(&mut cluster, "nova-cell1-compute", labels, next);
    assert_eq!(reported(&mut cluster), MIXED);
    start_compute(&mut cluster, "node-a");
    assert_eq!(reported(&mut cluster), MIXED);
    start_compute(&mut cluster, "node-b");
    let second = reported(&mut cluster);
    assert!(second != MIXED && second != first, "{second}");

    delete_nova(&mut cluster);
    assert_eq!(reported(&mut cluster), second);
}

/// The images of everything that runs on leased nodes.
fn images(composed: &Composed) -> BTreeSet<String> {
    let objects = composed.desired.objects.values();
    let pods = objects.map(|object| &object["spec"]["template"]["spec"]);
    let containers = pods.flat_map(|pod| [&pod["initContainers"], &pod["containers"]]);
    let containers = containers.filter_map(Value::as_array).flatten();
    containers
        .map(|container| container["image"].as_str().unwrap().to_owned())
        .collect()
}

/// What `c5c3 images` lists for hypervisors is what runs there.
#[test]
fn agents_run_the_images_of_their_release_from_the_pools_registry() {
    let tags = Release::tags("2025.2").unwrap();
    let expected = |mirror: Option<&str>| -> BTreeSet<String> {
        let published = tags.of_hypervisors();
        published.map(|image| image.reference(mirror)).collect()
    };

    let run = |given: Value| {
        let mut cluster = cluster();
        put_pool(&mut cluster, json!({ "mode": "Shared", "images": given }));
        images(&settle(&mut cluster, "prod"))
    };

    assert_eq!(run(json!({})), expected(None));
    let mirror = "registry.example.org:5000/mirror";
    assert_eq!(run(json!({ "registry": mirror })), expected(Some(mirror)));
    let own = json!({ "2025.2": "registry.example.org/nova:1" });
    let run = run(json!({ "registry": mirror, "nova": own }));
    assert!(run.contains("registry.example.org/nova:1"), "{run:?}");
    assert!(!run.contains(&format!("{mirror}/nova:32.2.1")));
}

/// What the environment of ovn-controller says of the node's part in OVN.
fn chassis_options(agents: Value, zone: Option<&str>) -> Value {
    let mut cluster = cluster();
    put_share(&mut cluster, "prod", agents);
    let mut share = cluster.get(&share_key("prod")).unwrap().clone();
    share["spec"]["availabilityZone"] = json!(zone);
    cluster.put(&share_key("prod"), &share);
    settle(&mut cluster, "prod");
    let key = Key::of::<DaemonSet>("agents-prod", "ovn-controller");
    let containers = &cluster.get(&key).unwrap()["spec"]["template"]["spec"]["containers"];
    let variables = containers[0]["env"].as_array().unwrap().iter();
    let mut found = variables.filter(|variable| variable["name"] == "CHASSIS_OPTIONS");
    found.next().unwrap()["value"].clone()
}

#[test]
fn neutron_finds_the_availability_zone_of_a_share_at_each_node() {
    let gateway = json!({ "gateway": true });
    let options = [
        chassis_options(json!({}), None),
        chassis_options(gateway.clone(), None),
        chassis_options(json!({}), Some("eu-de-1a")),
        chassis_options(gateway, Some("eu-de-1a")),
    ];
    assert_eq!(
        options,
        [
            json!(""),
            json!("enable-chassis-as-gw"),
            json!("availability-zones=eu-de-1a"),
            json!("enable-chassis-as-gw,availability-zones=eu-de-1a"),
        ]
    );
}

#[test]
fn agents_find_a_control_plane_of_another_cluster_by_its_own_names() {
    let mut cluster = cluster();
    let mut share = cluster.get(&share_key("prod")).unwrap().clone();
    let hostnames = json!([
        "keystone.openstack-prod.svc.cluster.local",
        "keystone.openstack-prod.svc"
    ]);
    share["spec"]["endpoints"] = json!([{ "name": "keystone", "hostnames": hostnames, "addresses": ["192.0.2.1", "2001:db8::1"] }]);
    cluster.put(&share_key("prod"), &share);
    settle(&mut cluster, "prod");
    let aliases = |agent| {
        let set = cluster.get(&Key::of::<DaemonSet>("agents-prod", agent));
        set.unwrap()["spec"]["template"]["spec"]["hostAliases"].clone()
    };
    // They connect to nothing in it, and would be restarted when an address changes.
    for agent in ["libvirt", "openvswitch"] {
        assert_eq!(aliases(agent), Value::Null, "{agent}");
    }
    for agent in ["neutron-ovn-agent", "nova-compute", "ovn-controller"] {
        assert_eq!(
            aliases(agent),
            json!([{ "ip": "192.0.2.1", "hostnames": hostnames }, { "ip": "2001:db8::1", "hostnames": hostnames }]),
            "{agent}"
        );
    }
}

#[test]
fn share_names_nodes_that_lack_something() {
    let mut cluster = settled();
    let pod = json!({ "spec": { "nodeName": "node-b", "containers": [] } });
    // The kubelet of a node of another share creates this one.
    let planted = json!({
        "metadata": { "ownerReferences": [
            { "apiVersion": "v1", "kind": "Node", "name": "node-a", "uid": "1", "controller": true },
        ] },
        "spec": { "nodeName": "node-a", "containers": [] },
    });
    let missing = "/dev/net/tun is missing: load the kernel module tun\n";
    for (name, pod, message) in [
        ("openvswitch-x", pod, missing),
        ("planted", planted, "run this as root"),
    ] {
        put::<Pod>(&mut cluster, "agents-prod", name, &pod);
        let check = json!({
            "name": "requirements", "image": "", "imageID": "", "ready": false, "restartCount": 3,
            "state": { "waiting": { "reason": "CrashLoopBackOff" } },
            "lastState": { "terminated": { "exitCode": 1, "message": message } },
        });
        let key = Key::of::<Pod>("agents-prod", name);
        cluster.set_status(&key, json!({ "initContainerStatuses": [check] }));
    }
    settle(&mut cluster, "prod");
    assert_eq!(
        condition(&cluster, "prod", "HostsReady").join(": "),
        "False: RequirementMissing: node node-b: /dev/net/tun is missing: load the kernel module tun"
    );
}

/// A node may come back with another control plane's servers, when its Node was deleted.
#[test]
fn node_with_files_of_another_lease_or_without_tun_runs_no_agents() {
    let cluster = settled();
    let folder = std::env::temp_dir().join(format!("lease-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("nova")).unwrap();
    let check_with = |agent: &str, lease: &str, requirements: &str| {
        let set = cluster.get(&Key::of::<DaemonSet>("agents-prod", agent));
        let container = set.unwrap()["spec"]["template"]["spec"]["initContainers"][0].clone();
        let script = container["command"][2].as_str().unwrap();
        let script = script
            .replace("/host", folder.to_str().unwrap())
            .replace("/dev/termination-log", "/dev/null");
        let output = Command::new("sh")
            .args(["-euc", &script])
            .env("REQUIREMENTS", requirements)
            .env("LEASE", lease)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        (output.status.success(), said)
    };
    let check = |agent: &str, lease: &str| check_with(agent, lease, "");
    for agent in ["openvswitch", "libvirt"] {
        assert_eq!(check(agent, "prod 1"), (true, String::new()), "{agent}");
        let (passes, why) = check(agent, "other 2");
        assert!(!passes, "{agent}");
        assert!(
            why.starts_with(
                "the node has servers or files of the HypervisorShare prod with the identity 1, "
            ),
            "{why}"
        );
    }
    assert_eq!(
        check_with("openvswitch", "prod 1", "tun"),
        (
            false,
            "/dev/net/tun is missing: load the kernel module tun\n".to_owned()
        )
    );
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn namespace_of_someone_else_gets_no_configuration() {
    let mut cluster = cluster();
    put::<Namespace>(&mut cluster, "", "agents-prod", &json!({}));
    reconcile(&mut cluster, "prod");
    let inside = cluster.objects().keys();
    let inside = inside.filter(|key| key.namespace.as_deref() == Some("agents-prod"));
    assert_eq!(inside.collect::<Vec<_>>(), Vec::<&Key>::new());
    assert_eq!(condition(&cluster, "prod", "Ready")[1], "NameTaken");
}
