//! What a Shoot runs by now, and what that leaves to ask for: Gardener raises versions by itself and goes back to none.

use std::cmp::Ordering;

use function_protocol::{Fatal, Request};
use serde::Deserialize;
use serde_json::Value;

use super::SHOOT;
use super::versions::{compared, minor, newest, step};
use crate::manifest::gardener::{MachineImage, ShootStatus, Worker};
use crate::observed::{last_composed, last_seen};

/// What a Shoot runs, as its Object has seen it last; while it hasn't, as it was composed last. Nothing for a new one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Running {
    metadata: Metadata,
    spec: Spec,
    status: ShootStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    generation: Option<i64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    kubernetes: Kubernetes,
    credentials_binding_name: Option<String>,
    control_plane: ControlPlane,
    provider: Provider,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ControlPlane {
    high_availability: Option<Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Kubernetes {
    version: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Provider {
    workers: Vec<Value>,
}

impl Running {
    /// What the observed Shoot runs.
    ///
    /// # Errors
    /// What was observed isn't a Shoot.
    pub fn of(request: &Request) -> Result<Self, Fatal> {
        let seen = last_seen(request, SHOOT)?;
        let running = seen.map_or_else(|| last_composed(request, SHOOT), |seen| Ok(Some(seen)))?;
        Ok(running.unwrap_or_default())
    }

    /// The version of Kubernetes to ask for where a claim names one: of a new cluster the default's without. What runs is never
    /// lowered, nor raised because the default was. Gardener refuses to skip a minor version, and every version while machines
    /// wait for an update in place.
    pub fn kubernetes(&self, wanted: Option<&String>, default: &str) -> String {
        let Some(running) = &self.spec.kubernetes.version else {
            return wanted.map_or(default, String::as_str).to_owned();
        };
        let wanted = wanted.unwrap_or(running);
        let next = newest(&step(wanted, running), running);
        let raises_minor = minor(&next) > minor(running);
        if self.pending().next().is_some() || raises_minor && !self.is_settled() {
            running.clone()
        } else {
            next
        }
    }

    /// What a claim doesn't get of what it asks for, or not yet, and why.
    pub fn notes(&self, kubernetes: Option<&String>, highly_available: bool) -> Vec<String> {
        [
            kubernetes.and_then(|wanted| self.version_note(wanted)),
            (self.is_highly_available() && !highly_available).then(|| {
                "the cluster stays highly available: Gardener can't change that".to_owned()
            }),
            self.pending_note(),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Whether there is a Shoot, or was one when its Object saw it last.
    pub fn exists(&self) -> bool {
        self.spec.kubernetes.version.is_some()
    }

    fn version_note(&self, wanted: &str) -> Option<String> {
        let running = self.spec.kubernetes.version.as_ref()?;
        match compared(running, wanted)? {
            Ordering::Less => {
                let by_steps = step(wanted, running) != wanted;
                let how = if by_steps {
                    ", one minor version after the other"
                } else {
                    ""
                };
                Some(format!(
                    "the cluster is at Kubernetes {running} on its way to {wanted}{how}"
                ))
            }
            Ordering::Equal => None,
            Ordering::Greater => Some(format!(
                "the cluster stays at Kubernetes {running}: Gardener can't go back to {wanted}"
            )),
        }
    }

    fn pending_note(&self) -> Option<String> {
        let pending: Vec<&str> = self.pending().collect();
        (!pending.is_empty()).then(|| {
            format!(
                "machines of {} wait for an update in place: until each has had it, Gardener changes neither their number nor \
                 what they run",
                pending.join(", ")
            )
        })
    }

    /// Whether the cluster's own control plane survives the loss of a zone. Gardener can't change that of a cluster that does.
    pub fn is_highly_available(&self) -> bool {
        self.spec.control_plane.high_availability.is_some()
    }

    /// The CredentialsBinding that Gardener has put in the place of a SecretBinding.
    pub fn credentials_binding(&self) -> Option<&String> {
        self.spec.credentials_binding_name.as_ref()
    }

    /// The operating system to ask for on a group of machines where one is wanted. Machines that are `kept` stay with theirs, in
    /// newer versions of it.
    pub fn image(&self, group: &str, wanted: &MachineImage, kept: bool) -> MachineImage {
        let running: Option<MachineImage> = self
            .group(group)
            .and_then(|group| MachineImage::deserialize(&group["machine"]["image"]).ok());
        match running {
            Some(running) if running.name == wanted.name => MachineImage {
                name: running.name,
                version: wanted.version.as_ref().map(|version| {
                    let running = running.version.as_deref();
                    running.map_or_else(|| version.clone(), |running| newest(version, running))
                }),
            },
            Some(running) if kept => running,
            _ => wanted.clone(),
        }
    }

    /// The groups of machines that Gardener accepts where some are wanted. It changes none that waits for an update in place
    /// (gardener, pkg/api/core/validation/shoot.go, `ValidateInPlaceUpdates`), so all groups stay meanwhile: one may have to run
    /// what another will once it is changed.
    ///
    /// # Errors
    /// An observed group isn't one.
    pub fn accepted(&self, mut wanted: Vec<Worker>) -> Result<Vec<Worker>, Fatal> {
        let pending: Vec<&str> = self.pending().collect();
        for group in &self.spec.provider.workers {
            match wanted
                .iter_mut()
                .find(|worker| group["name"] == *worker.name)
            {
                Some(worker) if pending.contains(&worker.name.as_str()) => *worker = seen(group)?,
                None if !pending.is_empty() => wanted.push(seen(group)?),
                _ => {}
            }
        }
        Ok(wanted)
    }

    fn group(&self, name: &str) -> Option<&Value> {
        let groups = &self.spec.provider.workers;
        groups.iter().find(|group| group["name"] == *name)
    }

    /// The groups of machines that wait for an update in place.
    fn pending(&self) -> impl Iterator<Item = &str> {
        let pending = &self.status.in_place_updates.pending_worker_updates;
        let groups = pending.auto_in_place_update.iter();
        groups
            .chain(&pending.manual_in_place_update)
            .map(String::as_str)
    }

    /// Whether Gardener has done all that it was asked for.
    fn is_settled(&self) -> bool {
        let operation = self.status.last_operation.as_ref();
        self.metadata.generation == self.status.observed_generation
            && operation.is_some_and(|operation| operation.state == "Succeeded")
    }
}

/// A group of machines as Gardener has it.
fn seen(group: &Value) -> Result<Worker, Fatal> {
    let mut seen = Worker::deserialize(group)
        .map_err(|error| Fatal::new(format!("{SHOOT}: its machines: {error}")))?;
    if let Some(config) = seen.provider_config.as_mut() {
        config.sort_all_objects();
    }
    Ok(seen)
}
