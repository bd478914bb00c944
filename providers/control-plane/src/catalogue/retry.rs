//! Retries of what K-ORC gave up on because it didn't reach an API.
//!
//! K-ORC repeats a change only if an API answered it with an error (`IsRetryable` in its internal/util/errors/errors.go). A connection that
//! is refused, as while the only pod of an API starts, is final until the spec of the object changes. So the spec is changed, to another
//! one that means the same.

use jiff::{SignedDuration, Timestamp};
use provider_composer::{Key, second};
use serde_json::{Value, json};

use super::korc::{Korc, State, waiting};

/// Annotation of an object of K-ORC: when its spec was last changed for a retry.
const RETRIED_AT: &str = "c5c3.io/retried-at";
/// How long K-ORC has for a retry.
const PAUSE: SignedDuration = SignedDuration::from_secs(30);
/// How K-ORC's message about a change begins that it doesn't repeat.
const FINAL: [&str; 2] = [
    "invalid configuration creating resource: ",
    "invalid configuration updating resource: ",
];

impl Korc<'_> {
    /// Changes an object of K-ORC that is wanted for a retry, if one is due, and returns its state.
    pub(super) fn retried(&mut self, key: &Key, observed: &Value, state: State) -> State {
        let now = self.observed.now();
        let Some(wanted) = self.desired.objects.get_mut(key) else {
            return state;
        };
        // Another change would have another meaning.
        if wanted["spec"]["managementPolicy"] != "managed"
            || wanted["spec"].get("managedOptions").is_some()
        {
            return state;
        }
        let last = observed["metadata"]["annotations"][RETRIED_AT].as_str();
        let mut last: Option<Timestamp> = last.and_then(|last| last.parse().ok());
        let mut has_options = observed["spec"].get("managedOptions").is_some();
        let why = state.given_up.as_deref().and_then(unreached);
        let mut next = last.and_then(|last| last.checked_add(PAUSE).ok());
        if why.is_some() && next.is_none_or(|next| next <= now) {
            last = Some(now);
            has_options = !has_options;
            next = now.checked_add(PAUSE).ok();
        }
        if has_options {
            // What K-ORC does without it, too.
            wanted["spec"]["managedOptions"] = json!({ "onDelete": "delete" });
        }
        if let Some(last) = last {
            wanted["metadata"]["annotations"][RETRIED_AT] = json!(second(last));
        }
        if let (Some(_), Some(next)) = (why, next) {
            self.desired.requeue_at(next);
        }
        match why {
            Some(why) => State {
                progress: waiting(
                    key,
                    &format!("it doesn't reach the API, and tries again: {why}"),
                ),
                ..state
            },
            None => state,
        }
    }
}

/// Why an API wasn't reached, if that is what K-ORC gave up on: an error of Go's HTTP client, which begins with the method and the URL.
fn unreached(message: &str) -> Option<&str> {
    let error = FINAL.iter().find_map(|begin| message.strip_prefix(begin))?;
    let mut methods = ["Delete", "Get", "Patch", "Post", "Put"].into_iter();
    let is_of_client = methods.any(|method| {
        let url = error.strip_prefix(method);
        url.is_some_and(|url| url.starts_with(" \"http"))
    });
    is_of_client.then_some(error)
}
