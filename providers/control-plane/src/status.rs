//! What is said of a control plane.

use std::collections::BTreeMap;

use c5c3_api::control_plane::{
    ControlPlaneServices, ControlPlaneSpec, ControlPlaneStatus, OtherService, ServiceState,
};
use c5c3_api::unsupported::{Unsupported, sentence};
use provider_composer::{Conditions, Progress, Reason};

use crate::graph::{INFRASTRUCTURE, Node, Step};
use crate::node_state::{NodeStates, is_optional, memcached_update};
use crate::recipe::Recipe;
use crate::rollout::Rollout;

/// The first of the phases of services other than Keystone.
const SERVICES: u8 = 4;

/// Writes the status, and what holds: of the infrastructure, of Keystone, of the catalogue, of the services all and each, and
/// of the release.
pub fn write(
    recipe: &Recipe<'_>,
    rollout: &Rollout,
    states: &NodeStates,
    conditions: &mut Conditions,
) -> ControlPlaneStatus {
    let graph = &recipe.graph;
    let sum = |belongs: &dyn Fn(&Step) -> bool| {
        let steps = graph.steps();
        let steps = steps.filter(|step| !is_optional(step, graph, states) && belongs(step));
        let mut each = steps.filter_map(|step| states.get(&step.node));
        let unready = each.find(|state| !state.progress.is_ready());
        unready.map_or(Progress::Ready, |state| state.progress.clone())
    };
    conditions.set(
        "InfrastructureReady",
        &sum(&|step| step.phase == INFRASTRUCTURE),
    );
    for node in [Node::Keystone, Node::Catalogue] {
        if graph.contains(node) {
            conditions.set(node.step().condition, &sum(&|step| step.node == node));
        }
    }
    conditions.set("ServicesReady", &sum(&|step| step.phase >= SERVICES));
    for step in graph.steps().filter(|step| step.phase >= SERVICES) {
        let progress = states.get(&step.node).map(|state| &state.progress);
        let progress = progress.unwrap_or(&Progress::Ready);
        match is_optional(step, graph, states) {
            true => conditions.note(step.condition, progress),
            false => conditions.set(step.condition, progress),
        }
    }
    conditions.set("UpToDate", &rollout.progress);
    if let Some(unsupported) = unsupported(recipe.spec(), &recipe.services) {
        conditions.note("ServicesSupported", &unsupported);
    }
    if let Some(update) = memcached_update(states, recipe.namespace()) {
        conditions.note("MemcachedUpdated", &update);
    }
    ControlPlaneStatus {
        conditions: Vec::new(),
        update_phase: Some(rollout.phase),
        release: rollout.good.map(|release| release.to_string()),
        update: rollout.update.clone(),
        infrastructure: None,
        services: services(recipe, states),
        endpoints: endpoints(recipe, states),
        connection: None,
        agent_endpoints: Vec::new(),
        verified: None,
    }
}

/// What is asked for and not deployed.
fn unsupported(spec: &ControlPlaneSpec, services: &ControlPlaneServices) -> Option<Progress> {
    let is_enabled =
        |service: &Option<OtherService>| service.as_ref().is_some_and(|service| service.enabled);
    let ceph = spec
        .storage
        .as_ref()
        .and_then(|storage| storage.ceph.as_ref());
    let requests = [
        (
            is_enabled(&services.octavia),
            "spec.services.octavia",
            Unsupported::Octavia,
        ),
        (
            is_enabled(&services.manila),
            "spec.services.manila",
            Unsupported::Manila,
        ),
        (
            ceph.is_some_and(|ceph| ceph.filesystem.is_some()),
            "spec.storage.ceph.filesystem",
            Unsupported::Filesystem,
        ),
        (
            ceph.is_some_and(|ceph| ceph.object_store.is_some()),
            "spec.storage.ceph.objectStore",
            Unsupported::ObjectStore,
        ),
    ];
    let message = sentence(&requests, "remove each")?;
    Some(Progress::failed(Reason::Unsupported, message))
}

fn services(recipe: &Recipe<'_>, states: &NodeStates) -> BTreeMap<String, ServiceState> {
    let steps = steps(recipe);
    let services = steps.filter_map(|step| {
        let state = states.get(&step.node)?;
        let ready = state.progress.is_ready();
        let before = recipe.subject.status.services.get(step.name);
        let version = match ready {
            true => state.text("/spec/image/tag").map(str::to_owned),
            false => before.and_then(|before| before.version.clone()),
        };
        let service = ServiceState {
            ready,
            version,
            message: Some(state.message().to_owned()).filter(|message| !message.is_empty()),
        };
        Some((step.name.to_owned(), service))
    });
    services.collect()
}

fn endpoints(recipe: &Recipe<'_>, states: &NodeStates) -> BTreeMap<String, String> {
    let endpoints = steps(recipe).filter_map(|step| {
        let endpoint = states.get(&step.node)?.text("/status/publicEndpoint")?;
        Some((step.name.to_owned(), endpoint.to_owned()))
    });
    endpoints.collect()
}

/// Keystone and the other services.
fn steps<'a>(recipe: &'a Recipe<'_>) -> impl Iterator<Item = &'static Step> + 'a {
    let is_service = |step: &&Step| step.phase > INFRASTRUCTURE && step.node != Node::Catalogue;
    recipe.graph.steps().filter(is_service)
}
