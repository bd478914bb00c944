//! How a control plane comes from one release to another, phase by phase, and back when one fails.

mod completion;
mod phase;

use std::collections::BTreeMap;

use c5c3_api::control_plane::{ReleaseUpdate, UpdatePhase};
use jiff::{SignedDuration, Timestamp};
use provider_composer::{Failure, Progress, Reason, second};
use provider_openstack::Release;
use provider_openstack::table::Tags;

use crate::graph::{Node, Step};
use crate::node_state::{NodeState, NodeStates, is_optional};
use crate::recipe::Recipe;
use phase::{following, is_under_way, reason};

/// How long a phase may take.
pub const TIMEOUT: SignedDuration = SignedDuration::from_mins(30);

/// How long it is shown that a change is done.
const SHOWN: SignedDuration = SignedDuration::from_mins(1);

/// Where a control plane is between two releases. It follows from its status and from what there is, so it survives any
/// restart.
pub struct Rollout {
    /// The step that it is in.
    pub phase: UpdatePhase,
    /// The last release that ran well.
    pub good: Option<Release>,
    /// The change that goes on, or that failed last.
    pub update: Option<ReleaseUpdate>,
    /// Whether the wanted release runs.
    pub progress: Progress,
    /// When to look again.
    pub wake: Option<Timestamp>,
    releases: BTreeMap<Node, &'static Tags>,
}

impl Rollout {
    /// Where a control plane is, and which release each node is to have.
    ///
    /// # Errors
    /// A release isn't known.
    pub fn decide(
        recipe: &Recipe<'_>,
        states: &NodeStates,
        now: Timestamp,
    ) -> Result<Self, Failure> {
        let wanted = Release::tags(&recipe.spec().open_stack_release)?;
        let status = &recipe.subject.status;
        let view = View {
            recipe,
            states,
            now,
            wanted,
        };
        match status.release.as_deref() {
            None => Ok(view.install()),
            Some(good) => {
                let good = Release::tags(good)?;
                Ok(Change { good, view }.decide())
            }
        }
    }

    /// The images that a node is to have.
    pub fn tags(&self, node: Node) -> Option<&'static Tags> {
        self.releases.get(&node).copied()
    }
}

/// What a decision looks at.
struct View<'a> {
    recipe: &'a Recipe<'a>,
    states: &'a NodeStates,
    now: Timestamp,
    wanted: &'static Tags,
}

impl View<'_> {
    /// Nothing runs yet: every node simply gets the wanted release.
    fn install(&self) -> Rollout {
        let release = self.wanted.release;
        let waits = self.waits_for(self.wanted, |_| true);
        let progress = match &waits {
            None => Progress::Ready,
            Some(message) => {
                let message = format!("OpenStack {release} is being installed: {message}");
                Progress::waiting(Reason::Installing, message)
            }
        };
        Rollout {
            phase: UpdatePhase::Idle,
            good: waits.is_none().then_some(release),
            update: None,
            progress,
            wake: None,
            releases: self.all(self.wanted),
        }
    }

    /// One release for every node that can run it.
    fn all(&self, tags: &'static Tags) -> BTreeMap<Node, &'static Tags> {
        let steps = self.recipe.graph.steps();
        steps
            .map(|step| (step.node, self.reachable(step.node, tags)))
            .collect()
    }

    /// The release of a node that is to have another: its own, where it can't come back from a later one.
    fn reachable(&self, node: Node, tags: &'static Tags) -> &'static Tags {
        let runs = self.states.get(&node).and_then(NodeState::release);
        match runs {
            Some(runs) if runs.release > tags.release => runs,
            _ => tags,
        }
    }

    /// The first of some nodes that doesn't run with a release yet.
    fn waits_for(&self, tags: &'static Tags, belongs: impl Fn(&Step) -> bool) -> Option<String> {
        let graph = &self.recipe.graph;
        let steps = graph.steps();
        let mut steps =
            steps.filter(|step| !is_optional(step, graph, self.states) && belongs(step));
        steps.find_map(|step| {
            let release = self.reachable(step.node, tags).release.to_string();
            match self.states.get(&step.node) {
                Some(state) if state.serves(&release) => None,
                Some(state) if state.progress.is_ready() => {
                    let computes = state.computes().map(|computes| computes.message);
                    let why = computes.filter(|why| !why.is_empty());
                    let why = why.map_or_else(String::new, |why| format!(": {why}"));
                    Some(format!("{} doesn't run {release} yet{why}", step.title()))
                }
                Some(state) => Some(state.message().to_owned()),
                None => Some(format!("{} doesn't exist yet", step.title())),
            }
        })
    }
}

/// A control plane that runs one release.
struct Change<'a> {
    good: &'static Tags,
    view: View<'a>,
}

impl Change<'_> {
    fn decide(self) -> Rollout {
        let status = &self.view.recipe.subject.status;
        let phase = status.update_phase.unwrap_or(UpdatePhase::Idle);
        let update = status.update.clone();
        let (good, wanted) = (self.good.release, self.view.wanted.release);
        let returning = phase == UpdatePhase::RollingBack
            || is_under_way(phase)
                && update.as_ref().map(|update| &update.release) != Some(&wanted.to_string());
        if returning && let Some(message) = self.view.waits_for(self.good, |_| true) {
            return match self.resumes(update.as_ref()) {
                true => self.advance(UpdatePhase::UpdatingInfra),
                false => self.roll_back(update, &message),
            };
        }
        if wanted == good {
            return self.rest(phase, update);
        }
        let generation = self.view.recipe.subject.metadata.generation;
        let failed = update.filter(|update| update.release == wanted.to_string());
        let failed = failed.filter(|update| update.failed_generation == generation);
        if let Some((update, failure)) = failed.and_then(|update| {
            let failure = update.failure.clone()?;
            Some((update, failure))
        }) {
            return self.stay(Some(update), Reason::UpdateFailed, failure);
        }
        if let Err(refusal) = good.may_become(wanted) {
            return self.stay(None, Reason::ReleaseNotReachable, refusal);
        }
        self.advance(if returning { UpdatePhase::Idle } else { phase })
    }

    /// Whether a change goes on that can't return, because a node refuses to: it was asked for again.
    fn resumes(&self, update: Option<&ReleaseUpdate>) -> bool {
        let wanted = self.view.wanted.release.to_string();
        let generation = self.view.recipe.subject.metadata.generation;
        let is_asked = update.is_some_and(|update| {
            update.release == wanted && update.failed_generation != generation
        });
        is_asked && self.view.states.values().any(NodeState::cannot_return)
    }

    /// Goes on as far as what there is allows.
    fn advance(self, phase: UpdatePhase) -> Rollout {
        let View { recipe, now, .. } = self.view;
        let wanted = self.view.wanted.release;
        let begun = recipe.subject.status.update.as_ref();
        let begun = begun.filter(|_| is_under_way(phase));
        let going = begun.filter(|update| update.failure.is_none());
        let since = going.and_then(|update| update.since.as_ref()?.parse().ok());
        let mut since: Timestamp = since.unwrap_or(now);
        let mut phase = match begun {
            Some(_) => phase,
            None => UpdatePhase::Validating,
        };
        let waits = loop {
            if let Some(message) = self.waits_in(phase) {
                break Some(message);
            }
            since = now;
            phase = following(phase);
            if phase == UpdatePhase::Complete {
                break None;
            }
        };
        let update = ReleaseUpdate {
            release: wanted.to_string(),
            since: Some(second(since)),
            ..ReleaseUpdate::default()
        };
        let Some(message) = waits else {
            return Rollout {
                phase,
                good: Some(wanted),
                update: Some(update),
                progress: Progress::Ready,
                wake: Some(now + SHOWN),
                releases: self.view.all(self.view.wanted),
            };
        };
        let from = completion::counts_from(recipe, self.view.states, &update.release, since, now);
        let deadline = from + TIMEOUT;
        let timed = phase != UpdatePhase::Validating;
        if let Some(failure) = self.failure(phase, &message, timed && now >= deadline) {
            let update = ReleaseUpdate {
                failure: Some(failure.clone()),
                failed_generation: recipe.subject.metadata.generation,
                ..update
            };
            return self.roll_back(Some(update), &failure);
        }
        let from = self.good.release;
        let message = format!("OpenStack {from} becomes {wanted}: {message}");
        Rollout {
            phase,
            good: Some(from),
            update: Some(update),
            progress: Progress::waiting(reason(phase), message),
            wake: timed.then_some(deadline),
            releases: self.releases(phase),
        }
    }

    /// What a phase waits for.
    fn waits_in(&self, phase: UpdatePhase) -> Option<String> {
        let (good, wanted) = (self.good, self.view.wanted);
        match phase {
            UpdatePhase::Validating => self.view.waits_for(good, |_| true),
            UpdatePhase::UpdatingInfra => self.view.waits_for(wanted, |step| step.phase == 1),
            UpdatePhase::UpdatingKeystone => {
                let is_early = |step: &Step| (2..=3).contains(&step.phase);
                self.view.waits_for(wanted, is_early)
            }
            UpdatePhase::UpdatingServices => self.view.waits_for(wanted, |step| step.phase > 3),
            _ => self.view.waits_for(wanted, |_| true),
        }
    }

    /// Why a phase has failed, if it has: a node says so that has the wanted release, or time is up.
    fn failure(&self, phase: UpdatePhase, message: &str, is_late: bool) -> Option<String> {
        let wanted = self.view.wanted.release.to_string();
        let mut states = self.view.states.values();
        let broken = states.find(|state| {
            state.progress.is_failed() && state.text("/spec/release") == Some(&wanted)
        });
        let why = match (broken, is_late) {
            (Some(broken), _) => broken.message().to_owned(),
            (None, true) => {
                let minutes = TIMEOUT.as_mins();
                format!("it took more than {minutes} minutes, and {message}")
            }
            (None, false) => return None,
        };
        let good = self.good.release;
        Some(format!(
            "the change to OpenStack {wanted} failed in {phase:?}: {why}. Everything whose database allows it returns to {good}; fix \
             the cause and change the spec to try again"
        ))
    }

    /// Each node's release: the wanted one as soon as it is due, and never the old one again.
    fn releases(&self, phase: UpdatePhase) -> BTreeMap<Node, &'static Tags> {
        let wanted = self.view.wanted;
        let text = wanted.release.to_string();
        let is_due = |step: &Step| match step.phase {
            1..=3 => phase >= UpdatePhase::UpdatingKeystone,
            order => {
                phase >= UpdatePhase::UpdatingServices
                    && self
                        .view
                        .waits_for(wanted, |other| (4..order).contains(&other.phase))
                        .is_none()
            }
        };
        let steps = self.view.recipe.graph.steps();
        steps
            .map(|step| {
                let state = self.view.states.get(&step.node);
                let has = state.is_some_and(|state| state.text("/spec/release") == Some(&text));
                (
                    step.node,
                    match has || is_due(step) {
                        true => wanted,
                        false => self.view.reachable(step.node, self.good),
                    },
                )
            })
            .collect()
    }

    /// Everything returns to the good release.
    fn roll_back(self, update: Option<ReleaseUpdate>, message: &str) -> Rollout {
        let good = self.good.release;
        let failure = update.as_ref().and_then(|update| update.failure.clone());
        let progress = match failure {
            Some(failure) => Progress::failed(Reason::RollingBack, failure),
            None => {
                let message = format!("everything returns to OpenStack {good}: {message}");
                Progress::waiting(Reason::RollingBack, message)
            }
        };
        Rollout {
            phase: UpdatePhase::RollingBack,
            good: Some(good),
            update,
            progress,
            wake: None,
            releases: self.view.all(self.good),
        }
    }

    /// The wanted release can't be had, and the good one runs on.
    fn stay(self, update: Option<ReleaseUpdate>, reason: Reason, message: String) -> Rollout {
        Rollout {
            phase: UpdatePhase::Idle,
            good: Some(self.good.release),
            update,
            progress: Progress::failed(reason, message),
            wake: None,
            releases: self.view.all(self.good),
        }
    }

    /// The wanted release is the good one. That it has just become so is shown for a moment.
    fn rest(self, phase: UpdatePhase, update: Option<ReleaseUpdate>) -> Rollout {
        let since = update
            .as_ref()
            .and_then(|update| update.since.as_ref()?.parse().ok());
        let until = since.map(|since: Timestamp| since + SHOWN);
        let shown = until.filter(|until| phase == UpdatePhase::Complete && self.view.now < *until);
        Rollout {
            phase: match shown {
                Some(_) => UpdatePhase::Complete,
                None => UpdatePhase::Idle,
            },
            good: Some(self.good.release),
            update: update.filter(|_| shown.is_some()),
            progress: Progress::Ready,
            wake: shown,
            releases: self.view.all(self.good),
        }
    }
}
