//! A claim that runs and gets another size.

use function_c5c3_fixtures::{Call, Outcome, text, well};
use rstest::rstest;
use serde_json::{Value, json};

use super::call;

/// A claim that runs with a size. Its quota reports that nothing is used but what is given.
fn running(size: &str, used: &Value) -> Call {
    let mut call = call("customer-a-prod");
    call.composite["spec"]["size"] = json!(size);
    let (call, outcome) = call.running();
    next(call, &outcome, used)
}

/// The call after an outcome was applied.
fn next(call: Call, outcome: &Outcome, used: &Value) -> Call {
    let mut call = call.applied(outcome, |name, manifest| {
        let mut status = well(name, manifest);
        if manifest["kind"] == "ResourceQuota" {
            status["used"] = used.clone();
        }
        status
    });
    call.composite["status"]["conditions"] = outcome.written_conditions();
    call
}

fn nothing() -> Value {
    json!({
        "persistentvolumeclaims": "0", "pods": "0", "requests.cpu": "0", "requests.memory": "0", "requests.storage": "0",
    })
}

fn resized(call: &mut Call, size: &str) -> Outcome {
    call.composite["spec"]["size"] = json!(size);
    let outcome = call.run();
    assert_eq!(outcome.fatal, None);
    outcome
}

/// Replicas and sizes of MariaDB and RabbitMQ.
fn members(outcome: &Outcome) -> Value {
    let infrastructure = &outcome.manifest("control-plane")["spec"]["infrastructure"];
    let of = |piece: &str| {
        json!([
            infrastructure[piece]["replicas"],
            infrastructure[piece]["storageSize"]
        ])
    };
    json!([of("mariadb"), of("rabbitmq")])
}

fn pod_security(outcome: &Outcome) -> String {
    let labels = &outcome.manifest("namespace")["metadata"]["labels"];
    text(labels, "/pod-security.kubernetes.io~1enforce")
}

fn hard<'a>(outcome: &'a Outcome, resource: &str) -> &'a Value {
    &outcome.manifest("quota")["spec"]["hard"][resource]
}

#[rstest]
#[case::smaller(
    "medium",
    "small",
    json!([[3, "50Gi"], [3, "20Gi"]]),
    "baseline",
    "MariaDB keeps replicas: 3 instead of 1 and storageSize: 50Gi instead of 20Gi; RabbitMQ keeps replicas: 3 instead of 1 and \
     storageSize: 20Gi instead of 10Gi: "
)]
#[case::larger(
    "small",
    "medium",
    json!([[1, "50Gi"], [3, "20Gi"]]),
    "restricted",
    "MariaDB keeps replicas: 1 instead of 3: "
)]
fn claim_keeps_what_a_running_control_plane_cannot_change(
    #[case] before: &str,
    #[case] after: &str,
    #[case] kept: Value,
    #[case] level: &str,
    #[case] message: &str,
) {
    let mut call = running(before, &nothing());
    let first = resized(&mut call, after);
    let mut call = next(call, &first, &nothing());
    let second = resized(&mut call, after);
    for outcome in [&first, &second] {
        assert_eq!(members(outcome), kept);
        assert_eq!(pod_security(outcome), level);
        let (status, reason, said) = &outcome.conditions["SizeAccepted"];
        assert_eq!((&**status, &**reason), ("False", "Unsupported"));
        assert!(said.starts_with(message), "{said}");
        assert!(
            said.ends_with("restore a backup into a new claim"),
            "{said}"
        );
        assert!(!outcome.conditions.contains_key("Stalled"));
    }
    let keystone = &second.manifest("control-plane")["spec"]["services"]["keystone"];
    assert_eq!(keystone["replicas"], if after == "small" { 1 } else { 3 });
    assert_eq!(second.composite_ready, Some(true));

    let mut call = next(call, &second, &nothing());
    let third = resized(&mut call, before);
    let accepted = &third.conditions["SizeAccepted"];
    match before {
        "medium" => assert_eq!((&*accepted.0, &*accepted.1), ("True", "SizeAccepted")),
        _ => assert!(
            accepted
                .2
                .contains("RabbitMQ keeps replicas: 3 instead of 1")
        ),
    }
}

#[test]
fn claim_grows_from_medium_to_xlarge() {
    let mut call = running("medium", &nothing());
    let outcome = resized(&mut call, "xlarge");
    assert_eq!(members(&outcome)[0][0], 5);
    assert!(!outcome.conditions.contains_key("SizeAccepted"));
}

#[test]
fn quota_has_room_for_the_members_that_stay() {
    let mut call = running("medium", &nothing());
    let volumes = |outcome: &Outcome| hard(outcome, "persistentvolumeclaims").clone();
    assert_eq!(volumes(&call.run()), "33");
    assert_eq!(volumes(&resized(&mut call, "small")), "33");

    let mut small = super::call("customer-a-prod");
    small.composite["spec"]["size"] = json!("small");
    assert_eq!(volumes(&small.run()), "23");
}

#[test]
fn quota_follows_what_is_used_down() {
    let before = hard(&running("large", &nothing()).run(), "requests.memory").clone();
    for used in [json!({ "requests.memory": "10Ti" }), json!({})] {
        let mut call = running("large", &used);
        let outcome = resized(&mut call, "medium");
        assert_eq!(*hard(&outcome, "requests.memory"), before);

        let mut call = next(call, &outcome, &nothing());
        let outcome = resized(&mut call, "medium");
        assert_ne!(*hard(&outcome, "requests.memory"), before);
    }
}
