//! What Crossplane deletes, and hands over no longer.

use function_c5c3_fixtures::examples::{claim, pool, pools};
use function_c5c3_fixtures::{Call, composite, ready, text, well};
use serde_json::{Value, json};

use super::super::{call, running};
use super::{retained, retained_condition};

const SHARE: &str = "share-hv-pool-b";

/// The claim customer-a-prod, while a share that it dropped and released is deleted.
fn deleting() -> Call {
    let (mut call, _) = running("customer-a-prod");
    call.composite["spec"]["hypervisorClusters"] = json!(["hv-pool-a"]);
    call.composite["metadata"]["annotations"] = json!({"c5c3.io/delete-retained": SHARE});
    let released = call.run();
    let mut call = call.deleting(&released, SHARE, json!([]));
    call.composite["metadata"]["annotations"] = json!({});
    call
}

/// The Object that is being deleted.
fn object(call: &mut Call) -> &mut Value {
    let name = json!(format!("xr-{SHARE}"));
    let mut objects = call.world.iter_mut();
    objects
        .find(|object| object["metadata"]["name"] == name)
        .unwrap()
}

/// Crossplane would create a second Object, and the first would delete the share of both.
#[test]
fn share_that_is_deleted_is_wanted_again_only_once_it_is_gone() {
    let mut call = deleting();
    call.composite["spec"]["hypervisorClusters"] = json!(["hv-pool-a", "hv-pool-b"]);
    let again = call.run();
    assert!(!again.desired.contains_key(SHARE));
    let usage = format!("control-plane-until-{SHARE}");
    assert!(again.desired.contains_key(&usage));
    let message = format!("{SHARE} is being deleted");
    assert_eq!(
        retained_condition(&again),
        ("True", "Deleting", message.as_str())
    );
    assert_ne!(again.status["phase"], "Ready");
    let gone = call.deleted(SHARE).run();
    assert!(gone.desired.contains_key(SHARE));
}

/// Crossplane's cache may be older than the deletion.
#[test]
fn object_that_is_not_handed_over_counts_as_deleted() {
    let mut call = deleting();
    let expected = call.run();
    object(&mut call)["metadata"]["deletionTimestamp"] = Value::Null;
    let outcome = call.run();
    assert_eq!(outcome.desired, expected.desired);
    assert_eq!(retained_condition(&outcome).1, "Deleting");
}

#[test]
fn object_of_another_composite_resource_is_not_observed() {
    let mut call = deleting();
    object(&mut call)["metadata"]["ownerReferences"] =
        json!([{"uid": "another", "controller": true}]);
    let outcome = call.run();
    assert_eq!(retained(&outcome), Vec::<&str>::new());
    assert_eq!(retained_condition(&outcome).1, "NothingRetained");
}

fn requires_objects(call: &Call) -> bool {
    let message = call.settled();
    let mut required = message.extra_resources.keys();
    required.any(|key| key.starts_with("deleting/"))
}

#[test]
fn objects_are_required_only_while_one_is_deleted() {
    assert!(requires_objects(&deleting()));
    for name in ["customer-a-prod", "internal-prod"] {
        let (call, _) = running(name);
        assert!(!requires_objects(&call), "{name}");
    }
}

/// Rook deletes a pool whose images are all in Ceph's trash, where Glance moves those that have clones.
#[test]
fn released_images_are_kept_until_the_pool_of_their_clones_is_gone() {
    let (images, volumes) = ("images-st-pool-a", "volumes-st-pool-a");
    let mut call = call("internal-prod");
    call.composite["spec"]["storage"]["ceph"]["ephemeralPool"] = json!({"enabled": false});
    let (mut call, _) = call.running();
    call.composite["spec"]["storageClusters"] = json!(["st-pool-b"]);
    call.composite["metadata"]["annotations"] = json!({"c5c3.io/delete-retained": images});
    let kept = call.run();
    assert!(retained(&kept).contains(&images));
    let usage = format!("{images}-until-{volumes}");
    assert!(kept.desired.contains_key(&usage));
    let (_, _, message) = retained_condition(&kept);
    let waits = format!(
        "{images} is deleted once nothing is in it: it waits for {volumes}, since volumes and disks of servers are clones of images; "
    );
    assert!(message.starts_with(&waits), "{message}");

    let both = format!("{images},{volumes}");
    call.composite["metadata"]["annotations"] = json!({"c5c3.io/delete-retained": both});
    let released = call.run();
    assert!(!released.desired.contains_key(volumes));
    let call = call.deleting(&released, volumes, json!([]));
    assert!(call.run().desired.contains_key(images));
    let gone = call.deleted(volumes).run();
    assert!(!gone.desired.contains_key(images) && !gone.desired.contains_key(&usage));
}

/// The names of its Usages can be read in two ways.
#[test]
fn pool_with_a_name_like_that_of_a_usage_has_one_share() {
    let mut named = pool("hv-pool-b");
    named["metadata"]["name"] = json!("hv-until-2030");
    named["spec"]["name"] = json!("hv-until-2030");
    let mut claim = claim("customer-a-prod");
    claim["spec"]["hypervisorClusters"] = json!(["hv-pool-a", "hv-until-2030"]);
    let (mut call, outcome) = Call::of(claim, "openstack-production")
        .with(pools())
        .with([ready(composite(named), &[])])
        .running();
    // What a Usage waits for can be required.
    call.world.extend(call.observed.values().cloned());
    let again = call.applied(&outcome, well).run();
    assert_eq!(again.desired, outcome.desired);
    let kind = "/spec/forProvider/manifest/kind";
    let shares = again.desired.iter();
    let shares = shares.filter(|(_, object)| text(object, kind) == "HypervisorShare");
    let shares: Vec<&str> = shares.map(|(name, _)| name.as_str()).collect();
    assert_eq!(shares, ["share-hv-pool-a", "share-hv-until-2030"]);
}
