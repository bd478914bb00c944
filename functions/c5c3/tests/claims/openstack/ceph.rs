//! Users in Ceph.

use serde_json::json;

use super::call;

/// Ceph 20.2.4 and newer create keys of a type that the libraries in the images of services and of libvirt can't read.
#[test]
fn users_of_ceph_have_keys_that_older_libraries_read() {
    let outcome = call("internal-prod").run();
    let users = outcome.desired.keys();
    let users: Vec<&String> = users.filter(|name| name.starts_with("client-")).collect();
    assert_eq!(users.len(), 6);
    for user in users {
        let security = &outcome.manifest(user)["spec"]["security"];
        assert_eq!(*security, json!({"cephx": {"keyType": "aes"}}), "{user}");
    }
}

#[test]
fn claim_whose_users_in_ceph_rook_would_not_create_is_refused() {
    let mut call = call("internal-prod");
    call.composite["metadata"]["labels"]["crossplane.io/claim-name"] = json!("rgw-prod");
    let refused = call.run().fatal.unwrap();
    assert!(
        refused.starts_with("Rook doesn't create the user rgw-prod-"),
        "{refused}"
    );
}
