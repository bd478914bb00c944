//! The graph of a ControlPlane, as its operator has it, with how far each part is, and its URLs.

use c5c3_api::control_plane::ControlPlaneSpec;
use c5c3_api::hypervisor::FIRST_CELL;
use jiff::Timestamp;
use provider_composer::{ObservedState, Unobserved};
use provider_control_plane::graph::{self, Step};
use provider_control_plane::{ControlPlane, Recipe};
use serde::Deserialize;

use crate::graph::{Graph, Node, Progress};
use crate::manifest::Manifest;
use crate::readiness::{Readiness, conditions, readiness};

/// The graph of a ControlPlane; nothing for other resources. `object` looks at what there is in its namespace: by
/// kind and name.
pub fn graph<'a>(
    resource: &Manifest,
    object: impl Fn(&str, &str) -> Option<&'a Manifest>,
) -> Option<Graph> {
    if resource.kind() != "ControlPlane" {
        return None;
    }
    let spec = ControlPlaneSpec::deserialize(resource.spec()).ok()?;
    let graph = graph::Graph::of(&spec);
    let steps: Vec<&Step> = graph.steps().collect();
    let position = |step: &Step| steps.iter().position(|other| other.node == step.node);
    let mut nodes: Vec<Node> = Vec::new();
    for step in &steps {
        let needs: Vec<usize> = graph.needs(step).filter_map(position).collect();
        let mut needed = needs.iter().filter_map(|need| nodes.get(*need));
        let has_turn = needed.all(|need| need.progress == Progress::Ready);
        let progress = match step.objects.first() {
            Some((kind, name)) => of_object(object(kind.kind, name)),
            None if has_turn => of_condition(resource, step.condition),
            None => Progress::Held,
        };
        nodes.push(Node {
            name: step.name.to_owned(),
            title: step.title(),
            phase: step.phase,
            progress,
            needs,
            objects: step
                .objects
                .iter()
                .map(|(kind, name)| (kind.kind, *name))
                .collect(),
        });
    }
    Some(Graph {
        title: resource.title(),
        nodes,
    })
}

/// The URLs of a service's API in the catalogue, or of servers' consoles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The service's name.
    pub service: String,
    /// For clients outside the cluster; none where the API isn't exposed.
    pub public: Option<String>,
    /// Within the cluster; none of consoles, which browsers open.
    pub internal: Option<String>,
}

/// The URLs of a ControlPlane, Keystone's first; none for other resources.
pub fn endpoints(resource: &Manifest) -> Vec<Endpoint> {
    if resource.kind() != "ControlPlane" {
        return Vec::new();
    }
    let Ok(subject) = ControlPlane::deserialize(resource.value()) else {
        return Vec::new();
    };
    let observed = ObservedState::new(&Unobserved, Timestamp::UNIX_EPOCH);
    let recipe = Recipe::of(&subject, &observed);
    let services = recipe.enabled().map(|service| {
        let internal = recipe.endpoint(service);
        let public = Some(recipe.public_endpoint(service));
        Endpoint {
            service: service.name.to_owned(),
            public: public.filter(|public| *public != internal),
            internal: Some(internal),
        }
    });
    let consoles = recipe.cells().filter_map(|(cell, consoles)| {
        Some(Endpoint {
            service: match cell {
                FIRST_CELL => "consoles".to_owned(),
                cell => format!("consoles of {cell}"),
            },
            public: Some(consoles?.url()),
            internal: None,
        })
    });
    services.chain(consoles).collect()
}

fn of_object(object: Option<&Manifest>) -> Progress {
    match object.map(readiness) {
        Some(Readiness::Ready) => Progress::Ready,
        Some(Readiness::Waiting(why)) => Progress::Coming(why),
        None => Progress::Held,
    }
}

/// The progress of a part without objects, from the ControlPlane's conditions.
fn of_condition(resource: &Manifest, type_: &str) -> Progress {
    let mut conditions = conditions(resource).into_iter();
    match conditions.find(|condition| condition.type_ == type_) {
        Some(said) if said.status == "True" => Progress::Ready,
        Some(said) => Progress::Coming(said.message),
        None => Progress::Held,
    }
}
