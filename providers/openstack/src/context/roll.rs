//! The rollout of a service's components.

use provider_composer::{DesiredState, Progress, Reason};

use super::{APPLICATION_CREDENTIAL, ComponentState, PEERS, ServiceContext, Workload};
use crate::definition::ComponentKind;
use crate::prerequisite::{Prerequisite, progress};
use crate::rollout::{Controller, Rollout};

impl ServiceContext<'_> {
    /// Rolls out each component that may be, and sets its condition.
    pub(super) fn roll(&self, workload: &Prerequisite<Workload>, desired: &mut DesiredState) {
        let mut conditions: Vec<(&str, Progress)> = Vec::new();
        for state in &self.components {
            let reached = self.reach(state, workload, desired);
            let type_ = state.component.definition.condition;
            // Components of several cells share a condition. It reports the first that isn't ready.
            match conditions.iter_mut().find(|(other, _)| *other == type_) {
                Some((_, other)) if other.is_ready() => *other = reached,
                Some(_) => {}
                None => conditions.push((type_, reached)),
            }
        }
        for (type_, reached) in conditions {
            desired.conditions.set(type_, &reached);
        }
        let exposed = self
            .components
            .iter()
            .filter_map(|one| one.exposed.as_ref());
        // Other services and hypervisors don't use what is exposed, so none waits for a Gateway.
        if let Some(exposed) = first_unready(exposed) {
            desired.conditions.note("Exposed", exposed);
        }
        let monitored = self.components.iter();
        let monitored = monitored.filter_map(|one| one.monitored.as_ref());
        if let Some(monitored) = first_unready(monitored) {
            desired.conditions.note("Monitored", monitored);
        }
    }

    fn reach(
        &self,
        state: &ComponentState<'_>,
        workload: &Prerequisite<Workload>,
        desired: &mut DesiredState,
    ) -> Progress {
        let ComponentState {
            component, rollout, ..
        } = state;
        let ready = match (workload, &state.certificate) {
            (Ok(workload), Ok(certificate)) => self.may_roll(state).and_then(|()| {
                let mut pods = workload.pods.iter();
                let pods = pods.find(|pods| pods.component == component.name);
                let pods = pods.ok_or_else(|| Progress::Unknown {
                    message: format!("nothing says what component {} runs", component.name),
                })?;
                if !pods.prerequisites.is_ready() {
                    return Err(pods.prerequisites.clone());
                }
                if pods.peers.is_some() && rollout.progress.is_unknown() {
                    // They would be replaced if they lost their annotation.
                    return Err(rollout.progress.clone());
                }
                Ok((workload, pods, certificate))
            }),
            (Err(pending), _) => Err(pending.clone()),
            (_, certificate) => Err(progress(certificate)),
        };
        match ready {
            Ok((workload, pods, certificate)) => {
                let credential = workload.application_credential.clone();
                let peers = self.peers(rollout, pods, workload);
                let annotations = [(APPLICATION_CREDENTIAL, credential), (PEERS, peers)];
                let annotations = annotations.into_iter();
                let annotations =
                    annotations.filter_map(|(name, value)| Some((name.to_owned(), value?)));
                pods.compose(
                    component,
                    annotations.collect(),
                    certificate.as_ref(),
                    desired,
                );
                match (component.definition.kind, &pods.bus) {
                    (ComponentKind::Wsgi { .. }, _) => {
                        rollout.reached(&workload.migrations.databases())
                    }
                    (_, Some(bus)) => rollout.connected(bus),
                    (_, None) => rollout.progress.clone(),
                }
            }
            Err(pending) => {
                Rollout::keep(component, desired);
                pending
            }
        }
    }

    /// Whether a component may get the desired image: it has it already, or all components before it run it. For the first
    /// installation, all components start at once.
    fn may_roll(&self, state: &ComponentState<'_>) -> Prerequisite<()> {
        if self.service.installed.is_none() {
            return Ok(());
        }
        let image = &self.service.image;
        let after = state.component.definition.after;
        let mut before = self.components.iter().filter(|other| {
            after.contains(&other.component.definition.name) && !other.rollout.is_done_with(image)
        });
        match before.next() {
            Some(other) if !state.rollout.has(image) => Err(Progress::waiting(
                Reason::WaitingFor("Component"),
                format!(
                    "waits until all pods of {} {} run {image}",
                    Controller::of(&other.component).name(),
                    other.component.object
                ),
            )),
            _ => Ok(()),
        }
    }
}

/// The first that isn't ready, otherwise any.
fn first_unready<'p>(progress: impl Iterator<Item = &'p Progress> + Clone) -> Option<&'p Progress> {
    let unready = progress.clone().find(|progress| !progress.is_ready());
    unready.or_else(|| progress.last())
}
