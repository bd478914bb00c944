//! The status of a Ready resource while a failed call to an external system is tried again.

use c5c3_api::{Condition, Reason};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::READY;
use crate::conditions::{RECONCILING, second, shorten};
use crate::failure::Failure;
use crate::status::conditions;
use crate::subject::is_deleted;

/// How long calls may fail until the resource isn't Ready any more: enough for a rollout of the system, and for several attempts.
const PATIENCE: SignedDuration = SignedDuration::from_mins(5);

/// Returns the status of a resource that stays Ready while calls to an external system fail: as composed, with the failure in
/// Reconciling. Returns `None` where something else failed, where the resource isn't Ready, and once calls have failed for [`PATIENCE`];
/// where it wasn't Ready with this generation of the spec, since the call may be for what changed; and where it is being deleted, which
/// waits for the call.
pub(super) fn retried(
    resource: &Value,
    composed: &Value,
    failure: &Failure,
    now: Timestamp,
) -> Option<Value> {
    if failure.reason() != Reason::SystemUnavailable || is_deleted(resource) {
        return None;
    }
    let (mut present, previous) = (conditions(composed), conditions(&resource["status"]));
    let generation = holds(&present, READY)?.observed_generation;
    if holds(&previous, READY)?.observed_generation != generation {
        return None;
    }
    // A Ready resource has Reconciling only since calls began to fail.
    let before = holds(&previous, RECONCILING);
    let since = before.and_then(|before| before.last_transition_time.clone());
    let since = since.unwrap_or_else(|| second(now));
    let began: Timestamp = since.parse().ok()?;
    if now.duration_since(began) >= PATIENCE {
        return None;
    }
    let mut message = failure.to_string();
    shorten(&mut message);
    present.push(Condition {
        type_: RECONCILING.to_owned(),
        status: "True".to_owned(),
        reason: failure.reason().to_string(),
        message,
        observed_generation: generation,
        last_transition_time: Some(since),
    });
    let mut status = composed.clone();
    status["conditions"] = json!(present);
    Some(status)
}

/// Returns the condition of a type, if it is True.
fn holds<'c>(conditions: &'c [Condition], type_: &str) -> Option<&'c Condition> {
    let mut conditions = conditions.iter();
    conditions.find(|condition| condition.type_ == type_ && condition.status == "True")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::composed::Composed;
    use crate::conditions::{Conditions, Progress};
    use crate::desired::DesiredState;
    use crate::owner::Owner;
    use crate::reconcile::refused;

    /// Reconciles a resource whose other conditions are True, at a second, with a call that fails or not. Returns status and reason of Ready
    /// and of Reconciling.
    fn reconciled(
        resource: &mut Value,
        at: i64,
        failure: Option<&Failure>,
    ) -> [Option<[String; 2]>; 2] {
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(at);
        let mut sum = Conditions::default();
        sum.set("AgentsReady", &Progress::Ready);
        let generation = resource["metadata"]["generation"].as_i64();
        let written = sum.written(&conditions(&resource["status"]), generation, now);
        let composed = Composed {
            desired: DesiredState::default(),
            status: json!({ "conditions": written, "observedGeneration": generation }),
            failed: BTreeSet::new(),
            owner: Owner {
                kind: "HypervisorShare".to_owned(),
                namespace: String::new(),
                name: "prod".to_owned(),
            },
        };
        let status = match failure {
            Some(failure) => refused(resource, Some(&composed), failure, now).0,
            None => composed.status,
        };
        assert_eq!(status["observedGeneration"], json!(generation));
        let all = conditions(&status);
        resource["status"] = status;
        [READY, RECONCILING].map(|type_| {
            let found = all.iter().find(|one| one.type_ == type_);
            found.map(|one| [one.status.clone(), one.reason.clone()])
        })
    }

    fn resource() -> Value {
        json!({ "metadata": { "generation": 2 } })
    }

    fn said(status: &str, reason: &str) -> Option<[String; 2]> {
        Some([status, reason].map(str::to_owned))
    }

    fn unavailable() -> Failure {
        Failure::transient(Reason::SystemUnavailable, "nova doesn't answer")
    }

    /// Ready and Reconciling of a resource that isn't Ready because its call fails.
    fn fails() -> [Option<[String; 2]>; 2] {
        ["False", "True"].map(|status| said(status, "SystemUnavailable"))
    }

    #[test]
    fn resource_stays_ready_until_its_calls_have_failed_for_five_minutes() {
        let (mut resource, failure) = (resource(), unavailable());
        let ready = [said("True", "Ready"), None];
        let retries = [said("True", "Ready"), said("True", "SystemUnavailable")];
        assert_eq!(reconciled(&mut resource, 0, None), ready);
        for at in [10, 309] {
            assert_eq!(reconciled(&mut resource, at, Some(&failure)), retries);
        }
        for at in [310, 400] {
            assert_eq!(reconciled(&mut resource, at, Some(&failure)), fails());
        }
        assert_eq!(reconciled(&mut resource, 410, None), ready);
        for at in [420, 719] {
            assert_eq!(reconciled(&mut resource, at, Some(&failure)), retries);
        }
    }

    #[test]
    fn resource_that_was_not_ready_with_its_spec_waits_for_its_calls() {
        let (mut resource, failure) = (resource(), unavailable());
        for at in [0, 10] {
            assert_eq!(reconciled(&mut resource, at, Some(&failure)), fails());
        }
        reconciled(&mut resource, 20, None);
        resource["metadata"]["generation"] = json!(3);
        assert_eq!(reconciled(&mut resource, 30, Some(&failure)), fails());
    }

    /// A share whose last node is drained is Ready while calls remove what is left of it in Nova.
    #[test]
    fn resource_that_is_being_deleted_waits_for_its_calls() {
        let mut resource = resource();
        resource["metadata"]["deletionTimestamp"] = json!("1970-01-01T00:00:00Z");
        reconciled(&mut resource, 0, None);
        assert_eq!(reconciled(&mut resource, 10, Some(&unavailable())), fails());
    }

    #[test]
    fn resource_whose_call_is_refused_is_not_ready_at_once() {
        let mut resource = resource();
        reconciled(&mut resource, 0, None);
        let refusal = Failure::new(Reason::SystemRefused, "nova refuses it");
        let expected = [said("False", "SystemRefused"), None];
        assert_eq!(reconciled(&mut resource, 10, Some(&refusal)), expected);
    }
}
