//! What a composer sees of the world, and what it asked for.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use c5c3_api::Condition;
use jiff::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::key::Key;
use crate::kind::{Resource, ResourceKind};
use crate::subject::Metadata;

/// What is known of something that was looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen<T> {
    /// It could not be read, or not yet; the text says why. It may well exist.
    Unread(String),
    /// It isn't there.
    Missing,
    /// It is there.
    Found(T),
}

impl<T> Seen<T> {
    /// What was found.
    pub fn found(self) -> Option<T> {
        match self {
            Self::Found(value) => Some(value),
            Self::Missing | Self::Unread(_) => None,
        }
    }

    /// What was found, seen in another way.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Seen<U> {
        match self {
            Self::Found(value) => Seen::Found(change(value)),
            Self::Missing => Seen::Missing,
            Self::Unread(why) => Seen::Unread(why),
        }
    }

    /// Whether it is known not to be there.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing)
    }
}

/// Where a carrier of composers looks things up. An object is given whole, as the API server has it.
pub trait Source {
    /// One object.
    fn object(&self, key: &Key) -> Seen<Arc<Value>>;

    /// The objects of a kind in one namespace with all these labels, by name.
    fn objects(
        &self,
        kind: ResourceKind,
        namespace: &str,
        labels: &BTreeMap<String, String>,
    ) -> Seen<Vec<Arc<Value>>>;

    /// What a system outside Kubernetes answers.
    fn outside(&self, question: &Outside) -> Seen<Arc<Value>>;
}

/// Something that a composer looked at; when it changes, the composer is called again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ask {
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
    /// A system outside Kubernetes.
    Outside(Outside),
}

/// A question to a system outside Kubernetes, or a call of it. Its content may hold a credential and is never shown.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outside {
    /// The system, for instance `keystone`: which driver is meant.
    pub system: &'static str,
    /// What is asked or called, as that driver understands it, in JSON.
    pub content: String,
}

impl fmt::Debug for Outside {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Outside({})", self.system)
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

/// What a composer sees of the world. It notes what was looked up.
pub struct World<'a> {
    source: &'a dyn Source,
    now: Timestamp,
    asks: RefCell<BTreeSet<Ask>>,
    unknown: RefCell<BTreeSet<ResourceKind>>,
}

impl<'a> World<'a> {
    /// The world as a source shows it, at one moment.
    pub fn new(source: &'a dyn Source, now: Timestamp) -> Self {
        Self {
            source,
            now,
            asks: RefCell::default(),
            unknown: RefCell::default(),
        }
    }

    /// The moment that everything was looked at.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// One object as it is.
    pub fn object(&self, key: &Key) -> Seen<Arc<Value>> {
        self.asks.borrow_mut().insert(Ask::Object(key.clone()));
        self.noted(key.kind, self.source.object(key))
    }

    /// One object by its type. What can't be understood counts as unread.
    pub fn get<T: Resource + DeserializeOwned>(
        &self,
        namespace: &str,
        name: &str,
    ) -> Seen<Live<T>> {
        let key = Key::of::<T>(namespace, name);
        let seen = match self.object(&key) {
            Seen::Found(object) => match read(&object) {
                Ok(live) => Seen::Found(live),
                Err(error) => Seen::Unread(format!("{key} can't be understood: {error}")),
            },
            Seen::Missing => Seen::Missing,
            Seen::Unread(why) => Seen::Unread(why),
        };
        self.noted(key.kind, seen)
    }

    /// The objects of a type in one namespace with all these labels, by name. Those that can't be understood count as
    /// unread, and so do all then.
    pub fn list<T: Resource + DeserializeOwned>(
        &self,
        namespace: &str,
        labels: &[(&str, &str)],
    ) -> Seen<Vec<Live<T>>> {
        let seen = match self.objects(T::KIND, namespace, labels) {
            Seen::Found(objects) => match objects.iter().map(|object| read(object)).collect() {
                Ok(lives) => Seen::Found(lives),
                Err(error) => Seen::Unread(format!("a {} can't be understood: {error}", T::KIND)),
            },
            Seen::Missing => Seen::Missing,
            Seen::Unread(why) => Seen::Unread(why),
        };
        self.noted(T::KIND, seen)
    }

    /// Which objects of a kind there are in one namespace with all these labels, by name.
    pub fn keys(
        &self,
        kind: ResourceKind,
        namespace: &str,
        labels: &[(&str, &str)],
    ) -> Seen<Vec<Key>> {
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
    ) -> Seen<Vec<Arc<Value>>> {
        let labels: BTreeMap<String, String> = labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        let seen = self.source.objects(kind, namespace, &labels);
        self.asks.borrow_mut().insert(Ask::Objects {
            kind,
            namespace: namespace.to_owned(),
            labels,
        });
        self.noted(kind, seen)
    }

    fn noted<T>(&self, kind: ResourceKind, seen: Seen<T>) -> Seen<T> {
        if let Seen::Unread(_) = seen {
            self.unknown.borrow_mut().insert(kind);
        }
        seen
    }

    /// The kinds of which something that was looked up could not be read or understood: what exists of them is unknown.
    pub fn unknown_kinds(&self) -> BTreeSet<ResourceKind> {
        self.unknown.borrow().clone()
    }

    /// What an object's operator says of it under one type of condition. None: nothing yet, or nothing that holds for the
    /// object's present generation.
    pub fn condition(&self, key: &Key, type_: &str) -> Seen<Option<Condition>> {
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

    /// What a system outside Kubernetes answers.
    pub fn outside(&self, question: Outside) -> Seen<Arc<Value>> {
        let seen = self.source.outside(&question);
        self.asks.borrow_mut().insert(Ask::Outside(question));
        seen
    }

    /// Everything that was looked up.
    pub fn into_asks(self) -> BTreeSet<Ask> {
        self.asks.into_inner()
    }
}

fn read<T: DeserializeOwned>(object: &Value) -> Result<Live<T>, serde_json::Error> {
    Ok(Live {
        metadata: Metadata::deserialize(&object["metadata"])?,
        body: T::deserialize(object)?,
    })
}
