//! The Shoot of a cluster, in Gardener's project.

use std::collections::BTreeMap;

use c5c3_api::Reason;
use c5c3_kinds::gardener::{
    CloudProfile, Credentials, HighAvailability, Kubernetes, Networking, Provider, Shoot,
    ShootControlPlane, ShootStatus, Worker,
};
use function_protocol::{Fatal, Response};

use super::{Cluster, versions};
use crate::composed::{Composed, Creation};
use crate::input::GardenerPreset;
use crate::manifest::{Manifest, ObjectMeta};
use crate::names::fitted;
use crate::observed::Observation;
use crate::template::Template;
use crate::transitions;

mod bare_metal;
mod networks;
mod refused;
mod running;
mod sizes;
mod workers;

pub use bare_metal::BareMetal;
use refused::explained;
pub use running::Running;
pub use sizes::{LastSize, Size};
pub use workers::{Workers, Zone};

/// Name of the composed Shoot.
pub const SHOOT: &str = "shoot";

/// Longest project and Shoot name together: Gardener's technical id `shoot--<project>--<name>` has 30 characters at most
/// (gardener, plugin/pkg/shoot/validator/admission.go).
const LONGEST: usize = 21;

/// Without it Gardener refuses to delete a Shoot. Whoever deletes the claim has confirmed.
const CONFIRMATION: &str = "confirmation.gardener.cloud/deletion";

/// Extensions whose admission refuses a Shoot without infrastructureConfig or controlPlaneConfig (each extension's
/// pkg/admission/validator/shoot.go).
const NEED_CONFIG: [&str; 2] = ["ironcore-metal", "openstack"];

/// The first version of Kubernetes for which Gardener takes no SecretBinding (gardener, pkg/api/core/validation/shoot.go).
const WITHOUT_SECRET_BINDINGS: (u64, u64) = (1, 34);

/// What differs between the Shoots of the three kinds.
pub struct Wanted<'a> {
    /// Region.
    pub region: &'a str,
    /// Version of Kubernetes, if the claim names one.
    pub kubernetes_version: Option<&'a String>,
    /// Labels of the Shoot.
    pub labels: BTreeMap<String, String>,
    /// Addresses.
    pub networking: Networking,
    /// The groups of machines.
    pub workers: Vec<Worker>,
    /// Whether the cluster's own control plane survives the loss of a zone.
    pub highly_available: bool,
}

impl Cluster<'_> {
    /// Composes the Shoot. Returns its observed state, and a message for each field of the claim that has no effect, or none yet.
    pub fn shoot(
        &self,
        wanted: Wanted<'_>,
        composed: &mut Composed<'_>,
    ) -> Result<(Observation<ShootStatus>, Vec<String>), Fatal> {
        let gardener = &self.presets.gardener;
        let nodes = wanted.networking.nodes.to_string();
        let values = [("{nodes}", Some(nodes.as_str()))];
        let config = |template: &Option<Template>, field: &str| match template {
            Some(template) => Ok(Some(template.fill(&values))),
            None if NEED_CONFIG.contains(&gardener.provider.as_str()) => Err(Fatal::new(format!(
                "the Composition's input has no gardener.{field}, and Gardener refuses Shoots of provider {} without one",
                gardener.provider
            ))),
            None => Ok(None),
        };
        let default = &self.presets.kubernetes_version;
        let version = self.running.kubernetes(wanted.kubernetes_version, default);
        let workers = self.running.accepted(wanted.workers)?;
        let mut notes = self
            .running
            .notes(wanted.kubernetes_version, wanted.highly_available);
        match networks::shortage(&wanted.networking, &workers) {
            Some(shortage) if self.running.exists() => notes.push(format!(
                "{shortage}: lower the number of machines, or create a cluster with larger ranges"
            )),
            Some(shortage) => {
                return Err(Fatal::new(format!(
                    "{shortage}: set larger ranges in spec.network, which can't be changed later, or fewer machines"
                )));
            }
            None => {}
        }
        let created = wanted
            .highly_available
            .then(HighAvailability::tolerates_zone_failure);
        let high_availability = self.running.high_availability().cloned().or(created);
        let spec = Shoot {
            cloud_profile: CloudProfile {
                kind: "CloudProfile",
                name: gardener.cloud_profile.clone(),
            },
            credentials: gardener.credentials(&version, self.running.credentials_binding())?,
            region: wanted.region.to_owned(),
            purpose: "production",
            kubernetes: Kubernetes { version },
            networking: wanted.networking,
            provider: Provider {
                type_: gardener.provider.clone(),
                infrastructure_config: config(
                    &gardener.infrastructure_config,
                    "infrastructureConfig",
                )?,
                control_plane_config: config(&gardener.control_plane_config, "controlPlaneConfig")?,
                workers,
            },
            maintenance: gardener.maintenance.clone(),
            control_plane: high_availability
                .map(|high_availability| ShootControlPlane { high_availability }),
        };
        let longest = LONGEST.saturating_sub(gardener.project.len());
        let mut manifest = Manifest::new(
            &format!("garden-{}", gardener.project),
            fitted(self.name(), longest),
            spec,
        );
        manifest.metadata = ObjectMeta {
            labels: wanted.labels,
            annotations: BTreeMap::from([(CONFIRMATION.to_owned(), "true".to_owned())]),
            ..manifest.metadata
        };
        let provider_config = &gardener.provider_config;
        let shoot = composed.object(
            SHOOT,
            provider_config,
            manifest,
            Creation::Allowed,
            ShootStatus::is_up,
        )?;
        Ok((shoot, notes))
    }
}

impl GardenerPreset {
    /// The credentials of a Shoot of this version. Where Gardener itself upgrades a cluster to Kubernetes 1.34, it replaces the
    /// SecretBinding with a CredentialsBinding.
    fn credentials(&self, version: &str, observed: Option<&String>) -> Result<Credentials, Fatal> {
        let binding = self.credentials_binding.as_ref().or(observed);
        match (binding, &self.secret_binding) {
            (Some(binding), _) => Ok(Credentials::CredentialsBindingName(binding.clone())),
            (None, Some(_)) if versions::major_minor(version) >= Some(WITHOUT_SECRET_BINDINGS) => {
                Err(Fatal::new(format!(
                    "Gardener doesn't accept a SecretBinding for Kubernetes {version}: create a CredentialsBinding and set gardener.credentialsBinding \
                     of the Composition's input to its name"
                )))
            }
            (None, Some(binding)) => Ok(Credentials::SecretBindingName(binding.clone())),
            (None, None) => Err(Fatal::new(
                "the Composition's input names no credentials: set gardener.credentialsBinding to the name of a CredentialsBinding",
            )),
        }
    }
}

/// Sets `ShootReady`. While the Shoot is up, its message has the error that Gardener retries after, and the notes.
pub fn condition(shoot: &Observation<ShootStatus>, notes: &[String], response: &mut Response) {
    if !shoot.exists {
        transitions::await_turn(response, "ShootReady", "it is being created");
        return;
    }
    let operation = shoot.status.last_operation.as_ref();
    let (holds, reason, message) = match (&shoot.problem, operation) {
        (Some(problem), _) => (false, Reason::NotApplied, explained(problem)),
        (None, Some(operation)) if shoot.status.has_failed() => (
            false,
            Reason::Failed,
            format!("Gardener stopped retrying: {}", operation.description),
        ),
        (None, Some(operation)) if shoot.status.hibernated && operation.state == "Succeeded" => (
            false,
            Reason::NotReady,
            "the cluster is hibernated, and its API server doesn't run: set spec.hibernation.enabled of the Shoot to false, and remove \
             spec.hibernation.schedules"
                .to_owned(),
        ),
        (None, Some(_)) if shoot.status.is_up() => {
            let retried = shoot.status.retried_error();
            let retried = retried.map(|error| format!("Gardener tries again: {error}"));
            let said: Vec<String> = retried.into_iter().chain(notes.to_vec()).collect();
            (true, Reason::Created, said.join("; "))
        }
        (None, Some(operation)) => (
            false,
            Reason::Creating,
            format!(
                "Gardener is at {} %: {}",
                operation.progress, operation.description
            ),
        ),
        (None, None) => (false, Reason::Waiting, "Gardener hasn't begun".to_owned()),
    };
    transitions::set(response, "ShootReady", holds, reason, message);
}
