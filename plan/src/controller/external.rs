//! External systems, as a plan simulates them.

use dyn_clone::DynClone;
use serde_json::Value;

/// A simulated external system, which handles each call at once.
pub trait Simulated: DynClone {
    /// What it answers to a query, as its driver would.
    fn observe(&self, query: &str) -> Value;

    /// Handles a call. Returns whether anything changed.
    fn call(&mut self, call: &str) -> bool;
}

dyn_clone::clone_trait_object!(Simulated);
