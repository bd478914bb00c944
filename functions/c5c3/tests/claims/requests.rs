//! What a claim requests of its pools, and when.

use function_c5c3_fixtures::examples::claim;
use function_c5c3_fixtures::{Call, composite, text, well};
use rstest::rstest;
use serde_json::{Value, json};

use super::admission::{admitted, asking};
use super::openstack;

/// A claim that every pool could admit, and none has.
fn eligible() -> Call {
    let mut call = openstack::call("customer-b-staging").admitted();
    for pool in &mut call.world {
        pool["status"]["consumers"] = json!([]);
    }
    call
}

#[test]
fn a_claim_asks_its_pools_and_creates_nothing_before_they_admit_it() {
    let outcome = eligible().run();
    assert_eq!(outcome.desired.keys().collect::<Vec<_>>(), ["namespace"]);
    let object = &outcome.desired["namespace"];
    assert_eq!(object["spec"]["managementPolicies"], json!(["Observe"]));
    assert_eq!(
        object["metadata"],
        json!({
            "labels": {
                "c5c3.io/pool-uid-eu-de-1-control-plane-abcde": "true",
                "c5c3.io/pool-uid-hv-pool-a-abcde": "true",
                "c5c3.io/pool-uid-st-pool-a-abcde": "true",
            },
            "annotations": {
                "c5c3.io/claim-created": "2026-01-01T00:00:00Z",
                "c5c3.io/pool-uid-eu-de-1-control-plane-abcde": "1",
                "c5c3.io/pool-uid-hv-pool-a-abcde": "1",
                "c5c3.io/pool-uid-st-pool-a-abcde": "3",
            },
        })
    );
    assert_eq!(outcome.status["phase"], "Pending");
    let (_, reason, message) = &outcome.conditions["PoolsReady"];
    assert_eq!(reason, "PoolAwaitingAdmission");
    assert_eq!(
        message,
        "control plane cluster eu-de-1-control-plane: it hasn't admitted this claim yet; hypervisor pool hv-pool-a: it \
         hasn't admitted this claim yet; storage pool st-pool-a: it hasn't admitted this claim yet"
    );
}

#[test]
fn claim_asks_the_pool_of_its_backups_for_a_node_for_each_copy() {
    let mut call = eligible();
    let backups = json!({"enabled": true, "replication": 5});
    call.composite["spec"]["storage"] = json!({"ceph": {"backupPool": backups}});
    let outcome = call.run();
    let annotations = &outcome.desired["namespace"]["metadata"]["annotations"];
    assert_eq!(annotations["c5c3.io/pool-uid-st-pool-a-abcde"], "5");
}

/// The pool would otherwise accept fewer hosts than it has copies to keep, and the claim be invalid from then on.
#[rstest]
#[case::ephemeral_disks(json!({"ephemeralPool": {"enabled": true, "replication": 5}}))]
#[case::files(json!({"filesystem": {"enabled": true, "dataPoolReplication": 5}}))]
#[case::metadata_of_files(json!({"filesystem": {"enabled": true, "metadataPoolReplication": 5}}))]
#[case::objects(json!({"objectStore": {"enabled": true, "dataPoolReplication": 5}}))]
fn claim_asks_its_storage_pool_for_as_many_nodes_as_any_data_has_copies(#[case] ceph: Value) {
    let mut call = eligible();
    let mut pools = call.world.iter_mut();
    let pool = pools.find(|pool| text(pool, "/spec/name") == "st-pool-a");
    pool.unwrap()["spec"]["workers"] = json!(5);
    call.composite["spec"]["storage"] = json!({ "ceph": ceph });
    let outcome = call.run();
    let annotations = &outcome.desired["namespace"]["metadata"]["annotations"];
    assert_eq!(annotations["c5c3.io/pool-uid-st-pool-a-abcde"], "5");
}

#[rstest]
#[case::missing("/metadata/name", json!("other"))]
#[case::other_region("/spec/region", json!("mars-1"))]
#[case::not_allowed("/spec/sharing", json!({"allowedNamespaces": ["tenant-z"]}))]
#[case::not_ready("/status/phase", json!("Provisioning"))]
#[case::dedicated("/spec/sharing", json!({"mode": "Dedicated"}))]
fn a_claim_that_one_pool_cannot_serve_asks_none(#[case] field: &str, #[case] value: Value) {
    let mut call = eligible();
    for pool in &mut call.world {
        if text(pool, "/spec/name") == "st-pool-a" {
            pool["status"]["consumers"] = json!([{"name": "z", "namespace": "z", "uid": "z"}]);
            let (parent, key) = field.rsplit_once('/').unwrap();
            pool.pointer_mut(parent).unwrap()[key] = value.clone();
            pool["metadata"]["labels"]["crossplane.io/claim-name"] =
                pool["metadata"]["name"].clone();
            if field != "/metadata/name" {
                pool["metadata"]["labels"]["crossplane.io/claim-name"] = json!("st-pool-a");
            }
        }
    }
    assert_eq!(call.run().desired.len(), 0);
}

/// What a claim says of a hypervisor pool that has promised all its nodes.
fn said_of_full_pool(nova: bool) -> String {
    let mut call = eligible();
    call.composite["spec"]["services"] = json!({ "nova": nova });
    for pool in &mut call.world {
        if text(pool, "/spec/name") == "hv-pool-a" {
            pool["status"]["consumers"] =
                json!([{"name": "z", "namespace": "z", "uid": "z", "minHosts": 100}]);
        }
    }
    let outcome = call.run();
    let message = outcome.conditions["PoolsReady"].2.split("; ").nth(1);
    message.unwrap_or_default().to_owned()
}

#[test]
fn a_full_pool_says_how_many_nodes_are_missing() {
    assert_eq!(
        said_of_full_pool(true),
        "hypervisor pool hv-pool-a: it has 0 nodes to promise and the claim needs 1"
    );
}

#[test]
fn full_pool_admits_a_claim_without_servers() {
    assert_eq!(
        said_of_full_pool(false),
        "hypervisor pool hv-pool-a: it hasn't admitted this claim yet"
    );
    let pool = asking("hv-pool-a", &[("a/large", "01", 100), ("b/small", "02", 0)]);
    assert_eq!(admitted(&pool.run()), ["a/large", "b/small"]);
}

#[test]
fn a_claim_does_not_ask_a_pool_that_admits_no_more() {
    let mut call = eligible();
    for pool in &mut call.world {
        if text(pool, "/spec/name") == "st-pool-a" {
            pool["spec"]["sharing"] = json!({"maxConsumers": 1});
            pool["status"]["consumers"] = json!([{"name": "z", "namespace": "z", "uid": "z"}]);
        }
    }
    let outcome = call.run();
    assert_eq!(outcome.desired.len(), 0);
    let (_, reason, message) = &outcome.conditions["PoolsReady"];
    assert_eq!(
        (reason.as_str(), message.as_str()),
        (
            "PoolFull",
            "storage pool st-pool-a: it has 1 consumers and admits no more; ask its owner to raise sharing.maxConsumers, or \
             name another"
        )
    );
}

#[test]
fn a_running_claim_goes_on_asking_whatever_becomes_of_its_pools() {
    let (mut call, before) = openstack::call("customer-b-staging").running();
    call = call.applied(&before, well);
    call.world.clear();
    let after = call.run();
    assert_eq!(
        after.desired["namespace"]["metadata"],
        before.desired["namespace"]["metadata"]
    );
}

#[test]
fn a_control_plane_cluster_may_be_shared_like_a_pool() {
    let mut call = eligible();
    for pool in &mut call.world {
        if pool["kind"] == "XControlPlaneCluster" {
            pool["spec"]["sharing"] = json!({"allowedNamespaces": ["tenant-z"]});
        }
    }
    let outcome = call.run();
    assert_eq!(outcome.desired.len(), 0);
    assert_eq!(outcome.conditions["PoolsReady"].1, "PoolNotAllowed");

    let call = asking("control-plane", &[("a/one", "01", 1)]);
    assert_eq!(admitted(&call.run()), ["a/one"]);
}

#[test]
fn a_claim_is_answered_the_same_among_other_consumers() {
    let alone = openstack::call("customer-a-prod").admitted();
    let mut among = alone.clone();
    for pool in &mut among.world {
        let other = |number: u32| {
            let (name, uid) = (format!("other-{number}"), format!("uid-{number}"));
            json!({"name": name, "namespace": "elsewhere", "uid": uid, "minHosts": 2})
        };
        let mut consumers: Vec<Value> = (0..50).map(other).collect();
        let own = pool["status"]["consumers"].as_array_mut().unwrap();
        consumers.append(own);
        consumers.extend((50..100).map(other));
        *own = consumers;
    }
    let (alone, among) = (alone.run(), among.run());
    assert!(!alone.desired.is_empty());
    assert_eq!(among.desired, alone.desired);
    assert_eq!(among.status, alone.status);
    assert_eq!(among.conditions, alone.conditions);
}

/// The bytes of a claim's call depend on the claim and its pools, not on the other claims of the site.
#[test]
fn a_call_carries_no_other_claim() {
    use prost::Message;
    let alone = openstack::call("customer-a-prod").admitted();
    let size = |call: &Call| call.settled().encoded_len();
    let before = size(&alone);
    let mut giant = composite(claim("customer-b-staging"));
    giant["metadata"]["labels"]["filler"] = json!("x".repeat(1_400_000));
    let among = openstack::call("customer-a-prod")
        .admitted()
        .with([giant.clone()]);
    assert_eq!(size(&among), before);

    let pool = asking("hv-pool-a", &[("a/a", "01", 1)]);
    let before = size(&pool);
    assert_eq!(size(&pool.with([giant])), before);
}
