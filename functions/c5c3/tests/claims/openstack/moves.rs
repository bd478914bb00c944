//! Claims whose servers don't move between all hypervisor pools of a cell.

use function_c5c3_fixtures::{Call, Outcome, text, well};
use rstest::rstest;
use serde_json::{Value, json};

use super::{call, running};

const BETWEEN_POOLS: &str = "MigrationBetweenPools";

/// The call once the share of each pool has reported whether its nodes have the SSH key of their cell.
fn reporting(call: &Call, before: &Outcome, has_cell_key: impl Fn(&str) -> Option<bool>) -> Call {
    let status = |name: &str, manifest: &Value| {
        let mut status = well(name, manifest);
        if let Some(has_cell_key) = name.strip_prefix("share-").and_then(&has_cell_key) {
            status["cellKey"] = json!(has_cell_key);
        }
        status
    };
    call.clone().applied(before, status)
}

fn encrypt(call: &mut Call, name: &str) {
    for pool in &mut call.world {
        if text(pool, "/spec/name") == name {
            pool["spec"]["agents"]["encrypted"] = json!(true);
        }
    }
}

fn separate(message: &str) -> (String, String, String) {
    ["False", "PoolsSeparate", message]
        .map(str::to_owned)
        .into()
}

#[rstest]
#[case::one(&["hv-pool-a"], "hv-pool-a")]
#[case::all(&["hv-pool-a", "hv-pool-b"], "hv-pool-a, hv-pool-b")]
fn pools_with_ssh_keys_of_their_own_are_named_by_a_claim_that_is_ready(
    #[case] own: &[&str],
    #[case] named: &str,
) {
    let (call, before) = running("customer-a-prod");
    let outcome = reporting(&call, &before, |pool| Some(!own.contains(&pool))).run();
    let message = format!(
        "resizes and migrations between pools of cell1 fail to and from {named}, whose nodes have SSH keys of their own: have the platform \
         team upgrade the nova-operator and the hypervisor-pool-operator, if they are of an earlier version, and then delete the Secret \
         nova-migration of the namespace agents-customer-a-prod in {named}, and nodes get the key of cell1"
    );
    assert_eq!(outcome.conditions[BETWEEN_POOLS], separate(&message));
    assert_eq!(outcome.status["phase"], "Ready");
}

#[test]
fn pools_with_the_ssh_key_of_their_cell_are_not_separate() {
    let (call, before) = running("customer-a-prod");
    for has_cell_key in [Some(true), None] {
        let outcome = reporting(&call, &before, |_| has_cell_key).run();
        assert!(!outcome.conditions.contains_key(BETWEEN_POOLS));
    }
    let named = reporting(&call, &before, |_| Some(false)).run();
    let mut call = reporting(&call, &before, |_| Some(true));
    call.composite["status"]["conditions"] = named.written_conditions();
    assert_eq!(call.run().conditions[BETWEEN_POOLS].0, "True");
}

/// It gives each share a key of its own, also after a person has deleted the Secret.
#[test]
fn pools_whose_operator_does_not_know_keys_of_cells_are_named() {
    let (call, before) = running("customer-a-prod");
    let status = |name: &str, manifest: &Value| {
        let mut status = well(name, manifest);
        if name == "share-hv-pool-b"
            && let Some(conditions) = status["conditions"].as_array_mut()
        {
            let ready = json!({"type": "MigrationReady", "status": "True", "reason": "Ready"});
            conditions.push(ready);
        }
        status
    };
    let outcome = call.applied(&before, status).run();
    let (status, reason, message) = &outcome.conditions[BETWEEN_POOLS];
    assert_eq!((&**status, &**reason), ("False", "PoolsSeparate"));
    assert!(
        message.contains("to and from hv-pool-b, whose nodes"),
        "{message}"
    );
}

#[test]
fn pools_are_not_said_to_be_joined_while_no_share_reports_the_key_of_its_nodes() {
    let (call, before) = running("customer-a-prod");
    let named = reporting(&call, &before, |_| Some(false)).run();
    let mut silent = reporting(&call, &before, |_| None);
    silent.composite["status"]["conditions"] = named.written_conditions();
    let mut gone = silent.clone();
    gone.observed.remove("control-plane");
    for call in [silent, gone] {
        let (status, reason, _) = &call.run().conditions[BETWEEN_POOLS];
        assert_eq!((&**status, &**reason), ("Unknown", "Waiting"));
    }
}

#[test]
fn pools_between_which_servers_do_not_migrate_live_are_named() {
    let mut call = call("customer-a-prod");
    encrypt(&mut call, "hv-pool-b");
    let (call, before) = call.running();
    let outcome = reporting(&call, &before, |_| Some(true)).run();
    let message = "live migrations fail between the pools of cell1, hv-pool-a, hv-pool-b, each of which has an authority of its own: name a \
                   host of the server's own pool (openstack server migrate --live-migration --host NODE SERVER)";
    assert_eq!(outcome.conditions[BETWEEN_POOLS], separate(message));
    assert_eq!(outcome.status["phase"], "Ready");
}

/// Nova moves no server to another cell.
#[test]
fn pools_in_different_cells_are_not_separate() {
    let mut call = call("customer-a-prod");
    call.composite["spec"]["cells"] =
        json!([{"name": "cell2", "hypervisorClusters": ["hv-pool-b"]}]);
    encrypt(&mut call, "hv-pool-a");
    encrypt(&mut call, "hv-pool-b");
    let (call, before) = call.running();
    let outcome = reporting(&call, &before, |_| Some(false)).run();
    assert!(!outcome.conditions.contains_key(BETWEEN_POOLS));
}
