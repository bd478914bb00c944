//! The observed state, and what a composer looked up in it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use c5c3_api::Condition;
use c5c3_kinds::{Resource, ResourceKind};
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::key::Key;
use crate::lookup::{Dependency, ExternalRequest, Lookup, Selection, Source};
use crate::subject::Metadata;

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
        let object = self.object(&key);
        let lookup = object.and_then(|object| live::<T>(&object, &key).into());
        self.record(key.kind, lookup)
    }

    /// One object by its type alone: of its metadata, only what the type reads. What can't be understood is unknown.
    pub fn body<T: Resource + DeserializeOwned>(&self, namespace: &str, name: &str) -> Lookup<T> {
        let key = Key::of::<T>(namespace, name);
        let object = self.object(&key);
        let lookup = object.and_then(|object| read::<T>(&object, &key).into());
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
        let selection = Selection::new(T::KIND, namespace, labels);
        let lookup = self.source.objects(&selection).and_then(|objects| {
            let lives = objects.iter().map(|object| live::<T>(object, &one));
            let lives: Result<Vec<_>, _> = lives.collect();
            lives.into()
        });
        self.listed(T::KIND, Dependency::Objects(selection), lookup)
    }

    /// Which objects of a kind there are in one namespace with all these labels, by name. None of them is read.
    pub fn keys(
        &self,
        kind: ResourceKind,
        namespace: &str,
        labels: &[(&str, &str)],
    ) -> Lookup<Vec<Key>> {
        let selection = Selection::new(kind, namespace, labels);
        let lookup = self.source.keys(&selection);
        self.listed(kind, Dependency::Keys(selection), lookup)
    }

    fn listed<T>(
        &self,
        kind: ResourceKind,
        dependency: Dependency,
        lookup: Lookup<T>,
    ) -> Lookup<T> {
        self.dependencies.borrow_mut().insert(dependency);
        self.record(kind, lookup)
    }

    fn record<T>(&self, kind: ResourceKind, lookup: Lookup<T>) -> Lookup<T> {
        if let Lookup::Unknown(_) = lookup {
            self.unknown.borrow_mut().insert(kind);
        }
        lookup
    }

    /// Whether a kind is installed, as far as that is known. Objects of one that isn't are unknown where they are looked up, because they
    /// can't be created, but none exists that could be deleted.
    pub fn is_installed(&self, kind: ResourceKind, namespace: &str) -> bool {
        self.source.is_installed(kind, namespace)
    }

    /// Returns the kinds of which something that was looked up could not be read or parsed.
    pub fn unknown_kinds(&self) -> BTreeSet<ResourceKind> {
        self.unknown.borrow().clone()
    }

    /// Returns a condition of an object; none while it isn't set for the object's present generation. One that can't be
    /// understood is unknown.
    pub fn condition(&self, key: &Key, type_: &str) -> Lookup<Option<Condition>> {
        let lookup = self.object(key).and_then(|object| {
            let condition = current_condition(&object, type_).map_err(|error| {
                format!("the condition {type_} of {key} can't be understood: {error}")
            });
            condition.into()
        });
        self.record(key.kind, lookup)
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

/// Reads a condition of an object, if it is set for the object's present generation.
fn current_condition(object: &Value, type_: &str) -> Result<Option<Condition>, serde_json::Error> {
    let conditions = object["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    let Some(condition) = conditions.find(|other| other["type"] == type_) else {
        return Ok(None);
    };
    let condition = Condition::deserialize(condition)?;
    let generation = object["metadata"]["generation"].as_i64();
    let is_stale =
        condition.observed_generation.is_some() && condition.observed_generation < generation;
    Ok((!is_stale).then_some(condition))
}

/// Reads an object that messages name like this.
fn live<T: Resource + DeserializeOwned>(
    object: &Value,
    named: &impl fmt::Display,
) -> Result<Live<T>, String> {
    let metadata = Metadata::deserialize(&object["metadata"]);
    Ok(Live {
        metadata: metadata.map_err(|error| invalid(T::KIND, object, named, &error))?,
        body: read(object, named)?,
    })
}

/// Reads an object without its metadata.
fn read<T: Resource + DeserializeOwned>(
    object: &Value,
    named: &impl fmt::Display,
) -> Result<T, String> {
    T::deserialize(object).map_err(|error| invalid(T::KIND, object, named, &error))
}

/// Says why an object can't be read.
fn invalid(
    kind: ResourceKind,
    object: &Value,
    named: &impl fmt::Display,
    error: &serde_json::Error,
) -> String {
    match kind == <Secret as Resource>::KIND {
        true => not_a_secret(object),
        false => format!("{named} can't be understood: {error}"),
    }
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
    use k8s_openapi::api::core::v1::Node;
    use serde_json::json;

    use super::*;

    /// Objects of a kind, of which every lookup finds the first, and every list all.
    struct Listed(Vec<Value>);

    impl Source for Listed {
        fn object(&self, _: &Key) -> Lookup<Arc<Value>> {
            let first = self.0.first().cloned();
            first.map_or(Lookup::Missing, |object| Lookup::Found(Arc::new(object)))
        }

        fn objects(&self, _: &Selection) -> Lookup<Vec<Arc<Value>>> {
            Lookup::Found(self.0.iter().cloned().map(Arc::new).collect())
        }

        fn external(&self, _: &ExternalRequest) -> Lookup<Arc<Value>> {
            Lookup::Missing
        }
    }

    fn nodes() -> BTreeSet<ResourceKind> {
        BTreeSet::from([Node::KIND])
    }

    #[test]
    fn list_with_an_object_without_a_name_is_unknown() {
        let named = json!({ "metadata": { "name": "one" } });
        let both = Listed(vec![named.clone(), json!({ "metadata": {} })]);
        let observed = ObservedState::new(&both, Timestamp::UNIX_EPOCH);
        assert_eq!(
            observed.keys(Node::KIND, "", &[]),
            Lookup::Unknown("a Node has no name".to_owned())
        );
        assert_eq!(observed.unknown_kinds(), nodes());
        let one = Listed(vec![named]);
        let observed = ObservedState::new(&one, Timestamp::UNIX_EPOCH);
        let key = Key::of::<Node>("", "one");
        assert_eq!(observed.keys(Node::KIND, "", &[]), Lookup::Found(vec![key]));
    }

    #[test]
    fn condition_that_is_not_valid_is_unknown_and_not_unset() {
        let condition = |conditions: Value| {
            let node = Listed(vec![json!({ "status": { "conditions": conditions } })]);
            let observed = ObservedState::new(&node, Timestamp::UNIX_EPOCH);
            let lookup = observed.condition(&Key::of::<Node>("", "one"), "Ready");
            (lookup, observed.unknown_kinds())
        };
        let (lookup, unknown) = condition(json!([{ "type": "Ready", "status": 1 }]));
        let Lookup::Unknown(why) = &lookup else {
            unreachable!("{lookup:?}");
        };
        let named = "the condition Ready of Node one can't be understood: ";
        assert!(why.starts_with(named), "{why}");
        assert_eq!(unknown, nodes());
        assert_eq!(condition(json!([])).0, Lookup::Found(None));
        let (lookup, unknown) = condition(json!([{ "type": "Ready", "status": "True" }]));
        let status = lookup.map(|condition| condition.map(|condition| condition.status));
        assert_eq!(status, Lookup::Found(Some("True".to_owned())));
        assert_eq!(unknown, BTreeSet::new());
    }

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
