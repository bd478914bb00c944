//! A cluster as text, from which operators of a later version go on.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use provider_composer::{Key, ResourceKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Cluster, Contents, Store, stored};

/// Everything in a cluster, and the calls of external systems, which are repeated when the systems join the restored cluster.
pub struct Dump {
    header: Header,
    /// Every object.
    pub objects: Vec<Dumped>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    /// The commit whose operators wrote the objects.
    commit: String,
    now: Timestamp,
    created: usize,
    calls: Vec<(String, String)>,
}

/// An object of a dump.
#[derive(Serialize, Deserialize)]
pub struct Dumped {
    /// The object.
    pub object: Value,
    plural: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    managed: BTreeMap<String, Managed>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    drawn: Option<usize>,
}

/// What an operator did with an object.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Managed {
    Created,
    /// It applied everything but what the API server and the object's own operator put in.
    Whole,
    Fields(Value),
}

impl Dump {
    /// Returns what is in a cluster, by the operators of a commit.
    pub fn of(cluster: &Cluster, commit: &str) -> Self {
        let objects = cluster.objects().iter().map(|(key, object)| Dumped {
            object: Value::clone(object),
            plural: key.kind.plural.to_owned(),
            managed: managed(cluster.contents.store.managed.get(key), object),
            drawn: cluster.contents.drawn.get(key).copied(),
        });
        Self {
            header: Header {
                commit: commit.to_owned(),
                now: cluster.now(),
                created: cluster.contents.store.created,
                calls: cluster.contents.calls.clone(),
            },
            objects: objects.collect(),
        }
    }

    /// Reads the lines that [`Dump::lines`] wrote.
    ///
    /// # Errors
    /// They are of something else.
    pub fn read(lines: &str) -> serde_json::Result<Self> {
        let (header, objects) = lines.split_once('\n').unwrap_or((lines, ""));
        let objects = objects.lines().map(serde_json::from_str);
        Ok(Self {
            header: serde_json::from_str(header)?,
            objects: objects.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the dump as JSON, with a line for each object.
    ///
    /// # Errors
    /// It can't be written as JSON.
    pub fn lines(&self) -> serde_json::Result<String> {
        let mut lines = serde_json::to_string(&self.header)? + "\n";
        for object in &self.objects {
            lines += &(serde_json::to_string(object)? + "\n");
        }
        Ok(lines)
    }

    /// Returns the cluster. Its external systems have to join it.
    pub fn restored(&self) -> Cluster {
        let mut store = Store {
            now: self.header.now,
            created: self.header.created,
            ..Store::default()
        };
        let mut drawn = BTreeMap::new();
        for dumped in &self.objects {
            let key = dumped.key();
            let managed = dumped.managed.keys().map(|operator| {
                let applied = dumped.applied(operator).unwrap_or_default();
                (kept(operator), applied)
            });
            store.managed.insert(key.clone(), managed.collect());
            drawn.extend(dumped.drawn.map(|drawn| (key.clone(), drawn)));
            store.objects.insert(key, Arc::new(dumped.object.clone()));
        }
        let contents = Contents {
            store,
            drawn,
            calls: self.header.calls.clone(),
            ..Contents::default()
        };
        contents.into()
    }
}

impl Dumped {
    /// Returns the fields that an operator applied of the object; none if it applied nothing.
    pub fn applied(&self, operator: &str) -> Option<Value> {
        match self.managed.get(operator)? {
            Managed::Created => None,
            Managed::Whole => Some(stored::composed(&self.object)),
            Managed::Fields(fields) => Some(fields.clone()),
        }
    }

    /// Whether the object is a Secret that an operator generated.
    pub fn is_generated(&self) -> bool {
        let mut managed = self.managed.values();
        managed.any(|managed| matches!(managed, Managed::Created))
    }

    /// Returns the key of the object.
    pub fn key(&self) -> Key {
        let text = |pointer| self.object.pointer(pointer).and_then(Value::as_str);
        let api_version = text("/apiVersion").unwrap_or_default();
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let namespace = text("/metadata/namespace");
        let kind = ResourceKind {
            group: kept(group),
            version: kept(version),
            kind: kept(text("/kind").unwrap_or_default()),
            plural: kept(&self.plural),
            namespaced: namespace.is_some(),
        };
        let name = text("/metadata/name").unwrap_or_default();
        Key::new(kind, namespace.unwrap_or_default(), name)
    }
}

fn managed(
    managed: Option<&BTreeMap<&'static str, Value>>,
    object: &Value,
) -> BTreeMap<String, Managed> {
    let managed = managed.into_iter().flatten().map(|(operator, applied)| {
        let managed = match applied {
            Value::Null => Managed::Created,
            applied if *applied == stored::composed(object) => Managed::Whole,
            applied => Managed::Fields(applied.clone()),
        };
        ((*operator).to_owned(), managed)
    });
    managed.collect()
}

/// A text for the rest of the process, as names of kinds and operators are.
fn kept(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}
