//! What an API server does with a custom resource before it stores it: [`defaulted`] fills in defaults, and a
//! [`Validator`] checks fields, schema and CEL rules. As far as the definitions of this project use them
//! (<https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/>).

mod defaults;
mod form;
mod near;
mod object;
mod rules;
mod shape;

use std::collections::HashMap;
use std::fmt;

use regex::Regex;
use serde_json::Value;

pub use defaults::defaulted;
pub use near::near;
pub use object::object;
pub use rules::Program;

/// Something that an API server refuses about a resource. Displays as `spec.size: must be …`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Path of the field, for instance `spec.pools[0].name`; empty for the resource itself.
    pub path: String,
    /// What must be, for the user.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => out.write_str(&self.message),
            path => write!(out, "{path}: {}", self.message),
        }
    }
}

/// Checks resources against structural schemas. Patterns and rules are compiled once.
#[derive(Default)]
pub struct Validator {
    patterns: HashMap<String, Option<Regex>>,
    programs: HashMap<String, Option<Program>>,
}

impl Validator {
    /// Returns every reason to refuse a resource that already has its defaults. `old` is the stored resource, where there
    /// is one: without it, rules about changes are skipped. Rules are checked only once the schema holds.
    pub fn problems(&mut self, schema: &Value, new: &Value, old: Option<&Value>) -> Vec<Problem> {
        let mut problems = Vec::new();
        self.shape(schema, new, "", &mut problems);
        if problems.is_empty() {
            self.rules(schema, new, old, "", &mut problems);
        }
        problems
    }
}

/// The path of a field of an object.
fn within(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}
