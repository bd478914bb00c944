//! Retries of requests of K-ORC that didn't reach an API.
//!
//! K-ORC repeats a change only if an API answered it with an error (`IsRetryable` in its internal/util/errors/errors.go). A connection that
//! is refused, as while the only pod of an API starts, is final until the spec of the object changes. So the spec is changed, to another
//! one that means the same.

use c5c3_kinds::korc::{Domain, Image, Managed, Project, User, VolumeType};
use jiff::{SignedDuration, Timestamp};
use provider_composer::{Key, ResourceKind, second};
use serde_json::{Value, json};

use super::korc::{Korc, State, details, waiting};

/// Annotation of an object of K-ORC: when its spec was last changed for a retry. With it, the field that was changed is the operator's.
const RETRIED_AT: &str = "c5c3.io/retried-at";
/// How long K-ORC has for a retry.
const PAUSE: SignedDuration = SignedDuration::from_secs(30);
/// How K-ORC's message about a change begins that it doesn't repeat (`CreateResource` and `UpdateResource` in its internal/controllers).
const FINAL: [&str; 3] = [
    "invalid configuration creating resource: ",
    "invalid configuration creating image: ",
    "invalid configuration updating resource: ",
];
/// Kinds whose `spec.resource.name` may be set and removed. That of other kinds can't be changed, or doesn't exist.
const NAMED: [ResourceKind; 5] = [
    Domain::KIND,
    Image::KIND,
    Project::KIND,
    User::KIND,
    VolumeType::KIND,
];

/// A field that means the same with this value as without it.
struct OptionalField {
    /// Where the object has the field.
    parent: &'static str,
    name: &'static str,
    value: Value,
}

impl OptionalField {
    /// Returns a field that isn't wanted in an object, if it has one.
    fn of(key: &Key, wanted: &Value) -> Option<Self> {
        let spec = &wanted["spec"];
        if spec["managementPolicy"] != "managed" {
            return None;
        }
        if spec.get("managedOptions").is_none() {
            return Some(Self {
                parent: "/spec",
                name: "managedOptions",
                value: json!({ "onDelete": "delete" }),
            });
        }
        let is_named = NAMED.contains(&key.kind) && spec["resource"].get("name").is_none();
        is_named.then(|| Self {
            parent: "/spec/resource",
            name: "name",
            value: json!(key.name),
        })
    }
}

impl Korc<'_> {
    /// Changes an object of K-ORC that is wanted for a retry, if one is due, and returns its state.
    pub(super) fn retried(&mut self, key: &Key, observed: &Value, state: State) -> State {
        let now = self.observed.now();
        let Some(wanted) = self.desired.objects.get_mut(key) else {
            return state;
        };
        let Some(optional) = OptionalField::of(key, wanted) else {
            return state;
        };
        let mut annotation = observed["metadata"]["annotations"].get(RETRIED_AT).cloned();
        let present = observed.pointer(optional.parent);
        let present = present.and_then(|parent| parent.get(optional.name));
        // A field that someone else set stays as it is.
        if present.is_some_and(|value| annotation.is_none() || *value != optional.value) {
            return state;
        }
        let mut is_set = present.is_some();
        let why = state.given_up.as_deref().and_then(unreached);
        let pending = annotation
            .as_ref()
            .and_then(|annotation| end(annotation, now));
        if why.is_some() && pending.is_none() {
            is_set = !is_set;
            annotation = Some(json!(second(now)));
        }
        if is_set && let Some(parent) = wanted.pointer_mut(optional.parent) {
            parent[optional.name] = optional.value;
        }
        if let Some(annotation) = annotation {
            wanted["metadata"]["annotations"][RETRIED_AT] = annotation;
        }
        let Some(why) = why else {
            return state;
        };
        if let Some(next) = pending.or_else(|| now.checked_add(PAUSE).ok()) {
            self.desired.requeue_at(next);
        }
        let why = match key.kind == Image::KIND {
            true => details(key),
            false => why.to_owned(),
        };
        let message = format!(
            "K-ORC's request failed, and is repeated every {} seconds: {why}",
            PAUSE.as_secs()
        );
        State {
            progress: waiting(key, &message),
            ..state
        }
    }
}

/// Returns when the time for a retry ends, if it hasn't. A retry in the future is that of another clock, which may be years ahead.
fn end(annotation: &Value, now: Timestamp) -> Option<Timestamp> {
    let begin: Timestamp = annotation.as_str()?.parse().ok()?;
    let end = begin.checked_add(PAUSE).ok()?;
    (begin <= now && now < end).then_some(end)
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
