//! What one of this project's operators composes for a resource.

use std::cmp::Ordering;

use c5c3_api::Condition;
use serde_json::Value;

use crate::control_plane;
use crate::controller::Controller;
use crate::graph::Graph;
use crate::manifest::Manifest;
use crate::operators;
use crate::readiness::{Readiness, conditions, readiness};
use crate::store::{Key, Store};

/// A resource of one of this project's operators, and the result.
#[derive(Clone, Debug)]
pub struct Operated {
    /// The operator.
    pub operator: &'static str,
    /// The resource, with its status.
    pub resource: Manifest,
    /// Its conditions.
    pub conditions: Vec<Condition>,
    /// Why it can't be composed, in the operator's words.
    pub failure: Option<String>,
    /// What is composed for it, in order.
    pub made: Vec<PlannedObject>,
    /// What waits for what, where the resource is a ControlPlane.
    pub graph: Option<Graph>,
    /// The same as manifests, without status.
    pub manifests: Vec<Manifest>,
}

/// An object in a cluster.
#[derive(Clone, Debug)]
pub struct PlannedObject {
    /// API group; empty for Kubernetes' own first one.
    pub group: String,
    /// Namespace; empty for a cluster-scoped object.
    pub namespace: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
    /// How far it is.
    pub state: State,
    /// The message of its operator, while it waits.
    pub says: String,
    /// What one of this project's operators composes for it.
    pub operated: Option<Box<Operated>>,
}

/// How far an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// It is as wanted and works.
    Ready,
    /// It waits for an operator.
    Waiting(Option<&'static str>),
}

impl Operated {
    /// The result for a resource; none where no operator of this project reconciles it.
    pub fn of(store: &Store, controller: &Controller<'_>, key: &Key) -> Option<Self> {
        let resource = store.get(key)?.clone();
        let reconciled = controller.reconciled.get(key)?;
        let keys = || reconciled.steps.iter().flatten();
        let graph = control_plane::graph(&resource, |kind, name| {
            let mut made = store.made_by(key);
            let found = made.find(|(key, _)| key.kind == kind && key.name == name);
            found.map(|(_, manifest)| manifest)
        });
        Some(Self {
            graph,
            operator: reconciled.operator,
            conditions: conditions(&resource),
            failure: reconciled.failure.as_ref().map(ToString::to_string),
            made: keys()
                .filter_map(|key| object(store, controller, key))
                .collect(),
            manifests: keys()
                .filter_map(|key| store.get(key))
                .map(|manifest| manifest.clone().with_status(Value::Null))
                .collect(),
            resource,
        })
    }

    /// A resource as it is in a cluster, with what was made for it there, and what one of our operators makes of that.
    pub fn live(
        operator: &'static str,
        resource: Manifest,
        made: Vec<(Manifest, Option<Self>)>,
    ) -> Self {
        let graph = control_plane::graph(&resource, |kind, name| {
            let mut made = made.iter().map(|(manifest, _)| manifest);
            made.find(|manifest| manifest.kind() == kind && manifest.name() == name)
        });
        let (manifests, made) = made
            .into_iter()
            .map(|(manifest, operated)| {
                let object = planned(&manifest, operated.map(Box::new));
                (manifest, object)
            })
            .unzip();
        Self {
            operator,
            conditions: conditions(&resource),
            failure: None,
            graph,
            made,
            manifests,
            resource,
        }
    }

    /// It, and whatever was made for it that one of our operators works on too.
    pub fn all(&self) -> Vec<&Self> {
        let made = self.made.iter();
        let made = made.filter_map(|object| object.operated.as_deref());
        [self].into_iter().chain(made.flat_map(Self::all)).collect()
    }

    /// Whether the resource is ready.
    pub fn is_ready(&self) -> bool {
        readiness(&self.resource).is_ready()
    }

    /// How many parts are ready, and how many there are: those of the graph, or else what was made.
    pub fn progress(&self) -> (usize, usize) {
        match &self.graph {
            Some(graph) => graph.ready(),
            None => {
                let ready = self
                    .made
                    .iter()
                    .filter(|object| object.state == State::Ready);
                (ready.count(), self.made.len())
            }
        }
    }
}

impl PlannedObject {
    /// The order in which objects are shown.
    pub fn order(&self, other: &Self) -> Ordering {
        let key = |object: &Self| {
            [&object.namespace, &object.kind, &object.group, &object.name].map(String::clone)
        };
        key(self).cmp(&key(other))
    }
}

fn object(store: &Store, controller: &Controller<'_>, key: &Key) -> Option<PlannedObject> {
    let operated = Operated::of(store, controller, key).map(Box::new);
    Some(planned(store.get(key)?, operated))
}

fn planned(manifest: &Manifest, operated: Option<Box<Operated>>) -> PlannedObject {
    let (state, says) = match readiness(manifest) {
        Readiness::Ready => (State::Ready, String::new()),
        Readiness::Waiting(why) => (State::Waiting(operators::responsible(manifest)), why),
    };
    PlannedObject {
        group: manifest.group().to_owned(),
        namespace: manifest.namespace().to_owned(),
        kind: manifest.kind().to_owned(),
        name: manifest.name().to_owned(),
        state,
        says,
        operated,
    }
}
