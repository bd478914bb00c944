//! What runs on leased nodes.

use std::collections::BTreeSet;
use std::process::Command;

use c5c3_kinds::{Manifest, cert_manager};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use provider_composer::{Composed, Key, Resource};
use provider_composer_testing::Cluster;
use provider_openstack::Release;
use provider_openstack_fixtures::{difference, shown};
use serde_json::{Value, json};

use crate::fixture::*;

/// A share that runs agents on every hypervisor.
fn running() -> (Cluster, Value) {
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

/// By a certificate of the nodes' issuer, one is an administrator of libvirt.
#[test]
fn consoles_have_another_certificate_than_migrations() {
    let mut cluster = cluster();
    let tls = |cluster: &Cluster| {
        let map = cluster.get(&Key::of::<ConfigMap>("agents-prod", "libvirt"));
        let qemu = map.unwrap()["data"]["qemu.conf"].as_str().unwrap();
        let lines = qemu.lines().filter(|line| line.contains("tls"));
        lines.map(str::to_owned).collect::<Vec<String>>()
    };
    let share = share_key("prod");
    settle(&mut cluster, "prod");
    assert_eq!(tls(&cluster), Vec::<String>::new());
    assert_eq!(find_condition(&cluster, &share, "ConsolesReady"), None);
    cluster.edit(&share, |share| {
        share["spec"]["agents"]["issuerRef"] = json!({ "name": "internal" });
    });
    put_certificate(&mut cluster);
    settle(&mut cluster, "prod");
    assert_eq!(
        tls(&cluster),
        [
            "vnc_tls = 1",
            "vnc_tls_x509_cert_dir = \"/var/lib/libvirt/consoles\"",
            "vnc_tls_x509_verify = 1",
            "default_tls_x509_verify = 1",
            "migrate_tls_force = 1",
        ]
    );
    let set = cluster.get(&Key::of::<DaemonSet>("agents-prod", "libvirt"));
    let pod = &set.unwrap()["spec"]["template"]["spec"];
    let mounts = pod["containers"][0]["volumeMounts"].as_array().unwrap();
    for (name, path) in [
        ("tls", "/etc/libvirt/tls"),
        ("consoles", "/etc/libvirt/consoles"),
    ] {
        assert!(
            mounts.contains(&json!({ "name": name, "mountPath": path })),
            "{name}"
        );
    }
}

/// Libvirt takes every certificate of that authority for an administrator of the nodes.
#[test]
fn encrypted_share_has_an_authority_that_signs_for_its_nodes_alone() {
    let mut cluster = settled();
    let issuer = |cluster: &Cluster| {
        let key = Key::of::<Manifest<cert_manager::Certificate>>("agents-prod", "hypervisor-tls");
        let certificate = cluster.get(&key);
        certificate.map(|certificate| certificate["spec"]["issuerRef"]["name"].clone())
    };
    let authority = |cluster: &Cluster| {
        let key = Key::of::<Manifest<cert_manager::Issuer>>("agents-prod", "hypervisor-ca");
        cluster.get(&key).map(|issuer| issuer["spec"].clone())
    };
    assert_eq!((issuer(&cluster), authority(&cluster)), (None, None));

    put_share(&mut cluster, "prod", json!({ "encrypted": true }));
    put_certificate(&mut cluster);
    settle(&mut cluster, "prod");
    assert_eq!(issuer(&cluster), Some(json!("hypervisor-ca")));
    let signs = json!({ "ca": { "secretName": "hypervisor-ca" } });
    assert_eq!(authority(&cluster), Some(signs));
    let key = Key::of::<Manifest<cert_manager::Certificate>>("agents-prod", "hypervisor-ca");
    let spec = &cluster.get(&key).unwrap()["spec"];
    assert_eq!(spec["isCA"], true);
    assert_eq!(spec["privateKey"]["rotationPolicy"], "Never");
    assert_eq!(spec["issuerRef"]["name"], "hypervisor-ca-root");
    let map = cluster.get(&Key::of::<ConfigMap>("agents-prod", "libvirt"));
    let daemon = map.unwrap()["data"]["libvirtd.conf"].clone();
    assert!(
        daemon.as_str().unwrap().contains("listen_tls = 1"),
        "{daemon}"
    );

    let given = json!({ "encrypted": true, "issuerRef": { "name": "internal" } });
    put_share(&mut cluster, "prod", given);
    settle(&mut cluster, "prod");
    assert_eq!(issuer(&cluster), Some(json!("internal")));
    assert_eq!(authority(&cluster), None);
}

/// Its pods can't start without the certificate, and servers on their nodes can't be managed without them.
#[test]
fn libvirt_stays_as_it_is_until_nodes_have_a_certificate() {
    let (mut cluster, _) = running();
    let libvirt = |cluster: &Cluster| {
        let map = cluster.get(&Key::of::<ConfigMap>("agents-prod", "libvirt"));
        let set = cluster.get(&Key::of::<DaemonSet>("agents-prod", "libvirt"));
        [
            map.unwrap()["data"].clone(),
            set.unwrap()["spec"]["template"].clone(),
        ]
    };
    let before = libvirt(&cluster);
    let ready = condition(&cluster, "prod", "Ready");
    let kind = Manifest::<cert_manager::Certificate>::KIND;
    for (is_installed, says) in [
        (
            true,
            "waits for Secret hypervisor-tls with the nodes' certificate",
        ),
        (
            false,
            "waits for cert-manager, whose kind Certificate isn't installed",
        ),
    ] {
        let mut cluster: Cluster = cluster.contents().clone().into();
        if !is_installed {
            cluster.uninstall(kind);
        }
        put_share(&mut cluster, "prod", json!({ "encrypted": true }));
        settle(&mut cluster, "prod");
        assert_eq!(libvirt(&cluster), before);
        let [status, reason, message] = condition(&cluster, "prod", "LibvirtReady");
        assert_eq!([status, reason], ["False", "WaitingForSecret"]);
        assert!(
            message.starts_with("waits for Secret hypervisor-tls"),
            "{message}"
        );
        let message = &condition(&cluster, "prod", "CertificateReady")[2];
        assert!(message.starts_with(says), "{message}");
        assert_eq!(condition(&cluster, "prod", "Ready"), ready);
    }
    put_share(&mut cluster, "prod", json!({ "encrypted": true }));
    put_certificate(&mut cluster);
    settle(&mut cluster, "prod");
    let after = libvirt(&cluster);
    assert!(
        before
            .iter()
            .zip(&after)
            .all(|(before, after)| before != after)
    );
}

#[test]
fn certificate_of_nodes_is_reported_with_the_refusal_of_its_issuer() {
    const CERTIFICATE: &str = "CertificateReady";
    let mut cluster = settled();
    let share = share_key("prod");
    assert_eq!(find_condition(&cluster, &share, CERTIFICATE), None);
    put_share(
        &mut cluster,
        "prod",
        json!({ "issuerRef": { "name": "internal" } }),
    );
    settle(&mut cluster, "prod");
    let waits = "waits for Secret hypervisor-tls with the nodes' certificate";
    let says = |cluster: &Cluster| condition(cluster, "prod", CERTIFICATE);
    assert_eq!(says(&cluster), ["False", "WaitingForSecret", waits]);

    let certificate =
        Key::of::<Manifest<cert_manager::Certificate>>("agents-prod", "hypervisor-tls");
    let denied = "the certificate request has failed: denied by the approver";
    let reported = |type_: &str| {
        let condition = json!({ "type": type_, "status": "False", "message": denied });
        json!({ "conditions": [condition] })
    };
    cluster.set_status(&certificate, reported("Issuing"));
    settle(&mut cluster, "prod");
    assert_eq!(says(&cluster)[2], format!("{waits}: {denied}"));

    put_certificate(&mut cluster);
    settle(&mut cluster, "prod");
    let renewal = format!(
        "waits for cert-manager to renew the nodes' certificate in Secret hypervisor-tls: {denied}"
    );
    assert_eq!(says(&cluster), ["False", "WaitingForCertificate", &renewal]);
    // It reports of what the Certificate said before.
    cluster.set_status(
        &certificate,
        json!({ "conditions": [{ "type": "Ready", "status": "True", "observedGeneration": 0 }] }),
    );
    settle(&mut cluster, "prod");
    assert_eq!(says(&cluster)[1], "WaitingForCertificate");
    cluster.set_status(
        &certificate,
        json!({ "conditions": [{ "type": "Ready", "status": "True" }] }),
    );
    settle(&mut cluster, "prod");
    assert_eq!(says(&cluster), ["True", "Ready", ""]);
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
    let agents = [
        "libvirt",
        "neutron-ovn-agent",
        "nova-compute",
        "openvswitch",
        "ovn-controller",
    ];
    for agent in agents {
        let key = Key::of::<DaemonSet>("agents-prod", agent);
        let aliases = &cluster.get(&key).unwrap()["spec"]["template"]["spec"]["hostAliases"];
        assert_eq!(
            aliases,
            &json!([{ "ip": "192.0.2.1", "hostnames": hostnames }, { "ip": "2001:db8::1", "hostnames": hostnames }]),
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
