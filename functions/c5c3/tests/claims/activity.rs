//! What tools that use kstatus read of a claim: Reconciling, Stalled and the observed generation.

use function_c5c3_fixtures::examples::{claim, pool, pools};
use function_c5c3_fixtures::{Call, Outcome, text, well};
use rstest::rstest;
use serde_json::{Value, json};

use crate::openstack::call;

const NAME: &str = "customer-b-staging";

/// Status and reason of Reconciling and of Stalled; none where the condition isn't set.
fn activity(outcome: &Outcome) -> [Option<(&str, &str)>; 2] {
    ["Reconciling", "Stalled"].map(|type_| {
        let (status, reason, _) = outcome.conditions.get(type_)?;
        Some((status.as_str(), reason.as_str()))
    })
}

/// The next call after Crossplane has written the conditions of one.
fn written(mut call: Call, outcome: &Outcome) -> Call {
    call.composite["status"]["conditions"] = outcome.written_conditions();
    call
}

/// A claim that names a pool which its namespace may not use.
fn refused() -> Call {
    let mut pools = pools();
    for pool in &mut pools {
        if text(pool, "/spec/name") == "hv-pool-a" {
            pool["spec"]["sharing"] = json!({ "allowedNamespaces": ["tenant-other"] });
        }
    }
    Call::of(claim(NAME), "openstack-production").with(pools)
}

#[test]
fn claim_reconciles_while_it_waits_and_says_for_what() {
    let waiting = Call::of(claim(NAME), "openstack-production").run();
    assert_eq!(activity(&waiting), [Some(("True", "PoolMissing")), None]);
    let (_, _, why) = &waiting.conditions["PoolsReady"];
    assert_eq!(waiting.conditions["Reconciling"].2, *why);
}

#[test]
fn ready_claim_neither_reconciles_nor_stalls() {
    let (call, ready) = call(NAME).running();
    assert_eq!(ready.status["phase"], "Ready");
    assert_eq!(activity(&ready), [None, None]);
    let waited = Call::of(claim(NAME), "openstack-production").run();
    let ready = written(call, &waited).run();
    assert_eq!(activity(&ready), [Some(("False", "Ready")), None]);
}

#[test]
fn claim_is_stalled_while_its_owner_has_to_change_it() {
    let outcome = refused().run();
    assert_eq!(activity(&outcome), [None, Some(("True", "PoolNotAllowed"))]);
    let waiting = Call::of(claim(NAME), "openstack-production");
    assert_eq!(
        activity(&written(waiting, &outcome).run()),
        [
            Some(("True", "PoolMissing")),
            Some(("False", "PoolMissing"))
        ]
    );
}

#[test]
fn invalid_claim_is_stalled() {
    let mut call = call(NAME);
    call.composite["spec"]["hypervisorClusters"] = json!(["hv-pool-a", "hv-pool-a"]);
    let outcome = call.run();
    assert!(outcome.fatal.is_some());
    assert_eq!(activity(&outcome), [None, Some(("True", "Invalid"))]);
    assert_eq!(outcome.conditions["Accepted"].0, "False");
    let waited = Call::of(claim(NAME), "openstack-production").run();
    let outcome = written(call, &waited).run();
    let [reconciling, stalled] = activity(&outcome);
    assert_eq!(reconciling, Some(("False", "Invalid")));
    assert_eq!(stalled, Some(("True", "Invalid")));
}

#[test]
fn claim_is_stalled_with_its_control_plane() {
    let stalled = |name: &str, manifest: &Value| {
        let mut status = well(name, manifest);
        if name == "control-plane" {
            let condition = |type_: &str, status: &str| json!({ "type": type_, "status": status, "reason": "JobFailed", "message": "see the log" });
            status["conditions"] =
                json!([condition("Ready", "False"), condition("Stalled", "True")]);
        }
        status
    };
    let (call, outcome) = call(NAME).running();
    let outcome = call.applied(&outcome, stalled).run();
    assert_eq!(activity(&outcome), [None, Some(("True", "JobFailed"))]);
}

#[rstest]
#[case::control_planes("control-plane")]
#[case::hypervisors("hv-pool-a")]
#[case::storage("st-pool-a")]
fn clusters_report_activity_and_generation_as_claims_do(#[case] name: &str) {
    let mut created = Call::of_pool(name);
    created.composite["metadata"]["generation"] = json!(7);
    let outcome = created.run();
    let [reconciling, stalled] = activity(&outcome);
    assert_eq!(reconciling.map(|(status, _)| status), Some("True"));
    assert_eq!(stalled, None);
    assert_eq!(outcome.status["observedGeneration"], Value::Null);
    let mut namespaced = created;
    namespaced.composite = pool(name);
    namespaced.composite["metadata"]["generation"] = json!(7);
    assert_eq!(namespaced.run().status["observedGeneration"], 7);

    let mut invalid = Call::of_pool(name);
    invalid.input = None;
    let outcome = invalid.run();
    assert!(outcome.fatal.is_some());
    assert_eq!(activity(&outcome), [None, Some(("True", "Invalid"))]);
}

#[test]
fn generation_is_that_of_a_namespaced_composite_and_never_that_behind_a_claim() {
    let mut claimed = call(NAME);
    claimed.composite["metadata"]["generation"] = json!(7);
    assert_eq!(claimed.run().status["observedGeneration"], Value::Null);
    let mut namespaced = call(NAME);
    namespaced.composite = claim(NAME);
    namespaced.composite["metadata"]["generation"] = json!(7);
    assert_eq!(namespaced.run().status["observedGeneration"], 7);
}
