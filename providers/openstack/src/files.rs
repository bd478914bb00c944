//! The configuration files of a service's pods, in a ConfigMap or Secret whose name has the hash of its content.

use std::borrow::Cow;
use std::collections::BTreeMap;

use c5c3_api::hypervisor::AGENTS;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use provider_composer::{DesiredState, Failure, Key, Lookup, Resource, label_pairs};
use serde::Deserialize;

use crate::config::Config;
use crate::digest::digest;
use crate::mask::masked;
use crate::objects::{config_map, opaque};
use crate::pod::Source;
use crate::service::{NAME, Service};

/// Label of an object with files: their purpose.
const FILES: &str = "c5c3.io/files";
/// The value of [`FILES`].
const PURPOSE: &str = "config";
/// The suffixes of configuration files in oslo.config's format, or one like it.
const CONFIGURATION: [&str; 2] = [".conf", ".ini"];
/// The readiness check, which connects to the database with the configuration in the same folder.
pub(crate) const READY: &str = "ready.py";

/// The files of a service's pods. They are in an immutable ConfigMap, or in a Secret if one of them has a secret. Its name has the
/// hash of its content, so each change of a file replaces the pods.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Files {
    texts: BTreeMap<String, String>,
    secret: bool,
    /// Why a configuration file isn't valid.
    refused: Option<Failure>,
}

/// The object that has the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mounted {
    /// Its name.
    pub name: String,
    secret: bool,
}

impl Mounted {
    /// The volume's source.
    pub fn source(&self) -> Source {
        match self.secret {
            true => Source::Secret(self.name.clone()),
            false => Source::ConfigMap(self.name.clone()),
        }
    }
}

impl Files {
    /// Adds a configuration file.
    pub fn config(&mut self, name: &str, config: &Config) {
        match config.text() {
            Ok(text) => {
                self.texts.insert(name.to_owned(), text);
            }
            Err(failure) => self.refused = Some(failure),
        }
        self.secret |= config.is_secret();
    }

    /// Adds a file without secrets.
    pub fn text(&mut self, name: &str, text: impl Into<String>) {
        self.texts.insert(name.to_owned(), text.into());
    }

    /// Adds a file with secrets.
    pub fn secret(&mut self, name: &str, text: impl Into<String>) {
        self.texts.insert(name.to_owned(), text.into());
        self.secret = true;
    }

    /// Adds other files.
    pub fn merge(&mut self, others: &Self) {
        let texts = others.texts.iter();
        let texts = texts.map(|(name, text)| (name.clone(), text.clone()));
        self.texts.extend(texts);
        self.secret |= others.secret;
        if let Some(failure) = &others.refused {
            self.refused = Some(failure.clone());
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Returns the files by name, for an object that isn't mounted by the service's own pods. A configuration file that isn't valid
    /// fails the reconcile.
    pub fn contents(self, desired: &mut DesiredState) -> BTreeMap<String, String> {
        if let Some(failure) = self.refused {
            desired.fail(failure);
        }
        self.texts
    }

    /// Applies the object, with the readiness check if the service has a database. A configuration file that isn't valid fails the reconcile.
    pub fn compose(self, service: &Service<'_>, desired: &mut DesiredState) -> Mounted {
        let secret = self.secret;
        let mut texts = self.contents(desired);
        if !service.definition.databases.is_empty() {
            texts.insert(READY.to_owned(), include_str!("ready.py").to_owned());
        }
        let parts = texts
            .iter()
            .flat_map(|(name, text)| [name.as_str(), text.as_str()]);
        let name = service.named(&format!("{PURPOSE}-{}", digest(parts)));
        let metadata = service.labelled(PURPOSE, FILES, PURPOSE);
        match secret {
            true => {
                let secret = Secret {
                    immutable: Some(true),
                    ..opaque(metadata, texts)
                };
                desired.apply(service.namespace, &name, &secret);
            }
            false => {
                let map = ConfigMap {
                    immutable: Some(true),
                    ..config_map(metadata, texts)
                };
                desired.apply(service.namespace, &name, &map);
            }
        }
        Mounted { name, secret }
    }
}

/// Returns the configuration files in a Secret by name, with secrets masked: those of a service's pods, and those of agents on
/// hypervisors. Returns nothing for a Secret that neither [`Files::compose`] nor [`AgentSecret`](crate::AgentSecret) created, and no
/// other files.
pub fn shown(secret: &Secret) -> BTreeMap<String, String> {
    let files = secret.data.iter().flatten();
    let files = files.map(|(name, text)| (name, String::from_utf8_lossy(&text.0)));
    configuration(&secret.metadata, files)
}

/// Returns the configuration files in a ConfigMap by name, as [`shown`] does: those of a service without secrets.
pub fn shown_in_map(map: &ConfigMap) -> BTreeMap<String, String> {
    let files = map.data.iter().flatten();
    let files = files.map(|(name, text)| (name, Cow::from(text.as_str())));
    configuration(&map.metadata, files)
}

fn configuration<'a>(
    metadata: &ObjectMeta,
    files: impl Iterator<Item = (&'a String, Cow<'a, str>)>,
) -> BTreeMap<String, String> {
    let labels = metadata.labels.as_ref();
    let label = |label: &str| {
        labels
            .and_then(|labels| labels.get(label))
            .map(String::as_str)
    };
    let has_files = label(FILES) == Some(PURPOSE) || label(AGENTS).is_some();
    let Some(service) = label(NAME).filter(|_| has_files) else {
        return BTreeMap::new();
    };
    files
        .filter(|(name, _)| CONFIGURATION.iter().any(|suffix| name.ends_with(suffix)))
        .map(|(name, text)| (name.clone(), masked(service, &text)))
        .collect()
}

/// The objects with files of a service, including those of older revisions, which running pods need when they restart.
pub(crate) struct Found {
    /// Those that are known.
    pub(crate) keys: Vec<Key>,
    /// Whether these are all.
    pub(crate) is_complete: bool,
}

/// Finds the objects with files of a service.
pub(crate) fn found(service: &Service<'_>) -> Found {
    let mut labels = service.labels();
    labels.insert(FILES.to_owned(), PURPOSE.to_owned());
    let mut found = Found {
        keys: Vec::new(),
        is_complete: true,
    };
    for kind in [Secret::KIND, ConfigMap::KIND] {
        match service.keys(kind, &label_pairs(&labels)) {
            Lookup::Found(keys) => found.keys.extend(keys),
            Lookup::Missing => {}
            Lookup::Unknown(_) => found.is_complete = false,
        }
    }
    found
}

/// What is read of a volume of pods: the Secret or ConfigMap that it shows. Kubernetes' own type has many fields, and is large.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Volume {
    secret: Option<SecretVolume>,
    config_map: Option<ConfigMapVolume>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SecretVolume {
    secret_name: Option<String>,
}

#[derive(Deserialize)]
struct ConfigMapVolume {
    name: Option<String>,
}

/// The objects with files among the volumes of pods.
pub(crate) fn of(service: &Service<'_>, volumes: &[Volume]) -> Vec<Key> {
    let sources = volumes.iter().filter_map(|volume| {
        let secret = volume
            .secret
            .as_ref()
            .and_then(|secret| secret.secret_name.as_ref());
        let map = volume.config_map.as_ref();
        let map = map.and_then(|map| map.name.as_ref());
        let secret = secret.map(|name| Key::of::<Secret>(service.namespace, name));
        secret.or_else(|| map.map(|name| Key::of::<ConfigMap>(service.namespace, name)))
    });
    let prefix = service.named(PURPOSE);
    sources
        .filter(|key| key.name.starts_with(&prefix))
        .collect()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::ByteString;

    use super::*;

    const AGENT: &str = "[DEFAULT]\nmetadata_proxy_shared_secret = hush\n";

    fn secret(label: &str, value: &str, file: &str) -> Secret {
        let labels = [(NAME, "neutron"), (label, value)];
        let labels = labels.map(|(label, value)| (label.to_owned(), value.to_owned()));
        Secret {
            metadata: ObjectMeta {
                labels: Some(BTreeMap::from(labels)),
                ..ObjectMeta::default()
            },
            data: Some(BTreeMap::from([(
                file.to_owned(),
                ByteString(AGENT.as_bytes().to_vec()),
            )])),
            ..Secret::default()
        }
    }

    #[rstest::rstest]
    #[case::of_pods(FILES, PURPOSE, "neutron.conf")]
    #[case::of_agents(AGENTS, "neutron", "neutron-ovn-agent.ini")]
    fn configuration_file_is_shown_with_stars(
        #[case] label: &str,
        #[case] value: &str,
        #[case] file: &str,
    ) {
        let shown = shown(&secret(label, value, file));
        let expected = AGENT.replace("hush", "****");
        assert_eq!(shown, BTreeMap::from([(file.to_owned(), expected)]));
    }

    #[rstest::rstest]
    #[case::in_a_secret_of_others("example.com/agents", "neutron", "neutron-ovn-agent.ini")]
    #[case::with_another_purpose(FILES, "backup", "neutron.conf")]
    #[case::of_another_form(AGENTS, "neutron", "clouds.yaml")]
    fn file_is_not_shown(#[case] label: &str, #[case] value: &str, #[case] file: &str) {
        assert!(shown(&secret(label, value, file)).is_empty());
    }
}
