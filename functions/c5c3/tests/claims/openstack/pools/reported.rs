//! What a claim repeats of the conditions of its shares.

use function_c5c3_fixtures::{Call, Outcome, well};
use rstest::rstest;
use serde_json::{Value, json};

use super::super::running;

/// A claim whose shares report one more condition, each in its pool.
fn reporting(claim: &str, reported: impl Fn(&str) -> Value) -> (Call, Outcome) {
    let (call, outcome) = running(claim);
    let status = |name: &str, manifest: &Value| {
        let mut status = well(name, manifest);
        if manifest["kind"] == "HypervisorShare"
            && let Some(conditions) = status["conditions"].as_array_mut()
        {
            conditions.push(reported(name));
        }
        status
    };
    let call = call.applied(&outcome, status);
    let outcome = call.run();
    (call, outcome)
}

fn texts([status, reason, message]: [&str; 3]) -> (String, String, String) {
    (status.to_owned(), reason.to_owned(), message.to_owned())
}

#[test]
fn aggregates_are_reported_as_their_shares_report_them() {
    let (_, outcome) = running("customer-b-staging");
    assert!(!outcome.conditions.contains_key("AggregatesReady"));
    let reported = |aggregate: Value| {
        let (_, outcome) = reporting("customer-b-staging", |_| aggregate.clone());
        outcome.conditions["AggregatesReady"].clone()
    };
    assert_eq!(
        reported(json!({
            "type": "AggregateReady", "status": "False", "reason": "ZoneInUse", "message": "node-a has 2 servers",
        })),
        texts([
            "False",
            "ZoneInUse",
            "HypervisorShare in hv-pool-a: node-a has 2 servers"
        ])
    );
    assert_eq!(
        reported(json!({ "type": "AggregateReady", "status": "True", "reason": "Ready" })),
        texts(["True", "Ready", ""])
    );
}

#[test]
fn hypervisors_that_do_not_work_are_named_by_a_claim_that_is_ready() {
    let working = |share: &str, broken: &[&str]| match broken.contains(&share) {
        true => json!({
            "type": "HostsWorking", "status": "False", "reason": "Starting", "message": format!("a node of {share} is down"),
        }),
        false => json!({ "type": "HostsWorking", "status": "True", "reason": "Ready" }),
    };
    for (broken, message) in [
        (
            vec!["share-hv-pool-b"],
            "HypervisorShare in hv-pool-b: a node of share-hv-pool-b is down",
        ),
        (
            vec!["share-hv-pool-a", "share-hv-pool-b"],
            "HypervisorShare in hv-pool-a: a node of share-hv-pool-a is down; HypervisorShare in hv-pool-b: a node of share-hv-pool-b is \
             down",
        ),
    ] {
        let (_, outcome) = reporting("customer-a-prod", |share| working(share, &broken));
        assert_eq!(
            outcome.conditions["HypervisorsWorking"],
            texts(["False", "Starting", message])
        );
        assert_eq!(outcome.conditions["HypervisorsReady"].0, "True");
        assert_eq!(outcome.status["phase"], "Ready");
        assert_eq!(outcome.composite_ready, Some(true));
    }
    let (mut call, outcome) = reporting("customer-a-prod", |share| working(share, &[]));
    assert_eq!(
        outcome.conditions["HypervisorsWorking"],
        texts(["True", "Ready", ""])
    );
    let before = json!([{ "type": "HypervisorsWorking", "status": "False", "reason": "Starting" }]);
    call = call.applied(&outcome, well);
    call.composite["status"]["conditions"] = before;
    assert_eq!(
        call.run().conditions["HypervisorsWorking"],
        texts(["Unknown", "Waiting", "no HypervisorShare reports it"])
    );
}

/// A claim with `tls.enabled: false` has no certificates for the consoles of a pool with encryption, and a pool may lack cert-manager, or
/// have an image without OpenSSH.
#[rstest]
#[case::consoles("ConsolesReady", "ConsolesReady")]
#[case::certificates("CertificateReady", "HypervisorCertificatesReady")]
#[case::migration("MigrationReady", "MigrationReady")]
fn what_a_share_is_ready_without_is_repeated_by_a_claim_that_is_ready(
    #[case] of: &str,
    #[case] type_: &str,
) {
    let reported = |status: &str, reason: &str, message: &str| {
        let said = json!({ "type": of, "status": status, "reason": reason, "message": message });
        let other = json!({ "type": "NodesLeased", "status": "True", "reason": "Ready" });
        let (_, outcome) = reporting("customer-a-prod", |share| match share {
            "share-hv-pool-b" => said.clone(),
            _ => other.clone(),
        });
        assert_eq!(outcome.status["phase"], "Ready");
        outcome.conditions[type_].clone()
    };
    assert_eq!(
        reported("False", "WaitingForCertificate", "it isn't issued"),
        texts([
            "False",
            "WaitingForCertificate",
            "HypervisorShare in hv-pool-b: it isn't issued"
        ])
    );
    assert_eq!(
        reported("True", "Ready", ""),
        texts(["True", "Ready", ""]),
        "the other pool doesn't report it"
    );
    let (_, outcome) = running("customer-a-prod");
    assert!(!outcome.conditions.contains_key(type_));
}

/// What shares of a claim's two pools say of their hosts, each in a condition, becomes one of the claim.
#[rstest]
#[case::one_that_is_silent(
    None,
    json!({ "type": "HostsWorking", "status": "True", "reason": "Ready" }),
    ["Unknown", "Waiting", "HypervisorShare in hv-pool-a: it hasn't reported this yet"]
)]
#[case::one_that_cannot_say(
    Some(json!({ "type": "HostsWorking", "status": "Unknown", "reason": "LookupFailed", "message": "Nova is silent" })),
    json!({ "type": "HostsWorking", "status": "True", "reason": "Ready" }),
    ["Unknown", "LookupFailed", "HypervisorShare in hv-pool-a: Nova is silent"]
)]
#[case::one_that_says_more(
    Some(json!({ "type": "HostsWorking", "status": "Unknown", "reason": "LookupFailed", "message": "Nova is silent" })),
    json!({ "type": "HostsWorking", "status": "False", "reason": "Starting", "message": "a node is down" }),
    [
        "False",
        "Starting",
        "HypervisorShare in hv-pool-a: Nova is silent; HypervisorShare in hv-pool-b: a node is down",
    ]
)]
fn hypervisors_that_nothing_is_known_of_are_not_said_to_work(
    #[case] first: Option<Value>,
    #[case] second: Value,
    #[case] expected: [&str; 3],
) {
    let other = json!({ "type": "NodesLeased", "status": "True", "reason": "Ready" });
    let (_, outcome) = reporting("customer-a-prod", |share| match share {
        "share-hv-pool-a" => first.clone().unwrap_or_else(|| other.clone()),
        _ => second.clone(),
    });
    assert_eq!(outcome.conditions["HypervisorsWorking"], texts(expected));
    assert_eq!(outcome.status["phase"], "Ready");
}

/// Nothing waits for it, so that nothing else warns.
#[test]
fn hypervisors_that_lack_something_are_a_warning() {
    let warns = |reason: &str| {
        let message = "node-a lacks something";
        let (_, outcome) = reporting(
            "customer-b-staging",
            |_| json!({ "type": "HostsWorking", "status": "False", "reason": reason, "message": message }),
        );
        assert_eq!(outcome.conditions["HypervisorsWorking"].1, reason);
        assert!(!outcome.conditions.contains_key("Stalled"));
        let said = format!("HypervisorShare in hv-pool-a: {message}");
        assert!(outcome.events.contains(&said), "{:?}", outcome.events);
        outcome.warnings.contains(&said)
    };
    assert!(warns("RequirementMissing"));
    assert!(!warns("Starting"));
}

#[test]
fn what_shares_reported_is_unknown_once_the_control_plane_is_gone() {
    let (mut call, _) = running("customer-a-prod");
    call.observed.remove("control-plane");
    let repeated = [
        "AggregatesReady",
        "HypervisorsWorking",
        "ConsolesReady",
        "HypervisorCertificatesReady",
        "MigrationReady",
    ];
    let before =
        repeated.map(|type_| json!({ "type": type_, "status": "False", "reason": "Starting" }));
    call.composite["status"]["conditions"] = json!(before);
    let outcome = call.run();
    for type_ in repeated {
        assert_eq!(
            outcome.conditions[type_],
            texts(["Unknown", "Waiting", "no HypervisorShare reports it"])
        );
    }
}
