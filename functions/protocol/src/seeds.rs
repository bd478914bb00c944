//! Whether the core watches what a composer requires.
//!
//! Crossplane 2.4 and newer watch required resources, and give a composer what it required in the last reconcile with the first call of
//! the next one (crossplane/crossplane, design/one-pager-watching-required-resources.md). They don't advertise it: 2.2, 2.3 and 2.4 have
//! the same capabilities (internal/xfn/capabilities.go). What a core doesn't remember comes with a second call, and that call has the
//! context of the first response (internal/xfn/required_resources.go). So a mark in the context tells what was fetched for this
//! reconcile from what was remembered. A core that doesn't watch, because it is older or realtime compositions are off, remembers
//! nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::Document;
use crate::v1::{Requirements, RunFunctionRequest};

/// The key of the mark in the context.
const FETCHED: &str = "c5c3.io/fetched";

/// What the core gave without being asked in this reconcile.
#[derive(Debug, Default)]
pub(crate) struct Seeds {
    names: BTreeSet<String>,
    is_marked: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Context {
    #[serde(rename = "c5c3.io/fetched")]
    fetched: bool,
}

impl Seeds {
    pub(crate) fn of(message: &RunFunctionRequest) -> Self {
        let context = message.context.as_ref();
        let context: Context = context
            .and_then(|context| context.parse().ok())
            .unwrap_or_default();
        let names = message.required_resources.keys();
        Self {
            names: match context.fetched {
                true => BTreeSet::new(),
                false => names.cloned().collect(),
            },
            is_marked: context.fetched,
        }
    }

    /// Whether something is required, and all of it is among them. A Composition may require resources too, under other names.
    pub(crate) fn have_all(&self, requirements: Option<&Requirements>) -> bool {
        requirements.is_some_and(|required| {
            let mut names = required.resources.keys();
            !required.resources.is_empty() && names.all(|name| self.names.contains(name))
        })
    }

    /// Returns the context for the next call, with the mark if that call gets what this one requires.
    pub(crate) fn marked(
        &self,
        requirements: Option<&Requirements>,
        context: Option<Document>,
    ) -> Option<Document> {
        let requires = requirements.is_some_and(|all| !all.resources.is_empty());
        if !requires || self.is_marked || self.have_all(requirements) {
            return context;
        }
        let Ok(mark) = Document::from_value(&BTreeMap::from([(FETCHED, true)])) else {
            return context;
        };
        Some(context.unwrap_or_default().joined(mark))
    }
}
