//! What one of our operators makes of a resource.

use c5c3_api::Condition;

use crate::carrier::Carrier;
use crate::manifest::Manifest;
use crate::operators;
use crate::outcome::{PlannedObject, State};
use crate::readiness::{conditions, readiness};
use crate::store::{Key, Store};

/// A resource that one of our operators works on, and what comes of it.
#[derive(Clone, Debug)]
pub struct Operated {
    /// The operator.
    pub operator: &'static str,
    /// The resource, with its status.
    pub resource: Manifest,
    /// What holds of it.
    pub conditions: Vec<Condition>,
    /// Why it can't be composed, in the operator's words.
    pub failure: Option<String>,
    /// What is made for it: what is in one step is made as soon as the steps before have come far enough.
    pub steps: Vec<Vec<PlannedObject>>,
    /// The same as manifests, in the same order, without status.
    pub made: Vec<Manifest>,
}

impl Operated {
    /// What has come of a resource; nothing where no operator of ours works on it.
    pub fn of(store: &Store, carrier: &Carrier<'_>, key: &Key) -> Option<Self> {
        let resource = store.get(key)?.clone();
        let carried = carrier.carried.get(key)?;
        let steps = carried.steps.iter().map(|step| {
            let made = step.iter().filter_map(|key| object(store, carrier, key));
            let mut made: Vec<PlannedObject> = made.collect();
            made.sort_by(PlannedObject::order);
            made
        });
        let made = carried
            .steps
            .iter()
            .flatten()
            .filter_map(|key| store.get(key));
        Some(Self {
            operator: carried.operator,
            conditions: conditions(&resource),
            failure: carried.failure.as_ref().map(ToString::to_string),
            steps: steps.filter(|step| !step.is_empty()).collect(),
            made: made
                .map(|manifest| manifest.clone().with_status(serde_json::Value::Null))
                .collect(),
            resource,
        })
    }

    /// Whether the resource is ready.
    pub fn is_ready(&self) -> bool {
        readiness(&self.resource).is_ready()
    }
}

fn object(store: &Store, carrier: &Carrier<'_>, key: &Key) -> Option<PlannedObject> {
    let manifest = store.get(key)?;
    let state = match readiness(manifest).is_ready() {
        true => State::Ready,
        false => State::Waiting(operators::responsible(manifest)),
    };
    Some(PlannedObject {
        namespace: key.namespace.clone(),
        kind: key.kind.clone(),
        name: key.name.clone(),
        state,
        operated: Operated::of(store, carrier, key).map(Box::new),
    })
}
