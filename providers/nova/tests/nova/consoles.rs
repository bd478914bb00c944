//! The proxies of consoles, and their certificates.

use c5c3_kinds::Manifest;
use c5c3_kinds::cert_manager::{Certificate, Issuer};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use provider_openstack_fixtures::Cluster;
use serde_json::{Value, json};

use crate::{NOVA, change, given, printed, running};

const PROXY: &str = "nova-cell1-novncproxy";
const CONDUCTOR: &str = "nova-cell1-conductor";
const COMPUTE: &str = "nova-cell1-compute";
/// The Secret with the hypervisors' certificate.
const HOST: &str = "nova-cell1-vnc-host";
/// The Secrets that cert-manager writes for consoles.
const ISSUED: [&str; 3] = ["nova-cell1-vnc-ca", "nova-cell1-vnc-proxy", HOST];

/// Stands for Nova, whose proxy compares protocols with that of a console's URL, and looks at those of four connections.
const FAKE: &str = r#"
class Handler:
    def verify_origin_proto(self, connect_info, protocol):
        return protocol == connect_info

def main():
    assert sys.argv[1:] == ["--config-file", "/etc/nova/config/nova.conf"], sys.argv
    handler = proxy.NovaProxyRequestHandler()
    print(*(handler.verify_origin_proto("https", protocol) for protocol in ("https", "wss", "http", "ws")))
    print(*(handler.verify_origin_proto("http", protocol) for protocol in ("https", "wss", "http", "ws")))

proxy = module("nova.console.websocketproxy", NovaProxyRequestHandler=Handler)
module("nova")
module("nova.cmd", novncproxy=module("nova.cmd.novncproxy", main=main))
module("nova.console", websocketproxy=proxy)
"#;

/// A file of the pods of a Deployment.
fn file(cluster: &Cluster, deployment: &str, name: &str) -> String {
    let pod = &cluster.get::<Deployment>(deployment).unwrap()["spec"]["template"]["spec"];
    let mut volumes = pod["volumes"].as_array().unwrap().iter();
    let config = volumes.find(|volume| volume["name"] == "config").unwrap();
    let secret = config["secret"]["secretName"].as_str().unwrap();
    cluster.value(secret, name).unwrap()
}

/// The configuration file of the pods of a Deployment.
fn options(cluster: &Cluster, deployment: &str) -> String {
    file(cluster, deployment, "nova.conf")
}

/// What hypervisors get: the authority, the certificate and its key.
fn published(cluster: &Cluster) -> [Option<String>; 3] {
    ["console-ca.crt", "console-tls.crt", "console-tls.key"]
        .map(|file| cluster.value(COMPUTE, file))
}

/// The image of a Deployment's pods, and the Secret with the certificate of consoles that they mount.
fn runs(cluster: &Cluster) -> (String, Option<String>) {
    let pod = &cluster.get::<Deployment>(PROXY).unwrap()["spec"]["template"]["spec"];
    let image = pod["containers"][0]["image"].as_str().unwrap().to_owned();
    let mut volumes = pod["volumes"].as_array().unwrap().iter();
    let volume = volumes.find(|volume| volume["name"] == "consoles");
    let secret = volume.and_then(|volume| volume["secret"]["secretName"].as_str());
    (image, secret.map(str::to_owned))
}

/// Lets things happen while cert-manager issues none of these certificates.
fn go_on_without(cluster: &mut Cluster, secrets: &[&str]) {
    for _ in 0..20 {
        for secret in secrets {
            cluster.delete::<Secret>(secret);
        }
        cluster.compose(&NOVA, "nova").unwrap();
        cluster.simulate();
    }
}

fn is_true(cluster: &Cluster, type_: &str) -> bool {
    cluster.condition(&NOVA, "nova", type_).0 == "True"
}

#[test]
fn proxy_takes_the_protocol_of_a_websocket_for_that_of_its_page() {
    let cluster = running();
    let pod = &cluster.get::<Deployment>(PROXY).unwrap()["spec"]["template"]["spec"];
    let command = pod["containers"][0]["command"].clone();
    let command: Vec<String> = serde_json::from_value(command).unwrap();
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let [python, script, option, config] = words[..] else {
        panic!("{words:?}");
    };
    assert_eq!(script, "/etc/nova/config/novncproxy.py");
    let program = file(&cluster, PROXY, "novncproxy.py");
    assert_eq!(
        printed(python, FAKE, &program, &[option, config]),
        "True True False False\nFalse False True True\n"
    );
}

/// QEMU asks no certificate what it is for.
#[test]
fn authority_of_consoles_signs_for_proxy_and_hypervisors_alone() {
    let cluster = running();
    let certificates = cluster.all::<Manifest<Certificate>>();
    let authority = &certificates["nova-cell1-vnc-ca"]["spec"];
    assert_eq!(authority["isCA"], json!(true));
    assert_eq!(authority["issuerRef"]["name"], json!("nova-vnc-root"));
    let issuer = cluster.get::<Manifest<Issuer>>("nova-cell1-vnc-ca");
    assert_eq!(
        issuer.unwrap()["spec"],
        json!({ "ca": { "secretName": "nova-cell1-vnc-ca" } })
    );
    let signed = certificates.iter();
    let signed =
        signed.filter(|(_, one)| one["spec"]["issuerRef"]["name"] == json!("nova-cell1-vnc-ca"));
    let signed: Vec<(&str, Value)> = signed
        .map(|(name, one)| (*name, one["spec"]["usages"].clone()))
        .collect();
    assert_eq!(
        signed,
        [
            (HOST, json!(["server auth"])),
            ("nova-cell1-vnc-proxy", json!(["client auth"])),
        ]
    );
}

#[test]
fn proxy_has_a_certificate_for_hypervisors_that_ask_for_one() {
    let cluster = running();
    let proxy = options(&cluster, PROXY);
    for line in [
        "auth_schemes = vencrypt,none",
        "vencrypt_ca_certs = /etc/nova/consoles/ca.crt",
        "vencrypt_client_cert = /etc/nova/consoles/tls.crt",
        "vencrypt_client_key = /etc/nova/consoles/tls.key",
    ] {
        assert!(proxy.lines().any(|own| own == line), "{line}: {proxy}");
    }
    let pod = &cluster.get::<Deployment>(PROXY).unwrap()["spec"]["template"]["spec"];
    let named = |list: &Value| {
        let mut list = list.as_array().unwrap().iter();
        list.find(|one| one["name"] == "consoles").cloned().unwrap()
    };
    let mount = named(&pod["containers"][0]["volumeMounts"]);
    assert_eq!(mount["mountPath"], json!("/etc/nova/consoles"));
    assert_eq!(
        named(&pod["volumes"])["secret"]["secretName"],
        json!("nova-cell1-vnc-proxy")
    );
    assert!(!options(&cluster, CONDUCTOR).contains("vencrypt"));
    let files = ["authority", "issued", "tls-s3cret"].map(|text| Some(text.to_owned()));
    assert_eq!(published(&cluster), files);
    assert_eq!(
        cluster.condition(&NOVA, "nova", "ConsolesReady"),
        ("True".to_owned(), "Ready".to_owned(), String::new())
    );
}

#[test]
fn renewed_certificate_of_consoles_reaches_hypervisors_and_replaces_no_pods() {
    let mut cluster = running();
    let pods = |cluster: &Cluster| {
        [PROXY, CONDUCTOR].map(|name| cluster.get::<Deployment>(name).unwrap()["spec"].clone())
    };
    let before = pods(&cluster);
    let renewed = ["authority", "renewed", "renewed-s3cret"];
    let [authority, certificate, key] = renewed;
    cluster.secret(
        HOST,
        &[
            ("ca.crt", authority),
            ("tls.crt", certificate),
            ("tls.key", key),
        ],
    );
    cluster.settle(&NOVA, "nova");
    assert_eq!(
        published(&cluster),
        renewed.map(|text| Some(text.to_owned()))
    );
    assert_eq!(pods(&cluster), before);
}

/// cert-manager's approval may admit certificates of the site's issuer, and no authorities.
#[test]
fn certificate_of_consoles_that_is_not_issued_stops_neither_the_first_start_nor_an_upgrade() {
    let mut cluster = given();
    go_on_without(&mut cluster, &ISSUED);
    let release = |cluster: &Cluster| cluster.value(COMPUTE, "release");
    assert_eq!(release(&cluster).as_deref(), Some("2025.2"));
    assert_eq!(published(&cluster), [None, None, None]);
    assert!(!options(&cluster, PROXY).contains("vencrypt"));
    let (first, secret) = runs(&cluster);
    assert_eq!(secret, None);
    for type_ in ["Ready", "CellsReady"] {
        assert!(is_true(&cluster, type_), "{type_}");
    }
    assert_eq!(
        cluster.condition(&NOVA, "nova", "ConsolesReady"),
        (
            "False".to_owned(),
            "WaitingForSecret".to_owned(),
            "cell1: waits for Secret nova-cell1-vnc-proxy with the certificate of the consoles' proxy"
                .to_owned()
        )
    );

    change(&mut cluster, |spec| spec["release"] = json!("2026.1"));
    go_on_without(&mut cluster, &ISSUED);
    assert_eq!(release(&cluster).as_deref(), Some("2026.1"));
    assert_ne!(runs(&cluster).0, first);
    assert!(is_true(&cluster, "Ready"));
    assert!(!is_true(&cluster, "ConsolesReady"));

    cluster.settle(&NOVA, "nova");
    assert!(is_true(&cluster, "ConsolesReady"));
    assert!(published(&cluster).iter().all(Option::is_some));
    assert_eq!(runs(&cluster).1.as_deref(), Some(ISSUED[1]));
}

/// Servers run with it.
#[test]
fn hypervisors_keep_their_certificate_of_consoles_through_an_upgrade_while_it_is_away() {
    let mut cluster = running();
    let (certificate, before) = (published(&cluster), runs(&cluster));
    assert!(certificate.iter().all(Option::is_some));
    change(&mut cluster, |spec| spec["release"] = json!("2026.1"));
    go_on_without(&mut cluster, &[HOST]);
    assert_eq!(cluster.value(COMPUTE, "release").as_deref(), Some("2026.1"));
    assert_eq!(published(&cluster), certificate);
    let after = runs(&cluster);
    assert_ne!(after.0, before.0);
    assert_eq!(after.1, before.1);
    assert!(is_true(&cluster, "Ready"));
}

/// Pods that run still have it.
#[test]
fn proxy_keeps_its_pods_while_its_certificate_is_away_until_an_upgrade() {
    let mut cluster = running();
    let before = cluster.get::<Deployment>(PROXY).unwrap()["spec"].clone();
    let certificate = published(&cluster);
    change(&mut cluster, |spec| {
        spec["extraConfig"] = json!({ "DEFAULT": { "cpu_allocation_ratio": "4.0" } });
    });
    go_on_without(&mut cluster, &ISSUED);
    assert!(options(&cluster, CONDUCTOR).contains("cpu_allocation_ratio = 4.0"));
    assert_eq!(cluster.get::<Deployment>(PROXY).unwrap()["spec"], before);
    let (image, _) = runs(&cluster);

    change(&mut cluster, |spec| spec["release"] = json!("2026.1"));
    go_on_without(&mut cluster, &ISSUED);
    let (new, secret) = runs(&cluster);
    assert_ne!(new, image);
    assert_eq!(secret, None);
    assert_eq!(cluster.value(COMPUTE, "release").as_deref(), Some("2026.1"));
    assert_eq!(published(&cluster), certificate);
    cluster.settle(&NOVA, "nova");
    assert_eq!(runs(&cluster).1.as_deref(), Some(ISSUED[1]));
}

#[test]
fn hypervisors_keep_their_certificate_of_consoles_while_that_to_come_is_not_complete() {
    let mut cluster = running();
    let certificate = published(&cluster);
    let proxy = runs(&cluster);
    cluster.secret(HOST, &[("tls.crt", "issued"), ("tls.key", "tls-s3cret")]);
    change(&mut cluster, |spec| {
        spec["extraConfig"] = json!({ "DEFAULT": { "cpu_allocation_ratio": "4.0" } });
    });
    cluster.settle(&NOVA, "nova");
    for options in [
        options(&cluster, CONDUCTOR),
        options(&cluster, PROXY),
        cluster.value(COMPUTE, "nova.conf").unwrap(),
    ] {
        assert!(options.contains("cpu_allocation_ratio = 4.0"), "{options}");
    }
    assert_eq!((runs(&cluster), published(&cluster)), (proxy, certificate));
    let (status, reason, message) = cluster.condition(&NOVA, "nova", "ConsolesReady");
    assert_eq!(
        [status.as_str(), reason.as_str(), message.as_str()],
        [
            "False",
            "InvalidSecret",
            "cell1: Secret nova-cell1-vnc-host has no value under the key ca.crt: add it"
        ]
    );
}

#[rstest::rstest]
#[case::endpoints_are_not_encrypted(json!({ "enabled": false }))]
#[case::certificates_come_from_elsewhere(json!({}))]
fn consoles_have_no_certificates_where_cert_manager_issues_none(#[case] tls: Value) {
    let mut cluster = running();
    change(&mut cluster, |spec| spec["tls"] = tls);
    cluster.settle(&NOVA, "nova");
    assert_eq!(cluster.condition(&NOVA, "nova", "Ready").0, "True");
    assert!(cluster.all::<Manifest<Issuer>>().is_empty());
    assert!(cluster.all::<Manifest<Certificate>>().is_empty());
    assert!(!options(&cluster, PROXY).contains("vencrypt"));
    assert_eq!(published(&cluster), [None, None, None]);
}

/// Servers that were started without TLS have no consoles then.
#[test]
fn proxy_connects_without_tls_to_no_hypervisor_if_users_say_so() {
    let mut cluster = running();
    change(&mut cluster, |spec| {
        spec["extraConfig"] = json!({ "vnc": { "auth_schemes": "vencrypt" } });
    });
    cluster.settle(&NOVA, "nova");
    let proxy = options(&cluster, PROXY);
    let schemes: Vec<&str> = proxy
        .lines()
        .filter(|line| line.starts_with("auth_schemes"))
        .collect();
    assert_eq!(schemes, ["auth_schemes = vencrypt"]);
    let hypervisors = cluster.value(COMPUTE, "nova.conf").unwrap();
    assert!(!hypervisors.contains("auth_schemes"), "{hypervisors}");
}
