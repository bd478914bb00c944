//! Hosts of storage pools that hold data.

use function_c5c3_fixtures::{Call, Outcome, text, well};
use rstest::rstest;
use serde_json::json;

use super::Sizes;
use crate::clusters::{groups, running};

/// A running storage pool of 10 hosts with 30 disks each, asked to become smaller.
fn resized(workers: u32, osds: Option<u32>) -> Sizes {
    let mut call = with_disks(osds);
    call.composite["spec"]["workers"] = json!(workers);
    sizes(&call.run())
}

/// A running storage pool of 10 hosts with 30 disks each, of which Ceph reports so many.
fn with_disks(osds: Option<u32>) -> Call {
    let (call, before) = running("st-pool-a");
    reporting(call, &before, osds)
}

/// The call after an outcome was applied, and Ceph reports so many disks.
fn reporting(call: Call, before: &Outcome, osds: Option<u32>) -> Call {
    call.applied(before, |name, manifest| {
        let mut status = well(name, manifest);
        if let ("CephCluster", Some(osds)) = (text(manifest, "/kind").as_str(), osds) {
            status["storage"] = json!({"osd": {"storeType": {"bluestore": osds}}});
        }
        status
    })
}

/// How many machines each group has, and whether the size was accepted.
fn sizes(outcome: &Outcome) -> Sizes {
    let groups = groups(outcome);
    let groups = groups.as_array().into_iter().flatten();
    let sizes = groups.map(|group| group[2].clone()).collect();
    (sizes, outcome.conditions["SizeAccepted"].clone())
}

#[test]
fn storage_pool_keeps_hosts_that_hold_data() {
    let message = |least| {
        format!(
            "spec.workers is 6, and {least} hosts hold data or are needed for copies; the pool keeps 10: remove the OSDs of \
             the other hosts from Ceph first, or raise spec.workers"
        )
    };
    let refused = |least| {
        (
            "False".to_owned(),
            "TooFewWorkers".to_owned(),
            message(least),
        )
    };
    let accepted = ("True".to_owned(), "SizeAccepted".to_owned(), String::new());
    assert_eq!(resized(6, Some(300)), (json!([4, 3, 3]), refused(10)));
    assert_eq!(resized(6, Some(181)), (json!([4, 3, 3]), refused(7)));
    assert_eq!(
        resized(6, None),
        (json!([4, 3, 3]), refused(10)),
        "nothing is known of the disks"
    );
    assert_eq!(resized(6, Some(180)), (json!([2, 2, 2]), accepted.clone()));
    assert_eq!(resized(12, None), (json!([4, 4, 4]), accepted));
}

/// A larger osdCount doesn't mean that fewer hosts hold the disks that Ceph has.
#[rstest]
#[case::at_once(&[(60, 5)])]
#[case::one_after_the_other(&[(60, 10), (60, 5)])]
#[case::after_two_changes(&[(60, 10), (20, 10), (60, 10), (60, 5)])]
fn storage_pool_keeps_hosts_when_the_number_of_disks_is_raised(#[case] changes: &[(u32, u32)]) {
    let mut call = with_disks(Some(300));
    let mut outcome = call.run();
    for (osd_count, workers) in changes {
        call = reporting(call, &outcome, Some(300));
        call.composite["spec"]["ceph"]["osdCount"] = json!(osd_count);
        call.composite["spec"]["workers"] = json!(workers);
        outcome = call.run();
    }
    let (sizes, (accepted, _, message)) = sizes(&outcome);
    assert_eq!((sizes, accepted.as_str()), (json!([4, 3, 3]), "False"));
    assert!(message.contains("10 hosts hold data"), "{message}");
}

#[test]
fn storage_pool_whose_hosts_got_more_disks_can_shrink_by_them() {
    let mut call = with_disks(Some(300));
    call.composite["spec"]["ceph"]["osdCount"] = json!(60);
    let grown = call.run();
    let call = reporting(call, &grown, Some(600));
    let recorded = call.run();
    let annotations = &recorded.manifest("ceph")["metadata"]["annotations"];
    assert_eq!(annotations["c5c3.io/osds-per-host"], "60");
    let mut call = reporting(call, &recorded, Some(300));
    call.composite["spec"]["workers"] = json!(5);
    assert_eq!(sizes(&call.run()).1.0, "True");
}

/// A CephCluster of an earlier version has no record of its hosts' disks.
#[test]
fn storage_pool_without_a_record_counts_the_disks_it_was_composed_with() {
    let mut call = with_disks(Some(300));
    let ceph = call.observed.get_mut("ceph").unwrap();
    let metadata = ceph.pointer_mut("/spec/forProvider/manifest/metadata");
    metadata.unwrap()["annotations"] = json!({});
    call.composite["spec"]["ceph"]["osdCount"] = json!(60);
    call.composite["spec"]["workers"] = json!(5);
    assert_eq!(sizes(&call.run()).0, json!([4, 3, 3]));
}
