//! Claims whose hypervisor pools are in several cells of Nova.

use function_c5c3_fixtures::{Call, Outcome, text, well};
use serde_json::{Value, json};

use super::{call, running};

const PUSH: &str = "push-agents-nova-cell2-compute";
const PULL: &str = "pull-agents-nova-cell2-compute-hv-pool-b";

fn cell2() -> Value {
    json!([{"name": "cell2", "hypervisorClusters": ["hv-pool-b"]}])
}

/// The claim customer-a-prod, whose second hypervisor pool is in another cell than the first.
fn divided() -> Call {
    let mut call = call("customer-a-prod");
    call.composite["spec"]["cells"] = cell2();
    call
}

/// What the ControlPlane of that claim has.
fn in_two_cells() -> Value {
    json!({"hypervisorClusters": ["hv-pool-a", "hv-pool-b"], "cells": cell2()})
}

fn compute(outcome: &Outcome) -> &Value {
    &outcome.manifest("control-plane")["spec"]["compute"]
}

fn cell(outcome: &Outcome, pool: &str) -> Value {
    outcome.manifest(&format!("share-{pool}"))["spec"]["cell"].clone()
}

#[test]
fn nodes_of_each_cell_get_the_secret_of_their_cell_alone() {
    let (_, outcome) = divided().running();
    assert_eq!(*compute(&outcome), in_two_cells());
    let cells = ["hv-pool-a", "hv-pool-b"].map(|pool| cell(&outcome, pool));
    assert_eq!(cells, [Value::Null, json!("cell2")]);
    let mut secrets = outcome.objects();
    secrets.retain(|name| name.contains("-agents-nova-"));
    assert_eq!(
        secrets,
        [
            "pull-agents-nova-cell1-compute-hv-pool-a",
            PULL,
            "push-agents-nova-cell1-compute",
            PUSH,
        ]
    );
    let push = &outcome.manifest(PUSH)["spec"];
    assert_eq!(push["selector"]["secret"]["name"], "nova-cell2-compute");
    let pull = &outcome.manifest(PULL)["spec"];
    assert_eq!(
        pull["dataFrom"][0]["extract"]["key"],
        push["data"][0]["match"]["remoteRef"]["remoteKey"]
    );
    assert_eq!(
        pull["target"]["template"]["metadata"]["labels"],
        json!({"c5c3.io/agents": "nova", "c5c3.io/cell": "cell2"})
    );
    assert_eq!(outcome.status["phase"], "Ready");
    assert!(!outcome.conditions.contains_key("CellsApplied"));
}

/// Nova keeps former credentials until the agents of all pools have the present ones.
#[test]
fn control_plane_gets_what_the_agents_of_each_pool_run_with() {
    let (call, before) = running("customer-a-prod");
    let reporting = |call: Call, before: &Outcome, configuration: &str| {
        let status = |name: &str, manifest: &Value| {
            let mut status = well(name, manifest);
            if name == "share-hv-pool-a" {
                status["configuration"] = json!(configuration);
            }
            status
        };
        call.applied(before, status)
    };
    let silent = call.clone().applied(&before, well).run();
    assert_eq!(compute(&silent).get("agents"), None);
    let call = reporting(call, &before, "4dc3b9ee");
    let reported = call.run();
    let agents = json!([{"name": "hv-pool-a", "configuration": "4dc3b9ee"}]);
    assert_eq!(compute(&reported)["agents"], agents);

    // A share that was created again has reported nothing.
    let created = call.clone().applied(&reported, well).run();
    assert_eq!(compute(&created)["agents"], agents);
    let mixed = reporting(call, &reported, "Mixed").run();
    assert_eq!(compute(&mixed)["agents"][0]["configuration"], "Mixed");
}

#[test]
fn cell_of_a_pool_that_does_not_exist_holds_a_new_claim_back() {
    let mut call = divided().admitted();
    let is_other = |pool: &Value| text(pool, "/spec/name") != "hv-pool-b";
    call.world.retain(is_other);
    let outcome = call.run();
    let (status, reason, message) = &outcome.conditions["PoolsReady"];
    assert_eq!([status, reason], ["False", "PoolMissing"]);
    assert!(message.contains("hypervisor pool hv-pool-b"), "{message}");
    assert!(!outcome.desired.contains_key("control-plane"));
    assert_eq!(outcome.status["phase"], "Pending");
}

#[test]
fn cell_of_a_pool_that_does_not_exist_changes_no_control_plane() {
    let (call, before) = running("customer-a-prod");
    let mut call = call.applied(&before, well);
    call.composite["spec"]["hypervisorClusters"] = json!(["hv-pool-a", "hv-pool-b", "hv-pool-z"]);
    call.composite["spec"]["cells"] =
        json!([{"name": "cell2", "hypervisorClusters": ["hv-pool-z"]}]);
    let outcome = call.run();
    assert_eq!(outcome.conditions["PoolsReady"].1, "PoolMissing");
    assert_eq!(compute(&outcome), compute(&before));
    assert!(!outcome.desired.contains_key(PUSH));
}

/// While the operators haven't seen a new cell, NovaReady is True of the cells before, and there is no Secret to push.
#[test]
fn secret_of_a_new_cell_is_pushed_once_nova_is_ready_with_the_cell() {
    let mut call = call("customer-a-prod");
    call.composite["spec"]["hypervisorClusters"] = json!(["hv-pool-a"]);
    let (mut call, _) = call.running();
    call.composite["spec"]["hypervisorClusters"] = json!(["hv-pool-a", "hv-pool-b"]);
    call.composite["spec"]["cells"] = cell2();
    let added = call.run();
    assert_eq!(*compute(&added), in_two_cells());
    assert!(!added.desired.contains_key(PUSH));
    let is_pushed = |generation: u32| {
        let status = |name: &str, manifest: &Value| {
            let mut status = well(name, manifest);
            if name == "control-plane" {
                for condition in status["conditions"].as_array_mut().unwrap() {
                    condition["observedGeneration"] = json!(generation);
                }
            }
            status
        };
        let mut call = call.clone().applied(&added, status);
        let control_plane = call.observed.get_mut("control-plane").unwrap();
        control_plane["status"]["atProvider"]["manifest"]["metadata"]["generation"] = json!(2);
        call.run().desired.contains_key(PUSH)
    };
    assert_eq!([1, 2].map(is_pushed), [false, true]);
}

#[test]
fn cell_above_the_limit_of_the_size_is_refused_unless_it_exists() {
    let limit = |call: &mut Call, most: u32| {
        call.input.as_mut().unwrap()["sizes"]["large"]["maxCells"] = json!(most);
    };
    let mut new = divided();
    limit(&mut new, 1);
    assert_eq!(new.run().fatal, None);
    limit(&mut new, 0);
    let fatal = new.run().fatal.unwrap();
    let refused = "spec.cells: the site allows claims of this size 0 cells beside cell1, and cell2 would be one more";
    assert!(fatal.starts_with(refused), "{fatal}");

    let (call, before) = divided().running();
    let mut call = call.applied(&before, well);
    limit(&mut call, 0);
    let outcome = call.run();
    assert_eq!(outcome.fatal, None);
    assert_eq!(compute(&outcome), compute(&before));

    limit(&mut call, 1);
    let spec = &mut call.composite["spec"];
    spec["hypervisorClusters"] = json!(["hv-pool-a", "hv-pool-compliance"]);
    spec["cells"] = json!([{"name": "cell3", "hypervisorClusters": ["hv-pool-compliance"]}]);
    let fatal = call.run().fatal.unwrap();
    assert!(fatal.contains("cell3 would be one more"), "{fatal}");
}

#[test]
fn pool_stays_in_its_cell_and_the_claim_is_told() {
    let (call, before) = running("customer-a-prod");
    let mut call = call.applied(&before, well);
    call.composite["spec"]["cells"] = cell2();
    let outcome = call.run();
    assert_eq!(outcome.desired, before.desired);
    let (status, reason, message) = &outcome.conditions["CellsApplied"];
    assert_eq!([status, reason], ["False", "Unsupported"]);
    let stays = "hv-pool-b stays in cell1: Nova can't move hosts to another cell. Name the pool there again; or";
    assert!(message.starts_with(stays), "{message}");
    assert_eq!(outcome.status["phase"], "Ready");

    call.composite["status"]["conditions"] = outcome.written_conditions();
    call.composite["spec"]["cells"] = json!([]);
    assert_eq!(call.run().conditions["CellsApplied"].0, "True");
}

/// The API server refuses another cell, as of a claim that is restored and names it wrongly.
#[test]
fn cell_of_a_share_that_exists_counts() {
    let (call, before) = divided().running();
    let mut call = call.applied(&before, well);
    let share = call.observed.get_mut("share-hv-pool-b").unwrap();
    share["status"]["atProvider"]["manifest"]["spec"]["cell"] = json!("cell3");
    let outcome = call.run();
    assert_eq!(cell(&outcome, "hv-pool-b"), "cell3");
    assert_eq!(compute(&outcome)["cells"][0]["name"], "cell3");
    let message = &outcome.conditions["CellsApplied"].2;
    assert!(message.starts_with("hv-pool-b stays in cell3"), "{message}");
}

/// Nova deletes no cell with hosts, and credentials of its message bus rotate.
#[test]
fn cell_of_a_dropped_pool_stays_with_its_share() {
    let (call, before) = divided().running();
    let mut call = call.applied(&before, well);
    call.composite["spec"]["hypervisorClusters"] = json!(["hv-pool-a"]);
    call.composite["spec"]["cells"] = json!([]);
    let outcome = call.run();
    assert_eq!(compute(&outcome), compute(&before));
    for name in ["quota", PUSH, PULL] {
        assert_eq!(outcome.manifest(name), before.manifest(name), "{name}");
    }
    assert_eq!(cell(&outcome, "hv-pool-b"), "cell2");
    assert!(!outcome.conditions.contains_key("CellsApplied"));

    let mut call = call.applied(&outcome, well);
    call.observed.remove("share-hv-pool-b");
    let gone = call.run();
    assert_eq!(
        *compute(&gone),
        json!({"hypervisorClusters": ["hv-pool-a"]})
    );
    assert!(!gone.desired.contains_key(PUSH));
}
