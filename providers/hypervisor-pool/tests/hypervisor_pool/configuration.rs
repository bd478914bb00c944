//! Configuration and images of agents.

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{Key, Resource};
use provider_composer_testing::Cluster;
use serde_json::{Value, json};

use crate::fixture::*;

#[test]
fn agents_stay_when_their_configuration_is_missing() {
    let mut cluster = settled();
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
        condition(&cluster, "prod", "OVNControllerReady").join(": "),
        "False: WaitingForConfiguration: waits for a Secret with the labels c5c3.io/agents=ovn in the namespace openstack-prod, which the ovn-operator \
         writes; others are ignored"
    );
}

#[test]
fn share_takes_the_configuration_of_its_cell_alone() {
    let mut cluster = cluster();
    put_secret(
        &mut cluster,
        "other-compute",
        json!({ "c5c3.io/agents": "nova", "c5c3.io/cell": "cell1" }),
        json!({ "nova.conf": "YQ==", "release": "MjAyNS4y" }),
    );
    settle(&mut cluster, "prod");
    assert_eq!(
        condition(&cluster, "prod", "ComputeReady").join(": "),
        "False: Ambiguous: the namespace openstack-prod has several Secrets with the labels c5c3.io/agents=nova,c5c3.io/cell=cell1: delete \
         all but one of them"
    );
}

fn set_cell(cluster: &mut Cluster, cell: &str) {
    set(cluster, "prod", "cell", json!(cell));
}

#[test]
fn hosts_of_a_further_cell_get_its_configuration() {
    let mut cluster = cluster();
    // cell2
    let config = json!({ "nova.conf": "Y2VsbDI=" });
    put_secret(
        &mut cluster,
        "nova-cell2-compute",
        json!({ "c5c3.io/agents": "nova", "c5c3.io/cell": "cell2" }),
        json!({ "nova.conf": config["nova.conf"], "release": "MjAyNS4y" }),
    );
    set_cell(&mut cluster, "cell2");
    settle(&mut cluster, "prod");
    let copy = cluster.get(&Key::of::<Secret>("agents-prod", "nova"));
    assert_eq!(copy.unwrap()["data"], config);
}

#[test]
fn share_of_a_cell_that_nova_does_not_have_names_those_that_it_has() {
    let mut cluster = cluster();
    set_cell(&mut cluster, "cell3");
    settle(&mut cluster, "prod");
    assert_eq!(
        condition(&cluster, "prod", "ComputeReady").join(": "),
        "False: WaitingForConfiguration: waits for a Secret with the labels c5c3.io/agents=nova,c5c3.io/cell=cell3 in the namespace openstack-prod, which \
         the nova-operator writes; others are ignored; if the Nova has the cell, CellsReady of the Nova says what this \
         Secret waits for; if not, add the cell to the Nova, or create the HypervisorShare again with one of the cells \
         that have Secrets: cell1, cell2"
    );
}

/// At the first start no cell has one, until Nova has mapped it.
#[test]
fn share_of_a_cell_without_a_secret_names_the_condition_that_says_why() {
    let mut cluster = cluster();
    delete_nova(&mut cluster);
    settle(&mut cluster, "prod");
    assert_eq!(
        condition(&cluster, "prod", "ComputeReady").join(": "),
        "False: WaitingForConfiguration: waits for a Secret with the labels c5c3.io/agents=nova,c5c3.io/cell=cell1 in the namespace openstack-prod, which \
         the nova-operator writes; others are ignored; if the Nova has the cell, CellsReady of the Nova says what this \
         Secret waits for"
    );
}

/// libvirt's pods see the keys of Ceph's users, and nova-compute's don't.
#[test]
fn keys_of_ceph_are_for_libvirt_alone_and_outlive_cinder() {
    let mut cluster = settled();
    let (nova, cinder) = ("ceph-key-1a", "ceph-key-2b");
    put_secret(
        &mut cluster,
        "nova-cell1-compute",
        json!({ "c5c3.io/agents": "nova", "c5c3.io/cell": "cell1" }),
        json!({ "nova.conf": "YQ==", nova: "Yg==", "release": "MjAyNS4y" }),
    );
    put_secret(
        &mut cluster,
        "cinder-compute",
        json!({ "c5c3.io/agents": "cinder" }),
        json!({ cinder: "Yw==", "release": "MjAyNS4y" }),
    );
    settle(&mut cluster, "prod");
    let data = |cluster: &Cluster, name: &str| {
        let secret = cluster.get(&Key::of::<Secret>("agents-prod", name));
        secret.map(|secret| secret["data"].clone())
    };
    let copied = |cluster: &Cluster| {
        ["nova", "ceph-nova", "cinder", "ceph-cinder"].map(|name| data(cluster, name))
    };
    let expected = [
        Some(json!({ "nova.conf": "YQ==" })),
        Some(json!({ nova: "Yg==" })),
        None,
        Some(json!({ cinder: "Yw==" })),
    ];
    assert_eq!(copied(&cluster), expected);
    assert_eq!(condition(&cluster, "prod", "VolumeKeysReady")[0], "True");
    let set = cluster.get(&Key::of::<DaemonSet>("agents-prod", "libvirt"));
    let volumes = set.unwrap()["spec"]["template"]["spec"]["volumes"].clone();
    let volumes = volumes.as_array().unwrap();
    let keys = volumes.iter().find(|volume| volume["name"] == "ceph");
    let secret = |name: &str| json!({ "secret": { "name": name, "optional": true } });
    assert_eq!(
        keys.unwrap()["projected"]["sources"],
        json!([secret("ceph-nova"), secret("ceph-cinder")])
    );
    cluster.delete(&Key::of::<Secret>("openstack-prod", "cinder-compute"));
    settle(&mut cluster, "prod");
    assert_eq!(copied(&cluster), expected);
}

/// nova-compute's pods don't see the certificate, and servers outlive what gives it.
#[test]
fn certificate_of_consoles_is_for_libvirt_alone_and_replaces_no_pods() {
    let mut cluster = cluster();
    put_share(
        &mut cluster,
        "prod",
        json!({ "issuerRef": { "name": "internal" } }),
    );
    put_certificate(&mut cluster);
    settle(&mut cluster, "prod");
    let data = |cluster: &Cluster, name: &str| {
        let secret = cluster.get(&Key::of::<Secret>("agents-prod", name));
        secret.map(|secret| secret["data"].clone())
    };
    assert_eq!(data(&cluster, "consoles"), None);
    let [status, reason, message] = condition(&cluster, "prod", "ConsolesReady");
    assert_eq!([status, reason], ["False", "WaitingForCertificate"]);
    assert!(
        message.starts_with(
            "no console opens: the Secret nova-cell1-compute has no certificate of consoles"
        ),
        "{message}"
    );
    let before = templates(&cluster);
    let put = |cluster: &mut Cluster, certificate: &str| {
        put_secret(
            cluster,
            "nova-cell1-compute",
            json!({ "c5c3.io/agents": "nova", "c5c3.io/cell": "cell1" }),
            json!({
                "nova.conf": "c2VjcmV0", "release": "MjAyNS4y", "console-ca.crt": "YQ==", "console-tls.crt": certificate,
                "console-tls.key": "Yw==",
            }),
        );
        settle(cluster, "prod");
    };
    for certificate in ["Yg==", "cmVuZXdlZA=="] {
        put(&mut cluster, certificate);
        assert_eq!(
            data(&cluster, "consoles"),
            Some(json!({ "ca.crt": "YQ==", "tls.crt": certificate, "tls.key": "Yw==" }))
        );
        assert_eq!(
            data(&cluster, "nova"),
            Some(json!({ "nova.conf": "c2VjcmV0" }))
        );
    }
    assert_eq!(templates(&cluster), before);
    assert_eq!(condition(&cluster, "prod", "ConsolesReady")[0], "True");
    cluster.delete(&Key::of::<Secret>("openstack-prod", "nova-cell1-compute"));
    settle(&mut cluster, "prod");
    assert!(data(&cluster, "consoles").is_some());
    assert_eq!(
        condition(&cluster, "prod", "ConsolesReady")[1],
        "WaitingForConfiguration"
    );
}

/// The owner of a control plane writes its Nova, Neutron and OVNCluster, and with them what is in these Secrets.
#[test]
fn control_plane_names_no_image_for_nodes() {
    let mut cluster = settled();
    let images = |cluster: &Cluster| {
        AGENTS.map(|agent| {
            let set = cluster.get(&Key::of::<DaemonSet>("agents-prod", agent));
            set.unwrap()["spec"]["template"]["spec"]["containers"][0]["image"].clone()
        })
    };
    let before = images(&cluster);
    // evil/root:1
    let (evil, release) = ("ZXZpbC9yb290OjE=", "MjAyNS4y");
    put_secret(
        &mut cluster,
        "neutron-agent",
        json!({ "c5c3.io/agents": "neutron" }),
        json!({ "neutron-ovn-agent.ini": "YQ==", "image": evil, "release": release }),
    );
    put_secret(
        &mut cluster,
        "nova-cell1-compute",
        json!({ "c5c3.io/agents": "nova", "c5c3.io/cell": "cell1" }),
        json!({ "nova.conf": "YQ==", "image": evil, "release": evil }),
    );
    settle(&mut cluster, "prod");
    assert_eq!(images(&cluster), before);
    assert_eq!(
        condition(&cluster, "prod", "ComputeReady").join(": "),
        "False: WaitingForImage: the control plane runs nova evil/root:1, and this operator has no image of it for nodes: add it to \
         spec.images.nova of the HypervisorPool"
    );
}

#[test]
fn hypervisors_of_another_cluster_take_secrets_that_were_brought_there() {
    let mut cluster = settled();
    let objects = cluster.objects().clone();
    for (name, kind) in OWNERS {
        cluster.delete(&Key::new(kind, "openstack-prod", name));
    }
    let is_brought = |key: &Key| key.namespace.as_deref() == Some("openstack-prod");
    let secrets = objects.iter().filter(|(key, _)| key.kind == Secret::KIND);
    for (key, secret) in secrets.filter(|(key, _)| is_brought(key)) {
        cluster.put(key, secret);
    }
    settle(&mut cluster, "prod");
    let reason = |cluster: &Cluster| condition(cluster, "prod", "ComputeReady")[1].clone();
    assert_eq!(reason(&cluster), "WaitingForConfiguration");
    let mut share = cluster.get(&share_key("prod")).unwrap().clone();
    share["spec"]["endpoints"] =
        json!([{ "name": "keystone", "hostnames": ["keystone"], "addresses": ["192.0.2.1"] }]);
    cluster.put(&share_key("prod"), &share);
    settle(&mut cluster, "prod");
    assert_eq!(reason(&cluster), "Starting");
}

#[test]
fn configuration_with_a_line_break_after_its_lines_is_taken() {
    let mut cluster = cluster();
    let secret = Key::of::<Secret>("openstack-prod", "ovn-chassis");
    cluster.edit(&secret, |secret| {
        // ssl:a:6642 and 25.03.0, each with a line break
        secret["data"]["remote"] = json!("c3NsOmE6NjY0Mgo=");
        secret["data"]["release"] = json!("MjUuMDMuMAo=");
    });
    settle(&mut cluster, "prod");
    let key = Key::of::<DaemonSet>("agents-prod", "ovn-controller");
    let controller = cluster.get(&key).unwrap();
    let variables = &controller["spec"]["template"]["spec"]["containers"][0]["env"];
    let remote = json!({ "name": "OVN_REMOTE", "value": "ssl:a:6642" });
    assert!(
        variables.as_array().unwrap().contains(&remote),
        "{variables}"
    );

    // ssl:a:6642, a line break, and b
    cluster.edit(&secret, |secret| {
        secret["data"]["remote"] = json!("c3NsOmE6NjY0MgpiCg==");
    });
    settle(&mut cluster, "prod");
    let [_, reason, message] = condition(&cluster, "prod", "OVNControllerReady");
    assert_eq!(reason, "InvalidSecret");
    assert_eq!(
        message,
        "key remote of Secret ovn-chassis is not a single line of text: see the ovn-operator, which writes the Secret"
    );
}

/// Whoever may create a Secret chooses its labels and ownerReferences.
#[rstest::rstest]
#[case::no_owner(|_: &mut Value| ())]
#[case::another_resource(|secret: &mut Value| {
    secret["metadata"]["labels"]["c5c3.io/owner-kind"] = json!("Nova");
    secret["metadata"]["labels"]["c5c3.io/owner-namespace"] = json!("openstack-prod");
    secret["metadata"]["labels"]["c5c3.io/owner-name"] = json!("other");
})]
#[case::another_uid(|secret: &mut Value| {
    secret["metadata"]["labels"]["c5c3.io/owner-kind"] = json!("Nova");
    secret["metadata"]["labels"]["c5c3.io/owner-namespace"] = json!("openstack-prod");
    secret["metadata"]["labels"]["c5c3.io/owner-name"] = json!("nova");
    secret["metadata"]["ownerReferences"] = json!([{ "uid": "another", "controller": true }]);
})]
fn secret_that_no_operator_composed_reaches_no_hypervisor(#[case] forge: fn(&mut Value)) {
    let mut cluster = settled();
    let copy = Key::of::<Secret>("agents-prod", "nova");
    let before = cluster.get(&copy).unwrap()["data"].clone();
    let mut secret = json!({
        "metadata": { "labels": { "c5c3.io/agents": "nova", "c5c3.io/cell": "cell1" } },
        "data": { "nova.conf": "ZXZpbA==", "release": "MjAyNS4y" },
    });
    forge(&mut secret);
    put::<Secret>(&mut cluster, "openstack-prod", "admin-password", &secret);
    settle(&mut cluster, "prod");
    assert_eq!(cluster.get(&copy).unwrap()["data"], before);
    assert_ne!(condition(&cluster, "prod", "ComputeReady")[1], "Ambiguous");
    cluster.delete(&Key::of::<Secret>("openstack-prod", "nova-cell1-compute"));
    settle(&mut cluster, "prod");
    assert_eq!(
        condition(&cluster, "prod", "ComputeReady")[1],
        "WaitingForConfiguration"
    );
}

/// The pods of each agent, as they are started.
fn templates(cluster: &Cluster) -> [Value; 6] {
    AGENTS.map(|agent| {
        let set = cluster.get(&Key::of::<DaemonSet>("agents-prod", agent));
        set.unwrap()["spec"]["template"].clone()
    })
}

/// What agents read when they start replaces their pods, and no others. What they read again when it changes replaces none: a pod of
/// nova-compute that is replaced may fail the servers that it is building.
#[rstest::rstest]
#[case::configuration_of_nova("nova-cell1-compute", "nova.conf", &["nova-compute"])]
#[case::certificate_of_nova("nova-cell1-compute", "tls.crt", &[])]
#[case::key_of_ceph("nova-cell1-compute", "ceph-key-1a", &[])]
#[case::key_of_another_pool("nova-cell1-compute", "ceph-key-2b", &[])]
#[case::credential_of_the_operator("nova-cell1-compute", "clouds.yaml", &[])]
#[case::authority_of_the_operator("nova-cell1-compute", "cacert", &[])]
#[case::key_of_volumes("cinder-compute", "ceph-key-3c", &[])]
#[case::configuration_of_neutron("neutron-agent", "neutron-ovn-agent.ini", &["neutron-ovn-agent"])]
#[case::authority_of_ovn("ovn-chassis", "ca.crt", &[])]
#[case::certificate_of_ovn("ovn-chassis", "tls.crt", &[])]
#[case::key_of_ovn("ovn-chassis", "tls.key", &[])]
#[case::address_of_ovn("ovn-chassis", "remote", &["ovn-controller", "neutron-ovn-agent"])]
fn change_of_configuration_replaces_the_pods_that_read_it(
    #[case] secret: &str,
    #[case] file: &str,
    #[case] replaced: &[&str],
) {
    let mut cluster = cluster();
    put_secret(
        &mut cluster,
        "nova-cell1-compute",
        json!({ "c5c3.io/agents": "nova", "c5c3.io/cell": "cell1" }),
        json!({
            "nova.conf": "YQ==", "tls.crt": "YQ==", "tls.key": "YQ==", "ceph-key-1a": "YQ==", "clouds.yaml": "e30=", "cacert": "YQ==",
            "release": "MjAyNS4y",
        }),
    );
    put_secret(
        &mut cluster,
        "cinder-compute",
        json!({ "c5c3.io/agents": "cinder" }),
        json!({ "ceph-key-3c": "YQ==", "release": "MjAyNS4y" }),
    );
    settle(&mut cluster, "prod");
    let before = templates(&cluster);
    // new
    let new = json!("bmV3");
    cluster.edit(&Key::of::<Secret>("openstack-prod", secret), |secret| {
        secret["data"][file] = new.clone()
    });
    settle(&mut cluster, "prod");
    let after = templates(&cluster);
    let pairs = before.iter().zip(&after).zip(AGENTS);
    let changed = pairs.filter(|((before, after), _)| before != after);
    let changed: Vec<&str> = changed.map(|(_, agent)| agent).collect();
    assert_eq!(changed, replaced);
    let mut copies = cluster.objects().iter();
    let is_copied = copies.any(|(key, object)| {
        key.namespace.as_deref() == Some("agents-prod") && object["data"][file] == new
    });
    assert_eq!(
        is_copied,
        !["clouds.yaml", "cacert"].contains(&file),
        "running pods get it"
    );
}
