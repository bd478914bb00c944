//! A Keystone with an identity provider of others, in a small cluster in memory.

use c5c3_api::keystone::KeystoneSpec;
use k8s_openapi::api::apps::v1::Deployment;
use provider_composer::Custom;
use provider_openstack_fixtures::Cluster;
use serde_json::{Value, json};

use crate::stage::{KEYSTONE, MANAGED, ready, running};

const SECRET: &str = "keystone-identity-provider";

fn federated(secret: &str, tls: bool) -> Cluster {
    let mut cluster = running(MANAGED);
    cluster.secret(SECRET, &[("password", secret)]);
    cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        keystone["spec"]["tls"] = json!({ "enabled": tls });
        keystone["spec"]["federation"] = json!({
            "enabled": true,
            "identityProvider": {
                "issuer": "https://id.example.com/realms/staff/",
                "clientID": "keystone",
                "clientSecretRef": { "name": SECRET },
            },
            "trustedDashboards": ["https://dashboard.example.com/auth/websso/"],
        });
    });
    cluster.settle(&KEYSTONE, "keystone");
    cluster
}

fn pod(cluster: &Cluster) -> Value {
    let deployment = cluster.get::<Deployment>("keystone");
    deployment
        .map(|deployment| deployment["spec"]["template"]["spec"].clone())
        .unwrap_or_default()
}

/// A file of the configuration that pods see.
fn file(cluster: &Cluster, name: &str) -> String {
    let pod = pod(cluster);
    let secret = pod["volumes"][0]["secret"]["secretName"].as_str();
    let text = secret.and_then(|secret| cluster.value(secret, name));
    text.unwrap_or_default()
}

#[test]
fn apache_speaks_with_the_identity_provider() {
    let cluster = federated("of-\"keystone\\", false);
    assert_eq!(ready(&cluster), "True");
    insta::assert_snapshot!(file(&cluster, "apache"));
    let conf = file(&cluster, "keystone.conf");
    for line in [
        "methods = password,token,totp,application_credential,mapped,openid,saml2",
        "assertion_prefix = OIDC_CLAIM_",
        "remote_id_attribute = OIDC_CLAIM_iss",
        "trusted_dashboard = https://dashboard.example.com/auth/websso/",
    ] {
        assert!(conf.contains(line), "{line} isn't in {conf}");
    }
}

#[test]
fn nobody_reaches_keystone_but_by_apache() {
    let pod = pod(&federated("of-keystone", false));
    let (api, front) = (&pod["containers"][0], &pod["containers"][1]);
    let command = api["command"].to_string();
    assert!(
        command.contains(r#""--socket","127.0.0.1:5001""#),
        "{command}"
    );
    assert_eq!(api["ports"], Value::Null);
    assert_eq!(
        front["ports"],
        json!([{ "name": "api", "containerPort": 5000 }])
    );
    assert_eq!(api["readinessProbe"]["httpGet"]["port"], 5000);
    assert_eq!(front["securityContext"], api["securityContext"]);
    assert_eq!(front["lifecycle"], api["lifecycle"]);
    let seen: Vec<&Value> = front["volumeMounts"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|mount| &mount["name"])
        .collect();
    assert_eq!(seen, ["config", "tmp"], "keys aren't Apache's to see");
    assert!(!pod.to_string().contains("of-keystone"), "{pod}");
    assert!(
        api["livenessProbe"].is_null(),
        "the kubelet reaches Apache alone"
    );
    assert_eq!(front["livenessProbe"]["tcpSocket"]["port"], "api");
}

#[test]
fn apache_encrypts_in_keystones_place() {
    let mut cluster = federated("of-keystone", true);
    cluster.secret("keystone-tls", &[("tls.crt", "a"), ("tls.key", "b")]);
    cluster.settle(&KEYSTONE, "keystone");
    let conf = file(&cluster, "apache");
    assert!(
        conf.contains("SSLEngine On\nSSLCertificateFile /etc/tls/tls.crt\n"),
        "{conf}"
    );
    let pod = pod(&cluster);
    let command = pod["containers"][0]["command"].to_string();
    assert!(!command.contains("--http"), "{command}");
    assert_eq!(
        pod["containers"][0]["readinessProbe"]["httpGet"]["scheme"],
        "HTTPS"
    );
}

#[test]
fn who_signs_for_the_identity_provider_is_said_beside_the_clients_secret() {
    let mut cluster = federated("of-keystone", false);
    cluster.secret(
        SECRET,
        &[("password", "of-keystone"), ("ca.crt", "who signs")],
    );
    cluster.settle(&KEYSTONE, "keystone");
    let conf = file(&cluster, "apache");
    let said = "OIDCCABundlePath /etc/keystone/config/identity-provider.ca.crt\n";
    assert!(conf.contains(said), "{conf}");
    assert_eq!(file(&cluster, "identity-provider.ca.crt"), "who signs");
}

#[rstest::rstest]
#[case("exec:/bin/sh", "begins with exec:")]
#[case("of-${USER}", "has ${ in it")]
#[case("of\nkeystone", "is not a single line of text")]
fn what_apache_would_read_as_something_else_is_told(#[case] secret: &str, #[case] said: &str) {
    let cluster = federated(secret, false);
    let (status, reason, message) = cluster.condition(&KEYSTONE, "keystone", "APIReady");
    assert_eq!((&*status, &*reason), ("False", "InvalidSecret"));
    assert!(message.contains(said), "{message}");
    let containers = pod(&cluster)["containers"].as_array().map(Vec::len);
    assert_eq!(containers, Some(1), "what runs goes on as it is");
}

#[test]
fn what_keystone_believes_is_not_the_users_to_say() {
    let mut cluster = federated("of-keystone", false);
    let before = pod(&cluster);
    cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        keystone["spec"]["extraConfig"] = json!({ "federation": { "assertion_prefix": "HTTP_" } });
    });
    let failure = cluster.compose(&KEYSTONE, "keystone").err().unwrap();
    assert_eq!(failure.reason().to_string(), "OwnedByOperator");
    let said = failure.to_string();
    assert!(said.contains("use federation.identityProvider"), "{said}");
    assert_eq!(pod(&cluster), before);

    cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        keystone["spec"]["federation"] = json!({ "enabled": true });
    });
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(
        ready(&cluster),
        "True",
        "a proxy of the user's own has its own"
    );
}
