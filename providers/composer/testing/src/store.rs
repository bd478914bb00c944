//! A store of objects in memory, with the rules of an API server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use educe::Educe;
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::api::storage::v1::StorageClass;
use provider_composer::{Key, ResourceKind};
use serde_json::{Value, json};

use crate::api_server::{ApiServer, Refusal, Request};
use crate::stored::is_deleted;
use crate::{BEGINNING, owned, refused, stored};

/// The manager of fields that were written by other requests than apply, from any client.
const OTHERS: &str = "others";

/// Objects, and which field manager owns what of them.
#[derive(Clone, Educe)]
#[educe(Default)]
pub struct Store {
    pub(crate) objects: BTreeMap<Key, Arc<Value>>,
    /// What each manager applied of an object; null where it created the object.
    pub(crate) managed: BTreeMap<Key, BTreeMap<&'static str, Value>>,
    /// Kinds whose objects stay when they are deleted, until they are released.
    pub(crate) held: BTreeSet<ResourceKind>,
    /// How many objects were created.
    pub(crate) created: usize,
    /// The present time.
    #[educe(Default = BEGINNING)]
    pub(crate) now: Timestamp,
    /// Kinds that aren't served.
    pub(crate) unserved: BTreeSet<ResourceKind>,
    /// A number that grows with every change.
    pub(crate) version: u64,
}

impl ApiServer for Store {
    fn get(&mut self, key: &Key) -> Option<Value> {
        self.object(key).cloned()
    }

    fn perform(&mut self, key: &Key, request: Request) -> Result<Value, Refusal> {
        self.request(key, request)?;
        Ok(self.object(key).cloned().unwrap_or_default())
    }

    fn collects(&mut self, key: &Key) -> bool {
        self.object(key).is_none()
    }
}

impl Store {
    /// Returns one object.
    pub(crate) fn object(&self, key: &Key) -> Option<&Value> {
        self.objects.get(key).map(Arc::as_ref)
    }

    /// Stops serving a kind. Every other kind is served.
    pub fn without(mut self, kind: ResourceKind) -> Self {
        self.unserved.insert(kind);
        self
    }

    /// Handles a request.
    pub(crate) fn request(&mut self, key: &Key, request: Request) -> Result<(), Refusal> {
        let missing = || Refusal::new("NotFound", format!("{key} doesn't exist"));
        if self.unserved.contains(&key.kind) {
            return Err(missing());
        }
        let live = self.objects.get(key).map(Arc::clone);
        let object = match (&live, &request) {
            (Some(_), Request::Create(_)) => {
                return Err(Refusal::new("AlreadyExists", format!("{key} exists")));
            }
            (None, Request::Create(object)) => object.clone(),
            (None, Request::Apply { fields, .. }) => {
                owned::merged(&Value::Null, &Value::Null, fields)
            }
            (None, _) => return Err(missing()),
            (Some(live), request) => {
                check_version(key, live, request)?;
                match request {
                    Request::Apply {
                        manager,
                        fields,
                        force,
                    } => self.applied(key, live, manager, fields, *force)?,
                    Request::Merge(change) => owned::patched(live, change),
                    Request::Create(object) | Request::Replace(object) => object.clone(),
                    Request::SetStatus(status) => {
                        self.set_status(key, live, status);
                        return Ok(());
                    }
                    Request::Delete => {
                        self.delete(key, live);
                        return Ok(());
                    }
                }
            }
        };
        let before = live.as_deref().unwrap_or(&Value::Null);
        let object = match &live {
            Some(live) => {
                let object = stored::changed(key, live, object);
                refused::check(key, live, &object, self.around(key, live))?;
                object
            }
            None => stored::new(key, object, self.created + 1, self.now),
        };
        let (manager, fields) = match request {
            Request::Apply {
                manager, fields, ..
            } => (manager, Some(fields)),
            _ => (OTHERS, None),
        };
        let is_applied = fields.is_some();
        let is_changed = *before != object || is_applied && !self.manages(key, manager);
        if is_changed || is_applied {
            self.own(key, manager, fields, before, &object);
        }
        if is_changed {
            self.created += usize::from(live.is_none());
            self.insert(key, object);
            self.remove_if_released(key);
        }
        Ok(())
    }

    /// Creates an object that its creator never changes.
    pub(crate) fn generate(
        &mut self,
        key: &Key,
        object: Value,
        creator: &'static str,
    ) -> Result<(), Refusal> {
        self.request(key, Request::Create(object))?;
        let created = BTreeMap::from([(creator, Value::Null)]);
        self.managed.insert(key.clone(), created);
        Ok(())
    }

    /// Removes an object that is being deleted, without regard to its finalizers.
    pub(crate) fn release(&mut self, key: &Key) {
        if self.object(key).is_some_and(is_deleted) {
            self.remove(key);
        }
    }

    fn manages(&self, key: &Key, manager: &str) -> bool {
        let managed = self.managed.get(key);
        managed.is_some_and(|managed| managed.contains_key(manager))
    }

    fn applied(
        &self,
        key: &Key,
        live: &Value,
        manager: &str,
        fields: &Value,
        force: bool,
    ) -> Result<Value, Refusal> {
        let managed = self.managed.get(key).into_iter().flatten();
        let (own, others): (Vec<_>, Vec<_>) = managed.partition(|(other, _)| **other == manager);
        let own = own.first().map_or(&Value::Null, |(_, own)| *own);
        let others: Vec<&Value> = others.into_iter().map(|(_, fields)| fields).collect();
        if !force && owned::conflicts(live, &others, fields) {
            let message = format!("fields of {key} have other managers");
            return Err(Refusal::new("Conflict", message));
        }
        Ok(owned::applied(live, own, &others, fields))
    }

    /// Records who owns what after a write: its manager what it applied or set, and all others what it left as it was.
    fn own(
        &mut self,
        key: &Key,
        manager: &'static str,
        applied: Option<Value>,
        before: &Value,
        after: &Value,
    ) {
        let managed = self.managed.entry(key.clone()).or_default();
        for (_, own) in managed.iter_mut().filter(|(other, _)| **other != manager) {
            *own = owned::remaining(own, before, after);
        }
        let fields = applied.unwrap_or_else(|| {
            let (before, after) = (stored::composed(before), stored::composed(after));
            let own = managed.get(manager).cloned().unwrap_or_else(|| json!({}));
            let own = owned::remaining(&own, &before, &after);
            match owned::written(&before, &after) {
                Value::Null => own,
                written => owned::merged(&own, &Value::Null, &written),
            }
        });
        managed.insert(manager, fields);
    }

    fn set_status(&mut self, key: &Key, live: &Value, status: &Value) {
        if live["status"] != *status {
            let mut object = live.clone();
            object["status"] = status.clone();
            self.insert(key, object);
        }
    }

    /// Deletes an object; one with finalizers is only marked as deleted, which counts as a change of its spec.
    fn delete(&mut self, key: &Key, live: &Value) {
        if is_deleted(live) {
            return;
        }
        let mut object = live.clone();
        let metadata = &mut object["metadata"];
        metadata["deletionTimestamp"] = json!(self.now.to_string());
        metadata["deletionGracePeriodSeconds"] = json!(0);
        if let Some(generation) = metadata["generation"].as_i64() {
            metadata["generation"] = json!(generation + 1);
        }
        self.insert(key, object);
        self.remove_if_released(key);
    }

    fn insert(&mut self, key: &Key, mut object: Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.insert(key.clone(), Arc::new(object));
    }

    /// What decides, beside an object, whether it can be changed.
    fn around(&self, key: &Key, object: &Value) -> refused::Around<'_> {
        let class = object["spec"]["storageClassName"].as_str();
        let class = class.and_then(|class| self.object(&Key::of::<StorageClass>("", class)));
        let namespace = key.namespace.as_deref().unwrap_or_default();
        let servers = format!("{}-server", key.name);
        let claim = format!("persistence-{servers}-0");
        let claim = self.object(&Key::of::<PersistentVolumeClaim>(namespace, &claim));
        let servers = self.object(&Key::of::<StatefulSet>(namespace, &servers));
        refused::Around {
            expands: class.is_some_and(|class| class["allowVolumeExpansion"] == true),
            claim: claim.filter(|_| servers.is_none()),
        }
    }

    /// Removes an object that is being deleted, if it has no finalizer any more.
    fn remove_if_released(&mut self, key: &Key) {
        let is_released = |object: &Value| {
            let finalizers = object["metadata"]["finalizers"].as_array();
            is_deleted(object) && finalizers.is_none_or(Vec::is_empty)
        };
        if !self.held.contains(&key.kind) && self.object(key).is_some_and(is_released) {
            self.remove(key);
        }
    }

    /// Removes an object, and has the garbage collector delete those that no other owner has.
    fn remove(&mut self, key: &Key) {
        let Some(object) = self.objects.remove(key) else {
            return;
        };
        self.version += 1;
        self.managed.remove(key);
        let uid = &object["metadata"]["uid"];
        let dependents = self.objects.iter();
        let dependents = dependents.filter(|(_, object)| owners_without(object, uid).is_some());
        let dependents: Vec<Key> = dependents.map(|(key, _)| key.clone()).collect();
        for key in dependents {
            // It may have been deleted with another one.
            let Some(object) = self.objects.get(&key).map(Arc::clone) else {
                continue;
            };
            let owners = owners_without(&object, uid).unwrap_or_default();
            if owners.iter().any(|owner| self.exists(&owner["uid"])) {
                let mut object = Value::clone(&object);
                object["metadata"]["ownerReferences"] = Value::Array(owners);
                self.insert(&key, object);
            } else {
                self.delete(&key, &object);
            }
        }
    }

    fn exists(&self, uid: &Value) -> bool {
        let mut objects = self.objects.values();
        objects.any(|object| object["metadata"]["uid"] == *uid)
    }
}

/// An object's other owners; none where it doesn't have this one.
fn owners_without(object: &Value, uid: &Value) -> Option<Vec<Value>> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    let left = owners.iter().filter(|owner| owner["uid"] != *uid);
    let left: Vec<Value> = left.cloned().collect();
    (left.len() < owners.len()).then_some(left)
}

/// Refuses a request that was decided for another version of the object, or for another object of its name.
fn check_version(key: &Key, live: &Value, request: &Request) -> Result<(), Refusal> {
    let object = match request {
        Request::Create(object) | Request::Replace(object) | Request::Merge(object) => object,
        Request::Apply { fields, .. } => fields,
        Request::SetStatus(_) | Request::Delete => return Ok(()),
    };
    let differs = |field: &str| {
        let decided = object["metadata"].get(field);
        decided.is_some_and(|decided| *decided != live["metadata"][field])
    };
    match differs("resourceVersion") || differs("uid") {
        true => Err(Refusal::new("Conflict", format!("{key} has changed"))),
        false => Ok(()),
    }
}
