//! The requests of cases, and what cases expect of them.

use provider_composer::Key;
use serde_json::Value;

use super::{ApiServer, Request};

/// The namespace that everything is in.
pub const NAMESPACE: &str = "conformance";

pub(super) fn apply(manager: &'static str, fields: Value) -> Request {
    let force = false;
    Request::Apply {
        manager,
        fields,
        force,
    }
}

pub(super) fn force(manager: &'static str, fields: Value) -> Request {
    let force = true;
    Request::Apply {
        manager,
        fields,
        force,
    }
}

impl dyn ApiServer + '_ {
    /// Has a request accepted. Returns the object as it is then.
    pub(super) fn accepts(&mut self, key: &Key, request: Request) -> Value {
        let shown = format!("{request:?}");
        match self.perform(key, request) {
            Ok(object) => object,
            Err(refusal) => unreachable!("{shown} of {key} is refused: {refusal}"),
        }
    }

    /// Has a request refused. Returns the reason.
    pub(super) fn refuses(&mut self, key: &Key, request: Request) -> String {
        let shown = format!("{request:?}");
        match self.perform(key, request) {
            Ok(object) => unreachable!("{shown} of {key} is accepted: {object}"),
            Err(refusal) => refusal.reason,
        }
    }

    /// Returns an object that exists.
    pub(super) fn there(&mut self, key: &Key) -> Value {
        let object = self.get(key);
        assert!(object.is_some(), "{key} doesn't exist");
        object.unwrap_or_default()
    }
}
