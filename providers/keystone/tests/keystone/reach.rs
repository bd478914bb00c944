//! How a Keystone is reached from outside, in a small cluster in memory.

use c5c3_api::keystone::KeystoneSpec;
use c5c3_kinds::Manifest;
use c5c3_kinds::cert_manager::Certificate;
use c5c3_kinds::gateway::{BackendTlsPolicy, HttpRoute};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::api::networking::v1::Ingress;
use provider_composer::{Custom, Resource};
use provider_openstack_fixtures::Cluster;
use serde_json::{Value, json};

use crate::stage::{KEYSTONE, MANAGED, condition, ready, release, running, tag, with};

const PROTOCOL: &str = "nginx.ingress.kubernetes.io/backend-protocol";

#[test]
fn a_gateway_that_refuses_timeouts_gets_a_route_without_them() {
    for (said, timeouts) in [
        (Value::Null, json!({ "request": "0s" })),
        (json!("Unlimited"), json!({ "request": "0s" })),
        (json!("Gateway"), Value::Null),
    ] {
        let cluster = with(json!({
            "expose": {
                "hostname": "identity.example.com",
                "gateway": { "name": "public" },
                "requestTimeout": said,
            },
        }));
        let route = cluster.get::<Manifest<HttpRoute>>("keystone").unwrap();
        assert_eq!(route["spec"]["rules"][0]["timeouts"], timeouts, "{said}");
        assert_eq!(
            route["spec"]["parentRefs"],
            json!([{ "name": "public" }]),
            "the Gateway knows nothing of it"
        );
    }
}

#[test]
fn a_gateway_leads_to_it_and_trusts_its_certificate() {
    let mut cluster = with(json!({
        "expose": {
            "hostname": "identity.example.com",
            "gateway": { "name": "public", "namespace": "gateways", "sectionName": "https" },
        },
    }));
    cluster.put_gateway("gateways", "public");
    let route = &cluster.get::<Manifest<HttpRoute>>("keystone").unwrap()["spec"];
    assert_eq!(
        *route,
        json!({
            "hostnames": ["identity.example.com"],
            "parentRefs": [{ "name": "public", "namespace": "gateways", "sectionName": "https" }],
            "rules": [{
                "backendRefs": [{ "name": "keystone", "port": 5000 }],
                "timeouts": { "request": "0s" },
            }],
        })
    );
    let trust = |cluster: &Cluster| {
        cluster
            .get::<Manifest<BackendTlsPolicy>>("keystone")
            .unwrap()["spec"]["validation"]
            .clone()
    };
    let hostname = "keystone.openstack.svc.cluster.local";
    assert_eq!(
        trust(&cluster),
        json!({ "hostname": hostname, "wellKnownCACertificates": "System" })
    );
    cluster.secret(
        "keystone-tls",
        &[
            ("tls.crt", "certificate"),
            ("tls.key", "tls-s3cret"),
            ("ca.crt", "authority"),
        ],
    );
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(
        trust(&cluster),
        json!({
            "hostname": hostname,
            "caCertificateRefs": [{ "group": "", "kind": "ConfigMap", "name": "keystone-authority" }],
        })
    );
    let map = cluster.get::<ConfigMap>("keystone-authority").unwrap();
    assert_eq!(map["data"], json!({ "ca.crt": "authority" }));

    let (status, message) = condition(&cluster, "Exposed");
    assert_eq!(status, "False");
    assert_eq!(
        message,
        "waits for Gateway public to take HTTPRoute keystone"
    );
    let mut says = |status: &str, message: &str| {
        cluster.change::<Manifest<HttpRoute>>("keystone", |route| {
            route["status"] = json!({ "parents": [{
                "parentRef": { "name": "public", "namespace": "gateways", "sectionName": "https" },
                "conditions": [
                    { "type": "Accepted", "status": status, "reason": "Any", "message": message },
                    { "type": "ResolvedRefs", "status": "True" },
                ],
            }] });
        });
        cluster.settle(&KEYSTONE, "keystone");
        condition(&cluster, "Exposed")
    };
    let (status, message) = says("False", "no listener has this name");
    assert_eq!(status, "False");
    assert!(
        message.ends_with(": no listener has this name"),
        "{message}"
    );
    let (_, message) = says("False", "");
    assert!(message.ends_with(": Any"), "{message}");
    assert_eq!(says("True", "").0, "True");
}

fn expose_by_gateway(cluster: &mut Cluster) {
    cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        keystone["spec"]["expose"] =
            json!({ "hostname": "identity.example.com", "gateway": { "name": "public" } });
    });
    cluster.settle(&KEYSTONE, "keystone");
}

#[test]
fn gateway_that_is_away_keeps_no_keystone_unready_and_no_release_from_it() {
    let mut cluster = running(MANAGED);
    expose_by_gateway(&mut cluster);
    let exposed = |cluster: &Cluster| cluster.condition(&KEYSTONE, "keystone", "Exposed");
    let waits = "waits for Gateway public to take HTTPRoute keystone";
    let away = ["False", "WaitingForGateway", waits].map(str::to_owned);
    assert_eq!(<[String; 3]>::from(exposed(&cluster)), away);
    assert_eq!(ready(&cluster), "True");

    let route = cluster.get::<Manifest<HttpRoute>>("keystone").cloned();
    release(&mut cluster, "2026.1");
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(tag(&cluster), "29.1.0");
    assert_eq!(<[String; 3]>::from(exposed(&cluster)), away);
    assert_eq!(ready(&cluster), "True");
    assert_eq!(
        cluster.get::<Manifest<HttpRoute>>("keystone").cloned(),
        route,
        "nobody may be there who admits a change of the route"
    );
}

#[test]
fn gateway_api_that_is_not_installed_keeps_no_keystone_unready() {
    for kind in [
        Manifest::<HttpRoute>::KIND,
        Manifest::<BackendTlsPolicy>::KIND,
    ] {
        let mut cluster = running(MANAGED);
        cluster.set_readable(kind, false);
        expose_by_gateway(&mut cluster);
        let (status, message) = condition(&cluster, "Exposed");
        let why = format!("{} can't be read", kind.plural);
        assert_eq!(status, "Unknown");
        assert!(message.starts_with(&why), "{message}");
        let other = Manifest::<BackendTlsPolicy>::KIND == kind;
        assert_eq!(
            message.contains("HTTPRoute keystone isn't created"),
            other,
            "{message}"
        );
        assert_eq!(ready(&cluster), "True", "{}", kind.kind);

        cluster.set_readable(kind, true);
        cluster.settle(&KEYSTONE, "keystone");
        assert_eq!(condition(&cluster, "Exposed").0, "False");
        for composed in [
            cluster.get::<Manifest<HttpRoute>>("keystone"),
            cluster.get::<Manifest<BackendTlsPolicy>>("keystone"),
        ] {
            assert!(composed.is_some(), "{}", kind.kind);
        }
    }
}

#[test]
fn route_follows_the_host_name_while_its_policy_cannot_be_read() {
    let mut cluster = running(MANAGED);
    expose_by_gateway(&mut cluster);
    let policy = cluster
        .get::<Manifest<BackendTlsPolicy>>("keystone")
        .cloned();
    cluster.set_readable(Manifest::<BackendTlsPolicy>::KIND, false);
    cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        keystone["spec"]["expose"]["hostname"] = json!("login.example.com");
    });
    cluster.settle(&KEYSTONE, "keystone");
    let route = cluster.get::<Manifest<HttpRoute>>("keystone").unwrap();
    assert_eq!(route["spec"]["hostnames"], json!(["login.example.com"]));
    let (status, message) = condition(&cluster, "Exposed");
    assert_eq!(status, "Unknown");
    assert!(
        message.contains("HTTPRoute keystone is applied"),
        "{message}"
    );
    assert_eq!(ready(&cluster), "True");
    cluster.set_readable(Manifest::<BackendTlsPolicy>::KIND, true);
    assert_eq!(
        cluster
            .get::<Manifest<BackendTlsPolicy>>("keystone")
            .cloned(),
        policy
    );
}

#[test]
fn an_ingress_leads_to_it() {
    let cluster = with(json!({
        "expose": {
            "hostname": "identity.example.com",
            "ingress": { "className": "nginx", "tlsSecretName": "public-tls", "annotations": { PROTOCOL: "HTTPS" } },
        },
    }));
    let ingress = cluster.get::<Ingress>("keystone").unwrap();
    assert_eq!(
        ingress["metadata"]["annotations"],
        json!({ PROTOCOL: "HTTPS" })
    );
    let spec = &ingress["spec"];
    assert_eq!(spec["ingressClassName"], "nginx");
    assert_eq!(
        spec["tls"],
        json!([{ "hosts": ["identity.example.com"], "secretName": "public-tls" }])
    );
    let rule = &spec["rules"][0];
    assert_eq!(rule["host"], "identity.example.com");
    assert_eq!(
        rule["http"]["paths"][0]["backend"]["service"],
        json!({ "name": "keystone", "port": { "name": "api" } })
    );
    assert_eq!(
        condition(&cluster, "Exposed"),
        (
            "False".to_owned(),
            "waits for Secret public-tls with the public certificate".to_owned()
        )
    );
    assert!(cluster.get::<Manifest<HttpRoute>>("keystone").is_none());
}

#[test]
fn ingress_that_no_controller_serves_is_named_and_keeps_no_keystone_unready() {
    for (ingress, class) in [
        (json!({}), "the default IngressClass"),
        (json!({ "className": "nginx" }), "IngressClass nginx"),
    ] {
        let mut cluster = running(MANAGED);
        cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
            keystone["spec"]["expose"] =
                json!({ "hostname": "identity.example.com", "ingress": ingress });
        });
        let answer = cluster.settle(&KEYSTONE, "keystone");
        let (status, reason, message) = cluster.condition(&KEYSTONE, "keystone", "Exposed");
        assert_eq!((&*status, &*reason), ("False", "WaitingForIngress"));
        let waits = format!(
            "waits for the controller of {class} to serve Ingress keystone, whose status.loadBalancer.ingress is empty: "
        );
        assert!(message.starts_with(&waits), "{message}");
        assert_eq!(ready(&cluster), "True");
        assert_eq!(answer.status["publicEndpoint"], Value::Null);

        cluster.serve_ingress("keystone");
        let answer = cluster.settle(&KEYSTONE, "keystone");
        assert_eq!(condition(&cluster, "Exposed").0, "True");
        assert_eq!(
            answer.status["publicEndpoint"],
            "https://identity.example.com"
        );
    }
}

/// What cert-manager says of a certificate whose issuer has refused.
fn refused() -> Value {
    json!({ "conditions": [
        { "type": "Ready", "status": "False", "reason": "DoesNotExist", "message": "Issuing certificate as Secret does not exist" },
        { "type": "Issuing", "status": "False", "reason": "Failed", "message": "the issuer refused the name" },
    ] })
}

#[test]
fn issuer_that_refuses_is_quoted_while_the_certificate_is_missing() {
    let issuer = json!({ "issuerRef": { "name": "ca" } });
    let ingress = json!({ "className": "nginx", "tlsSecretName": "public-tls" });
    let expose = json!({ "hostname": "identity.example.com", "ingress": ingress });
    let mut cluster = with(json!({ "tls": issuer, "expose": expose }));
    cluster.delete::<Secret>("keystone-tls");
    cluster.change::<Manifest<Certificate>>("keystone-tls", |certificate| {
        certificate["status"] = refused();
    });
    cluster.put::<Manifest<Certificate>>(
        "public-tls",
        json!({ "spec": {
            "secretName": "public-tls", "usages": ["server auth"], "issuerRef": { "name": "public" },
            "privateKey": { "algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always" },
        }, "status": refused() }),
    );
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    let waits = |secret: &str, purpose: &str| {
        let message =
            format!("waits for Secret {secret} with {purpose}: the issuer refused the name");
        ("False".to_owned(), message)
    };
    assert_eq!(
        ["APIReady", "Exposed"].map(|type_| condition(&cluster, type_)),
        [
            waits("keystone-tls", "the API's certificate"),
            waits("public-tls", "the public certificate"),
        ]
    );
    cluster.serve_ingress("keystone");
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(condition(&cluster, "Exposed").0, "True");
}

#[rstest::rstest]
#[case("nginx.ingress.kubernetes.io/server-snippet", "return 200;")]
#[case("nginx.ingress.kubernetes.io/server-alias", "console.example.com")]
#[case("nginx.ingress.kubernetes.io/auth-url", "http://evil.example.com")]
#[case("nginx.ingress.kubernetes.io/proxy-ssl-secret", "other/secret")]
#[case("external-dns.alpha.kubernetes.io/hostname", "other.example.com")]
#[case(PROTOCOL, "HTTPS; evil")]
fn ingress_with_other_annotations_is_refused_and_stays_as_it_was(
    #[case] name: &str,
    #[case] value: &str,
) {
    let allowed = json!({ "hostname": "identity.example.com", "ingress": {} });
    let mut cluster = with(json!({ "expose": allowed }));
    let before = cluster.get::<Ingress>("keystone").cloned();
    cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        keystone["spec"]["expose"]["ingress"] = json!({ "annotations": { name: value } });
    });
    cluster.settle(&KEYSTONE, "keystone");
    let (status, reason, _) = cluster.condition(&KEYSTONE, "keystone", "Exposed");
    assert_eq!((&*status, &*reason), ("False", "AnnotationNotAllowed"));
    assert_eq!(cluster.get::<Ingress>("keystone"), before.as_ref());
    assert_eq!(ready(&cluster), "True", "it is reached as before");
}

#[test]
fn the_catalogue_tells_those_outside_the_name_that_they_know() {
    let exposed = json!({ "hostname": "identity.example.com", "ingress": {} });
    for (more, public) in [
        (
            json!({ "expose": exposed }),
            "https://identity.example.com/v3",
        ),
        (
            json!({}),
            "https://keystone.openstack.svc.cluster.local:5000/v3",
        ),
    ] {
        let cluster = with(more);
        let jobs = cluster.all::<Job>();
        let bootstrap = jobs
            .iter()
            .find(|(name, _)| name.starts_with("keystone-bootstrap"));
        let (_, job) = bootstrap.unwrap();
        let variables = job["spec"]["template"]["spec"]["containers"][0]["env"]
            .as_array()
            .unwrap();
        let url = |name: &str| {
            &variables
                .iter()
                .find(|variable| variable["name"] == name)
                .unwrap()["value"]
        };
        assert_eq!(*url("OS_BOOTSTRAP_PUBLIC_URL"), public);
        assert_eq!(
            *url("OS_BOOTSTRAP_INTERNAL_URL"),
            "https://keystone.openstack.svc.cluster.local:5000/v3"
        );
    }
}
