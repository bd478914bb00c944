//! Certificates of live migration and consoles on leased nodes.

use c5c3_kinds::{Manifest, cert_manager};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::ConfigMap;
use provider_composer::{Key, Resource};
use provider_composer_testing::Cluster;
use serde_json::{Value, json};

use crate::agents::running;
use crate::fixture::*;

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
    assert_eq!(cluster.condition(&share, "ConsolesReady"), None);
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
            "migrate_tls_x509_cert_dir = \"/var/lib/libvirt/migration\"",
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

/// The API server refuses it for a share that is new or changed.
#[test]
fn issuer_that_signs_for_others_is_reported() {
    let share = share_key("prod");
    let reported = |agents: Value| {
        let mut cluster = settled();
        put_share(&mut cluster, "prod", agents);
        put_certificate(&mut cluster);
        settle(&mut cluster, "prod");
        cluster.condition(&share, "IssuerExclusive")
    };
    let shared = json!({ "name": "site", "kind": "ClusterIssuer" });
    let says = "every certificate of ClusterIssuer site, also of others, gives access to libvirt on the nodes: when no server has to migrate \
                live for some minutes, set agents.encrypted and remove agents.issuerRef, or name an Issuer in the namespace agents-prod";
    let expected = ["False", "IssuerShared", says].map(str::to_owned);
    assert_eq!(reported(json!({ "issuerRef": shared })), Some(expected));
    let own = json!({ "name": "site", "kind": "Issuer" });
    for agents in [json!({ "issuerRef": own }), json!({ "encrypted": true })] {
        assert_eq!(reported(agents), None);
    }
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
    assert_eq!(cluster.condition(&share, CERTIFICATE), None);
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
    cluster.set_status(
        &certificate,
        json!({
            "renewalTime": "2020-01-01T00:00:00Z", "notAfter": "2020-01-11T00:00:00Z",
            "conditions": [{ "type": "Ready", "status": "True" }],
        }),
    );
    settle(&mut cluster, "prod");
    assert_eq!(says(&cluster)[..2], ["False", "CertificateNotRenewed"]);
}
