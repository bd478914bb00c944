//! A composer that composes what its subject lists.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::CustomResource;
use c5c3_api::kind::{Column, Kind};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use provider_composer::{
    Composer, DesiredState, Failure, Generated, Key, Metadata, ObservedState, Progress, Reason,
    Resource, Retention, Subject, Use,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What to compose.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ScriptSpec {
    /// ConfigMaps to apply, with their data.
    pub apply: BTreeMap<String, BTreeMap<String, String>>,
    /// Deployments to apply.
    pub deployments: BTreeSet<String>,
    /// ConfigMaps to apply without an owner.
    pub unowned: BTreeSet<String>,
    /// A namespace in which one more ConfigMap is applied.
    pub elsewhere: Option<String>,
    /// ConfigMaps that stay as they are.
    pub keep: BTreeSet<String>,
    /// ConfigMaps to label, with the labels.
    pub label: BTreeMap<String, BTreeMap<String, Option<String>>>,
    /// The resourceVersion that labels are decided from, instead of the one that is looked up.
    pub label_version: Option<String>,
    /// Secrets to generate, and whether they stay for ever.
    pub generate: BTreeMap<String, bool>,
    /// A Secret to wait for before anything is composed.
    pub wait_for: Option<String>,
    /// Whether composing fails, and whether the failure is transient.
    pub fails: Option<bool>,
    /// ConfigMaps that are deleted before all others when the subject is deleted.
    pub deleted_first: BTreeSet<String>,
}

impl Kind for ScriptSpec {
    type Status = serde_json::Map<String, serde_json::Value>;
    const DESCRIPTION: &'static str = "What a composer is to compose.";
    const GROUP: &'static str = "test";
    const KIND: &'static str = "Script";
    const PLURAL: &'static str = "scripts";
    const SHORT_NAME: &'static str = "script";
    const COLUMNS: &'static [Column] = &[];
}

impl CustomResource for ScriptSpec {}

/// Composes what its subject lists, and their deletion where it is `ORDERED`.
pub struct Script<const ORDERED: bool = true>;

impl<const ORDERED: bool> Composer for Script<ORDERED> {
    type Spec = ScriptSpec;
    type Status = serde_json::Map<String, serde_json::Value>;
    const OPERATOR: &'static str = "script-operator";
    const ORDERED_DELETION: bool = ORDERED;

    fn uses(&self) -> Vec<Use> {
        vec![
            Use::composes(ConfigMap::KIND),
            Use::composes(Secret::KIND),
            Use::composes(Deployment::KIND),
            Use::labels(ConfigMap::KIND),
        ]
    }

    fn compose(
        &self,
        script: &Subject<ScriptSpec>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<Self::Status, Failure> {
        let (namespace, spec) = (script.namespace(), &script.spec);
        let key = |name: &str| Key::of::<ConfigMap>(namespace, name);
        if script.is_deleted() {
            let is_left = |name: &String| observed.object(&key(name)).found().is_some();
            if spec.deleted_first.iter().any(is_left) {
                let later = spec.apply.keys();
                let later = later.filter(|name| !spec.deleted_first.contains(*name));
                later.for_each(|name| desired.keep(key(name)));
            }
            return Ok(Self::Status::default());
        }
        match spec.fails {
            Some(true) => {
                return Err(Failure::transient(Reason::LookupFailed, "try again later"));
            }
            Some(false) => return Err(Failure::new(Reason::Invalid, "correct the spec")),
            None => {}
        }
        if let Some(name) = &spec.wait_for
            && observed.get::<Secret>(namespace, name).found().is_none()
        {
            let message = format!("waits for Secret {name}");
            let progress = Progress::waiting(Reason::WaitingFor("Secret"), message);
            desired.conditions.set("Complete", &progress);
            return Ok(Self::Status::default());
        }
        for (name, data) in &spec.apply {
            desired.apply(namespace, name, &config_map(data));
        }
        for name in &spec.deployments {
            desired.apply(namespace, name, &Deployment::default());
        }
        for name in &spec.unowned {
            desired.apply_unowned(namespace, name, &ConfigMap::default());
        }
        if let Some(elsewhere) = &spec.elsewhere {
            desired.apply(elsewhere, "elsewhere", &ConfigMap::default());
        }
        for name in &spec.keep {
            desired.keep(key(name));
        }
        for (name, labels) in &spec.label {
            let labels: Vec<(&str, Option<&str>)> = labels
                .iter()
                .map(|(label, value)| (label.as_str(), value.as_deref()))
                .collect();
            let live = observed.object(&key(name)).found();
            let version = live
                .as_ref()
                .and_then(|live| live.pointer("/metadata/resourceVersion")?.as_str());
            let version = spec.label_version.as_deref().or(version);
            let seen = Metadata {
                name: name.clone(),
                namespace: Some(namespace.to_owned()),
                resource_version: version.map(str::to_owned),
                ..Metadata::default()
            };
            desired.label::<ConfigMap>(&seen, &labels);
        }
        for (name, forever) in &spec.generate {
            let mut generated = Generated::credentials("user");
            if !forever {
                generated.retention = Retention::WhileWanted;
            }
            desired.generate(namespace, name, generated);
        }
        desired.conditions.set("Complete", &Progress::Ready);
        Ok(Self::Status::default())
    }
}

fn config_map(data: &BTreeMap<String, String>) -> ConfigMap {
    ConfigMap {
        data: Some(data.clone()),
        ..ConfigMap::default()
    }
}
