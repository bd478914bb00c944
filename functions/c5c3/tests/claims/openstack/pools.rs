//! Pools that are missing, unhealthy or dedicated to others: what is created, and what stays.

mod networks;
mod reach;
mod reported;

use function_c5c3_fixtures::examples::{POOLS, claim, pool, pools};
use function_c5c3_fixtures::{Call, Outcome, composite, ready, text, well};
use rstest::rstest;
use serde_json::{Value, json};

use super::{call, running};

#[test]
fn nothing_is_made_while_a_pool_is_missing() {
    let outcome = Call::of(claim("customer-a-prod"), "openstack-production")
        .with(
            pools()
                .into_iter()
                .filter(|pool| text(pool, "/spec/name") != "hv-pool-b"),
        )
        .run();
    assert_eq!(outcome.desired.len(), 0, "{:?}", outcome.desired.keys());
    assert_eq!(outcome.status["phase"], "Pending");
    assert_eq!(outcome.composite_ready, Some(false));
    let (status, reason, message) = &outcome.conditions["PoolsReady"];
    assert_eq!((status.as_str(), reason.as_str()), ("False", "PoolMissing"));
    assert_eq!(
        message,
        "hypervisor pool hv-pool-b: it doesn't exist in namespace infrastructure; create it or name another"
    );
}

#[rstest]
#[case::of_crossplane_1(composite(claim("customer-b-staging")), pools())]
#[case::of_crossplane_2(claim("customer-b-staging"), POOLS.map(|name| ready(pool(name), &[])).to_vec())]
fn missing_pool_is_reported_with_those_that_the_claim_may_name(
    #[case] claimed: Value,
    #[case] pools: Vec<Value>,
) {
    let mut call = Call::of(claim("customer-b-staging"), "openstack-production").with(pools);
    call.composite = claimed;
    call.composite["spec"]["hypervisorClusters"] = json!(["hv-pool-a", "hv-pool-c"]);
    let says = |call: &Call| call.run().conditions["PoolsReady"].2.clone();
    let missing = "hypervisor pool hv-pool-c: it doesn't exist in namespace infrastructure; create it or name another";
    assert_eq!(says(&call), format!("{missing}: hv-pool-b"));
    for (field, value) in [
        ("region", json!("eu-de-2")),
        ("sharing", json!({ "allowedNamespaces": ["tenant-z"] })),
    ] {
        let mut call = call.clone();
        for pool in &mut call.world {
            if text(pool, "/spec/name") == "hv-pool-b" {
                pool["spec"][field] = value.clone();
            }
        }
        assert_eq!(says(&call), missing, "{field}");
    }
}

#[test]
fn nothing_that_runs_goes_when_pools_vanish_or_are_not_read() {
    let (mut call, before) = running("customer-a-prod");
    call.world.clear();
    let after = call.run();
    assert_eq!(
        after.desired.keys().collect::<Vec<_>>(),
        before.desired.keys().collect::<Vec<_>>()
    );
    for (name, object) in &before.desired {
        if name != "control-plane" && object["kind"] != "Usage" {
            assert_eq!(&after.desired[name], object, "{name} changed");
        }
    }
    assert_eq!(
        after.manifest("control-plane"),
        before.manifest("control-plane")
    );
    assert_eq!(after.status["phase"], "Degraded");
    let unread = Outcome::of(function_protocol::run(
        &function_c5c3::Claims,
        call.message(),
    ));
    assert_eq!(
        unread.desired.keys().collect::<Vec<_>>(),
        before.desired.keys().collect::<Vec<_>>()
    );
}

#[test]
fn a_pool_that_becomes_unhealthy_degrades_the_claim_and_changes_nothing() {
    let (mut call, before) = running("customer-a-prod");
    call.composite["status"]["conditions"] = before.written_conditions();
    for pool in &mut call.world {
        if text(pool, "/spec/name") == "st-pool-a" {
            pool["status"]["health"] = json!("HEALTH_ERR");
        }
    }
    let after = call.run();
    assert_eq!(after.status["phase"], "Degraded");
    assert_eq!(after.desired, before.desired);
    assert_eq!(
        after.conditions["PoolsReady"].2,
        "storage pool st-pool-a: it is HEALTH_ERR"
    );
    assert_eq!(after.events, ["storage pool st-pool-a: it is HEALTH_ERR"]);
}

#[test]
fn a_pool_added_later_waits_alone() {
    let (mut call, _) = running("customer-b-staging");
    call.composite["spec"]["hypervisorClusters"] = json!(["hv-pool-a", "hv-pool-new"]);
    let outcome = call.run();
    assert!(!outcome.desired.contains_key("share-hv-pool-new"));
    assert!(outcome.desired.contains_key("share-hv-pool-a"));
    assert_eq!(
        outcome.manifest("control-plane")["spec"]["compute"]["hypervisorClusters"],
        json!(["hv-pool-a"])
    );
}

#[rstest]
#[case::dedicated_to_another(json!({"mode": "Dedicated"}), json!([{"namespace": "tenant-z", "name": "z"}]),
    "PoolDedicated", "hypervisor pool hv-pool-a: it is dedicated to another claim; name another pool")]
#[case::namespace_not_allowed(json!({"allowedNamespaces": ["tenant-z"]}), json!([]),
    "PoolNotAllowed", "hypervisor pool hv-pool-a: it doesn't allow claims from namespace tenant-customer-b; \
     ask its owner to add it to sharing.allowedNamespaces")]
fn a_pool_that_may_not_be_used_says_why(
    #[case] sharing: Value,
    #[case] consumers: Value,
    #[case] expected: &str,
    #[case] sentence: &str,
) {
    let mut call = call("customer-b-staging");
    for pool in &mut call.world {
        if text(pool, "/spec/name") == "hv-pool-a" {
            pool["spec"]["sharing"] = sharing.clone();
            pool["status"]["consumers"] = consumers.clone();
        }
    }
    let outcome = call.run();
    assert_eq!(outcome.desired.len(), 0);
    let (_, reason, message) = &outcome.conditions["PoolsReady"];
    assert_eq!((reason.as_str(), message.as_str()), (expected, sentence));
}

#[test]
fn a_pool_of_another_region_is_a_condition() {
    let mut call = call("customer-b-staging");
    for pool in &mut call.world {
        if text(pool, "/spec/name") == "st-pool-a" {
            pool["spec"]["region"] = json!("us-east-1");
        }
    }
    let outcome = call.run();
    assert_eq!(outcome.desired.len(), 0);
    assert_eq!(
        outcome.conditions["PoolsReady"].2,
        "storage pool st-pool-a: it is in region us-east-1; name one of the claim's region"
    );
}

/// The call for a claim whose first storage pool has its data in three zones.
fn in_three_zones() -> Call {
    let mut call = call("customer-b-staging");
    for pool in &mut call.world {
        if text(pool, "/spec/name") == "st-pool-a" {
            pool["status"]["zones"] = json!(["a", "b", "c"]);
        }
    }
    call
}

#[test]
fn storage_over_zones_keeps_each_copy_in_a_zone_of_its_own() {
    let outcome = in_three_zones().run();
    let spec = &outcome.manifest("volumes-st-pool-a")["spec"];
    assert_eq!(spec["failureDomain"], "zone");
}

#[test]
fn more_copies_than_zones_are_refused() {
    let mut call = in_three_zones();
    call.composite["spec"]["storage"] = json!({"ceph": {"volumePool": {"replication": 4}}});
    assert_eq!(
        call.run().fatal.as_deref(),
        Some(
            "spec.storage.ceph.volumePool.replication is 4, and storage pool st-pool-a keeps each copy in a zone of its own \
             and has 3; choose 2 to 3"
        )
    );
}

/// Claims of earlier versions could ask for one copy.
#[test]
fn running_claim_keeps_the_one_copy_that_it_has() {
    let (mut call, before) = running("customer-b-staging");
    let ceph = json!({"volumePool": {"replication": 1}, "filesystem": {"dataPoolReplication": 1}});
    call.composite["spec"]["storage"] = json!({ "ceph": ceph });
    let after = call.run();
    assert_eq!(after.fatal, None);
    assert_eq!(after.objects(), before.objects());
    let replicated = &after.manifest("volumes-st-pool-a")["spec"]["replicated"];
    assert_eq!(
        *replicated,
        json!({"size": 1, "requireSafeReplicaSize": false})
    );
}

#[test]
fn a_pool_stays_asked_for_and_held_until_what_was_released_in_it_is_gone() {
    let (mut call, before) = running("customer-a-prod");
    call = call.applied(&before, well);
    call.composite["spec"]["hypervisorClusters"] = json!(["hv-pool-a"]);
    call.composite["metadata"]["annotations"] =
        json!({"c5c3.io/delete-retained": "share-hv-pool-b"});
    let released = call.run();
    assert!(!released.desired.contains_key("share-hv-pool-b"));
    let hold = "hv-pool-b-until-share-hv-pool-b";
    assert_eq!(released.desired.get(hold), before.desired.get(hold));
    let asked = |outcome: &Outcome| outcome.desired["namespace"]["metadata"].clone();
    assert_eq!(asked(&released), asked(&before));

    call.observed.remove("share-hv-pool-b");
    let gone = call.run();
    assert!(!gone.desired.contains_key(hold));
    assert_ne!(asked(&gone), asked(&before));
}

/// Gives the hypervisor pools networks of nodes.
fn with_networks(mut call: Call) -> Call {
    let hypervisors = |pool: &&mut Value| text(pool, "/kind").contains("Hypervisor");
    for (pool, second) in call.world.iter_mut().filter(hypervisors).zip(180..) {
        pool["status"]["network"] = json!({ "nodes": format!("10.{second}.0.0/16") });
    }
    call
}

#[test]
fn claim_without_nova_has_no_shares() {
    let mut call = call("customer-b-staging");
    call.composite["spec"]["services"] = json!({ "nova": false });
    let (_, outcome) = call.running();
    let mut shares = outcome.desired.keys();
    assert_eq!(shares.find(|name| name.starts_with("share-")), None);
    assert_eq!(outcome.status["phase"], "Ready");
}

#[rstest]
#[case::without_labels(json!({}), json!(["CUSTOM_POOL_HV_POOL_A"]))]
#[case::with_labels(
    json!({"availability-zone": "zone-a", "dedicated": "false", "tier": "premium"}),
    json!(["CUSTOM_POOL_HV_POOL_A", "CUSTOM_TIER_PREMIUM"])
)]
#[case::with_its_name(json!({"pool": "hv_pool_a"}), json!(["CUSTOM_POOL_HV_POOL_A"]))]
fn nodes_have_traits_of_their_pool_and_its_labels(#[case] labels: Value, #[case] traits: Value) {
    let mut call = call("customer-b-staging");
    for pool in &mut call.world {
        if text(pool, "/spec/name") == "hv-pool-a" {
            pool["spec"]["labels"] = labels.clone();
        }
    }
    let outcome = call.run();
    let share = outcome.manifest("share-hv-pool-a");
    assert_eq!(share["spec"]["traits"], traits);
}

#[test]
fn share_that_is_not_ready_says_why_or_names_the_operator_to_install() {
    let message = |share: Value| {
        let (call, outcome) = running("customer-b-staging");
        let status = |name: &str, manifest: &Value| match manifest["kind"] == "HypervisorShare" {
            true => share.clone(),
            false => well(name, manifest),
        };
        let outcome = call.applied(&outcome, status).run();
        outcome.conditions["HypervisorsReady"].2.clone()
    };
    assert_eq!(
        message(json!({})),
        "waiting for HypervisorShare in hv-pool-a (the hypervisor-pool-operator of that cluster hasn't reported it: the \
         platform team installs the chart hypervisor-pool-operator there)"
    );
    assert_eq!(
        message(json!({ "conditions": [{ "type": "Ready", "status": "False" }] })),
        "waiting for HypervisorShare in hv-pool-a"
    );
    let full = json!({ "type": "Ready", "status": "False", "message": "no node is free" });
    assert_eq!(
        message(json!({ "conditions": [full] })),
        "waiting for HypervisorShare in hv-pool-a (no node is free)"
    );
}
