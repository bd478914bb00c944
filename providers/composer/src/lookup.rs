//! What a composer looks up, where a runtime finds it, and what a lookup results in.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use c5c3_kinds::ResourceKind;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::conditions::Progress;
use crate::key::Key;

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

    /// Returns what was found, none if it doesn't exist.
    ///
    /// # Errors
    /// It is unknown. The text says why.
    pub fn known(self) -> Result<Option<T>, String> {
        match self {
            Self::Found(value) => Ok(Some(value)),
            Self::Missing => Ok(None),
            Self::Unknown(why) => Err(why),
        }
    }

    /// Returns what was found, none if it doesn't exist.
    ///
    /// # Errors
    /// It is unknown.
    pub fn optional(self) -> Result<Option<T>, Progress> {
        self.known().map_err(Progress::unknown)
    }

    /// Returns what was found.
    ///
    /// # Errors
    /// It doesn't exist, and `missing` says what that means; or it is unknown.
    pub fn required(self, missing: impl FnOnce() -> Progress) -> Result<T, Progress> {
        self.optional()?.ok_or_else(missing)
    }

    /// Returns what was found, the type's default if it doesn't exist.
    ///
    /// # Errors
    /// It is unknown.
    pub fn or_default(self) -> Result<T, Progress>
    where
        T: Default,
    {
        Ok(self.optional()?.unwrap_or_default())
    }

    /// Borrows what was found.
    pub fn as_ref(&self) -> Lookup<&T> {
        match self {
            Self::Found(value) => Lookup::Found(value),
            Self::Missing => Lookup::Missing,
            Self::Unknown(why) => Lookup::Unknown(why.clone()),
        }
    }

    /// Converts what was found.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Lookup<U> {
        self.and_then(|value| Lookup::Found(change(value)))
    }

    /// Continues with what was found.
    pub fn and_then<U>(self, next: impl FnOnce(T) -> Lookup<U>) -> Lookup<U> {
        match self {
            Self::Found(value) => next(value),
            Self::Missing => Lookup::Missing,
            Self::Unknown(why) => Lookup::Unknown(why),
        }
    }

    /// Whether it is known not to exist.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing)
    }
}

impl Lookup<Arc<Value>> {
    /// Parses a response. One that isn't valid is unknown; `invalid` says so.
    pub fn parsed<T: DeserializeOwned>(
        self,
        invalid: impl FnOnce(serde_json::Error) -> String,
    ) -> Lookup<T> {
        self.and_then(|response| {
            let parsed: serde_json::Result<T> = Deserialize::deserialize(&*response);
            parsed.map_err(invalid).into()
        })
    }
}

impl<T> From<Result<T, String>> for Lookup<T> {
    fn from(result: Result<T, String>) -> Self {
        result.map_or_else(Self::Unknown, Self::Found)
    }
}

/// Those that exist; unknown if one of them is. All are looked up, so that what has to be read is read together.
impl<T> FromIterator<Lookup<T>> for Lookup<Vec<T>> {
    fn from_iter<I: IntoIterator<Item = Lookup<T>>>(lookups: I) -> Self {
        let (mut found, mut unknown) = (Vec::new(), None);
        for lookup in lookups {
            match lookup {
                Lookup::Found(value) => found.push(value),
                Lookup::Missing => {}
                Lookup::Unknown(why) => unknown = Some(why),
            }
        }
        unknown.map_or(Ok(found), Err).into()
    }
}

/// Where a runtime looks things up. Objects are whole, as the API server has them.
pub trait Source {
    /// One object.
    fn object(&self, key: &Key) -> Lookup<Arc<Value>>;

    /// The objects of a selection, by name.
    fn objects(&self, selection: &Selection) -> Lookup<Vec<Arc<Value>>>;

    /// Which objects a selection has, by name.
    fn keys(&self, selection: &Selection) -> Lookup<Vec<Key>> {
        let kind = selection.kind;
        self.objects(selection).and_then(|objects| {
            let keys = objects.iter().map(|object| {
                let name = object.pointer("/metadata/name")?.as_str()?;
                Some(Key::new(kind, &selection.namespace, name))
            });
            let keys: Option<Vec<Key>> = keys.collect();
            keys.ok_or_else(|| format!("a {kind} has no name")).into()
        })
    }

    /// The response of an external system.
    fn external(&self, request: &ExternalRequest) -> Lookup<Arc<Value>>;

    /// Whether a kind is installed, as far as that is known.
    fn is_installed(&self, _kind: ResourceKind, _namespace: &str) -> bool {
        true
    }
}

/// A source of which nothing is known, for what follows from a resource alone.
pub struct Unobserved;

impl Source for Unobserved {
    fn object(&self, key: &Key) -> Lookup<Arc<Value>> {
        Lookup::Unknown(format!("{key} isn't observed"))
    }

    fn objects(&self, selection: &Selection) -> Lookup<Vec<Arc<Value>>> {
        Lookup::Unknown(format!("no {} is observed", selection.kind))
    }

    fn external(&self, _request: &ExternalRequest) -> Lookup<Arc<Value>> {
        Lookup::Unknown("no external system is observed".to_owned())
    }
}

/// Something that a composer looked up; when it changes, the resource is reconciled again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dependency {
    /// One object.
    Object(Key),
    /// Some objects of a kind.
    Objects(Selection),
    /// Which objects of a kind there are. None of them is read.
    Keys(Selection),
    /// An external system.
    External(ExternalRequest),
}

/// The objects of a kind in one namespace with all these labels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Selection {
    /// The kind.
    pub kind: ResourceKind,
    /// The namespace; ignored where the kind is cluster-scoped.
    pub namespace: String,
    /// The labels.
    pub labels: BTreeMap<String, String>,
}

impl Selection {
    /// Selects the objects of a kind in one namespace with all these labels.
    pub fn new(kind: ResourceKind, namespace: &str, labels: &[(&str, &str)]) -> Self {
        let labels = labels.iter();
        let labels = labels.map(|(label, value)| ((*label).to_owned(), (*value).to_owned()));
        Self {
            kind,
            namespace: namespace.to_owned(),
            labels: labels.collect(),
        }
    }

    /// Whether an object has all the labels.
    pub fn labels_match(&self, object: &Value) -> bool {
        let has = &object["metadata"]["labels"];
        let mut labels = self.labels.iter();
        labels.all(|(label, value)| has[label].as_str() == Some(value.as_str()))
    }
}

/// Labels as lookups take them.
pub fn label_pairs(labels: &BTreeMap<String, String>) -> Vec<(&str, &str)> {
    let labels = labels.iter();
    labels
        .map(|(label, value)| (label.as_str(), value.as_str()))
        .collect()
}

/// A request to an external system, to read or to change something. Its content may hold a credential and is never shown.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExternalRequest {
    /// The system, for instance `keystone`: which driver is meant.
    pub system: &'static str,
    /// The request as that driver understands it, in JSON.
    pub content: String,
}

impl ExternalRequest {
    /// A query or call as the driver of a system understands it. Content that can't be written as JSON is left empty, and the driver
    /// refuses it.
    pub fn new(system: &'static str, content: &impl Serialize) -> Self {
        let content = serde_json::to_string(content).unwrap_or_default();
        Self { system, content }
    }
}

impl fmt::Debug for ExternalRequest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ExternalRequest({})", self.system)
    }
}
