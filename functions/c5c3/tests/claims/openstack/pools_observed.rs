//! The conditions of a claim that report its services' pools in Ceph.

use function_c5c3_fixtures::{Outcome, well};
use serde_json::{Value, json};

use super::call;

#[test]
fn claim_repeats_what_services_observe_of_their_pools_and_stays_ready() {
    let (call, outcome) = call("customer-a-prod").running();
    let types = ["CephConnected", "CapacityAvailable"];
    for type_ in types {
        assert!(!outcome.conditions.contains_key(type_), "{type_}");
    }
    for type_ in types {
        let said = |outcome: &Outcome| <[String; 3]>::from(outcome.conditions[type_].clone());
        let reported = |status: &str, reason: &str, message: &str| {
            let observed =
                json!({"type": type_, "status": status, "reason": reason, "message": message});
            let status = |name: &str, manifest: &Value| {
                let mut status = well(name, manifest);
                if manifest["kind"] == "ControlPlane" {
                    let conditions = status["conditions"].as_array_mut().unwrap();
                    conditions.push(observed.clone());
                }
                status
            };
            call.clone().applied(&outcome, status).run()
        };
        let full = "Cinder cinder: pool volumes of Ceph has used 90 %";
        let wrong = reported("False", "NearlyFull", full);
        assert_eq!(said(&wrong), ["False", "NearlyFull", full]);
        assert!(wrong.warnings.iter().any(|event| event == full));
        assert_eq!(wrong.status["phase"], "Ready");
        assert!(!wrong.conditions.contains_key("Stalled"));
        let unknown = reported("Unknown", "LookupFailed", "no look");
        assert_eq!(said(&unknown), ["Unknown", "LookupFailed", "no look"]);
        let good = reported("True", "Ready", "");
        assert_eq!(said(&good), ["True", "Ready", ""]);
    }
}
