//! Groups of machines of different sizes, as after one was changed in Gardener, or wasn't while its machines waited for an update.

use function_c5c3_fixtures::{Call, Outcome, text, well};
use rstest::rstest;
use serde_json::{Value, json};

use super::limits;
use crate::admission::asking;
use crate::clusters::pool;

const STORAGE: &str = "st-pool-b";
const HYPERVISORS: &str = "hv-pool-compliance";

/// A running pool of three groups with 5 machines each.
fn even(file: &str) -> Call {
    with_groups(pool(file))
}

fn with_groups(call: Call) -> Call {
    let call = asked(call, 15).running().0;
    let outcome = call.run();
    reported(call, &outcome, &json!({}))
}

/// The pool whose second group has 6 machines.
fn uneven(file: &str) -> Call {
    let mut call = even(file);
    let workers = &mut observed(&mut call)["spec"]["provider"]["workers"];
    for limit in ["minimum", "maximum"] {
        workers[1][limit] = json!(6);
    }
    call
}

fn observed(call: &mut Call) -> &mut Value {
    let shoot = call.observed.get_mut("shoot").unwrap();
    &mut shoot["status"]["atProvider"]["manifest"]
}

fn asked(mut call: Call, workers: u32) -> Call {
    let spec = &mut call.composite["spec"];
    spec["workers"] = json!(workers);
    if spec["maxWorkers"].is_number() {
        spec["maxWorkers"] = json!(workers);
    }
    call
}

fn marked(mut call: Call, machines: u32) -> Call {
    call.composite["metadata"]["annotations"]["c5c3.io/machines-marked"] =
        json!(machines.to_string());
    call
}

/// The call after an outcome was applied, with 16 nodes none of which is in use, and these updates in place.
fn reported(call: Call, outcome: &Outcome, updates: &Value) -> Call {
    call.applied(outcome, |name, manifest| {
        let mut status = well(name, manifest);
        match text(manifest, "/kind").as_str() {
            "HypervisorPool" => {
                let groups = [("az-1", 5), ("az-2", 6), ("az-3", 5)];
                let groups = groups.map(|(zone, nodes)| {
                    json!({"name": format!("hypervisor-{zone}"), "nodes": nodes, "inUse": 0})
                });
                status["groups"] = json!(groups);
                status["nodeCount"] = json!(16);
            }
            "CephCluster" => status["storage"] = json!({"osd": {"storeType": {"bluestore": 36}}}),
            "Shoot" => status["inPlaceUpdates"] = updates.clone(),
            _ => {}
        }
        status
    })
}

/// The machines of each group, and whether the size was accepted.
fn machines(call: &Call) -> (Vec<u64>, bool) {
    let (sizes, (accepted, ..)) = limits(&call.run());
    let sizes = sizes.as_array().unwrap().iter();
    let sizes = sizes.map(|size| {
        assert_eq!(size[0], size[1]);
        size[0].as_u64().unwrap()
    });
    (sizes.collect(), accepted == "True")
}

#[rstest]
fn group_with_more_machines_than_others_keeps_them(
    #[values(STORAGE, HYPERVISORS)] file: &str,
    #[values(
        (15, vec![5, 6, 5], false),
        (16, vec![5, 6, 5], true),
        (17, vec![6, 6, 5], true),
        (19, vec![7, 6, 6], true),
    )]
    expected: (u32, Vec<u64>, bool),
) {
    let (workers, sizes, accepted) = expected;
    assert_eq!(
        machines(&asked(uneven(file), workers)),
        (sizes, accepted),
        "{workers} machines"
    );
}

#[rstest]
#[case::of_storage_pool(STORAGE)]
#[case::of_hypervisor_pool(HYPERVISORS)]
fn largest_group_loses_the_machines_that_are_marked(#[case] file: &str) {
    let smaller = asked(uneven(file), 15);
    let (_, (_, _, message)) = limits(&smaller.run());
    assert!(
        message.contains("c5c3.io/machines-marked=1"),
        "one machine, of the second group alone: {message}"
    );
    assert_eq!(machines(&marked(smaller, 1)), (vec![5, 5, 5], true));
    let smaller = asked(uneven(file), 14);
    assert_eq!(machines(&marked(smaller, 2)), (vec![5, 5, 4], true));
}

#[rstest]
#[case::of_storage_pool(STORAGE, "storage-az-1")]
#[case::of_hypervisor_pool(HYPERVISORS, "hypervisor-az-1")]
fn group_that_waited_for_an_update_gets_its_machines_later(
    #[case] file: &str,
    #[case] waiting: &str,
) {
    let updates = json!({"pendingWorkerUpdates": {"manualInPlaceUpdate": [waiting]}});
    let mut call = even(file);
    observed(&mut call)["status"]["inPlaceUpdates"] = updates.clone();
    let mut call = asked(call, 17);
    for _ in 0..3 {
        let outcome = call.run();
        assert_eq!(machines(&call), (vec![5, 6, 5], true));
        call = reported(call, &outcome, &updates);
    }
    assert_eq!(
        machines(&asked(call.clone(), 15)),
        (vec![5, 6, 5], false),
        "the machine of the second group isn't marked"
    );
    observed(&mut call)["status"]["inPlaceUpdates"] = json!({});
    for (workers, expected) in [
        (15, (vec![5, 6, 5], false)),
        (16, (vec![5, 6, 5], true)),
        (17, (vec![6, 6, 5], true)),
    ] {
        assert_eq!(machines(&asked(call.clone(), workers)), expected);
    }
}

/// What was handed over wasn't composed like this, and may have as many machines as its groups allow.
#[test]
fn storage_pool_keeps_all_hosts_that_its_shoot_may_have() {
    let mut call = even(STORAGE);
    observed(&mut call)["spec"]["provider"]["workers"][2]["maximum"] = json!(8);
    let sizes = |workers, machines| {
        let (sizes, (accepted, ..)) = limits(&marked(asked(call.clone(), workers), machines).run());
        (sizes, accepted == "True")
    };
    let kept = json!([[5, 5], [5, 5], [5, 8]]);
    assert_eq!(sizes(15, 0), (kept, false));
    assert_eq!(sizes(15, 3), (json!([[5, 5], [5, 5], [5, 5]]), true));
}

#[test]
fn hypervisor_pool_that_grows_keeps_both_limits_of_each_group() {
    let mut call = even(HYPERVISORS);
    let workers = &mut observed(&mut call)["spec"]["provider"]["workers"];
    for (group, [minimum, maximum]) in [[7, 9], [5, 6], [3, 12]].into_iter().enumerate() {
        workers[group]["minimum"] = json!(minimum);
        workers[group]["maximum"] = json!(maximum);
    }
    let mut sizes = |workers, max_workers| {
        call.composite["spec"]["workers"] = json!(workers);
        call.composite["spec"]["maxWorkers"] = json!(max_workers);
        limits(&call.run()).0
    };
    assert_eq!(sizes(15, 27), json!([[7, 9], [5, 6], [3, 12]]));
    assert_eq!(sizes(18, 27), json!([[7, 9], [6, 6], [5, 12]]));
    assert_eq!(sizes(20, 30), json!([[7, 9], [7, 9], [6, 12]]));
}

/// What its consumers were promised is more than it asks for.
#[test]
fn hypervisor_pool_deletes_no_machines_beyond_those_that_it_was_checked_for() {
    let mut call = with_groups(asking(HYPERVISORS, &[("t/one", "01", 15)]));
    assert_eq!(call.run().status["consumers"][0]["minHosts"], 15);
    let workers = &mut observed(&mut call)["spec"]["provider"]["workers"];
    for (group, minimum) in [4, 6, 5].into_iter().enumerate() {
        workers[group]["minimum"] = json!(minimum);
        workers[group]["maximum"] = json!(10);
    }
    call.composite["spec"]["workers"] = json!(8);
    call.composite["spec"]["maxWorkers"] = json!(16);
    let (sizes, (_, _, message)) = limits(&call.run());
    assert_eq!(sizes, json!([[4, 5], [6, 6], [5, 5]]));
    assert!(message.contains("were promised 15 nodes"), "{message}");
}
