//! Secrets for the agents on hypervisors, which the hypervisor-pool-operator copies to where the agents run.

use c5c3_api::hypervisor::AGENTS;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{DesiredState, Key, Lookup, SecretValues};
use serde::Deserialize;

use crate::digest::digest;
use crate::files::Files;
use crate::objects::opaque;
use crate::prerequisite::Prerequisite;
use crate::release::Release;
use crate::service::Service;

/// The key with the release, which is no file.
const RELEASE: &str = "release";
/// The configuration file of Nova's programs.
pub const NOVA_CONF: &str = "nova.conf";

/// Stands for the configuration that a Secret of Nova gives nova-compute, with Nova's credentials. HypervisorShares report which one all of
/// their nodes have.
pub fn compute_configuration(secret: &SecretValues) -> Option<String> {
    let file = secret.text(NOVA_CONF).ok()?;
    Some(digest([file]))
}

/// The Secret `<service>-<component>`, with the files of an agent and the release that it runs.
pub struct AgentSecret<'a> {
    service: &'a Service<'a>,
    component: String,
    labels: Vec<(&'a str, &'a str)>,
}

impl<'a> AgentSecret<'a> {
    /// The Secret of a component.
    pub fn of(service: &'a Service<'a>, component: impl Into<String>) -> Self {
        Self {
            service,
            component: component.into(),
            labels: vec![(AGENTS, service.definition.name)],
        }
    }

    /// Adds a label that tells it from others of the service.
    #[must_use]
    pub fn label(mut self, label: &'a str, value: &'a str) -> Self {
        self.labels.push((label, value));
        self
    }

    /// Composes it. A configuration file that isn't valid fails the reconcile.
    pub fn apply(&self, files: Files, desired: &mut DesiredState) {
        let mut values = files.contents(desired);
        values.insert(RELEASE.to_owned(), self.service.release.to_string());
        let mut metadata = self.service.metadata(&self.component);
        let labels = self.labels.iter();
        let labels = labels.map(|&(label, value)| (label.to_owned(), value.to_owned()));
        metadata.labels.get_or_insert_default().extend(labels);
        let secret = opaque(metadata, values);
        desired.apply(self.service.namespace, &self.name(), &secret);
    }

    /// The files that it has.
    ///
    /// # Errors
    /// It can't be read.
    pub fn published(&self) -> Prerequisite<Files> {
        let mut files = Files::default();
        let secret = self.lookup().optional()?;
        for (name, value) in secret.iter().flat_map(SecretValues::values) {
            if name != RELEASE {
                files.secret(name, String::from_utf8_lossy(value));
            }
        }
        Ok(files)
    }

    /// The release that a published Secret tells agents to run.
    pub fn release(secret: &SecretValues) -> Option<Release> {
        secret.line(RELEASE).ok()?.parse().ok()
    }

    /// Looks for it.
    pub fn lookup(&self) -> Lookup<SecretValues> {
        self.service.body::<SecretValues>(&self.name())
    }

    /// What it has as it is composed, if it is.
    pub fn composed(&self, desired: &DesiredState) -> Option<SecretValues> {
        let composed = desired.objects.get(&self.key())?;
        SecretValues::deserialize(composed).ok()
    }

    /// Leaves it as it is.
    pub fn keep(&self, desired: &mut DesiredState) {
        desired.keep(self.key());
    }

    fn key(&self) -> Key {
        Key::of::<Secret>(self.service.namespace, &self.name())
    }

    fn name(&self) -> String {
        self.service.named(&self.component)
    }
}
