//! Pools that are missing, unwell or somebody else's: what is made, and what stays.

use function_c5c3_fixtures::examples::{claim, pools};
use function_c5c3_fixtures::{Call, Outcome, text, well};
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
    "PoolDedicated", "hypervisor pool hv-pool-a: it is dedicated to tenant-z/z; name another")]
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
             and has 3; choose 1 to 3"
        )
    );
}

#[rstest]
#[case(
    "hv-pool-a",
    "hypervisor pool hv-pool-a: its nodes have 10.1.0.0/20, and control plane cluster eu-de-1-control-plane \
     has 10.1.0.0/16; name another, or make one of them anew with other network.nodes"
)]
#[case(
    "st-pool-a",
    "storage pool st-pool-a: its nodes have 10.1.0.0/20, and control plane cluster eu-de-1-control-plane \
     has 10.1.0.0/16; name another, or make one of them anew with other network.nodes"
)]
fn clusters_whose_nodes_have_the_same_addresses_are_refused(
    #[case] other: &str,
    #[case] sentence: &str,
) {
    let mut call = call("customer-b-staging");
    for pool in &mut call.world {
        if text(pool, "/spec/name") == other {
            pool["status"]["network"] = json!({"nodes": "10.1.0.0/20"});
        } else if text(pool, "/kind") == "XControlPlaneCluster" {
            pool["status"]["network"] = json!({"nodes": "10.1.0.0/16"});
        } else {
            pool["status"]["network"] = json!({"nodes": "10.2.0.0/20"});
        }
    }
    call.composite["spec"]["hypervisorClusters"] = json!(["hv-pool-a"]);
    let outcome = call.run();
    assert_eq!(outcome.desired.len(), 0);
    let (_, reason, message) = &outcome.conditions["PoolsReady"];
    assert_eq!(reason, "PoolNetworkTaken");
    assert!(message.contains(sentence), "{message}");
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

/// Neutron knows the networks that the nodes of all pools reach, with the VLANs that are this claim's in each of them. Agents have
/// the settings of their pool.
#[test]
fn control_plane_has_the_physical_networks_of_its_shares() {
    let mut call = with_networks(call("customer-a-prod"));
    let wired = json!([{"name": "physnet1", "bridge": "br-ex", "vlanRange": "1000-1999"}]);
    let hypervisors = |pool: &&mut Value| text(pool, "/kind").contains("Hypervisor");
    for pool in call.world.iter_mut().filter(hypervisors) {
        pool["spec"]["network"]["physicalNetworks"] = wired.clone();
        pool["spec"]["agents"] = json!({"datapath": "netdev", "tunnelInterface": "bond0.10"});
    }
    let first = call.run();
    let networks = |outcome: &Outcome| {
        outcome.manifest("control-plane")["spec"]["global"]["network"]["physicalNetworks"].clone()
    };
    assert_eq!(networks(&first), Value::Null, "no share reports one yet");
    assert_eq!(
        first.manifest("share-hv-pool-a")["spec"]["agents"],
        json!({"datapath": "netdev", "tunnelInterface": "bond0.10", "gateway": true})
    );
    let part = |vlans: &str| json!([{"name": "physnet1", "bridge": "br-ex", "vlanRange": vlans}]);
    let reported = |name: &str, manifest: &Value| {
        let mut status = well(name, manifest);
        match name {
            "share-hv-pool-a" => status["physicalNetworks"] = part("1000-1099"),
            "share-hv-pool-b" => status["physicalNetworks"] = part("1050-1149"),
            _ => {}
        }
        status
    };
    let mut call = call.applied(&first, reported);
    let second = call.run();
    assert_eq!(networks(&second), part("1050-1099"));
    // Neutron would refuse the networks that exist.
    call = call.applied(&second, well);
    assert_eq!(
        networks(&call.run()),
        part("1050-1099"),
        "shares don't report them"
    );
}

#[test]
fn hypervisors_reach_their_control_plane_even_while_pools_are_not_read() {
    let call = with_networks(call("customer-a-prod"));
    let endpoints = json!([{
        "name": "keystone",
        "hostnames": ["keystone.openstack-customer-a-prod.svc"],
        "addresses": ["192.0.2.1"],
    }]);
    let reported = |name: &str, manifest: &Value| {
        let mut status = well(name, manifest);
        if name == "control-plane" {
            status["agentEndpoints"] = endpoints.clone();
        }
        status
    };
    let first = call.run();
    let network = &first.manifest("control-plane")["spec"]["global"]["network"];
    assert_eq!(
        network["hypervisorNetworks"],
        json!(["10.180.0.0/16", "10.181.0.0/16"])
    );
    assert_eq!(network["hypervisorAccess"], json!({}));

    let mut call = call.applied(&first, reported);
    let second = call.run();
    let share =
        |outcome: &Outcome| outcome.manifest("share-hv-pool-a")["spec"]["endpoints"].clone();
    assert_eq!(share(&second), endpoints);

    call = call.applied(&second, well);
    assert_eq!(share(&call.run()), endpoints, "the status lacks them");
    call.world.clear();
    let unread = call.run();
    let kept = &unread.manifest("control-plane")["spec"]["global"]["network"];
    assert_eq!(
        kept,
        &second.manifest("control-plane")["spec"]["global"]["network"]
    );
    assert_eq!(share(&unread), endpoints);
}

#[rstest]
#[case::no_servers("/spec/services", json!({ "nova": false, "cinder": false }))]
#[case::not_encrypted("/spec/tls", json!({ "enabled": false }))]
fn no_load_balancers_without_agents_or_encryption(#[case] field: &str, #[case] value: Value) {
    let mut call = with_networks(call("customer-a-prod"));
    let (parent, key) = field.rsplit_once('/').unwrap();
    call.composite.pointer_mut(parent).unwrap()[key] = value;
    let outcome = call.run();
    let network = &outcome.manifest("control-plane")["spec"]["global"]["network"];
    assert!(network["mtu"].is_u64());
    assert_eq!(network.get("hypervisorAccess"), None);
}
