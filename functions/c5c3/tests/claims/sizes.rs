//! How many machines a pool has: never fewer than hold data or run servers.

mod groups;
mod storage_pools;

use function_c5c3_fixtures::{Call, Outcome, text, well};
use rstest::rstest;
use serde_json::{Value, json};

use super::admission::asking;
use super::clusters::{groups, running};

/// The numbers of machines, and the condition SizeAccepted.
type Sizes = (Value, (String, String, String));

#[test]
fn hypervisor_pool_keeps_its_size_when_a_smaller_one_is_refused() {
    let claims = [("t/one", "01", 1), ("t/two", "01", 1), ("t/three", "01", 1)];
    let (call, before) = asking("hv-pool-b", &claims).running();
    let mut call = call.applied(&before, well);
    call.composite["spec"]["workers"] = json!(3);
    assert_eq!(groups(&call.run())[0][2], 100);
    call.composite["spec"]["workers"] = json!(5);
    assert_eq!(groups(&call.run())[0][2], 5);
}

/// A hypervisor pool that is asked to become smaller: hv-pool-a has 50 to 100 machines in one group, hv-pool-compliance 20 in three.
struct Smaller {
    file: &'static str,
    workers: u32,
    max_workers: u32,
    /// What its HypervisorPool reports: name, nodes, and nodes in use of each group of machines.
    groups: Vec<(&'static str, u32, u32)>,
    removable: Vec<String>,
    marked: Option<&'static str>,
}

impl Smaller {
    fn of(file: &'static str, [workers, max_workers]: [u32; 2]) -> Self {
        Self {
            file,
            workers,
            max_workers,
            groups: Vec::new(),
            removable: Vec::new(),
            marked: None,
        }
    }

    /// `[nodes, nodes in use]` of each group.
    fn with<const N: usize>(mut self, groups: [[u32; 2]; N]) -> Self {
        let names: &[&str] = match groups.len() {
            1 => &["hypervisor"],
            _ => &["hypervisor-az-1", "hypervisor-az-2", "hypervisor-az-3"],
        };
        let groups = names.iter().zip(groups);
        self.groups = groups
            .map(|(name, [nodes, used])| (*name, nodes, used))
            .collect();
        self
    }

    fn marked(mut self, marked: &'static str) -> Self {
        self.marked = Some(marked);
        self
    }

    fn call(&self) -> Call {
        let (call, before) = running(self.file);
        let call = call.applied(&before, |name, manifest| self.status(name, manifest));
        self.asked(call)
    }

    fn asked(&self, mut call: Call) -> Call {
        call.composite["spec"]["workers"] = json!(self.workers);
        call.composite["spec"]["maxWorkers"] = json!(self.max_workers);
        if let Some(marked) = self.marked {
            call.composite["metadata"]["annotations"] = json!({"c5c3.io/machines-marked": marked});
        }
        call
    }

    fn status(&self, name: &str, manifest: &Value) -> Value {
        let mut status = well(name, manifest);
        if text(manifest, "/kind") == "HypervisorPool" {
            status["removable"] = json!(self.removable);
            let groups = self.groups.iter();
            status["nodeCount"] = groups
                .clone()
                .map(|(_, nodes, _)| nodes)
                .sum::<u32>()
                .into();
            status["groups"] = groups
                .map(|(name, nodes, used)| json!({"name": name, "nodes": nodes, "inUse": used}))
                .collect();
            // Reported before a HypervisorPool reported groups.
            if self.groups.is_empty() {
                status["nodeCount"] = json!(50);
            }
        }
        status
    }

    /// The fewest and the most machines of each group, and whether the size was accepted.
    fn sizes(&self) -> Sizes {
        limits(&self.call().run())
    }
}

fn limits(outcome: &Outcome) -> Sizes {
    let groups = groups(outcome);
    let groups = groups.as_array().into_iter().flatten();
    let sizes = groups.map(|group| json!([group[2], group[3]])).collect();
    (sizes, outcome.conditions["SizeAccepted"].clone())
}

fn refused(sizes: Value, message: &str) -> Sizes {
    let condition = ["False", "TooFewWorkers", message].map(str::to_owned);
    (sizes, condition.into())
}

fn accepted(sizes: Value) -> Sizes {
    accepted_with(sizes, "")
}

fn accepted_with(sizes: Value, hint: &str) -> Sizes {
    let condition = ["True", "SizeAccepted", hint].map(str::to_owned);
    (sizes, condition.into())
}

/// What is said of hv-pool-a with fewer machines while it isn't known which nodes are in use.
const UNKNOWN: &str = "spec.workers is 20 and spec.maxWorkers 30, and the pool keeps 50 to 100 machines: the HypervisorPool doesn't report \
                       how many nodes of each group of machines are in use";

#[test]
fn hypervisor_pool_keeps_nodes_that_are_in_use() {
    let pool = |sizes| Smaller::of("hv-pool-a", sizes);
    let of_28 = "spec.workers is 20 and spec.maxWorkers 27, and the pool keeps 50 to 100 machines: 28 nodes are leased or drained; \
                 lower the shares of its consumers first, or raise spec.workers and spec.maxWorkers";
    assert_eq!(
        pool([20, 27]).with([[50, 28]]).marked("23").sizes(),
        refused(json!([[50, 100]]), of_28)
    );
    assert_eq!(
        pool([20, 30]).marked("20").sizes(),
        refused(json!([[50, 100]]), UNKNOWN)
    );
    assert_eq!(pool([60, 120]).sizes(), accepted(json!([[60, 120]])));
    let of_zone = "spec.workers is 15 and spec.maxWorkers 15, and the pool keeps 20 to 20 machines: 6 nodes of its group \
                   hypervisor-az-2 are leased or drained, and the group would have 5 machines; lower the shares of its consumers \
                   first, or raise spec.workers and spec.maxWorkers";
    let compliance = |groups| {
        let pool = Smaller::of("hv-pool-compliance", [15, 15]).marked("5");
        pool.with(groups).sizes()
    };
    assert_eq!(
        compliance([[7, 0], [7, 6], [6, 0]]),
        refused(json!([[7, 7], [7, 7], [6, 6]]), of_zone)
    );
    assert_eq!(
        compliance([[7, 5], [7, 5], [6, 5]]),
        accepted(json!([[5, 5], [5, 5], [5, 5]]))
    );
}

/// What was observed last may be old.
#[test]
fn hypervisor_pool_keeps_its_size_while_its_nodes_cannot_be_read() {
    let smaller = Smaller::of("hv-pool-a", [20, 30]).with([[50, 20]]);
    let mut call = smaller.marked("20").call();
    assert_eq!(limits(&call.run()), accepted(json!([[20, 30]])));
    let pool = call.observed.get_mut("pool").unwrap();
    pool["status"]["conditions"][0] = json!({"type": "Synced", "status": "False"});
    assert_eq!(limits(&call.run()), refused(json!([[50, 100]]), UNKNOWN));
}

/// machine-controller-manager deletes the oldest machines, which are the first to have been leased, unless others are marked.
#[test]
fn hypervisor_pool_deletes_only_machines_that_are_marked() {
    let pool = |sizes| Smaller::of("hv-pool-a", sizes).with([[50, 20]]);
    let unmarked = |now: &str| {
        let message = format!(
            "spec.workers is 20 and spec.maxWorkers 27, and the pool keeps 50 to 100 machines: Gardener would delete 23 machines, \
             the oldest first, whatever servers they have; annotate as many machines of nodes without a lease with \
             machinepriority.machine.sapcloud.io=1, and then this resource with c5c3.io/machines-marked=23{now}"
        );
        refused(json!([[50, 100]]), &message)
    };
    assert_eq!(pool([20, 27]).sizes(), unmarked(""));
    let with_names = |count: u32| {
        let mut pool = pool([20, 27]);
        pool.removable = (0..count).map(|number| format!("hv-{number}")).collect();
        pool.sizes()
    };
    assert_eq!(
        with_names(2),
        unmarked("; these nodes have none: hv-0, hv-1")
    );
    assert_eq!(
        with_names(11),
        unmarked(
            "; these nodes have none: hv-0, hv-1, hv-2, hv-3, hv-4, hv-5, hv-6, hv-7, hv-8, hv-9, and others in status.removable of \
             the HypervisorPool"
        )
    );
    for marked in ["20", "24", "-23", "many"] {
        assert_eq!(
            pool([20, 27]).marked(marked).sizes(),
            unmarked(&format!("; c5c3.io/machines-marked is {marked} now"))
        );
    }
    assert_eq!(
        pool([20, 27]).marked("23").sizes(),
        accepted(json!([[20, 27]]))
    );
    assert_eq!(
        pool([20, 50]).sizes(),
        accepted(json!([[20, 50]])),
        "no machine is deleted"
    );

    // Seven machines of each zone; the number of a zone counts, however few the others have.
    let compliance = |groups| Smaller::of("hv-pool-compliance", [15, 15]).with(groups);
    let message = "spec.workers is 15 and spec.maxWorkers 15, and the pool keeps 20 to 20 machines: Gardener would delete 3 machines \
                   (2 of the group hypervisor-az-1, 1 of the group hypervisor-az-3), the oldest first, whatever servers they \
                   have; annotate as many machines of nodes without a lease with machinepriority.machine.sapcloud.io=1, and then \
                   this resource with c5c3.io/machines-marked=3";
    let groups = [[7, 1], [2, 2], [6, 1]];
    assert_eq!(
        compliance(groups).sizes(),
        refused(json!([[7, 7], [7, 7], [6, 6]]), message)
    );
    assert_eq!(
        compliance(groups).marked("3").sizes(),
        accepted(json!([[5, 5], [5, 5], [5, 5]]))
    );
}

#[test]
fn hypervisor_pool_that_shrinks_stays_small_and_asks_to_remove_the_annotation() {
    let before = Smaller::of("hv-pool-a", [20, 27])
        .with([[50, 20]])
        .marked("23");
    let mut call = before.call();
    for (nodes, hint) in [
        (50, ""),
        (40, ""),
        (
            27,
            "c5c3.io/machines-marked is 23, and no machine is left to delete: remove the annotation",
        ),
    ] {
        let outcome = call.run();
        let smaller = Smaller::of("hv-pool-a", [20, 27])
            .with([[nodes, 20]])
            .marked("23");
        call = call.applied(&outcome, |name, manifest| smaller.status(name, manifest));
        assert_eq!(
            limits(&call.run()),
            accepted_with(json!([[20, 27]]), hint),
            "{nodes} nodes"
        );
    }
    // An annotation of before doesn't count for another number of machines.
    call = Smaller::of("hv-pool-a", [20, 26]).marked("23").asked(call);
    let (sizes, (status, ..)) = limits(&call.run());
    assert_eq!((sizes, status.as_str()), (json!([[20, 27]]), "False"));
}

#[test]
fn hypervisor_pool_shows_who_has_its_nodes() {
    let claims = [("t/one", "01", 1), ("t/two", "02", 1), ("t/three", "03", 1)];
    let (call, before) = asking("hv-pool-a", &claims).running();
    let nodes = json!({"free": 2, "leased": 6, "draining": 1, "unavailable": 0});
    let outcome = call
        .applied(&before, |name, manifest| {
            let mut status = well(name, manifest);
            if text(manifest, "/kind") == "HypervisorPool" {
                status["nodes"] = nodes.clone();
                status["shares"] = json!([
                    {"name": "one", "controlPlane": "one", "hosts": 5, "draining": 1, "due": 5},
                    {"name": "two", "controlPlane": "two", "hosts": 1, "due": 3},
                ]);
            }
            status
        })
        .run();
    assert_eq!(outcome.status["nodes"], nodes);
    let consumers = outcome.status["consumers"].as_array().into_iter().flatten();
    let shown = consumers.map(|of| json!([of["name"], of["hosts"], of["pending"]]));
    assert_eq!(
        shown.collect::<Value>(),
        json!([["one", 5, 0], ["two", 1, 2], ["three", null, null]])
    );
    // A share waits for nodes that aren't Ready, too, and they come back.
    assert_eq!(
        groups(&outcome),
        groups(&before),
        "the pool doesn't grow for that"
    );
}

/// Labels of zones may be too long for the names of Gardener's groups of machines.
#[rstest]
#[case("hv-pool-compliance")]
#[case("st-pool-a")]
fn pool_keeps_its_groups_whatever_its_zones_are_called(#[case] file: &str) {
    let mut call = super::clusters::pool(file);
    let zones = &mut call.input.as_mut().unwrap()["gardener"]["zones"]["eu-de-1"];
    *zones = json!({"zone-eu-de-1a": "a", "zone-eu-de-1b": "b", "zone-eu-de-1c": "c"});
    let (mut call, before) = call.running();
    let zones = &mut call.input.as_mut().unwrap()["gardener"]["zones"]["eu-de-1"];
    *zones = json!({"zone-eu-de-1d": "d", "zone-eu-de-1e": "e", "zone-eu-de-1f": "f"});
    assert_eq!(groups(&call.run()), groups(&before));
}

#[test]
fn hypervisor_pool_never_exceeds_max_workers() {
    let claims = ["t/one", "t/two", "t/three", "t/four"].map(|claim| (claim, "01", 1));
    let mut call = asking("hv-pool-b", &claims);
    call.composite["spec"]["workers"] = json!(2);
    call.composite["spec"]["maxWorkers"] = json!(2);
    let group = &groups(&call.run())[0];
    assert_eq!((&group[2], &group[3]), (&json!(2), &json!(2)));
}
