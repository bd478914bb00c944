//! The composer of a ControlPlane: the recipe, from infrastructure to tests.

use std::collections::BTreeMap;

use c5c3_api::control_plane::{ControlPlaneSpec, ControlPlaneStatus, RunningInfrastructure};
use c5c3_kinds::mariadb::server::Backup;
use c5c3_kinds::{Manifest, cert_manager, prometheus};
use k8s_openapi::api::batch::v1::CronJob;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::storage::v1::StorageClass;
use provider_composer::{
    Composer, DesiredState, Failure, Lookup, Metadata, ObservedState, Progress, Reason, Resource,
    ResourceKind, Subject, Use,
};
use provider_openstack::table::Tags;

use crate::catalogue::{self, Catalogue};
use crate::deletion;
use crate::graph::{GRAPH, Node, Step};
use crate::infrastructure::{RABBITMQ_UNBLOCKED, Sizes};
use crate::node_state::{NodeState, NodeStates, observe};
use crate::recipe::{ControlPlane, Recipe};
use crate::rollout::Rollout;
use crate::status;

/// Composes ControlPlanes.
pub struct ControlPlaneComposer;

impl Composer for ControlPlaneComposer {
    type Spec = ControlPlaneSpec;
    type Status = ControlPlaneStatus;
    const OPERATOR: &'static str = "c5c3-operator";
    const ORDERED_DELETION: bool = true;

    fn uses(&self) -> Vec<Use> {
        let objects = GRAPH.iter().flat_map(|step| &step.objects);
        let composed = objects.map(|(kind, _)| Use::composes(*kind));
        let others = [
            Use::reads(ResourceKind::of::<ControlPlaneSpec>()),
            Use::composes(NetworkPolicy::KIND),
            Use::composes(Manifest::<cert_manager::Certificate>::KIND),
            Use::composes(Manifest::<cert_manager::Issuer>::KIND),
            Use::composes(Manifest::<prometheus::ServiceMonitor>::KIND),
            Use::composes(Backup::KIND),
            Use::keeps(PersistentVolumeClaim::KIND),
            Use::reads(CronJob::KIND),
            Use::reads(StorageClass::KIND),
        ];
        let offers = catalogue::OFFERS.map(Use::composes);
        let all = composed
            .chain(catalogue::uses())
            .chain(others)
            .chain(offers);
        // What is composed is looked at too.
        let mut most = BTreeMap::new();
        for used in all {
            let access = most.entry(used.kind).or_insert(used.access);
            *access = used.access.max(*access);
        }
        let each = most.into_iter();
        each.map(|(kind, access)| Use { kind, access }).collect()
    }

    fn compose(
        &self,
        subject: &Subject<ControlPlaneSpec>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<ControlPlaneStatus, Failure> {
        let mut recipe = Recipe::of(subject, observed);
        if subject.is_deleted() {
            return deletion::tear_down(&mut recipe, desired);
        }
        check_is_only(subject, observed)?;
        recipe.graph.check()?;
        let mut states = observe(&recipe, GRAPH.iter());
        let is = |node: Node, what: fn(&NodeState) -> bool| states.get(&node).is_some_and(what);
        let unwanted = recipe.graph.keep_needed(
            |node| is(node, NodeState::exists),
            |node| is(node, NodeState::may_exist),
        );
        let removal = deletion::removal(&unwanted, &states);
        states.retain(|node, _| recipe.graph.contains(*node));
        recipe.network(desired);
        recipe.public_certificates(desired);
        let unblocked = recipe.alarms(&mut states, desired);
        let public = catalogue(&recipe, &mut states, desired)?;
        let networks = catalogue::networks(&recipe, &states, desired);
        recipe.wait_for_external_network(networks.external.as_ref(), &mut states);
        let rollout = Rollout::decide(&recipe, &states, observed.now())?;
        let sizes = Sizes::read(&recipe, &states);
        recipe.authority(&sizes, desired);
        for step in recipe.graph.steps() {
            if let Some(tags) = rollout.tags(step.node) {
                compose(step, tags, &recipe, &mut states, &sizes, desired);
            }
        }
        // Before what waits for services: Ready says the first that it waits for.
        let status = status::write(&recipe, &rollout, &states, &mut desired.conditions);
        if let Some(unblocked) = unblocked {
            desired
                .conditions
                .note_result(RABBITMQ_UNBLOCKED, &unblocked);
        }
        catalogue::offers(&recipe, &states, desired);
        networks.report(&mut desired.conditions);
        if states.get(&Node::MariaDb).is_some_and(NodeState::may_exist) {
            recipe.backup(&sizes, desired);
        }
        sizes.accepted(&mut desired.conditions);
        recipe.report_ovn_issuer(&sizes, &mut desired.conditions);
        // While something can't be read, what was said before stays.
        let before = || subject.status.infrastructure.clone();
        let infrastructure = sizes.running().ok().or_else(before);
        if let Some(moment) = rollout.wake {
            desired.requeue_at(moment);
        }
        let catalogue = states.get(&Node::Catalogue);
        let may_create = catalogue.is_some_and(|state| state.progress.is_ready());
        let connection = catalogue::tenant(&recipe, desired, may_create)?;
        let agent_endpoints = recipe.hypervisor_access(desired);
        let verified = recipe.verified(&states, &mut desired.conditions);
        recipe.report_exposure(&states, &public, &mut desired.conditions);
        recipe.report_pools(&mut desired.conditions);
        recipe.report_renewals(&mut desired.conditions);
        recipe.report_ovn_backups(&mut desired.conditions);
        if let Some(progress) = removal {
            desired.conditions.note("RemovedPartsDeleted", &progress);
        }
        Ok(ControlPlaneStatus {
            infrastructure,
            connection,
            agent_endpoints,
            verified,
            ..status
        })
    }
}

/// Refuses a second ControlPlane in a namespace, since both would own the same objects. The first is the one with databases or message buses
/// there, or else the older one. Times of creation are whole seconds, so the name decides between equal ones.
fn check_is_only(subject: &ControlPlane, observed: &ObservedState<'_>) -> Result<(), Failure> {
    let all = observed.list::<ControlPlane>(subject.namespace(), &[]);
    let unknown = |why: String| Failure::transient(Reason::LookupFailed, why);
    let all = all.known().map_err(unknown)?.unwrap_or_default();
    let rank = |metadata: &Metadata, status: &ControlPlaneStatus| {
        let running = status.infrastructure.as_ref();
        let is_new = running.is_none_or(|running| *running == RunningInfrastructure::default());
        let created = metadata.creation_timestamp.clone();
        (is_new, created, metadata.name.clone())
    };
    let own = rank(&subject.metadata, &subject.status);
    let mut others = all.iter();
    let first = others.find(|other| rank(&other.metadata, &other.body.status) < own);
    match first {
        None => Ok(()),
        Some(first) => Err(Failure::new(
            Reason::AnotherControlPlane,
            format!(
                "ControlPlane {} is in this namespace already, and one namespace holds one control plane: delete this one, \
                 and create it in another namespace",
                first.metadata.name
            ),
        )),
    }
}

/// Composes the catalogue as soon as Keystone is ready, and from then on. One that somebody else keeps is no node, but what
/// was made before that was said is still looked after. Returns the progress of the public endpoints of exposed services.
fn catalogue(
    recipe: &Recipe<'_>,
    states: &mut NodeStates,
    desired: &mut DesiredState,
) -> Result<BTreeMap<Node, Progress>, Failure> {
    let step = Node::Catalogue.step();
    let keystone = blocker(step, recipe, states).filter(|_| !deletion::may_have_catalogue(recipe));
    let catalogue = match keystone {
        Some(need) => Catalogue::of(held(step, need, states)),
        None => catalogue::compose(recipe, desired)?,
    };
    if recipe.graph.contains(step.node) {
        states.insert(step.node, NodeState::of_itself(catalogue.progress));
    }
    Ok(catalogue.public)
}

/// Composes a node if nothing blocks it, or if it exists already. Notes what it waits for else.
fn compose(
    step: &'static Step,
    tags: &'static Tags,
    recipe: &Recipe<'_>,
    states: &mut NodeStates,
    sizes: &Sizes,
    desired: &mut DesiredState,
) {
    let Some(state) = states.get(&step.node) else {
        return;
    };
    if state.is_taken {
        return;
    }
    let is_blocked = state.is_blocked;
    if let Lookup::Unknown(_) = state.object {
        desired.kept.extend(step.keys(recipe.namespace()));
        return;
    }
    let exists = state.may_exist();
    let blocker = blocker(step, recipe, states).filter(|_| !exists);
    if let Some(need) = blocker {
        let progress = held(step, need, states);
        note(step, progress, states);
        return;
    }
    if is_blocked {
        return;
    }
    let volumes = match exists {
        true => Progress::Ready,
        false => recipe.volumes(step.node),
    };
    let needed = [
        recipe.passwords(step.node, desired),
        recipe.credential(step),
        volumes,
    ];
    let lacking = needed.into_iter().find(|progress| !progress.is_ready());
    if exists || lacking.is_none() {
        recipe.node(step.node, tags, sizes, desired);
    }
    if let Some(progress) = lacking {
        note(step, progress, states);
    }
}

/// The first need of a node that isn't ready.
fn blocker(step: &Step, recipe: &Recipe<'_>, states: &NodeStates) -> Option<&'static Step> {
    recipe.graph.needs(step).find(|need| {
        let state = states.get(&need.node);
        !state.is_some_and(|state| state.progress.is_ready())
    })
}

/// How far a node has come that isn't made yet, for want of another.
fn held(step: &Step, need: &Step, states: &NodeStates) -> Progress {
    let why = states.get(&need.node).map_or("", |state| state.message());
    let message = format!("{} waits for {}: {why}", step.title(), need.title());
    Progress::waiting(Reason::WaitingFor(need.word), message)
}

fn note(step: &Step, progress: Progress, states: &mut NodeStates) {
    if let Some(state) = states.get_mut(&step.node) {
        state.progress = progress;
    }
}
