//! How a desired state is applied, as cases that every runtime has to pass: the cluster in memory and the controller.

mod cases;
mod deletion;
mod script;

use provider_composer::{Custom, Key, Operator, Resource, ResourceKind};
use serde_json::{Value, json};

pub use cases::CASES;
pub use script::{Script, ScriptSpec};

/// The namespace that everything is in.
pub const NAMESPACE: &str = "conformance";

/// The kind of the subject.
pub const SUBJECT: ResourceKind = Custom::<ScriptSpec>::KIND;

/// A runtime with a cluster of its own.
pub trait Runtime {
    /// Creates or replaces an object, as a user does. Its status stays.
    fn put(&mut self, key: &Key, object: Value);

    /// Returns an object.
    fn get(&self, key: &Key) -> Option<Value>;

    /// Deletes an object, as a user does.
    fn delete(&mut self, key: &Key);

    /// Makes a kind unreadable, or readable again.
    fn set_readable(&mut self, kind: ResourceKind, readable: bool);

    /// Reconciles the subject with an operator until nothing changes any more.
    fn reconcile_by(&mut self, operator: Box<dyn Operator>);

    /// Returns how often objects were written so far.
    fn writes(&self) -> usize;

    /// Returns the events so far: type, reason and note.
    fn events(&self) -> Vec<[String; 3]>;
}

/// A case: its name, and what it checks on a runtime with an empty cluster.
pub type Case = (&'static str, fn(&mut dyn Runtime));

/// Returns the subject.
pub fn subject() -> Key {
    Key::of::<Custom<ScriptSpec>>(NAMESPACE, "script")
}

impl dyn Runtime + '_ {
    /// Reconciles the subject with [`Script`].
    fn reconcile(&mut self) {
        self.reconcile_by(Box::new(Script::<true>));
    }

    /// Creates the subject or changes its spec, and reconciles it.
    fn run(&mut self, spec: Value) {
        match self.get(&subject()) {
            Some(_) => self.edit(&subject(), |subject| subject["spec"] = spec),
            None => self.put(&subject(), json!({ "spec": spec })),
        }
        self.reconcile();
    }

    /// Changes an object, as a user does.
    fn edit(&mut self, key: &Key, change: impl FnOnce(&mut Value)) {
        let mut object = self.there(key);
        change(&mut object);
        self.put(key, object);
    }

    /// Returns an object that exists.
    fn there(&self, key: &Key) -> Value {
        let object = self.get(key);
        assert!(object.is_some(), "{key} doesn't exist");
        object.unwrap_or_default()
    }

    /// Returns status, reason and message of a condition of the subject.
    fn condition(&self, type_: &str) -> [String; 3] {
        let found = crate::condition(&self.there(&subject())["status"], type_);
        found.unwrap_or_default()
    }
}
