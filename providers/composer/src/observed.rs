//! The observed state, and what a composer looked up in it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use c5c3_api::Condition;
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::key::Key;
use crate::kind::{Resource, ResourceKind};
use crate::subject::Metadata;

/// The result of a lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup<T> {
    /// It could not be read, or not yet; the text says why. It may exist.
    Unknown(String),
    /// It doesn't exist.
    Missing,
    /// It exists.
    Found(T),
}

impl<T> Lookup<T> {
    /// Returns what was found.
    pub fn found(self) -> Option<T> {
        match self {
            Self::Found(value) => Some(value),
            Self::Missing | Self::Unknown(_) => None,
        }
    }

    /// Converts what was found.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Lookup<U> {
        match self {
            Self::Found(value) => Lookup::Found(change(value)),
            Self::Missing => Lookup::Missing,
            Self::Unknown(why) => Lookup::Unknown(why),
        }
    }

    /// Whether it is known not to exist.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing)
    }
}

/// Where a runtime looks things up. Objects are whole, as the API server has them.
pub trait Source {
    /// One object.
    fn object(&self, key: &Key) -> Lookup<Arc<Value>>;

    /// The objects of a kind in one namespace with all these labels, by name.
    fn objects(
        &self,
        kind: ResourceKind,
        namespace: &str,
        labels: &BTreeMap<String, String>,
    ) -> Lookup<Vec<Arc<Value>>>;

    /// The response of an external system.
    fn external(&self, request: &ExternalRequest) -> Lookup<Arc<Value>>;
}

/// Something that a composer looked up; when it changes, the resource is reconciled again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dependency {
    /// One object.
    Object(Key),
    /// The objects of a kind in one namespace with all these labels.
    Objects {
        /// The kind.
        kind: ResourceKind,
        /// The namespace.
        namespace: String,
        /// The labels.
        labels: BTreeMap<String, String>,
    },
    /// An external system.
    External(ExternalRequest),
}

/// A request to an external system, to read or to change something. Its content may hold a credential and is never shown.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExternalRequest {
    /// The system, for instance `keystone`: which driver is meant.
    pub system: &'static str,
    /// The request as that driver understands it, in JSON.
    pub content: String,
}

impl fmt::Debug for ExternalRequest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ExternalRequest({})", self.system)
    }
}

/// An object as a composer reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live<T> {
    /// Name, labels, generation.
    pub metadata: Metadata,
    /// The rest of it, as far as the type goes.
    pub body: T,
}

/// The observed state, at one moment. It records what was looked up.
pub struct ObservedState<'a> {
    source: &'a dyn Source,
    now: Timestamp,
    dependencies: RefCell<BTreeSet<Dependency>>,
    unknown: RefCell<BTreeSet<ResourceKind>>,
}

impl<'a> ObservedState<'a> {
    /// The state that a source has, at a moment.
    pub fn new(source: &'a dyn Source, now: Timestamp) -> Self {
        Self {
            source,
            now,
            dependencies: RefCell::default(),
            unknown: RefCell::default(),
        }
    }

    /// The moment of the observation.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// One object as it is.
    pub fn object(&self, key: &Key) -> Lookup<Arc<Value>> {
        self.dependencies
            .borrow_mut()
            .insert(Dependency::Object(key.clone()));
        self.record(key.kind, self.source.object(key))
    }

    /// One object by its type. What can't be understood is unknown.
    pub fn get<T: Resource + DeserializeOwned>(
        &self,
        namespace: &str,
        name: &str,
    ) -> Lookup<Live<T>> {
        let key = Key::of::<T>(namespace, name);
        let lookup = match self.object(&key) {
            Lookup::Found(object) => match read(&object, &key) {
                Ok(live) => Lookup::Found(live),
                Err(why) => Lookup::Unknown(why),
            },
            Lookup::Missing => Lookup::Missing,
            Lookup::Unknown(why) => Lookup::Unknown(why),
        };
        self.record(key.kind, lookup)
    }

    /// The objects of a type in one namespace with all these labels, by name. Where one can't be understood, all
    /// are unknown.
    pub fn list<T: Resource + DeserializeOwned>(
        &self,
        namespace: &str,
        labels: &[(&str, &str)],
    ) -> Lookup<Vec<Live<T>>> {
        let one = format!("a {}", T::KIND);
        let lookup = match self.objects(T::KIND, namespace, labels) {
            Lookup::Found(objects) => {
                match objects
                    .iter()
                    .map(|object| read::<T>(object, &one))
                    .collect()
                {
                    Ok(lives) => Lookup::Found(lives),
                    Err(why) => Lookup::Unknown(why),
                }
            }
            Lookup::Missing => Lookup::Missing,
            Lookup::Unknown(why) => Lookup::Unknown(why),
        };
        self.record(T::KIND, lookup)
    }

    /// Which objects of a kind there are in one namespace with all these labels, by name.
    pub fn keys(
        &self,
        kind: ResourceKind,
        namespace: &str,
        labels: &[(&str, &str)],
    ) -> Lookup<Vec<Key>> {
        self.objects(kind, namespace, labels).map(|objects| {
            let name = |object: &Arc<Value>| {
                let name = object.pointer("/metadata/name")?.as_str()?;
                Some(Key::new(kind, namespace, name))
            };
            objects.iter().filter_map(name).collect()
        })
    }

    fn objects(
        &self,
        kind: ResourceKind,
        namespace: &str,
        labels: &[(&str, &str)],
    ) -> Lookup<Vec<Arc<Value>>> {
        let labels: BTreeMap<String, String> = labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        let lookup = self.source.objects(kind, namespace, &labels);
        self.dependencies.borrow_mut().insert(Dependency::Objects {
            kind,
            namespace: namespace.to_owned(),
            labels,
        });
        self.record(kind, lookup)
    }

    fn record<T>(&self, kind: ResourceKind, lookup: Lookup<T>) -> Lookup<T> {
        if let Lookup::Unknown(_) = lookup {
            self.unknown.borrow_mut().insert(kind);
        }
        lookup
    }

    /// Returns the kinds of which something that was looked up could not be read or parsed.
    pub fn unknown_kinds(&self) -> BTreeSet<ResourceKind> {
        self.unknown.borrow().clone()
    }

    /// Returns a condition of an object; none while it isn't set for the object's present generation.
    pub fn condition(&self, key: &Key, type_: &str) -> Lookup<Option<Condition>> {
        self.object(key).map(|object| {
            let conditions = object.pointer("/status/conditions")?.as_array()?;
            let condition = conditions.iter().find(|other| other["type"] == type_)?;
            let condition = Condition::deserialize(condition).ok()?;
            let generation = object
                .pointer("/metadata/generation")
                .and_then(Value::as_i64);
            let stale = condition.observed_generation.is_some()
                && condition.observed_generation < generation;
            (!stale).then_some(condition)
        })
    }

    /// Returns the response of an external system.
    pub fn external(&self, request: ExternalRequest) -> Lookup<Arc<Value>> {
        let lookup = self.source.external(&request);
        self.dependencies
            .borrow_mut()
            .insert(Dependency::External(request));
        lookup
    }

    /// Returns everything that was looked up.
    pub fn into_dependencies(self) -> BTreeSet<Dependency> {
        self.dependencies.into_inner()
    }
}

/// Reads an object that messages name like this.
fn read<T: Resource + DeserializeOwned>(
    object: &Value,
    named: &impl fmt::Display,
) -> Result<Live<T>, String> {
    let live = || -> Result<Live<T>, serde_json::Error> {
        Ok(Live {
            metadata: Metadata::deserialize(&object["metadata"])?,
            body: T::deserialize(object)?,
        })
    };
    live().map_err(|error| match T::KIND == <Secret as Resource>::KIND {
        true => not_a_secret(object),
        false => format!("{named} can't be understood: {error}"),
    })
}

/// Says what is wrong with a Secret. serde's errors quote values, and so parts of credentials.
fn not_a_secret(secret: &Value) -> String {
    let name = secret["metadata"]["name"].as_str().unwrap_or_default();
    let mut data = secret["data"].as_object().into_iter().flatten();
    match data.find(|(_, value)| ByteString::deserialize(*value).is_err()) {
        Some((key, _)) => format!("Secret {name} can't be understood: data.{key} must be Base64"),
        None => format!("Secret {name} can't be understood: it is not a valid Secret"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secret_that_is_not_valid_is_named_without_its_values() {
        let why = |secret: &Value| read::<Secret>(secret, &"a Secret").err();
        for value in [json!("ZZZZ-ZZZ"), json!(7)] {
            let data = json!({ "user": "YQ==", "password": value });
            let secret = json!({ "metadata": { "name": "nova-db" }, "data": data });
            assert_eq!(
                why(&secret).as_deref(),
                Some("Secret nova-db can't be understood: data.password must be Base64")
            );
        }
        let secret = json!({ "metadata": { "name": "nova-db" }, "data": "ZZZZ" });
        assert_eq!(
            why(&secret).as_deref(),
            Some("Secret nova-db can't be understood: it is not a valid Secret")
        );
    }
}
