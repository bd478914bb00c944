//! Systems outside Kubernetes, as a plan simulates them.

use serde_json::Value;

/// A system outside Kubernetes that does at once whatever it is told.
pub trait Simulated {
    /// What it answers to a question, as its driver would.
    fn observe(&self, question: &str) -> Value;

    /// Does what it is told. Whether anything changed.
    fn call(&mut self, call: &str) -> bool;
}
