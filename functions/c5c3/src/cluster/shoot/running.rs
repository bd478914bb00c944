//! The observed state of a Shoot, and how it limits the desired one: Gardener upgrades versions by itself and never downgrades them.

use std::cmp::Ordering;

use c5c3_kinds::gardener::{HighAvailability, MachineImage, Networking, ShootStatus, Worker};
use function_protocol::{Fatal, Request};
use serde::Deserialize;
use serde_json::Value;

use super::SHOOT;
use crate::cluster::versions::{compare, major_minor, newer, next_step};
use crate::observed::last_observed;
use crate::ownership::Owner;

/// The annotation `gardener.cloud/operation` with which a person has Gardener accept changes during an update in place.
const FORCE: &str = "force-in-place-update";

/// A Shoot as its Object last observed it. Empty for a new cluster.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Running {
    metadata: Metadata,
    spec: Spec,
    status: ShootStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    generation: Option<i64>,
    deletion_timestamp: Option<String>,
    annotations: Annotations,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Annotations {
    #[serde(rename = "gardener.cloud/operation")]
    operation: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    kubernetes: Kubernetes,
    credentials_binding_name: Option<String>,
    networking: Option<Networking>,
    control_plane: ControlPlane,
    provider: Provider,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ControlPlane {
    high_availability: Option<HighAvailability>,
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
    /// The Shoot of this owner. Another's, or one that is being deleted, says nothing of the one to create.
    ///
    /// # Errors
    /// What was observed isn't a Shoot.
    pub fn of(owner: &Owner, request: &Request) -> Result<Self, Fatal> {
        if !owner.owns_root() {
            return Ok(Self::default());
        }
        let observed: Option<Self> = last_observed(request, SHOOT)?;
        let stays = observed.filter(|shoot| shoot.metadata.deletion_timestamp.is_none());
        Ok(stays.unwrap_or_default())
    }

    /// The Shoot's addresses, which can't be changed.
    pub fn networking(&self) -> Option<&Networking> {
        self.spec.networking.as_ref()
    }

    /// The desired version of Kubernetes. A new cluster gets `wanted`, else `default`. A running one is never downgraded, ignores
    /// `default`, and is upgraded one minor version at a time, since Gardener refuses to skip one. It keeps its version while updates
    /// in place are pending.
    pub fn kubernetes(&self, wanted: Option<&String>, default: &str) -> String {
        let Some(running) = &self.spec.kubernetes.version else {
            return wanted.map_or(default, String::as_str).to_owned();
        };
        let wanted = wanted.unwrap_or(running);
        let next = newer(&next_step(wanted, running), running);
        if self.pending().next().is_some() || self.waits_for(&next, running) {
            running.clone()
        } else {
            next
        }
    }

    /// A message for each field of the claim that has no effect, or none yet.
    pub fn notes(&self, kubernetes: Option<&String>, highly_available: bool) -> Vec<String> {
        [
            kubernetes.and_then(|wanted| self.version_note(wanted)),
            (self.high_availability().is_some() && !highly_available).then(|| {
                "the cluster stays highly available, since Gardener can't disable that: set highAvailability to true".to_owned()
            }),
        ]
        .into_iter()
        .flatten()
        .chain(self.pending_notes())
        .collect()
    }

    /// Whether there is a Shoot, or was one when its Object saw it last.
    pub fn exists(&self) -> bool {
        self.spec.kubernetes.version.is_some()
    }

    fn version_note(&self, wanted: &str) -> Option<String> {
        let running = self.spec.kubernetes.version.as_ref()?;
        match compare(running, wanted)? {
            Ordering::Less if self.waits_for(wanted, running) => Some(format!(
                "Kubernetes is to be upgraded from {running} to {wanted} once Gardener's present operation has succeeded"
            )),
            Ordering::Less => {
                let by_steps = next_step(wanted, running) != wanted;
                let how = if by_steps {
                    ", one minor version at a time"
                } else {
                    ""
                };
                Some(format!(
                    "Kubernetes is being upgraded from {running} to {wanted}{how}"
                ))
            }
            Ordering::Equal => None,
            Ordering::Greater => Some(format!(
                "the cluster stays at Kubernetes {running}, since Gardener can't downgrade it to {wanted}: set kubernetesVersion to {running} \
                 or newer"
            )),
        }
    }

    fn pending_notes(&self) -> impl Iterator<Item = String> {
        let pending = &self.status.in_place_updates.pending_worker_updates;
        [
            (&pending.auto_in_place_update, ""),
            (
                &pending.manual_in_place_update,
                ": drain their nodes and label them node.machine.sapcloud.io/selected-for-update=true",
            ),
        ]
        .into_iter()
        .filter(|(groups, _)| !groups.is_empty() && self.pending().next().is_some())
        .map(|(groups, how)| {
            format!(
                "updates in place of the machines of {} are pending, and Gardener changes neither their number nor what they run until \
                 all are updated{how}",
                groups.join(", ")
            )
        })
    }

    /// What the cluster's own control plane tolerates. Gardener can neither change nor disable that.
    pub fn high_availability(&self) -> Option<&HighAvailability> {
        self.spec.control_plane.high_availability.as_ref()
    }

    /// The Shoot's CredentialsBinding. Gardener sets one by itself where it upgrades a Shoot with a SecretBinding to Kubernetes 1.34.
    pub fn credentials_binding(&self) -> Option<&String> {
        self.spec.credentials_binding_name.as_ref()
    }

    /// The desired image of a machine group. Its version is never lowered; a group that is `kept` keeps the image's name as well.
    /// Where Gardener updates its images by itself, `is_auto`, the version is left to it once the group exists.
    pub fn image(
        &self,
        group: &str,
        wanted: &MachineImage,
        kept: bool,
        is_auto: bool,
    ) -> MachineImage {
        let running: Option<MachineImage> = self
            .group(group)
            .and_then(|group| MachineImage::deserialize(&group["machine"]["image"]).ok());
        match running {
            Some(running) if running.name == wanted.name => MachineImage {
                name: running.name,
                version: wanted.version.as_ref().filter(|_| !is_auto).map(|version| {
                    let running = running.version.as_deref();
                    running.map_or_else(|| version.clone(), |running| newer(version, running))
                }),
            },
            Some(running) if kept => MachineImage {
                version: running.version.filter(|_| !is_auto),
                ..running
            },
            _ => wanted.clone(),
        }
    }

    /// The machine groups that Gardener accepts. A group with a pending update in place keeps its observed spec
    /// (gardener, pkg/api/core/validation/shoot.go, `ValidateInPlaceUpdates`). Until all updates have finished, no group is removed,
    /// because its pods may have nowhere else to run.
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
                Some(worker) if pending.contains(&worker.name.as_str()) => {
                    *worker = observed(group)?
                }
                None if !pending.is_empty() => wanted.push(observed(group)?),
                _ => {}
            }
        }
        Ok(wanted)
    }

    /// Its groups of machines.
    ///
    /// # Errors
    /// An observed group isn't one.
    pub fn groups<'a, G: Deserialize<'a>>(&'a self) -> Result<Vec<G>, Fatal> {
        self.spec.provider.workers.iter().map(read).collect()
    }

    fn group(&self, name: &str) -> Option<&Value> {
        let groups = &self.spec.provider.workers;
        groups.iter().find(|group| group["name"] == *name)
    }

    /// The groups of machines that wait for an update in place.
    fn pending(&self) -> impl Iterator<Item = &str> {
        let is_forced = self.metadata.annotations.operation.as_deref() == Some(FORCE);
        let pending = &self.status.in_place_updates.pending_worker_updates;
        let groups = pending.auto_in_place_update.iter();
        groups
            .chain(&pending.manual_in_place_update)
            .filter(move |_| !is_forced)
            .map(String::as_str)
    }

    /// Whether an upgrade to another minor version has to wait for what Gardener does.
    fn waits_for(&self, version: &str, running: &str) -> bool {
        major_minor(version) > major_minor(running) && !self.is_settled()
    }

    /// Whether Gardener has reconciled the present spec successfully.
    fn is_settled(&self) -> bool {
        let operation = self.status.last_operation.as_ref();
        self.metadata.generation == self.status.observed_generation
            && operation.is_some_and(|operation| operation.state == "Succeeded")
    }
}

/// A machine group as it was observed.
fn observed(group: &Value) -> Result<Worker, Fatal> {
    let mut observed: Worker = read(group)?;
    if let Some(config) = observed.provider_config.as_mut() {
        config.sort_all_objects();
    }
    Ok(observed)
}

fn read<'a, G: Deserialize<'a>>(group: &'a Value) -> Result<G, Fatal> {
    G::deserialize(group).map_err(|error| Fatal::new(format!("{SHOOT}: its machines: {error}")))
}
