//! What a claim says of what it drops.

use rstest::rstest;
use serde_json::{Value, json};

use super::super::running;
use super::retained_condition;

#[test]
fn data_and_shares_that_are_kept_say_what_their_release_does() {
    let (mut call, _) = running("customer-a-prod");
    call.composite["spec"]["services"] = json!({"cinder": false});
    call.composite["spec"]["hypervisorClusters"] = json!(["hv-pool-a"]);
    let outcome = call.run();
    let (_, reason, message) = retained_condition(&outcome);
    assert_eq!(reason, "DataRetained");
    let command = "annotate the claim, and remove the annotation once it is gone: kubectl annotate --overwrite openstackcluster \
                   customer-a-prod -n tenant-customer-a c5c3.io/delete-retained=";
    let kept = "no longer in the spec, and kept with what is in it; ";
    assert_eq!(
        message,
        format!(
            "volumes-st-pool-a: {kept}to delete it with all data, {command}volumes-st-pool-a; share-hv-pool-b: {kept}to drain its \
             nodes, whose servers stay until they are deleted or moved, {command}share-hv-pool-b"
        )
    );
}

#[rstest]
#[case::share(
    "customer-a-prod",
    "hypervisorClusters",
    "share-hv-pool-b",
    json!([{"type": "NodesDrained", "status": "False", "message": "servers left: 3"}]),
    "share-hv-pool-b is deleted once nothing is in it: servers left: 3"
)]
#[case::data(
    "internal-prod",
    "storageClusters",
    "volumes-st-pool-b",
    json!([
        {"type": "DeletionIsBlocked", "status": "False", "message": "no dependents"},
        {"type": "PoolDeletionIsBlocked", "status": "True", "message": "pool contains images or snapshots"},
    ]),
    "volumes-st-pool-b is deleted once nothing is in it: pool contains images or snapshots"
)]
#[case::of_which_nothing_is_reported(
    "internal-prod",
    "storageClusters",
    "volumes-st-pool-b",
    json!([]),
    "volumes-st-pool-b is being deleted"
)]
fn released_part_says_what_its_deletion_waits_for(
    #[case] claim: &str,
    #[case] field: &str,
    #[case] name: &str,
    #[case] conditions: Value,
    #[case] message: &str,
) {
    let (mut call, _) = running(claim);
    call.composite["spec"][field].as_array_mut().unwrap().pop();
    call.composite["metadata"]["annotations"] = json!({"c5c3.io/delete-retained": name});
    let released = call.run();
    let mut call = call.deleting(&released, name, conditions);
    call.composite["metadata"]["annotations"] = json!({});
    assert_eq!(
        retained_condition(&call.run()),
        ("True", "Deleting", message)
    );
    assert_eq!(
        retained_condition(&call.deleted(name).run()),
        ("False", "NothingRetained", "")
    );
}

/// What a claim says of names in the annotation of which nothing is retained.
pub(super) fn unmatched(names: &str) -> String {
    format!(
        "the annotation c5c3.io/delete-retained has {names}, and nothing of that name is retained: correct or remove it, because it counts \
         as soon as the spec no longer wants a part of that name"
    )
}

#[test]
fn names_of_which_nothing_is_retained_are_a_warning() {
    let (mut call, _) = running("customer-a-prod");
    let long = "x".repeat(1000);
    let shown = format!("{:?}", &long[..100]);
    for (names, shown) in [
        ("share-hv-pool-b", r#""share-hv-pool-b""#),
        ("a, \u{1b}[2J,,c,d,e", r#""\u{1b}[2J", "a", "c" and 2 more"#),
        (long.as_str(), shown.as_str()),
    ] {
        call.composite["metadata"]["annotations"] = json!({"c5c3.io/delete-retained": names});
        let outcome = call.run();
        let message = unmatched(shown);
        assert_eq!(
            retained_condition(&outcome),
            ("False", "NotRetained", message.as_str())
        );
        assert!(outcome.warnings.contains(&message), "{:?}", outcome.events);
    }
    call.composite["metadata"]["annotations"] = json!({"c5c3.io/delete-retained": " , "});
    assert_eq!(
        retained_condition(&call.run()),
        ("False", "NothingRetained", "")
    );

    call.composite["spec"]["hypervisorClusters"] = json!(["hv-pool-a"]);
    call.composite["metadata"]["annotations"] =
        json!({"c5c3.io/delete-retained": "share-hv-pool-B"});
    let outcome = call.run();
    let (status, reason, message) = retained_condition(&outcome);
    assert_eq!((status, reason), ("True", "DataRetained"));
    let both = format!("{}; share-hv-pool-b: ", unmatched(r#""share-hv-pool-B""#));
    assert!(message.starts_with(&both), "{message}");
}
