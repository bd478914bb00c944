//! Files of a service's pods, in an object that is named by its content.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use provider_composer::{Composition, Failure, Key, Resource, Seen, World};

use crate::config::Config;
use crate::digest::digest;
use crate::pod::Source;
use crate::service::Service;

/// Label of an object with files: what they are for.
const FILES: &str = "c5c3.io/files";

/// Files of a service's pods. They stand in an immutable object that is named by its content, so a change rolls the pods
/// and nothing else does; in a Secret as soon as one of them holds a secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Files {
    texts: BTreeMap<String, String>,
    secret: bool,
}

/// The object that files stand in.
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
        self.texts.insert(name.to_owned(), config.text());
        self.secret |= config.is_secret();
    }

    /// Adds a file that anybody may see.
    pub fn text(&mut self, name: &str, text: impl Into<String>) {
        self.texts.insert(name.to_owned(), text.into());
    }

    /// Adds a file that nobody may see.
    pub fn secret(&mut self, name: &str, text: impl Into<String>) {
        self.texts.insert(name.to_owned(), text.into());
        self.secret = true;
    }

    /// Wants the object. `purpose` is part of its name, for instance `config`.
    ///
    /// # Errors
    /// It can't be written.
    pub fn compose(
        &self,
        service: &Service<'_>,
        purpose: &str,
        composition: &mut Composition,
    ) -> Result<Mounted, Failure> {
        let texts = self
            .texts
            .iter()
            .flat_map(|(name, text)| [name.as_str(), text.as_str()]);
        let name = service.named(&format!("{purpose}-{}", digest(texts)));
        let metadata = service.labelled(FILES, purpose);
        match self.secret {
            true => {
                let data = self
                    .texts
                    .iter()
                    .map(|(name, text)| (name.clone(), ByteString(text.clone().into_bytes())));
                let secret = Secret {
                    metadata,
                    data: Some(data.collect()),
                    immutable: Some(true),
                    type_: Some("Opaque".to_owned()),
                    ..Secret::default()
                };
                composition.apply(service.namespace, &name, &secret)?;
            }
            false => {
                let map = ConfigMap {
                    metadata,
                    data: Some(self.texts.clone()),
                    immutable: Some(true),
                    ..ConfigMap::default()
                };
                composition.apply(service.namespace, &name, &map)?;
            }
        }
        Ok(Mounted {
            name,
            secret: self.secret,
        })
    }
}

/// Leaves the objects with files of a purpose as they are: pods that run still need them when they start again.
pub(crate) fn keep(
    service: &Service<'_>,
    purpose: &str,
    world: &World<'_>,
    composition: &mut Composition,
) {
    let mut labels = service.labels();
    labels.insert(FILES.to_owned(), purpose.to_owned());
    let labels: Vec<(&str, &str)> = labels
        .iter()
        .map(|(label, value)| (label.as_str(), value.as_str()))
        .collect();
    let secrets = names(world.list::<Secret>(service.namespace, &labels))
        .into_iter()
        .map(|name| (Secret::KIND, name));
    let maps = names(world.list::<ConfigMap>(service.namespace, &labels))
        .into_iter()
        .map(|name| (ConfigMap::KIND, name));
    for (kind, name) in secrets.chain(maps) {
        composition.keep(Key::new(kind, service.namespace, &name));
    }
}

fn names<T>(seen: Seen<Vec<provider_composer::Live<T>>>) -> Vec<String> {
    let found = seen.found().unwrap_or_default();
    found.into_iter().map(|live| live.metadata.name).collect()
}
