//! The operators of the previous version, as far as a dump has what they wanted.

use std::collections::BTreeSet;
use std::sync::Arc;

use provider_composer::{
    Composed, Deletion, DesiredState, Failure, Key, ObservedState, Operator, Owner, ResourceKind,
    Use,
};
use provider_composer_testing::dump::{Dump, Dumped};
use provider_operators::control_plane_operators;
use serde_json::Value;

/// An operator that wants what is in a dump.
struct Older {
    operator: Box<dyn Operator>,
    dump: Arc<Dump>,
}

/// The operators of the version that wrote a dump.
pub fn operators(dump: &Arc<Dump>) -> Vec<Box<dyn Operator>> {
    let operators = control_plane_operators().into_iter();
    let older = |operator| -> Box<dyn Operator> {
        Box::new(Older {
            operator,
            dump: Arc::clone(dump),
        })
    };
    operators.map(older).collect()
}

impl Operator for Older {
    fn name(&self) -> &'static str {
        self.operator.name()
    }

    fn subject(&self) -> ResourceKind {
        self.operator.subject()
    }

    fn deletion(&self) -> Deletion {
        self.operator.deletion()
    }

    fn uses(&self) -> Vec<Use> {
        self.operator.uses()
    }

    fn composed(&self, resource: &Value, _: &ObservedState<'_>) -> Result<Composed, Failure> {
        let metadata = &resource["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
        let mut desired = DesiredState::default();
        for dumped in self.owned(&metadata["uid"]) {
            match dumped.applied(self.name()) {
                Some(applied) => drop(desired.objects.insert(dumped.key(), applied)),
                None => desired.keep(dumped.key()),
            }
        }
        let subject = Key::new(self.subject(), &text("namespace"), &text("name"));
        let mut objects = self.dump.objects.iter();
        let before = objects.find(|dumped| dumped.key() == subject);
        Ok(Composed {
            desired,
            status: before.map_or(Value::Null, |dumped| dumped.object["status"].clone()),
            failed: BTreeSet::new(),
            owner: Owner {
                kind: self.subject().kind.to_owned(),
                namespace: text("namespace"),
                name: text("name"),
            },
        })
    }
}

impl Older {
    fn owned(&self, uid: &Value) -> impl Iterator<Item = &Dumped> {
        self.dump.objects.iter().filter(move |dumped| {
            let references = dumped.object["metadata"]["ownerReferences"].as_array();
            let mut references = references.into_iter().flatten();
            references.any(|reference| reference["uid"] == *uid)
        })
    }
}
