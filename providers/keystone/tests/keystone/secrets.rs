//! Options whose values are in Secrets.

use c5c3_api::keystone::KeystoneSpec;
use k8s_openapi::api::apps::v1::Deployment;
use provider_composer::Custom;
use provider_openstack_fixtures::Cluster;
use serde_json::{Value, json};

use crate::stage::{KEYSTONE, MANAGED, configuration, ready, running};

/// A Keystone that runs, and reads a password of its directory from a Secret.
fn with_a_directory(extra: &Value) -> Cluster {
    let mut cluster = running(MANAGED);
    cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        keystone["spec"]["extraConfig"] = extra.clone();
        keystone["spec"]["extraConfigSecrets"] = json!([{
            "section": "ldap",
            "option": "password",
            "secretKeyRef": { "name": "directory", "key": "bind" },
        }]);
    });
    cluster
}

fn template(cluster: &Cluster) -> Value {
    let deployment = cluster.get::<Deployment>("keystone").cloned();
    deployment.unwrap_or_default()["spec"]["template"].clone()
}

#[test]
fn value_of_a_secret_is_awaited_written_and_followed() {
    let mut cluster = with_a_directory(&json!({ "ldap": { "user": "cn=keystone" } }));
    let before = template(&cluster);
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert_eq!(template(&cluster), before);
    let (status, reason, message) = cluster.condition(&KEYSTONE, "keystone", "Ready");
    assert_eq!((&*status, &*reason), ("False", "WaitingForSecret"));
    assert_eq!(
        message,
        "waits for Secret directory with [ldap] password under the key bind"
    );

    cluster.secret("directory", &[("bind", "pa$word")]);
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(ready(&cluster), "True");
    let text = configuration(&cluster);
    let section = "[ldap]\npassword = pa$$word\nuser = cn=keystone\n";
    assert!(text.contains(section), "{text}");
    let written = template(&cluster);
    assert_ne!(written, before);

    cluster.secret("directory", &[("bind", "another")]);
    cluster.settle(&KEYSTONE, "keystone");
    assert_ne!(template(&cluster), written);
}

#[rstest::rstest]
#[case::twice(
    json!({ "ldap": { "password": "a" } }),
    json!({ "section": "ldap", "option": "password" }),
    "InvalidConfiguration",
    "extraConfig and extraConfigSecrets both give [ldap] password: leave it out of extraConfig"
)]
#[case::owned(
    json!({}),
    json!({ "section": "database", "option": "connection" }),
    "OwnedByOperator",
    "extraConfigSecrets sets [database] connection, and the operator owns it: use database"
)]
#[case::unknown(
    json!({}),
    json!({ "section": "ldap", "option": "pasword" }),
    "InvalidConfiguration",
    "extraConfigSecrets sets [ldap] pasword, and keystone 2025.2 has no such option: did you mean password?"
)]
#[case::invalid(
    json!({}),
    json!({ "section": "ldap", "option": "page_size" }),
    "InvalidConfiguration",
    "extraConfigSecrets sets [ldap] page_size to an invalid value; valid: "
)]
fn mistakes_are_named_without_the_value(
    #[case] extra: Value,
    #[case] option: Value,
    #[case] reason: &str,
    #[case] message: &str,
) {
    let mut cluster = with_a_directory(&extra);
    cluster.secret("directory", &[("bind", "hush")]);
    cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        let given = &mut keystone["spec"]["extraConfigSecrets"][0];
        given["section"] = option["section"].clone();
        given["option"] = option["option"].clone();
    });
    let failure = cluster.compose(&KEYSTONE, "keystone").err().unwrap();
    assert_eq!(failure.reason().to_string(), reason);
    assert!(failure.to_string().contains(message), "{failure}");
    assert!(!failure.to_string().contains("hush"), "{failure}");
}
