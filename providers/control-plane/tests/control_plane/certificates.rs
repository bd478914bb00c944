//! Which issuer is asked for which names.

use serde_json::{Value, json};

use crate::stage::Stage;

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

#[test]
fn public_issuer_is_asked_for_public_names_alone() {
    let public = json!({ "issuerRef": { "name": "letsencrypt-prod", "kind": "ClusterIssuer" } });
    insta::assert_yaml_snapshot!(issued(&public));
}

#[test]
fn internal_issuer_takes_the_place_of_the_own_authority() {
    let internal = json!({ "internalIssuerRef": { "name": "internal", "kind": "ClusterIssuer" } });
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
        json!({ "enabled": true, "issuerRef": { "name": "internal", "kind": "ClusterIssuer" } })
    );
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
