//! Which issuer is asked for which names.

use c5c3_kinds::Manifest;
use c5c3_kinds::cert_manager::{Certificate, Issuer};
use provider_composer::Key;
use provider_control_plane::graph::Node;
use serde_json::{Value, json};

use crate::stage::{NAMESPACE, Stage, first};

/// What is composed of cert-manager's kinds, and how services' own certificates are issued.
fn issued(tls: &Value) -> Value {
    let exposed = |host: &str| json!({ "hostname": host, "ingress": {} });
    let stage = Stage::running(json!({
        "openStackRelease": "2025.2",
        "global": { "tls": tls },
        "services": {
            "keystone": { "expose": exposed("identity.example.com") },
            "glance": { "expose": { "hostname": "image.example.com", "gateway": { "name": "public" } } },
            "nova": { "consoles": exposed("novnc.example.com") },
        },
    }));
    let objects = stage.cluster.objects().iter();
    let own = objects
        .clone()
        .filter(|(key, _)| key.kind.group == "cert-manager.io");
    let own = own.map(|(key, object)| (key.to_string(), object["spec"].clone()));
    let services = objects.filter(|(key, _)| ["Keystone", "Placement"].contains(&key.kind.kind));
    let services = services.map(|(key, object)| {
        let spec = &object["spec"];
        (
            key.to_string(),
            json!({ "tls": spec["tls"], "expose": spec["expose"] }),
        )
    });
    own.chain(services).collect()
}

/// A control plane whose internal issuer signs in all namespaces.
fn shared(issuer: &str) -> Value {
    json!({
        "openStackRelease": "2025.2",
        "global": { "tls": { "internalIssuerRef": { "name": issuer, "kind": "ClusterIssuer" } } },
    })
}

/// The self-signed issuer, the issuer and the certificate of the control plane's own authority.
fn authority() -> [Key; 3] {
    let issuer = |name: &str| Key::of::<Manifest<Issuer>>(NAMESPACE, name);
    [
        issuer("openstack-ca-root"),
        issuer("openstack-ca"),
        Key::of::<Manifest<Certificate>>(NAMESPACE, "openstack-ca"),
    ]
}

fn authority_exists(stage: &Stage) -> [bool; 3] {
    authority().map(|key| stage.cluster.get(&key).is_some())
}

/// The issuer of a node's certificates.
fn issuer(stage: &Stage, node: Node) -> Value {
    stage.object(node).unwrap()["spec"]["tls"]["issuerRef"].clone()
}

/// Sets the issuer of OVN by hand.
fn set_issuer(stage: &mut Stage, issuer: &Value) {
    let set = |ovn: &mut Value| ovn["spec"]["tls"]["issuerRef"] = issuer.clone();
    stage.cluster.edit(&first(Node::Ovn), set);
    stage.simulate();
}

/// What the control plane reports of OVN's issuer.
fn reported(stage: &Stage) -> Option<[String; 3]> {
    stage.cluster.condition(&stage.key, "IssuerExclusive")
}

#[test]
fn public_issuer_is_asked_for_public_names_alone() {
    let public = json!({ "issuerRef": { "name": "letsencrypt-prod", "kind": "ClusterIssuer" } });
    insta::assert_yaml_snapshot!(issued(&public));
}

#[test]
fn internal_issuer_takes_the_place_of_the_own_authority() {
    let internal = json!({ "internalIssuerRef": { "name": "internal" } });
    let issued = issued(&internal);
    let names: Vec<&String> = issued.as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        [
            "Certificate openstack-rabbitmq-tls",
            "Keystone keystone",
            "Placement placement"
        ]
    );
    assert_eq!(
        issued["Placement placement"]["tls"],
        json!({ "enabled": true, "issuerRef": { "name": "internal", "kind": "Issuer" } })
    );
}

/// RabbitMQ's operator says no more than that its pods aren't ready.
#[test]
fn issuer_that_refuses_rabbitmqs_certificate_is_quoted() {
    let mut stage = Stage::new(shared("internal"));
    stage.held.insert(Node::RabbitMq);
    stage.simulate();
    let certificate = Key::of::<Manifest<Certificate>>(NAMESPACE, "openstack-rabbitmq-tls");
    let refused = json!({ "conditions": [{
        "type": "Issuing", "status": "False", "reason": "Failed", "message": "the issuer refused the name",
    }] });
    stage.cluster.set_status(&certificate, refused);
    stage.settle();
    let (status, _, message) = stage.condition("InfrastructureReady");
    let why = "; Certificate openstack-rabbitmq-tls isn't issued: the issuer refused the name";
    assert_eq!(status, "False");
    assert!(message.contains(why), "{message}");
}

/// What cert-manager says of a certificate that it should have renewed ten days ago.
fn overdue() -> Value {
    json!({ "renewalTime": "2026-01-22T00:00:00Z", "notAfter": "2026-02-08T00:00:00Z" })
}

#[test]
fn certificate_of_rabbitmq_that_is_not_renewed_is_reported() {
    let mut stage = Stage::running(shared("internal"));
    let certificate = Key::of::<Manifest<Certificate>>(NAMESPACE, "openstack-rabbitmq-tls");
    stage.cluster.set_status(&certificate, overdue());
    stage.settle();
    let (status, reason, message) = stage.condition("CertificatesRenewed");
    assert_eq!([&*status, &*reason], ["False", "CertificateNotRenewed"]);
    let says = "Certificate openstack-rabbitmq-tls was to be renewed at 2026-01-22T00:00:00Z, ";
    assert!(message.starts_with(says), "{message}");
    assert_eq!(stage.condition("Ready").0, "True");
}

#[test]
fn certificate_of_a_public_host_name_that_is_not_renewed_is_reported() {
    let expose = json!({ "hostname": "identity.example.com", "ingress": {} });
    let mut stage = Stage::running(json!({
        "global": { "tls": { "issuerRef": { "name": "public", "kind": "ClusterIssuer" } } },
        "services": { "keystone": { "expose": expose } },
    }));
    let objects = stage.cluster.objects().iter();
    let mut public =
        objects.filter(|(_, object)| object["spec"]["dnsNames"][0] == "identity.example.com");
    let certificate = public.next().unwrap().0.clone();
    stage.cluster.set_status(&certificate, overdue());
    stage.settle();
    let (_, _, message) = stage.condition("CertificatesRenewed");
    let says = format!("{certificate} was to be renewed at ");
    assert!(message.starts_with(&says), "{message}");
}

#[test]
fn certificate_of_a_service_that_is_not_renewed_is_reported_of_the_control_plane() {
    let mut stage = Stage::running(shared("internal"));
    let overdue = json!({
        "type": "CertificatesRenewed", "status": "False", "reason": "CertificateNotRenewed", "message": "it expires",
    });
    stage.report(Node::Glance, overdue);
    let says: [String; 3] = stage.condition("CertificatesRenewed").into();
    assert_eq!(
        says,
        [
            "False",
            "CertificateNotRenewed",
            "Glance glance: it expires"
        ]
    );
    assert_eq!(stage.condition("Ready").0, "True");
}

/// A node of another control plane would change the networks of this one.
#[test]
fn ovn_has_its_own_authority_where_the_internal_issuer_signs_for_others() {
    let stage = Stage::running(shared("internal"));
    let own = json!({ "name": "openstack-ca", "kind": "Issuer" });
    let internal = json!({ "name": "internal", "kind": "ClusterIssuer" });
    assert_eq!(issuer(&stage, Node::Ovn), own);
    for others in [Node::Keystone, Node::Neutron, Node::Nova] {
        assert_eq!(issuer(&stage, others), internal);
    }
    let spec = |key: &Key| stage.cluster.get(key).unwrap()["spec"].clone();
    let [root, signing, certificate] = authority();
    assert_eq!(spec(&root), json!({ "selfSigned": {} }));
    assert_eq!(
        spec(&signing),
        json!({ "ca": { "secretName": "openstack-ca" } })
    );
    assert_eq!(spec(&certificate)["isCA"], true);
    assert_eq!(reported(&stage), None);
}

/// Its clients couldn't connect with certificates of another authority.
#[test]
fn ovn_that_exists_keeps_a_cluster_issuer_until_another_is_named() {
    let mut stage = Stage::running(shared("internal"));
    // As earlier versions composed it.
    let internal = json!({ "name": "internal", "kind": "ClusterIssuer" });
    set_issuer(&mut stage, &internal);
    assert_eq!(issuer(&stage, Node::Ovn), internal);
    assert_eq!(authority_exists(&stage), [false; 3]);
    let says = "every certificate of ClusterIssuer internal, also of others, gives access to the databases of OVN: when Neutron may be \
                unavailable for some minutes, give OVN an authority of its own by `kubectl patch \
                ovnclusters.ovn.c5c3.io ovn -n openstack --type merge -p \
                '{\"spec\":{\"tls\":{\"issuerRef\":{\"name\":\"openstack-ca\",\"kind\":\"Issuer\"}}}}'`";
    let expected = ["False", "IssuerShared", says].map(str::to_owned);
    assert_eq!(reported(&stage), Some(expected));
    assert_eq!(stage.condition("Ready").0, "True");

    stage.want(|spec| *spec = shared("renamed"));
    stage.simulate();
    let renamed = json!({ "name": "renamed", "kind": "ClusterIssuer" });
    assert_eq!(issuer(&stage, Node::Ovn), renamed);

    let own = json!({ "name": "openstack-ca", "kind": "Issuer" });
    set_issuer(&mut stage, &own);
    assert_eq!(issuer(&stage, Node::Ovn), own);
    assert_eq!(authority_exists(&stage), [true; 3]);
    assert_eq!(reported(&stage), None);
}

#[test]
fn ovn_keeps_its_authority_while_it_cannot_be_read() {
    let mut stage = Stage::running(shared("internal"));
    let ovn = first(Node::Ovn);
    let before = authority().map(|key| stage.cluster.get(&key).cloned());
    stage.cluster.set_readable(&ovn, false);
    stage.simulate();
    let [status, reason, _] = reported(&stage).unwrap();
    assert_eq!([&*status, &*reason], ["Unknown", "LookupFailed"]);
    assert_eq!(
        authority().map(|key| stage.cluster.get(&key).cloned()),
        before
    );
    stage.cluster.set_readable(&ovn, true);
    stage.simulate();
    let own = json!({ "name": "openstack-ca", "kind": "Issuer" });
    assert_eq!(issuer(&stage, Node::Ovn), own);
    assert_eq!(reported(&stage), None);
}

#[test]
fn ovn_of_others_gets_no_authority() {
    let mut stage = Stage::new(shared("internal"));
    let ovn = first(Node::Ovn);
    let others = json!({ "spec": { "tls": { "issuerRef": { "name": "openstack-ca" } } } });
    stage.cluster.put(&ovn, &others);
    stage.simulate();
    assert_eq!(authority_exists(&stage), [false; 3]);
    assert_eq!(reported(&stage), None);
}

#[test]
fn authority_of_ovn_lasts_until_ovn_is_deleted() {
    let mut stage = Stage::running(shared("internal"));
    let ovn = first(Node::Ovn);
    stage.cluster.hold(ovn.kind);
    let key = stage.key.clone();
    stage.cluster.delete(&key);
    stage.simulate();
    assert!(stage.cluster.get(&ovn).is_some());
    assert_eq!(authority_exists(&stage), [true; 3]);
    stage.cluster.release(&ovn);
    stage.simulate();
    assert_eq!(authority_exists(&stage), [false; 3]);
}

#[test]
fn services_keep_their_own_secrets_without_an_issuer() {
    let issued = issued(&json!({}));
    assert_eq!(
        issued["Placement placement"]["tls"],
        json!({ "enabled": true })
    );
    assert_eq!(issued.as_object().unwrap().len(), 2);
}
