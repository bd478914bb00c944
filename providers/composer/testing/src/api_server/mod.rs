//! Requests to an API server, which the store in memory handles by the same rules, and cases that hold both to the same answers.

mod cases;
mod immutable;
mod requests;

use std::fmt;

use provider_composer::Key;
use serde_json::Value;

pub use cases::{CASES, THING, UNKNOWN};
pub use requests::NAMESPACE;

/// A case: its name, and what it checks of what stores objects. No two cases have an object in common.
pub type Case = (&'static str, fn(&mut dyn ApiServer));

/// What stores objects: the store in memory, or an API server.
pub trait ApiServer {
    /// Returns an object.
    fn get(&mut self, key: &Key) -> Option<Value>;

    /// Handles a request about an object. Returns the object as it is then.
    ///
    /// # Errors
    /// The request is refused.
    fn perform(&mut self, key: &Key, request: Request) -> Result<Value, Refusal>;

    /// Waits until the garbage collector has deleted an object. Returns whether it has.
    fn collects(&mut self, key: &Key) -> bool;
}

/// A request about one object.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Creates the object.
    Create(Value),
    /// Replaces it, but for its status.
    Replace(Value),
    /// Applies fields, server-side.
    Apply {
        /// The field manager.
        manager: &'static str,
        /// The fields.
        fields: Value,
        /// Whether fields are taken from other managers.
        force: bool,
    },
    /// Merges fields into it (RFC 7396), but for its status.
    Merge(Value),
    /// Replaces its status.
    SetStatus(Value),
    /// Deletes it.
    Delete,
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason, as `metav1.Status` has it.
    pub reason: String,
    /// The message.
    pub message: String,
}

impl Refusal {
    /// Returns a refusal.
    pub fn new(reason: &str, message: impl Into<String>) -> Self {
        Self {
            reason: reason.to_owned(),
            message: message.into(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({})", self.message, self.reason)
    }
}
