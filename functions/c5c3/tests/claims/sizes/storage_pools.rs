//! Hosts of storage pools that hold data.

use function_c5c3_fixtures::{Call, Outcome, text, well};
use rstest::rstest;
use serde_json::json;

use super::Sizes;
use crate::clusters::{groups, running};

/// A running storage pool of 10 hosts with 30 disks each, asked to have so many, once the machines beyond them are marked.
fn resized(workers: u32, osds: Option<u32>) -> Sizes {
    let mut call = with_disks(osds);
    call.composite["spec"]["workers"] = json!(workers);
    if workers < 10 {
        mark(&mut call, 10 - workers);
    }
    sizes(&call.run())
}

/// Says that so many machines are marked.
fn mark(call: &mut Call, machines: u32) {
    call.composite["metadata"]["annotations"]["c5c3.io/machines-marked"] =
        json!(machines.to_string());
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

/// The OSDs that are gone may have been those of any host, and Gardener knows nothing of them.
#[rstest]
#[case::none(None, "")]
#[case::fewer(Some(3), "; c5c3.io/machines-marked is 3 now")]
#[case::more(Some(5), "; c5c3.io/machines-marked is 5 now")]
fn storage_pool_keeps_its_hosts_until_as_many_machines_are_marked_as_go(
    #[case] marked: Option<u32>,
    #[case] now: &str,
) {
    let mut call = with_disks(Some(180));
    call.composite["spec"]["workers"] = json!(6);
    if let Some(marked) = marked {
        mark(&mut call, marked);
    }
    let (sizes, (accepted, reason, message)) = sizes(&call.run());
    assert_eq!(sizes, json!([4, 3, 3]));
    assert_eq!((&*accepted, &*reason), ("False", "TooFewWorkers"));
    let asks = "annotate as many machines of hosts without OSDs with machinepriority.machine.sapcloud.io=1, and then this resource with \
                c5c3.io/machines-marked=4";
    assert!(message.ends_with(&format!("{asks}{now}")), "{message}");
}

/// Hosts are divided among zones, so that a pool may lose them where a person expects none to go.
#[test]
fn storage_pool_names_the_zones_that_lose_hosts() {
    let mut call = with_disks(Some(180));
    let groups = groups(&call.run());
    call.composite["spec"]["workers"] = json!(8);
    let (_, (_, _, message)) = sizes(&call.run());
    let [first, _, third] = [0, 1, 2].map(|group| groups[group][0].as_str().unwrap().to_owned());
    let says = format!(
        "Gardener would delete 2 machines (1 of the group {first}, 1 of the group {third}), the oldest first, whatever data they have; "
    );
    assert!(message.contains(&says), "{message}");
}

#[test]
fn storage_pool_asks_to_remove_an_annotation_whose_machines_are_gone() {
    let mut call = with_disks(Some(180));
    mark(&mut call, 4);
    let says =
        "c5c3.io/machines-marked is 4, and no machine is left to delete: remove the annotation";
    assert_eq!(sizes(&call.run()).1.2, says);
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
    mark(&mut call, 5);
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
