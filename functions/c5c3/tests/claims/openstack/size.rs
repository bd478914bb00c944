//! A claim that runs and gets another size.

use function_c5c3_fixtures::{Call, Outcome, text, well};
use rstest::rstest;
use serde_json::{Value, json};

use super::call;

/// A claim that runs with a size. Its quota reports that nothing is used but what is given.
fn running(size: &str, used: &Value) -> Call {
    let (call, outcome) = sized(size).running();
    let runs = runs(&outcome);
    next(call, &outcome, used, &runs)
}

/// A claim of a size, in pools that none limits: what is kept of their quotas is said by the same condition.
fn sized(size: &str) -> Call {
    let mut call = call("customer-a-prod");
    call.composite["spec"]["size"] = json!(size);
    let sizes = call.input.as_mut().unwrap()["sizes"].as_object_mut();
    for size in sizes.unwrap().values_mut() {
        size["storage"] = json!({});
    }
    call
}

/// The call after an outcome was applied: what is used of the quota, and what the ControlPlane says that runs.
fn next(call: Call, outcome: &Outcome, used: &Value, runs: &Value) -> Call {
    let mut call = call.applied(outcome, |name, manifest| {
        let mut status = well(name, manifest);
        if manifest["kind"] == "ResourceQuota" {
            status["used"] = used.clone();
        }
        if manifest["kind"] == "ControlPlane" && !runs.is_null() {
            status["infrastructure"] = runs.clone();
        }
        status
    });
    call.composite["status"]["conditions"] = outcome.written_conditions();
    call
}

/// What the ControlPlane says that runs once it runs as it was composed.
fn runs(outcome: &Outcome) -> Value {
    let infrastructure = &outcome.manifest("control-plane")["spec"]["infrastructure"];
    let of = |piece: &str| {
        json!({
            "replicas": infrastructure[piece]["replicas"],
            "storageSize": infrastructure[piece]["storageSize"],
        })
    };
    json!({ "mariadb": of("mariadb"), "rabbitmq": of("rabbitmq") })
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
    json!([[1, "20Gi"], [1, "10Gi"]]),
    "baseline",
    "MariaDB keeps replicas: 3 instead of 1 and storageSize: 50Gi instead of 20Gi; RabbitMQ keeps replicas: 3 instead of 1 and \
     storageSize: 20Gi instead of 10Gi: "
)]
#[case::larger(
    "small",
    "medium",
    json!([[3, "50Gi"], [3, "20Gi"]]),
    "restricted",
    "MariaDB keeps replicas: 1 instead of 3: "
)]
fn claim_keeps_what_a_running_control_plane_cannot_change(
    #[case] before: &str,
    #[case] after: &str,
    #[case] composed: Value,
    #[case] level: &str,
    #[case] message: &str,
) {
    let mut call = running(before, &nothing());
    let mut runs = runs(&call.run());
    let first = resized(&mut call, after);
    if before == "small" {
        runs["mariadb"]["storageSize"] = json!("50Gi");
        runs["rabbitmq"] = json!({ "replicas": 3, "storageSize": "20Gi" });
    }
    let mut call = next(call, &first, &nothing(), &runs);
    let second = resized(&mut call, after);
    for outcome in [&first, &second] {
        // The c5c3-operator keeps what runs, and makes everything else of the size.
        assert_eq!(members(outcome), composed);
        assert_eq!(pod_security(outcome), level);
        let (status, reason, said) = &outcome.conditions["SizeAccepted"];
        assert_eq!((&**status, &**reason), ("False", "Unsupported"));
        assert!(said.starts_with(message), "{said}");
        assert!(
            said.ends_with("ask the platform team to recreate MariaDB from a backup"),
            "{said}"
        );
        assert!(!outcome.conditions.contains_key("Stalled"));
    }
    let keystone = &second.manifest("control-plane")["spec"]["services"]["keystone"];
    assert_eq!(keystone["replicas"], if after == "small" { 1 } else { 3 });
    assert_eq!(second.composite_ready, Some(true));

    let mut call = next(call, &second, &nothing(), &runs);
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

/// An earlier version composed one member for three that ran, and a namespace for one.
#[test]
fn claim_of_one_member_has_room_for_three_that_run() {
    let (call, outcome) = sized("small").running();
    assert_eq!(pod_security(&outcome), "restricted");
    let members = |size: &str| json!({ "replicas": 3, "storageSize": size });
    let runs = json!({ "mariadb": members("50Gi"), "rabbitmq": members("20Gi") });
    let mut call = next(call, &outcome, &nothing(), &runs);
    let outcome = resized(&mut call, "small");
    assert_eq!(pod_security(&outcome), "baseline");
    assert_eq!(hard(&outcome, "persistentvolumeclaims"), "33");
    let said = &outcome.conditions["SizeAccepted"].2;
    assert!(
        said.starts_with("MariaDB keeps replicas: 3 instead of 1"),
        "{said}"
    );
}

/// The reverse: it composed three members for one that ran.
#[test]
fn claim_that_returns_to_the_one_member_that_runs_keeps_nothing() {
    let (call, outcome) = sized("medium").running();
    let members = |size: &str| json!({ "replicas": 1, "storageSize": size });
    let runs = json!({ "mariadb": members("20Gi"), "rabbitmq": members("10Gi") });
    let mut call = next(call, &outcome, &nothing(), &runs);
    let outcome = resized(&mut call, "medium");
    let said = &outcome.conditions["SizeAccepted"].2;
    assert!(
        said.starts_with("MariaDB keeps replicas: 1 instead of 3: "),
        "{said}"
    );
    let mut call = next(call, &outcome, &nothing(), &runs);
    let outcome = resized(&mut call, "small");
    assert_eq!(pod_security(&outcome), "restricted");
    assert_eq!(outcome.conditions["SizeAccepted"].0, "True");
}

#[test]
fn claim_of_which_nothing_runs_keeps_nothing() {
    let (call, outcome) = sized("medium").running();
    let mut call = next(call, &outcome, &nothing(), &json!({}));
    let outcome = resized(&mut call, "small");
    assert_eq!(pod_security(&outcome), "restricted");
    assert!(!outcome.conditions.contains_key("SizeAccepted"));
}

#[test]
fn claim_keeps_its_pod_security_until_the_control_plane_says_what_runs() {
    let (call, outcome) = sized("medium").running();
    let mut call = next(call, &outcome, &nothing(), &Value::Null);
    for _ in 0..2 {
        let outcome = resized(&mut call, "small");
        assert_eq!(pod_security(&outcome), "baseline");
        assert!(!outcome.conditions.contains_key("SizeAccepted"));
        call = next(call, &outcome, &nothing(), &Value::Null);
    }
    let outcome = call.run();
    let runs = runs(&outcome);
    let mut call = next(call, &outcome, &nothing(), &runs);
    assert_eq!(pod_security(&resized(&mut call, "small")), "restricted");
}

/// Only the c5c3-operator sees whether volumes can grow.
#[test]
fn claim_repeats_what_its_control_plane_says_of_sizes() {
    let mut call = running("medium", &nothing());
    let message = "MariaDB keeps storageSize: 50Gi instead of 100Gi, since allowVolumeExpansion of StorageClass local isn't true";
    let said = json!({
        "type": "SizeAccepted", "status": "False", "reason": "Unsupported", "message": message,
    });
    let status = call.observed.get_mut("control-plane").unwrap();
    let status = status
        .pointer_mut("/status/atProvider/manifest/status/conditions")
        .unwrap();
    status.as_array_mut().unwrap().push(said);
    let outcome = resized(&mut call, "large");
    let (status, reason, said) = &outcome.conditions["SizeAccepted"];
    let condition = [status.as_str(), reason.as_str(), said.as_str()];
    assert_eq!(condition, ["False", "Unsupported", message]);
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

        let runs = runs(&outcome);
        let mut call = next(call, &outcome, &nothing(), &runs);
        let outcome = resized(&mut call, "medium");
        assert_ne!(*hard(&outcome, "requests.memory"), before);
    }
}

#[test]
fn size_sets_ovn_of_the_control_plane() {
    let mut call = sized("large");
    let usual = call.run();
    let ovn = json!({
        "southbound": { "replicas": 5, "storage": { "size": "20Gi" } },
        "relay": { "replicas": 2 },
        "backup": { "schedule": "0 2 * * *", "keep": 14, "storage": { "size": "10Gi" } },
    });
    call.input.as_mut().unwrap()["sizes"]["large"]["infrastructure"]["ovn"] = ovn.clone();
    let outcome = call.run();
    let infrastructure =
        |outcome: &Outcome| outcome.manifest("control-plane")["spec"]["infrastructure"].clone();
    assert_eq!(infrastructure(&usual)["ovn"], Value::Null);
    let composed = &infrastructure(&outcome)["ovn"];
    for (field, given) in ovn.as_object().unwrap() {
        assert_eq!(composed[field], *given, "{field}");
    }
}
