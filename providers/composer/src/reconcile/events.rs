//! Events for the changed conditions of a subject.

use std::collections::BTreeSet;

use serde_json::Value;

use super::READY;
use crate::conditions::{RECONCILING, STALLED};

/// An event for a changed condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The condition's type.
    pub condition: String,
    /// The condition's status.
    pub status: String,
    /// The condition's reason.
    pub reason: String,
    /// The condition's message, which names its type.
    pub note: String,
    /// Whether it needs a person.
    pub is_warning: bool,
}

/// Returns the events for a status that changed. Of a subject without conditions before, only Ready has one, and what failed that Ready
/// doesn't repeat; and of several with the same message, as Ready and the one that it repeats, the first.
pub fn events(before: &Value, now: &Value, failed: &BTreeSet<String>) -> Vec<Event> {
    let conditions = |status: &Value| status["conditions"].as_array().cloned().unwrap_or_default();
    let before = conditions(before);
    let same = |one: &Value, other: &Value, fields: &[&str]| {
        fields.iter().all(|field| one[*field] == other[*field])
    };
    let mut new = conditions(now);
    let ready = new.iter().find(|now| now["type"] == READY).cloned();
    let is_ready = ready
        .as_ref()
        .is_some_and(|ready| ready["status"] == "True");
    // They repeat Ready; of a subject that is Ready, Reconciling alone says which call fails.
    new.retain(|now| now["type"] != STALLED && (is_ready || now["type"] != RECONCILING));
    let is_repeated = |now: &Value| {
        let ready = ready.as_ref();
        ready.is_some_and(|ready| same(ready, now, &["status", "reason", "message"]))
    };
    let is_failed = |now: &Value| {
        now["type"]
            .as_str()
            .is_some_and(|type_| failed.contains(type_))
    };
    new.retain(|now| {
        let was = |before: &Value| same(before, now, &["type", "status", "reason"]);
        match before.is_empty() {
            true => now["type"] == READY || is_failed(now) && !is_repeated(now),
            false => !before.iter().any(was),
        }
    });
    let told = |place: usize| {
        let condition = &new[place];
        let is_told = |other: &Value| same(other, condition, &["status", "reason", "message"]);
        condition["message"] != "" && new[..place].iter().any(is_told)
    };
    let text =
        |condition: &Value, field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    let event = |condition: &Value| {
        let [type_, status, reason, message] =
            ["type", "status", "reason", "message"].map(|field| text(condition, field));
        Event {
            note: match message.as_str() {
                "" => format!("{type_} is {status}"),
                message => format!("{type_}: {message}"),
            },
            is_warning: failed.contains(&type_),
            reason: match reason.as_str() {
                "" => "Changed".to_owned(),
                _ => reason,
            },
            condition: type_,
            status,
        }
    };
    let once = (0..new.len()).filter(|place| !told(*place));
    once.map(|place| event(&new[place])).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A status whose conditions say this: type, status, reason and message.
    fn status(conditions: &[[&str; 4]]) -> Value {
        let conditions = conditions.iter().map(|[type_, status, reason, message]| {
            json!({ "type": type_, "status": status, "reason": reason, "message": message })
        });
        json!({ "conditions": conditions.collect::<Vec<_>>() })
    }

    fn told(before: &Value, now: &Value) -> Vec<String> {
        let events = events(before, now, &BTreeSet::new()).into_iter();
        events.map(|event| event.condition).collect()
    }

    const WAITS: [&str; 3] = ["False", "WaitingForDatabase", "the database is not ready"];

    fn waiting(types: &[&str]) -> Value {
        let conditions = types.iter().map(|type_| {
            let [status, reason, message] = WAITS;
            [*type_, status, reason, message]
        });
        status(&conditions.collect::<Vec<_>>())
    }

    #[test]
    fn at_first_the_sum_is_told() {
        let now = waiting(&["DatabaseReady", "APIReady", "Ready"]);
        assert_eq!(told(&Value::Null, &now), ["Ready"]);
    }

    #[test]
    fn at_first_a_failure_that_ready_does_not_repeat_is_told_too() {
        let now = status(&[
            ["DatabaseReady", "False", "WaitingForDatabase", "it waits"],
            ["APIReady", "False", "Invalid", "it is wrong"],
            ["Exposed", "False", "AnnotationNotAllowed", "it is refused"],
            ["Ready", "False", "Invalid", "it is wrong"],
        ]);
        let failed = ["APIReady", "Exposed", "Ready"].map(str::to_owned);
        let events = events(&Value::Null, &now, &BTreeSet::from(failed));
        let told = events
            .iter()
            .map(|event| (event.condition.as_str(), event.is_warning));
        assert_eq!(
            told.collect::<Vec<_>>(),
            [("Exposed", true), ("Ready", true)]
        );
    }

    #[test]
    fn call_that_fails_is_told_of_a_subject_that_stays_ready() {
        let why = "nova doesn't answer";
        let ready = ["Ready", "True", "Ready", ""];
        let reconciling = ["Reconciling", "True", "SystemUnavailable", why];
        let (before, fails) = (status(&[ready]), status(&[ready, reconciling]));
        assert_eq!(told(&before, &fails), ["Reconciling"]);
        assert_eq!(told(&fails, &fails), [""; 0]);
        assert_eq!(told(&fails, &before), [""; 0]);
        let unready = ["Ready", "False", "SystemUnavailable", why];
        assert_eq!(told(&fails, &status(&[unready, reconciling])), ["Ready"]);
    }

    #[test]
    fn what_changed_is_told_and_the_same_words_once() {
        let before = waiting(&["DatabaseReady", "APIReady", "Ready"]);
        assert_eq!(told(&before, &before), [""; 0]);
        let now = status(&[
            ["DatabaseReady", "True", "Ready", ""],
            ["APIReady", "False", "Starting", "no pod is ready"],
            ["Ready", "False", "Starting", "no pod is ready"],
        ]);
        assert_eq!(told(&before, &now), ["DatabaseReady", "APIReady"]);
        let ready = status(&[
            ["DatabaseReady", "True", "Ready", ""],
            ["APIReady", "True", "Ready", ""],
            ["Ready", "True", "Ready", ""],
        ]);
        assert_eq!(told(&now, &ready), ["APIReady", "Ready"]);
    }
}
