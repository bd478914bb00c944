//! What a claim drops and keeps, since it holds data or servers.

mod deleting;
mod kept_nova;
mod names;
mod reported;

use function_c5c3::Claims;
use function_c5c3_fixtures::examples::{POOLS, claim, pool};
use function_c5c3_fixtures::{Call, Outcome, ready, well};
use rstest::rstest;
use serde_json::{Value, json};

use super::{assert_order, call, running};
use reported::unmatched;

/// Names of what a claim dropped and keeps, with what protects and reaches it.
fn retained(outcome: &Outcome) -> Vec<&str> {
    let objects = outcome.desired.iter();
    objects
        .filter(|(_, object)| object["metadata"]["labels"]["c5c3.io/retained"] == "true")
        .map(|(name, _)| name.as_str())
        .collect()
}

fn retained_condition(outcome: &Outcome) -> (&str, &str, &str) {
    let (status, reason, message) = &outcome.conditions["Retained"];
    (status, reason, message)
}

#[test]
fn share_with_servers_stays_when_its_pool_is_dropped() {
    let (mut call, before) = running("customer-a-prod");
    call.composite["spec"]["hypervisorClusters"] = json!(["hv-pool-a"]);
    let outcome = call.run();
    assert_eq!(
        retained(&outcome),
        [
            "agents-namespace-hv-pool-b",
            "pull-agents-cinder-compute-hv-pool-b",
            "pull-agents-neutron-agent-hv-pool-b",
            "pull-agents-nova-cell1-compute-hv-pool-b",
            "pull-agents-ovn-chassis-hv-pool-b",
            "share-hv-pool-b",
        ]
    );
    let mut held = before.manifest("share-hv-pool-b").clone();
    held["spec"]["held"] = json!(true);
    assert_eq!(*outcome.manifest("share-hv-pool-b"), held);
    for usage in [
        "control-plane-until-share-hv-pool-b",
        "hv-pool-b-until-share-hv-pool-b",
    ] {
        assert_eq!(outcome.desired[usage], before.desired[usage]);
    }
    assert_order(&outcome);
    assert_eq!(
        retained_condition(&outcome),
        (
            "True",
            "DataRetained",
            "share-hv-pool-b: no longer in the spec, and kept with what is in it; to drain its nodes, whose servers stay until they are \
             deleted or moved, annotate the claim, and remove the annotation once it is gone: kubectl annotate --overwrite \
             openstackcluster customer-a-prod -n tenant-customer-a c5c3.io/delete-retained=share-hv-pool-b"
        )
    );
    assert_eq!(outcome.status["phase"], "Ready");
    call = call.applied(&outcome, well);
    assert_eq!(call.run().desired, outcome.desired, "it stays");
    call.composite["metadata"]["annotations"] =
        json!({"c5c3.io/delete-retained": "share-hv-pool-b"});
    let released = call.run();
    assert!(!released.desired.contains_key("share-hv-pool-b"));
    let drain = retained(&outcome).into_iter();
    let drain: Vec<&str> = drain.filter(|name| *name != "share-hv-pool-b").collect();
    assert_eq!(retained(&released), drain, "agents read it until then");
    let mut usages = released.desired.keys();
    assert!(
        !usages.any(|usage| usage.starts_with("share-hv-pool-b-until-")),
        "it is deleted alone"
    );
    call.observed.remove("share-hv-pool-b");
    assert_eq!(retained(&call.run()), Vec::<&str>::new());
}

/// Crossplane hands over no Object that it deletes.
#[test]
fn share_that_is_deleted_keeps_what_its_agents_read_until_it_is_gone() {
    let (mut call, _) = running("customer-a-prod");
    call.composite["spec"]["hypervisorClusters"] = json!(["hv-pool-a"]);
    let annotations = json!({"c5c3.io/delete-retained": "share-hv-pool-b"});
    call.composite["metadata"]["annotations"] = annotations.clone();
    let released = call.run();
    let mut call = call.deleting(&released, "share-hv-pool-b", json!([]));
    for annotations in [annotations, json!({})] {
        call.composite["metadata"]["annotations"] = annotations;
        assert_eq!(call.run().desired, released.desired);
    }
    let gone = call.deleted("share-hv-pool-b").run();
    assert_eq!(retained(&gone), Vec::<&str>::new());
    let mut names = gone.desired.keys();
    assert!(!names.any(|name| name.ends_with("-until-share-hv-pool-b")));
}

/// The claim customer-b-staging on Crossplane 2.
fn namespaced() -> Call {
    let claim = claim("customer-b-staging");
    let mut call = Call::of(claim.clone(), "openstack-production");
    call.composite = claim;
    call.composite["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    call.with(POOLS.map(|name| ready(pool(name), &[])))
}

#[rstest]
#[case::of_crossplane_1(call("customer-b-staging"))]
#[case::of_crossplane_2(namespaced())]
fn data_that_are_deleted_hold_their_control_plane_and_pool_until_they_are_gone(
    #[case] claim: Call,
) {
    let (mut call, _) = claim.running();
    call.composite["spec"]["services"] = json!({"cinder": false});
    call.composite["metadata"]["annotations"] =
        json!({"c5c3.io/delete-retained": "volumes-st-pool-a"});
    let outcome = call.run();
    let call = call.deleting(&outcome, "volumes-st-pool-a", json!([]));
    let first = Outcome::of(function_protocol::run(&Claims, call.message()));
    for (outcome, when) in [(call.run(), "last"), (first, "first")] {
        for of in ["control-plane", "namespace", "st-pool-a"] {
            let usage = format!("{of}-until-volumes-st-pool-a");
            assert!(outcome.desired.contains_key(&usage), "{usage}, {when} call");
        }
    }
    let gone = call.deleted("volumes-st-pool-a").run();
    let mut names = gone.desired.keys();
    assert!(!names.any(|name| name.ends_with("-until-volumes-st-pool-a")));
}

#[test]
fn share_is_held_only_until_its_pool_is_named_again() {
    let (mut call, before) = running("customer-a-prod");
    let pools = call.composite["spec"]["hypervisorClusters"].clone();
    call = call.applied(&before, well);
    call.composite["spec"]["hypervisorClusters"] = json!(["hv-pool-a"]);
    let dropped = call.run();
    for (name, is_held) in [("share-hv-pool-a", false), ("share-hv-pool-b", true)] {
        let held = dropped.manifest(name)["spec"]["held"].as_bool();
        assert_eq!(held.unwrap_or_default(), is_held, "{name}");
    }
    call = call.applied(&dropped, well);
    call.composite["spec"]["hypervisorClusters"] = pools;
    assert_eq!(
        call.run().manifest("share-hv-pool-b"),
        before.manifest("share-hv-pool-b")
    );
}

#[test]
fn share_without_servers_goes_with_its_pool() {
    let (call, before) = running("customer-a-prod");
    let empty = |name: &str, manifest: &Value| match name {
        "share-hv-pool-b" => json!({"hosts": [], "hostCount": 0}),
        _ => well(name, manifest),
    };
    let mut call = call.applied(&before, empty);
    call.composite["spec"]["hypervisorClusters"] = json!(["hv-pool-a"]);
    let outcome = call.run();
    assert_eq!(retained(&outcome), Vec::<&str>::new());
    assert!(!outcome.desired.contains_key("share-hv-pool-b"));
}

#[test]
fn namespace_that_may_just_have_been_created_goes_with_its_pool_once_it_can_be_deleted() {
    let (call, before) = running("customer-a-prod");
    let name = "agents-namespace-hv-pool-b";
    let without_hosts = |name: &str, manifest: &Value| match name {
        "share-hv-pool-b" => json!({"hosts": [], "hostCount": 0}),
        _ => well(name, manifest),
    };
    let mut call = call.applied(&before, without_hosts);
    call.composite["spec"]["hypervisorClusters"] = json!(["hv-pool-a"]);
    let mut just_created = call.clone();
    let created = just_created.observed.get_mut(name).unwrap();
    created["spec"]["managementPolicies"] = json!(["Observe", "Create"]);
    let mut not_read = just_created.clone();
    not_read.observed.get_mut(name).unwrap()["status"] = json!({});

    let outcome = not_read.run();
    assert_eq!(
        outcome.desired[name]["spec"]["managementPolicies"],
        json!(["Observe", "Create"])
    );
    let (status, reason, message) = retained_condition(&outcome);
    assert_eq!((status, reason), ("True", "DataRetained"));
    assert!(message.starts_with(&format!("{name}: ")), "{message}");

    let outcome = just_created.run();
    let spec = &outcome.desired[name]["spec"];
    assert_eq!(spec["managementPolicies"], Value::Null, "it can be deleted");
    assert!(
        !call
            .applied(&outcome, without_hosts)
            .run()
            .desired
            .contains_key(name)
    );

    not_read.composite["metadata"]["annotations"] = json!({"c5c3.io/delete-retained": name});
    assert!(!not_read.run().desired.contains_key(name));
}

#[test]
fn data_and_keys_stay_when_a_service_is_switched_off() {
    let (mut call, before) = running("customer-a-prod");
    call.composite["spec"]["services"] = json!({"cinder": false});
    let outcome = call.run();
    assert_eq!(
        retained(&outcome),
        [
            "client-cinder-st-pool-a",
            "pull-cinder-st-pool-a",
            "push-cinder-st-pool-a",
            "volumes-st-pool-a"
        ]
    );
    assert_eq!(
        outcome.manifest("client-nova-st-pool-a"),
        before.manifest("client-nova-st-pool-a"),
        "servers keep their volumes"
    );
    assert_eq!(
        outcome.manifest("control-plane")["spec"]["storage"]["ceph"]["pools"].get("volumes"),
        None
    );
}

#[test]
fn data_stay_when_ephemeral_disks_are_switched_off_or_a_storage_pool_is_dropped() {
    let (mut call, before) = running("internal-prod");
    call.composite["spec"]["storage"]["ceph"]["ephemeralPool"] = json!({"enabled": false});
    call.composite["spec"]["storageClusters"] = json!(["st-pool-a"]);
    let outcome = call.run();
    assert_eq!(
        retained(&outcome),
        [
            "client-cinder-st-pool-b",
            "client-nova-st-pool-b",
            "ephemeral-st-pool-a",
            "pull-cinder-st-pool-b",
            "pull-nova-st-pool-b",
            "push-cinder-st-pool-b",
            "push-monitors-st-pool-b",
            "push-nova-st-pool-b",
            "volumes-st-pool-b"
        ]
    );
    let names = |outcome: &Outcome| -> Vec<String> { outcome.desired.keys().cloned().collect() };
    assert_eq!(
        names(&outcome),
        names(&before),
        "nothing goes, no Usage either"
    );
}

#[test]
fn backups_stay_when_the_claim_no_longer_asks_for_them() {
    let mut call = super::call("customer-a-prod");
    call.composite["spec"]["storage"] = json!({"ceph": {"backupPool": {"enabled": true}}});
    let (mut call, before) = call.running();
    call.composite["spec"]["storage"] = json!({});
    let outcome = call.run();
    assert_eq!(
        retained(&outcome),
        [
            "backups-st-pool-a",
            "client-backup-st-pool-a",
            "pull-backup-st-pool-a",
            "push-backup-st-pool-a"
        ]
    );
    for name in ["backups-st-pool-a", "client-backup-st-pool-a"] {
        assert_eq!(outcome.manifest(name), before.manifest(name));
    }
    assert_eq!(
        outcome.manifest("control-plane")["spec"]["services"]["cinder"].get("backup"),
        None
    );
    assert_order(&outcome);
}

#[test]
fn retained_data_go_when_the_claim_is_annotated() {
    let (mut call, _) = running("customer-a-prod");
    call.composite["spec"]["services"] = json!({"cinder": false});
    call.composite["metadata"]["annotations"] =
        json!({"c5c3.io/delete-retained": "other, volumes-st-pool-a"});
    let released = call.run();
    let call = call.applied(&released, well);
    let unprotected = call.run();
    let outcome = call.applied(&unprotected, well).run();
    assert_eq!(retained(&outcome), Vec::<&str>::new());
    assert!(!outcome.desired.contains_key("volumes-st-pool-a"));
    assert_eq!(
        retained_condition(&outcome),
        (
            "False",
            "NotRetained",
            unmatched(r#""other", "volumes-st-pool-a""#).as_str()
        )
    );
}

#[test]
fn annotation_deletes_nothing_that_the_claim_wants() {
    let (mut call, before) = running("customer-a-prod");
    call.composite["metadata"]["annotations"] =
        json!({"c5c3.io/delete-retained": "volumes-st-pool-a"});
    assert_eq!(call.run().desired, before.desired);
}

/// Servers may have volumes in a pool that Rook keeps. Crossplane refuses to delete what a Usage protects, and composes nothing else
/// until it can.
#[test]
fn released_data_keep_their_users_until_they_are_gone_and_no_usage_protects_these() {
    let (mut call, _) = running("internal-prod");
    call.composite["spec"]["storageClusters"] = json!(["st-pool-a"]);
    let outcome = call.run();
    let (volumes, client) = ("volumes-st-pool-b", "client-cinder-st-pool-b");
    let usage = format!("{client}-until-control-plane");
    let mut users = retained(&outcome);
    users.retain(|name| *name != volumes);
    assert!(users.contains(&client));
    let mut call = call.applied(&outcome, well);
    call.composite["metadata"]["annotations"] = json!({"c5c3.io/delete-retained": volumes});
    let released = call.run();
    assert!(!released.desired.contains_key(volumes));
    assert_eq!(retained(&released), users);
    assert!(released.desired.contains_key(&usage));
    let call = call.deleting(&released, volumes, json!([]));
    assert_eq!(call.run().desired, released.desired);

    let call = call.deleted(volumes);
    let unprotected = call.run();
    assert!(unprotected.desired.contains_key(client));
    assert!(!unprotected.desired.contains_key(&usage));
    let gone = call.applied(&unprotected, well).run();
    assert_eq!(retained(&gone), Vec::<&str>::new());
}

/// Servers keep the access of Nova's user to volumes of a pool that the claim uses for images still.
#[test]
fn users_that_remain_reach_released_data_until_they_are_gone() {
    let (mut call, before) = running("customer-a-prod");
    call.composite["spec"]["services"] = json!({"cinder": false});
    call.composite["metadata"]["annotations"] =
        json!({"c5c3.io/delete-retained": "volumes-st-pool-a"});
    let released = call.run();
    let call = call.deleting(&released, "volumes-st-pool-a", json!([]));
    let caps =
        |outcome: &Outcome| outcome.manifest("client-nova-st-pool-a")["spec"]["caps"].clone();
    assert_eq!(caps(&call.run()), caps(&before));
    assert_ne!(
        caps(&call.deleted("volumes-st-pool-a").run()),
        caps(&before)
    );
}

/// Rook doesn't delete an object store that has users.
#[test]
fn released_object_store_does_not_wait_for_its_user() {
    let (mut call, _) = running("internal-prod");
    let (store, user) = ("object-store-st-pool-a", "object-store-user-st-pool-a");
    call.composite["spec"]["storage"]["ceph"]["objectStore"] = json!({"enabled": false});
    let outcome = call.run();
    assert_eq!(retained(&outcome), [store, user]);
    let mut call = call.applied(&outcome, well);
    call.composite["metadata"]["annotations"] = json!({"c5c3.io/delete-retained": store});
    let released = call.run();
    let call = call.deleting(&released, store, json!([]));
    assert!(!call.run().desired.contains_key(user));
}
