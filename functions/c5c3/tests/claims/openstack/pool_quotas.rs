//! Quotas of RBD pools: lowered by themselves, they could stop the writes of servers that run.

use function_c5c3_fixtures::examples::claim;
use function_c5c3_fixtures::{Call, Outcome, ready, well, yaml};
use rstest::rstest;
use serde_json::{Value, json};

use super::call;

const IMAGES: &str = "images-st-pool-a";

/// customer-b-staging before its first call: behind a claim, and in the namespace of its tenant.
fn both() -> [Call; 2] {
    let mut namespaced = Call::of(claim("customer-b-staging"), "openstack-production");
    namespaced.composite = claim("customer-b-staging");
    namespaced.composite["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    let pools = ["control-plane", "hv-pool-a", "st-pool-a"];
    let pools =
        pools.map(|name| ready(yaml(&format!("examples/pools/{name}.yaml")).remove(0), &[]));
    [call("customer-b-staging"), namespaced.with(pools)]
}

/// Limits the images of the claim; none lifts the limit.
fn limit(call: &mut Call, gigabytes: Option<u64>) {
    let limits = gigabytes.map_or(json!({}), |limit| json!({ "imagesGB": limit }));
    call.input.as_mut().unwrap()["sizes"]["small"]["storage"] = limits;
}

/// The claim once it runs with this limit.
fn limited(mut call: Call, gigabytes: Option<u64>) -> Call {
    limit(&mut call, gigabytes);
    let (call, outcome) = call.running();
    next(call, &outcome)
}

fn next(call: Call, outcome: &Outcome) -> Call {
    let mut call = call.applied(outcome, well);
    call.composite["status"]["conditions"] = outcome.written_conditions();
    call
}

/// What comes out once the limit is another one.
fn relimited(call: &mut Call, gigabytes: Option<u64>) -> Outcome {
    limit(call, gigabytes);
    let outcome = call.run();
    assert_eq!(outcome.fatal, None);
    outcome
}

fn quota(outcome: &Outcome) -> &Value {
    &outcome.manifest(IMAGES)["spec"]["quotas"]["maxSize"]
}

/// Status and message of the condition that says what is kept.
fn said(outcome: &Outcome) -> Option<(&str, &str)> {
    let (status, _, message) = outcome.conditions.get("SizeAccepted")?;
    Some((status.as_str(), message.as_str()))
}

fn annotate(call: &mut Call, accepted: &str) {
    call.composite["metadata"]["annotations"] = json!({ "c5c3.io/lower-quotas": accepted });
}

#[rstest]
#[case::rises(Some(100), Some(200), json!("200G"), None)]
#[case::stays(Some(100), Some(100), json!("100G"), None)]
#[case::does_not_fall(Some(100), Some(50), json!("100G"), Some("the quota 100G instead of 50G"))]
#[case::is_lifted(Some(100), None, json!("0"), None)]
#[case::is_lifted_by_zero(Some(100), Some(0), json!("0"), None)]
#[case::is_not_set_later(None, Some(50), Value::Null, Some("no quota instead of 50G"))]
#[case::is_not_there(None, None, Value::Null, None)]
fn pool_quota_only_rises_by_itself(
    #[case] before: Option<u64>,
    #[case] after: Option<u64>,
    #[case] composed: Value,
    #[case] kept: Option<&str>,
) {
    for call in both() {
        let mut call = limited(call, before);
        let phase = call.composite["status"]["phase"].clone();
        for _ in 0..3 {
            let outcome = relimited(&mut call, after);
            assert_eq!(*quota(&outcome), composed);
            match (said(&outcome), kept) {
                (None, None) => {}
                (Some((status, message)), Some(kept)) => {
                    assert_eq!(status, "False");
                    let start = format!("{IMAGES} keeps {kept}: ");
                    assert!(message.starts_with(&start), "{message}");
                }
                (said, kept) => assert_eq!(said.map(|said| said.1), kept),
            }
            assert_eq!(outcome.status["phase"], phase, "it blocks nothing");
            assert!(!outcome.conditions.contains_key("Stalled"));
            call = next(call, &outcome);
        }
    }
}

#[test]
fn pool_quota_of_a_new_pool_is_what_is_allowed() {
    for call in both() {
        let mut call = limited(call, Some(100));
        call.observed.remove(IMAGES);
        for (limit, composed) in [(Some(50), json!("50G")), (None, Value::Null)] {
            let outcome = relimited(&mut call, limit);
            assert_eq!(*quota(&outcome), composed);
            assert_eq!(said(&outcome), None);
        }
    }
}

#[test]
fn pool_quota_that_was_lifted_is_not_set_again_by_itself() {
    let [call, _] = both();
    let mut call = limited(call, Some(100));
    let lifted = relimited(&mut call, None);
    let mut call = next(call, &lifted);
    let outcome = relimited(&mut call, Some(100));
    assert_eq!(*quota(&outcome), "0");
    let message = said(&outcome).unwrap().1;
    let start = format!("{IMAGES} keeps no quota instead of 100G: ");
    assert!(message.starts_with(&start), "{message}");
}

#[test]
fn pool_quota_is_lowered_to_what_the_claim_accepts_and_no_further() {
    for call in both() {
        let mut call = limited(call, Some(100));
        let kept = relimited(&mut call, Some(50));
        assert_eq!(
            said(&kept).unwrap().1,
            "images-st-pool-a keeps the quota 100G instead of 50G: a quota isn't lowered by itself, since Ceph refuses every write \
             to a pool that holds as much; ask the platform team what these pools hold (ceph osd pool get-quota), and where it \
             is less: kubectl annotate --overwrite openstackcluster customer-b-staging -n tenant-customer-b \
             c5c3.io/lower-quotas=images-st-pool-a:50G"
        );
        let mut call = next(call, &kept);
        annotate(&mut call, "volumes-st-pool-a:50G, images-st-pool-a:40G");
        assert_eq!(*quota(&call.run()), "100G", "another one is accepted");
        annotate(&mut call, "volumes-st-pool-a:50G, images-st-pool-a:50G");
        let lowered = call.run();
        assert_eq!(*quota(&lowered), "50G");
        let (status, message) = said(&lowered).unwrap();
        assert_eq!(status, "True");
        let start = "remove the annotation c5c3.io/lower-quotas: ";
        assert!(message.starts_with(start), "{message}");

        let mut call = next(call, &lowered);
        let metadata = call.composite["metadata"].as_object_mut().unwrap();
        let annotated = metadata.remove("annotations").unwrap();
        assert_eq!(said(&call.run()), Some(("True", "")));
        call.composite["metadata"]["annotations"] = annotated;
        let outcome = relimited(&mut call, Some(20));
        assert_eq!(*quota(&outcome), "50G", "a later limit isn't accepted");
        assert_eq!(said(&outcome).unwrap().0, "False");
    }
}

#[test]
fn pool_quota_stays_while_the_pool_is_not_observed() {
    for call in both() {
        let mut call = limited(call, Some(100));
        let object = call.observed.get_mut(IMAGES).unwrap();
        object["status"] = json!({ "conditions": [{
            "type": "Synced", "status": "False", "reason": "ReconcileError", "message": "connection refused",
        }] });
        let outcome = relimited(&mut call, Some(50));
        assert_eq!(*quota(&outcome), "100G");
        assert_eq!(said(&outcome).unwrap().0, "False");
    }
}

#[test]
fn pool_quota_stays_while_the_storage_cluster_cannot_be_read() {
    for call in both() {
        let mut call = limited(call, Some(100));
        let before = call.run().manifest(IMAGES).clone();
        call.world
            .retain(|pool| !pool["kind"].as_str().unwrap().ends_with("StorageCluster"));
        let outcome = relimited(&mut call, Some(50));
        assert_eq!(*outcome.manifest(IMAGES), before);
    }
}

#[rstest]
#[case::higher("200G", json!("200G"))]
#[case::none("0", json!("0"))]
#[case::lower("50G", json!("100G"))]
#[case::the_same_in_other_units("0.1T", json!("100G"))]
#[case::not_a_quantity("much", json!("100G"))]
fn pool_quota_is_no_less_than_the_observed_one(#[case] observed: &str, #[case] composed: Value) {
    for call in both() {
        let mut call = limited(call, Some(100));
        let object = call.observed.get_mut(IMAGES).unwrap();
        *object
            .pointer_mut("/status/atProvider/manifest/spec/quotas/maxSize")
            .unwrap() = json!(observed);
        let outcome = relimited(&mut call, Some(100));
        assert_eq!(*quota(&outcome), composed);
    }
}

#[test]
fn pool_quota_follows_no_pool_of_another_owner() {
    let [call, _] = both();
    let mut call = limited(call, Some(100));
    let object = call.observed.get_mut(IMAGES).unwrap();
    let theirs = object.pointer_mut("/status/atProvider/manifest").unwrap();
    theirs["metadata"]["labels"]["c5c3.io/claim-uid"] = json!("other");
    theirs["metadata"]["annotations"]["c5c3.io/claim"] = json!("tenant-z/z");
    theirs["spec"]["quotas"]["maxSize"] = json!("900G");
    assert_eq!(*quota(&relimited(&mut call, Some(100))), "100G");
    assert_eq!(said(&relimited(&mut call, Some(50))), None);
}

#[test]
fn pool_quota_that_is_kept_is_the_one_of_the_status() {
    let [mut call, _] = both();
    let asked = |quota: u64| json!({ "ceph": { "volumePool": { "quotaGB": quota } } });
    call.composite["spec"]["storage"] = asked(100);
    let mut call = limited(call, None);
    call.composite["spec"]["storage"] = asked(50);
    let outcome = call.run();
    let pool = outcome.manifest("volumes-st-pool-a");
    assert_eq!(pool["spec"]["quotas"]["maxSize"], "100G");
    let status = &outcome.status["cephResources"]["volumePool"];
    assert_eq!(status["quotaBytes"], json!(100_000_000_000_u64));
    assert_eq!(said(&outcome).unwrap().0, "False");
}

#[test]
fn pool_quota_is_said_after_what_the_control_plane_keeps() {
    let [call, _] = both();
    let mut call = limited(call, Some(100));
    let message = "MariaDB keeps storageSize: 50Gi instead of 100Gi";
    let control_plane = call.observed.get_mut("control-plane").unwrap();
    let conditions = control_plane
        .pointer_mut("/status/atProvider/manifest/status/conditions")
        .unwrap();
    conditions.as_array_mut().unwrap().push(json!({
        "type": "SizeAccepted", "status": "False", "reason": "Unsupported", "message": message,
    }));
    let outcome = relimited(&mut call, Some(50));
    let said = said(&outcome).unwrap().1;
    let start = format!("{message}. {IMAGES} keeps the quota 100G instead of 50G: ");
    assert!(said.starts_with(&start), "{said}");
}
