//! Tempest before a claim is Ready.

use function_c5c3_fixtures::{Call, Outcome, well};
use rstest::rstest;
use serde_json::{Value, json};

use super::call;

const FAILED: &str = "2 of 89 tests failed, for instance a, b; see `kubectl logs -n openstack-customer-b-staging tempest-run-a`";

/// A call for a claim with `verify`.
fn verified() -> Call {
    let mut call = call("customer-b-staging");
    call.composite["spec"]["verify"] = json!({});
    call
}

/// The Tempest of the ControlPlane, when everything else is ready.
fn tempest(call: &Call) -> Value {
    let (_, outcome) = call.clone().running();
    outcome.manifest("control-plane")["spec"]["tempest"].clone()
}

/// All is well, but for what the ControlPlane says of the tests.
fn tested(status: &'static str, reason: &'static str, message: &'static str) -> Tested {
    Tested(json!({"type": "TestsPassed", "status": status, "reason": reason, "message": message}))
}

struct Tested(Value);

impl Tested {
    fn status(&self, name: &str, manifest: &Value) -> Value {
        let mut status = well(name, manifest);
        if name == "control-plane" {
            let of_tests = |condition: &&Value| condition["type"] == "TestsPassed";
            let others = status["conditions"].as_array().into_iter().flatten();
            let others = others.filter(|condition| !of_tests(condition));
            let said = Some(&self.0).filter(of_tests);
            let conditions: Vec<Value> = others.chain(said).cloned().collect();
            status["conditions"] = json!(conditions);
            status["verified"] =
                json!({"time": "2026-01-16T02:00:00Z", "passed": 87, "failed": 2, "skipped": 3});
        }
        status
    }

    /// Runs until nothing changes.
    fn run(&self, mut call: Call) -> (Call, Outcome) {
        call = call.admitted();
        let mut outcome = call.run();
        for _ in 0..6 {
            call = call.applied(&outcome, |name, manifest| self.status(name, manifest));
            call.composite["status"]["conditions"] = outcome.written_conditions();
            outcome = call.run();
        }
        (call, outcome)
    }
}

fn shown(outcome: &Outcome) -> (&Value, &str, &str) {
    let (status, reason, _) = &outcome.conditions["TestsPassed"];
    (&outcome.status["phase"], status, reason)
}

#[test]
fn control_plane_whose_last_change_is_not_reconciled_is_neither_ready_nor_tested() {
    let (mut call, outcome) = tested("True", "TestsPassed", "").run(verified());
    assert_eq!(shown(&outcome).0, "Ready");
    let object = call.observed.get_mut("control-plane").unwrap();
    let manifest = &mut object["status"]["atProvider"]["manifest"];
    manifest["metadata"]["generation"] = json!(3);
    let seen = |manifest: &mut Value, generation: u64| {
        for condition in manifest["status"]["conditions"].as_array_mut().unwrap() {
            condition["observedGeneration"] = json!(generation);
        }
    };
    seen(manifest, 2);
    let unseen = call.clone().run();
    assert_eq!(shown(&unseen), (&json!("Ready"), "Unknown", "Waiting"));
    let (status, reason, message) = &unseen.conditions["ControlPlaneReady"];
    assert_eq!([status, reason], ["False", "Waiting"]);
    assert_eq!(
        message,
        "waits for the c5c3-operator to reconcile the last change"
    );
    assert_eq!(unseen.composite_ready, Some(false));
    let object = call.observed.get_mut("control-plane").unwrap();
    let manifest = &mut object["status"]["atProvider"]["manifest"];
    seen(manifest, 3);
    assert_eq!(call.clone().run().composite_ready, Some(true));
    let object = call.observed.get_mut("control-plane").unwrap();
    let manifest = &mut object["status"]["atProvider"]["manifest"];
    for condition in manifest["status"]["conditions"].as_array_mut().unwrap() {
        condition["status"] = json!("False");
    }
    call.composite["status"]["phase"] = unseen.status["phase"].clone();
    assert_eq!(shown(&call.run()).0, "Degraded");
}

#[test]
fn smoke_tests_of_enabled_services_run_once_for_each_release() {
    let mut call = verified();
    call.composite["spec"]["services"] = json!({"cinder": false});
    assert_eq!(
        tempest(&call),
        json!({
            "enabled": true, "schedule": "0 2 * * *", "suspend": true,
            "tests": {
                "services": ["identity", "image", "placement", "compute", "network"],
                "concurrency": 2, "includeRegex": "smoke",
            },
        })
    );
    call.composite["spec"]["verify"] = json!({"services": ["glance", "keystone", "glance"]});
    assert_eq!(
        tempest(&call)["tests"]["services"],
        json!(["identity", "image"])
    );
}

#[test]
fn site_chooses_the_tests_and_the_size_their_number() {
    let mut call = verified();
    let input = call.input.as_mut().unwrap();
    input["tempest"] = json!({
        "includeRegex": "tempest\\.api", "excludeRegex": "migration", "logs": {"storageClass": "fast"},
    });
    input["sizes"]["xlarge"]["tempest"] = json!({"concurrency": 7});
    call.composite["spec"]["size"] = json!("xlarge");
    let tempest = tempest(&call);
    assert_eq!(
        tempest["logs"],
        json!({"size": "1Gi", "storageClass": "fast"})
    );
    let tests = &tempest["tests"];
    assert_eq!(tests["includeRegex"], "tempest\\.api");
    assert_eq!(tests["excludeRegex"], "migration");
    assert_eq!(tests["concurrency"], 7);
}

#[test]
fn claim_without_verify_has_no_tempest_and_no_condition() {
    let call = call("customer-b-staging");
    assert_eq!(tempest(&call), Value::Null);
    let (_, outcome) = call.running();
    assert!(!outcome.conditions.contains_key("TestsPassed"));
    assert_eq!(outcome.status["verified"], Value::Null);
    assert_eq!(outcome.status["phase"], "Ready");
}

#[test]
fn claim_is_ready_when_its_tests_have_passed() {
    let (_, outcome) = verified().running();
    assert_eq!(shown(&outcome), (&json!("Ready"), "True", "Ready"));
    assert_eq!(outcome.conditions["TestsPassed"].2, "87 tests passed");
    assert_eq!(outcome.composite_ready, Some(true));
    assert_eq!(
        outcome.status["verified"],
        json!({"time": "2026-01-16T02:00:00Z", "passed": 87, "failed": 0, "skipped": 0})
    );
}

#[test]
fn claim_says_how_many_tests_were_skipped() {
    let (_, outcome) = tested("True", "Ready", "").run(verified());
    assert_eq!(shown(&outcome), (&json!("Ready"), "True", "Ready"));
    let (.., message) = &outcome.conditions["TestsPassed"];
    assert_eq!(message, "87 tests passed, 3 were skipped");
    assert_eq!(outcome.status["verified"]["skipped"], 3);
}

/// What is left in a claim's cloud uses its hypervisors and storage.
#[test]
fn claim_is_not_ready_when_its_tests_left_something() {
    let message = "89 of 89 tests passed and none failed, but the run left server tempest-1-a";
    let (_, outcome) = tested("False", "NotCleanedUp", message).run(verified());
    assert_eq!(
        shown(&outcome),
        (&json!("Degraded"), "False", "NotCleanedUp")
    );
    assert!(outcome.conditions["TestsPassed"].2.starts_with(message));
    assert_eq!(outcome.composite_ready, Some(false));
}

#[rstest]
#[case::no_condition_yet(Tested(json!({})), "Waiting")]
#[case::running(
    tested(
        "Unknown",
        "WaitingForTempest",
        "waits for Job tempest-run-1, which runs"
    ),
    "WaitingForTempest"
)]
fn claim_waits_while_its_tests_run(#[case] tests: Tested, #[case] reason: &str) {
    let (call, outcome) = tests.run(verified());
    assert_eq!(shown(&outcome), (&json!("Verifying"), "Unknown", reason));
    assert_eq!(outcome.composite_ready, Some(false));
    assert_eq!(outcome.events, Vec::<String>::new(), "it is no news");
    assert!(
        outcome.ready.values().all(|ready| *ready),
        "{:?}",
        outcome.ready
    );

    let broken = |name: &str, manifest: &Value| match name {
        "control-plane" => json!({"conditions": [{"type": "Ready", "status": "False"}]}),
        _ => well(name, manifest),
    };
    let outcome = call.applied(&outcome, broken).run();
    assert_eq!(
        outcome.status["phase"], "Provisioning",
        "it was never ready"
    );
}

#[test]
fn tests_begin_when_hypervisors_and_storage_are_ready() {
    let unready = |name: &str, manifest: &Value| match name {
        "share-hv-pool-a" => json!({}),
        _ => well(name, manifest),
    };
    let mut call = verified().admitted();
    let mut outcome = call.run();
    for _ in 0..6 {
        call = call.applied(&outcome, unready);
        outcome = call.run();
        assert_eq!(
            outcome.manifest("control-plane")["spec"]["tempest"],
            Value::Null
        );
    }
    assert_eq!(
        shown(&outcome),
        (&json!("Provisioning"), "Unknown", "Waiting")
    );
    let (call, outcome) = call.running();
    assert_eq!(outcome.status["phase"], "Ready");

    // What exists stays while something else isn't ready.
    let outcome = call.applied(&outcome, unready).run();
    assert_eq!(
        outcome.manifest("control-plane")["spec"]["tempest"]["enabled"],
        true
    );
    assert_eq!(outcome.status["phase"], "Degraded");
}

#[test]
fn failed_tests_take_nothing_from_a_claim_that_ran() {
    let (call, before) = verified().running();
    let failed = tested("False", "TestsFailed", FAILED);
    let mut call = call.applied(&before, |name, manifest| failed.status(name, manifest));
    call.composite["status"]["conditions"] = before.written_conditions();
    let outcome = call.run();
    assert_eq!(
        shown(&outcome),
        (&json!("Degraded"), "False", "TestsFailed")
    );
    assert_eq!(outcome.composite_ready, Some(false));
    let (.., message) = &outcome.conditions["TestsPassed"];
    assert_eq!(
        *message,
        format!(
            "{FAILED}; correct the cause, then remove spec.verify and set it again to run the tests again"
        )
    );
    assert_eq!(outcome.events, [message.as_str()]);
    assert_eq!(
        outcome.status["verified"],
        json!({"time": "2026-01-16T02:00:00Z", "passed": 87, "failed": 2, "skipped": 3})
    );
    assert_eq!(outcome.desired, before.desired, "everything stays");
    assert_eq!(outcome.ready, before.ready);
    for field in ["endpoints", "connection", "consumedPools", "cephResources"] {
        assert_eq!(outcome.status[field], before.status[field], "{field}");
    }
    for (type_, condition) in &before.conditions {
        if type_ != "TestsPassed" {
            assert_eq!(outcome.conditions[type_], *condition, "{type_}");
        }
    }
}

#[test]
fn tests_of_the_next_release_are_waited_for() {
    let (call, before) = verified().running();
    let pending = Tested(json!({}));
    let call = call.applied(&before, |name, manifest| pending.status(name, manifest));
    let outcome = call.run();
    assert_eq!(shown(&outcome), (&json!("Verifying"), "Unknown", "Waiting"));
}

#[test]
fn claim_without_verify_any_more_is_ready_and_shows_no_old_result() {
    let (mut call, _) = tested("False", "TestsFailed", FAILED).run(verified());
    let spec = call.composite["spec"].as_object_mut().unwrap();
    spec.remove("verify");
    let outcome = call.run();
    assert_eq!(
        outcome.manifest("control-plane")["spec"]["tempest"],
        Value::Null
    );
    assert_eq!(shown(&outcome), (&json!("Ready"), "Unknown", "NotVerified"));
    assert_eq!(outcome.status["verified"], Value::Null);
    assert_eq!(outcome.composite_ready, Some(true));
}
