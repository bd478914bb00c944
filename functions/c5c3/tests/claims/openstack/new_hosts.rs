//! Which claims let Nova disable new compute services.

use function_c5c3_fixtures::{Call, Outcome, text, well};
use rstest::rstest;
use serde_json::{Value, json};

use super::running;

/// The claim customer-a-prod, of two hypervisor pools.
fn claim() -> (Call, Outcome) {
    running("customer-a-prod")
}

/// What an operator reports that doesn't enable them.
fn earlier() -> Value {
    json!([{ "type": "NodesLeased", "status": "True" }])
}

/// What one reports that does.
fn enabling(status: &str) -> Value {
    json!([
        { "type": "ComputeServicesEnabled", "status": status },
        { "type": "NodesLeased", "status": "True" },
    ])
}

/// The next call, in which the shares in both pools report these conditions.
fn reported(call: Call, outcome: &Outcome, pools: [&Value; 2]) -> (Call, Outcome) {
    let [first, second] = pools;
    let call = call.applied(outcome, |name, manifest| match name {
        "share-hv-pool-a" => json!({ "conditions": first }),
        "share-hv-pool-b" => json!({ "conditions": second }),
        _ => well(name, manifest),
    });
    let outcome = call.run();
    (call, outcome)
}

fn extra_config(outcome: &Outcome) -> Value {
    outcome.manifest("control-plane")["spec"]["services"]["nova"]["extraConfig"].clone()
}

fn disabled() -> Value {
    json!({ "DEFAULT": { "enable_new_services": "false" } })
}

#[rstest]
#[case::enabled(enabling("True"), enabling("True"), disabled())]
#[case::not_yet(enabling("False"), enabling("True"), disabled())]
#[case::never_asked(enabling("Unknown"), enabling("True"), Value::Null)]
#[case::silent(json!([]), enabling("True"), Value::Null)]
#[case::refused(json!([{ "type": "Ready", "status": "False" }]), enabling("True"), Value::Null)]
#[case::earlier(enabling("True"), earlier(), Value::Null)]
fn claim_disables_new_compute_services_where_all_operators_enable_them(
    #[case] first: Value,
    #[case] second: Value,
    #[case] expected: Value,
) {
    let (call, outcome) = claim();
    assert_eq!(extra_config(&outcome), Value::Null);
    let (_, outcome) = reported(call, &outcome, [&first, &second]);
    assert_eq!(extra_config(&outcome), expected);
}

/// Each change restarts Nova.
#[test]
fn claim_disables_new_compute_services_until_an_earlier_operator_reports() {
    let (call, outcome) = claim();
    let known = enabling("True");
    let (mut call, mut outcome) = reported(call, &outcome, [&known, &known]);
    for unknown in [enabling("Unknown"), json!([])] {
        (call, outcome) = reported(call, &outcome, [&known, &unknown]);
        assert_eq!(extra_config(&outcome), disabled());
    }
    let (_, outcome) = reported(call, &outcome, [&known, &earlier()]);
    assert_eq!(extra_config(&outcome), Value::Null);
}

#[rstest]
#[case::enabled(
    json!({ "extraConfig": { "DEFAULT": { "enable_new_services": "true" } } }),
    json!({ "DEFAULT": { "enable_new_services": "true" } })
)]
#[case::by_a_secret(
    json!({ "extraConfigSecrets": [
        { "section": "DEFAULT", "option": "enable_new_services", "secretKeyRef": { "name": "nova", "key": "new" } },
    ] }),
    Value::Null
)]
#[case::another_option(
    json!({ "extraConfig": { "DEFAULT": { "debug": "true" } } }),
    json!({ "DEFAULT": { "debug": "true", "enable_new_services": "false" } })
)]
fn claim_leaves_new_compute_services_as_its_size_sets_them(
    #[case] nova: Value,
    #[case] expected: Value,
) {
    let (mut call, outcome) = claim();
    let size = text(&call.composite, "/spec/size");
    let services = &mut call.input.as_mut().unwrap()["sizes"][size]["services"];
    for (field, value) in nova.as_object().unwrap() {
        services["nova"][field] = value.clone();
    }
    let known = enabling("True");
    let (_, outcome) = reported(call, &outcome, [&known, &known]);
    assert_eq!(extra_config(&outcome), expected);
}
