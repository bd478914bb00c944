//! A Keystone whose route a Gateway has accepted, once the Gateway is deleted.

use c5c3_api::keystone::KeystoneSpec;
use c5c3_kinds::Manifest;
use c5c3_kinds::gateway::{Gateway, HttpRoute};
use provider_composer::{Custom, Resource};
use provider_openstack_fixtures::{Cluster, NAMESPACE};
use serde_json::{Value, json};

use crate::stage::{KEYSTONE, MANAGED, ready, running};

/// A Keystone whose route a Gateway of this namespace has accepted. There is another Gateway of the same name.
fn accepted(namespace: Option<&str>) -> Cluster {
    let mut cluster = running(MANAGED);
    for namespace in [NAMESPACE, "gateways"] {
        cluster.put_gateway(namespace, "public");
    }
    cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        keystone["spec"]["expose"] = json!({
            "hostname": "identity.example.com",
            "gateway": { "name": "public", "namespace": namespace },
        });
    });
    cluster.settle(&KEYSTONE, "keystone");
    cluster.change::<Manifest<HttpRoute>>("keystone", |route| {
        route["status"] = json!({ "parents": [{ "conditions": [{
            "type": "Accepted", "status": "True", "reason": "Accepted", "message": "",
            "lastTransitionTime": "2026-02-01T00:00:00Z",
        }] }] });
    });
    assert_eq!(exposed(&mut cluster), "True");
    cluster
}

/// The status of the condition, once nothing changes any more.
fn exposed(cluster: &mut Cluster) -> String {
    cluster.settle(&KEYSTONE, "keystone");
    cluster.condition(&KEYSTONE, "keystone", "Exposed").0
}

#[rstest::rstest]
#[case(None, NAMESPACE)]
#[case(Some("gateways"), "gateways")]
fn gateway_that_is_deleted_is_named_and_keeps_no_keystone_unready(
    #[case] namespace: Option<&str>,
    #[case] found_in: &str,
) {
    let mut cluster = accepted(namespace);
    cluster.delete_gateway(found_in, "public");
    let answer = cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(answer.status["publicEndpoint"], Value::Null);
    let waits = format!(
        "waits for Gateway {found_in}/public, which doesn't exist: create it, or name another one"
    );
    assert_eq!(
        cluster.condition(&KEYSTONE, "keystone", "Exposed"),
        ("False".to_owned(), "WaitingForGateway".to_owned(), waits)
    );
    assert_eq!(ready(&cluster), "True");
    assert!(cluster.get::<Manifest<HttpRoute>>("keystone").is_some());

    cluster.put_gateway(found_in, "public");
    let answer = cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(
        answer.status["publicEndpoint"],
        "https://identity.example.com"
    );
    assert_eq!(exposed(&mut cluster), "True");
}

#[test]
fn gateway_that_cannot_be_read_is_taken_to_exist() {
    let mut cluster = accepted(Some("gateways"));
    cluster.set_readable(Gateway::KIND, false);
    cluster.delete_gateway("gateways", "public");
    assert_eq!(exposed(&mut cluster), "True");
    cluster.set_readable(Gateway::KIND, true);
    assert_eq!(exposed(&mut cluster), "False");
}
