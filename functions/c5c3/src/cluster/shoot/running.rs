//! What a Shoot runs by now, and what that leaves to ask for: Gardener raises versions by itself and goes back to none.

use std::cmp::Ordering;

use function_protocol::{Fatal, Request};
use serde::Deserialize;
use serde_json::Value;

use super::SHOOT;
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
    provider: Provider,
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

    /// What a claim that names a version of Kubernetes doesn't get, or not yet, and why.
    pub fn notes(&self, wanted: Option<&String>) -> Option<String> {
        let pending: Vec<&str> = self.pending().collect();
        let waits = (!pending.is_empty()).then(|| {
            format!(
                "until every machine of {} has had its update in place, Gardener changes neither their number nor what they run",
                pending.join(", ")
            )
        });
        let version = wanted
            .zip(self.spec.kubernetes.version.as_ref())
            .and_then(|(wanted, running)| {
                let (stays, goes) = (numbers(running)?, numbers(wanted)?);
                match stays.iter().zip(&goes).map(|(left, right)| left.cmp(right)).find(|order| order.is_ne())? {
                    Ordering::Greater => Some(format!(
                        "the cluster stays at Kubernetes {running}: Gardener can't go back to {wanted}"
                    )),
                    _ => Some(format!(
                        "the cluster is at Kubernetes {running} on its way to {wanted}, one minor version after the other"
                    )),
                }
            });
        let notes: Vec<String> = version.into_iter().chain(waits).collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }

    /// The CredentialsBinding that Gardener has put in the place of a SecretBinding.
    pub fn credentials_binding(&self) -> Option<&String> {
        self.spec.credentials_binding_name.as_ref()
    }

    /// The operating system to ask for on a group of machines where one is wanted.
    pub fn image(&self, group: &str, wanted: &MachineImage) -> MachineImage {
        let image = self.group(group).map(|group| &group["machine"]["image"]);
        let running = image
            .filter(|image| image["name"] == *wanted.name)
            .and_then(|image| image["version"].as_str());
        let version = wanted.version.as_deref();
        MachineImage {
            name: wanted.name.clone(),
            version: version.map(|version| {
                running.map_or_else(|| version.to_owned(), |running| newest(version, running))
            }),
        }
    }

    /// A group of machines as Gardener takes it: unchanged while they wait for an update in place
    /// (gardener, pkg/api/core/validation/shoot.go, `ValidateInPlaceUpdates`).
    ///
    /// # Errors
    /// The observed group isn't one.
    pub fn accepted(&self, worker: Worker) -> Result<Worker, Fatal> {
        let is_pending = self.pending().any(|pending| pending == worker.name);
        match self.group(&worker.name) {
            Some(group) if is_pending => {
                let mut seen = Worker::deserialize(group).map_err(|error| {
                    Fatal::new(format!("{SHOOT}: its machines {}: {error}", worker.name))
                })?;
                if let Some(config) = seen.provider_config.as_mut() {
                    config.sort_all_objects();
                }
                Ok(seen)
            }
            _ => Ok(worker),
        }
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

/// The next version on the way to a wanted one: the next minor one where it is further away.
fn step(wanted: &str, running: &str) -> String {
    match (minor(wanted), minor(running)) {
        (Some((major, goal)), Some((same, minor))) if major == same && goal > minor + 1 => {
            format!("{major}.{}", minor + 1)
        }
        _ => wanted.to_owned(),
    }
}

/// The newer of two versions such as 1.34 and 1.34.2; of two that don't differ as far as both say, the one that says more.
fn newest(wanted: &str, running: &str) -> String {
    let running_is_newer = match (numbers(wanted), numbers(running)) {
        (Some(wanted), Some(running)) => {
            let common = wanted.len().min(running.len());
            match wanted[..common].cmp(&running[..common]) {
                Ordering::Less => true,
                Ordering::Equal => running.len() > common,
                Ordering::Greater => false,
            }
        }
        _ => false,
    };
    if running_is_newer { running } else { wanted }.to_owned()
}

/// Whether a version such as 1.34.2 is another one, such as 1.34, or a newer one.
pub fn is_at_least(version: &str, other: &str) -> bool {
    matches!((numbers(version), numbers(other)), (Some(version), Some(other)) if version >= other)
}

/// The major and the minor version.
fn minor(version: &str) -> Option<(u64, u64)> {
    match numbers(version)?[..] {
        [major, minor, ..] => Some((major, minor)),
        _ => None,
    }
}

fn numbers(version: &str) -> Option<Vec<u64>> {
    version.split('.').map(|part| part.parse().ok()).collect()
}
