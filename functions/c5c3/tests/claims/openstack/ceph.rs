//! Users, filesystems and object stores in Ceph.

use function_c5c3_fixtures::{Call, text, well};
use serde_json::{Value, json};

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

/// Their daemons run on hosts of OSDs.
#[test]
fn daemons_of_claims_request_memory_and_have_a_limit() {
    let outcome = call("internal-prod").run();
    let of = |resource: &str, daemon: &str| {
        let resources = &outcome.manifest(resource)["spec"][daemon]["resources"];
        [
            &resources["requests"]["memory"],
            &resources["limits"]["memory"],
        ]
        .map(Clone::clone)
    };
    assert_eq!(
        of("filesystem-st-pool-a", "metadataServer"),
        [json!("1Gi"), json!("4Gi")]
    );
    assert_eq!(
        of("object-store-st-pool-a", "gateway"),
        [json!("512Mi"), json!("2Gi")]
    );
}

/// Rook gives the copies of a store's metadata to `.rgw.root`, which all stores of a Ceph have in common.
#[rstest::rstest]
#[case::fewer(2, 3)]
#[case::as_many(3, 3)]
#[case::more(4, 4)]
fn metadata_of_object_stores_has_three_copies_or_those_of_the_data(
    #[case] copies: u32,
    #[case] expected: u32,
) {
    let mut call = call("internal-prod");
    call.composite["spec"]["storage"]["ceph"]["objectStore"]["dataPoolReplication"] = json!(copies);
    let outcome = call.run();
    let store = &outcome.manifest("object-store-st-pool-a")["spec"];
    let sizes = ["dataPool", "metadataPool"].map(|pool| &store[pool]["replicated"]["size"]);
    assert_eq!(sizes, [&json!(copies), &json!(expected)]);
}

#[rstest::rstest]
#[case(
    "filesystem",
    "the site allows claims of this size no filesystem; set spec.services.manila and spec.storage.ceph.filesystem.enabled to false, or \
     ask the platform team to set filesystem: true in storage of this size in the Composition's input"
)]
#[case(
    "objectStore",
    "the site allows claims of this size no object store; set spec.storage.ceph.objectStore.enabled to false, or ask the platform team \
     to set objectStore: true in storage of this size in the Composition's input"
)]
fn filesystem_or_object_store_that_a_size_forbids_is_refused_only_of_claims_without_it(
    #[case] field: &str,
    #[case] message: &str,
) {
    let forbid = |call: &mut Call| {
        let size = call.composite["spec"]["size"].as_str().unwrap().to_owned();
        call.input.as_mut().unwrap()["sizes"][size]["storage"][field] = json!(false);
    };
    let mut new = call("internal-prod");
    forbid(&mut new);
    assert_eq!(new.run().fatal.as_deref(), Some(message));

    let (call, before) = call("internal-prod").running();
    let mut call = call.applied(&before, well);
    forbid(&mut call);
    let outcome = call.run();
    assert_eq!(outcome.fatal, None);
    assert_eq!(outcome.objects(), before.objects());
}

/// Rook keeps the phase Ready until it has reconciled a change.
#[rstest::rstest]
#[case::before(
    json!(1),
    "Creating",
    "waiting for CephBlockPool internal-prod-volumes in st-pool-a: Rook hasn't reconciled its last change; its operator's log there says \
     why"
)]
#[case::after(json!(2), "Ready", "")]
#[case::where_rook_reports_none(Value::Null, "Ready", "")]
fn changed_pool_is_ready_once_rook_has_reconciled_the_change(
    #[case] reconciled: Value,
    #[case] status: &str,
    #[case] message: &str,
) {
    let (call, before) = call("internal-prod").running();
    let mut call = call.applied(&before, well);
    let pool = call.observed.get_mut("volumes-st-pool-a").unwrap();
    let pool = &mut pool["status"]["atProvider"]["manifest"];
    pool["metadata"]["generation"] = json!(2);
    pool["status"]["observedGeneration"] = reconciled;
    let outcome = call.run();
    let said = &outcome.status["cephResources"]["volumePool"]["status"];
    assert_eq!(*said, status);
    assert_eq!(outcome.ready["volumes-st-pool-a"], status == "Ready");
    assert_eq!(outcome.conditions["StorageReady"].2, message);
}

#[rstest::rstest]
#[case::three_that_the_claim_asks_for(Value::Null, 3)]
#[case::four_in_a_stretched_pool(json!("arbiter"), 4)]
fn free_bytes_are_divided_by_the_copies_that_are_kept(#[case] arbiter: Value, #[case] copies: u64) {
    let mut call = call("customer-b-staging");
    for pool in &mut call.world {
        if text(pool, "/spec/name") == "st-pool-a" {
            pool["spec"]["arbiterCluster"] = arbiter.clone();
            pool["status"]["capacity"] =
                json!({"total": "100Gi", "available": "12Gi", "used": "83Gi"});
        }
    }
    call.composite["spec"]["storage"] = json!({"ceph": {"volumePool": {"replication": 3}}});
    let (_, outcome) = call.running();
    let free = &outcome.status["cephResources"]["volumePool"]["availableBytes"];
    assert_eq!(*free, (12_u64 << 30) / copies);
}
