//! Kubernetes objects as they are written, whatever their kind.

use std::sync::Arc;

use serde_json::{Map, Value};
use thiserror::Error;

/// A Kubernetes object: it has an API version, a kind and a name. Clones share it until one is changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest(Arc<Value>);

/// Why a document isn't a Kubernetes object.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("it has no {0}; a Kubernetes object has apiVersion, kind and metadata.name")]
pub struct NotAnObject(&'static str);

impl TryFrom<Value> for Manifest {
    type Error = NotAnObject;

    fn try_from(value: Value) -> Result<Self, NotAnObject> {
        let manifest = Self(Arc::new(value));
        for (field, pointer) in [
            ("apiVersion", API_VERSION),
            ("kind", KIND),
            ("metadata.name", NAME),
        ] {
            if manifest.text(pointer).is_empty() {
                return Err(NotAnObject(field));
            }
        }
        Ok(manifest)
    }
}

const API_VERSION: &str = "/apiVersion";
const KIND: &str = "/kind";
const NAME: &str = "/metadata/name";
const NAMESPACE: &str = "/metadata/namespace";

impl Manifest {
    /// Group and version.
    pub fn api_version(&self) -> &str {
        self.text(API_VERSION)
    }

    /// The group; empty for Kubernetes' own first one.
    pub fn group(&self) -> &str {
        self.api_version()
            .rsplit_once('/')
            .map_or("", |(group, _)| group)
    }

    /// Kind.
    pub fn kind(&self) -> &str {
        self.text(KIND)
    }

    /// Name.
    pub fn name(&self) -> &str {
        self.text(NAME)
    }

    /// Namespace; empty for a cluster-scoped object.
    pub fn namespace(&self) -> &str {
        self.text(NAMESPACE)
    }

    /// A label's value; empty without it.
    pub fn label(&self, label: &str) -> &str {
        self.metadata("labels", label)
    }

    /// An annotation's value; empty without it.
    pub fn annotation(&self, annotation: &str) -> &str {
        self.metadata("annotations", annotation)
    }

    /// The text at a JSON pointer; empty where there is none.
    pub fn text(&self, pointer: &str) -> &str {
        self.0
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// The spec; null without one.
    pub fn spec(&self) -> &Value {
        &self.0["spec"]
    }

    /// The status; null without one.
    pub fn status(&self) -> &Value {
        &self.0["status"]
    }

    /// The whole object.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// The whole object, shared.
    pub(crate) fn shared(&self) -> Arc<Value> {
        Arc::clone(&self.0)
    }

    /// The same object with another status; null removes it.
    pub fn with_status(mut self, status: Value) -> Self {
        self.set_status(status);
        self
    }

    /// Replaces the status; null removes it.
    pub(crate) fn set_status(&mut self, status: Value) {
        if let Value::Object(fields) = Arc::make_mut(&mut self.0) {
            match status {
                Value::Null => fields.shift_remove("status"),
                status => fields.insert("status".to_owned(), status),
            };
        }
    }

    /// The same object without owner references, which the API server's identifiers are in.
    pub fn without_owners(self) -> Self {
        self.changed(|fields| {
            if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
                metadata.shift_remove("ownerReferences");
            }
        })
    }

    /// The same object with one more text in its metadata.
    pub fn with_metadata(self, field: &str, text: &str) -> Self {
        self.changed(|fields| {
            if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
                metadata.insert(field.to_owned(), Value::String(text.to_owned()));
            }
        })
    }

    /// The same object with the metadata of another as well, where it has none of its own.
    pub(crate) fn with_metadata_of(self, other: &Self) -> Self {
        let metadata = other.0["metadata"].clone();
        self.changed(|fields| {
            let own = fields.remove("metadata").unwrap_or_default();
            fields.insert("metadata".to_owned(), merged(metadata, own));
        })
    }

    /// The same object with other fields; it keeps its kind and name.
    pub(crate) fn changed(mut self, change: impl FnOnce(&mut Map<String, Value>)) -> Self {
        if let Value::Object(fields) = Arc::make_mut(&mut self.0) {
            change(fields);
        }
        self
    }

    /// `Kind namespace/name`, for people.
    pub fn title(&self) -> String {
        format!("{} {}", self.kind(), self.path())
    }

    /// `namespace/name`, or the name alone.
    pub fn path(&self) -> String {
        path(self.namespace(), self.name())
    }

    fn metadata(&self, map: &str, key: &str) -> &str {
        self.0["metadata"][map][key].as_str().unwrap_or_default()
    }
}

/// Removes an object from the fields of another. Returns an empty one where there is none.
pub(crate) fn take(fields: &mut Map<String, Value>, field: &str) -> Map<String, Value> {
    match fields.shift_remove(field) {
        Some(Value::Object(object)) => object,
        _ => Map::new(),
    }
}

/// `namespace/name`, or the name alone.
pub fn path(namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        name.to_owned()
    } else {
        format!("{namespace}/{name}")
    }
}
/// One value over another: the fields of objects are merged.
fn merged(under: Value, over: Value) -> Value {
    match (under, over) {
        (Value::Object(mut fields), Value::Object(over)) => {
            for (name, value) in over {
                let under = fields.remove(&name).unwrap_or_default();
                fields.insert(name, merged(under, value));
            }
            Value::Object(fields)
        }
        (_, over) => over,
    }
}
