//! The objects of one cluster, as composers look them up and as their operators write them.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use provider_composer::reconcile::memory::{Objects, set_labels};
use provider_composer::reconcile::{Controller, Event, Existing, Management, Reconcile, Write};
use provider_composer::{ExternalRequest, Failure, Lookup, Owner, ResourceKind, Selection, Source};
use serde_json::{Value, json};

use super::external::Simulated;
use super::is_of;
use crate::manifest::{Manifest, take};
use crate::placeholder::placeholder;
use crate::store::{Key, Store};

/// The objects of one cluster, and the systems that it can reach.
pub struct InCluster<'a> {
    pub store: &'a mut Store,
    pub cluster: &'a str,
    pub external: &'a mut BTreeMap<&'static str, Box<dyn Simulated>>,
    pub now: Timestamp,
    /// The Secrets that are generated for the subject.
    pub generated: &'a BTreeSet<Key>,
}

impl Source for InCluster<'_> {
    fn object(&self, wanted: &provider_composer::Key) -> Lookup<Arc<Value>> {
        match self.store.get(&key(self.cluster, wanted)) {
            Some(manifest) => Lookup::Found(manifest.shared()),
            None => Lookup::Missing,
        }
    }

    fn objects(&self, selection: &Selection) -> Lookup<Vec<Arc<Value>>> {
        let kind = selection.kind;
        let api_version = kind.api_version();
        let namespace = if kind.namespaced {
            selection.namespace.as_str()
        } else {
            ""
        };
        let objects = self
            .store
            .of_kind(self.cluster, &api_version, kind.kind, Some(namespace))
            .filter(|(_, manifest)| selection.labels_match(manifest.value()))
            .map(|(_, manifest)| manifest.shared());
        Lookup::Found(objects.collect())
    }

    fn external(&self, request: &ExternalRequest) -> Lookup<Arc<Value>> {
        match self.external.get(request.system) {
            Some(system) => Lookup::Found(Arc::new(system.observe(&request.content))),
            None => Lookup::Unknown(format!("a plan knows nothing of {}", request.system)),
        }
    }
}

impl Objects for InCluster<'_> {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn existing(
        &self,
        reconcile: Reconcile<'_>,
        wanted: &provider_composer::Key,
    ) -> Lookup<Existing> {
        let key = key(self.cluster, wanted);
        match self.store.get(&key) {
            Some(manifest) => Lookup::Found(self.known(reconcile, &key, manifest)),
            None => Lookup::Missing,
        }
    }

    fn controlled(&self, reconcile: Reconcile<'_>) -> Vec<(provider_composer::Key, Existing)> {
        let kinds = reconcile.pruned_kinds();
        let subject = key(self.cluster, reconcile.subject);
        let controlled = self.store.made_by(&subject).filter_map(|(key, manifest)| {
            let kind = kinds.iter().find(|kind| is_of(key, **kind))?;
            let existing = self.known(reconcile, key, manifest);
            let key = provider_composer::Key::new(*kind, &key.namespace, &key.name);
            Some((key, existing))
        });
        controlled.collect()
    }

    fn is_readable(&self, _: ResourceKind, _: &str) -> bool {
        true
    }

    fn write(
        &mut self,
        reconcile: Reconcile<'_>,
        owner: &Owner,
        wanted: &provider_composer::Key,
        write: Write<'_>,
    ) {
        let subject = key(self.cluster, reconcile.subject);
        let key = key(self.cluster, wanted);
        let (object, maker) = match write {
            Write::Apply(object) => (object.clone(), Some(subject)),
            Write::Label { labels, .. } => {
                let live = self.store.get(&key).map(Manifest::value);
                let mut object = live.cloned().unwrap_or_default();
                set_labels(&mut object, labels);
                (object, self.store.maker(&key).cloned())
            }
            Write::Generate(generated) => {
                let operator = reconcile.operator.name();
                let Ok(secret) = generated.secret(wanted, operator, owner, None, |name, value| {
                    let seed = format!("{}/{}/{name}", key.namespace, key.name);
                    Ok::<_, Infallible>(placeholder(&seed, value).into_bytes())
                });
                (secret, Some(subject))
            }
        };
        // Composed objects have all that a manifest has to have.
        if let Ok(manifest) = Manifest::try_from(object) {
            self.store
                .apply(self.cluster, stored(manifest), maker.as_ref());
        }
    }

    fn delete(&mut self, wanted: &provider_composer::Key) {
        self.store.remove(&key(self.cluster, wanted));
    }

    fn call(
        &mut self,
        subject: &provider_composer::Key,
        call: &ExternalRequest,
    ) -> Result<(), Failure> {
        let system = self.external.get_mut(call.system);
        if system.is_some_and(|system| system.call(&call.content)) {
            self.store.touch(&key(self.cluster, subject));
        }
        Ok(())
    }

    /// A plan deletes no subject.
    fn set_finalizer(&mut self, _: &provider_composer::Key, _: &str, _: bool) {}

    fn report(&mut self, subject: &provider_composer::Key, status: Value, _: Vec<Event>) {
        self.store.set_status(&key(self.cluster, subject), status);
    }
}

impl InCluster<'_> {
    /// Returns what is known of an object. Of a composed one, the store knows the resource that it was composed for; any other is
    /// judged by its metadata, as the controller does.
    fn known(&self, reconcile: Reconcile<'_>, object: &Key, manifest: &Manifest) -> Existing {
        let subject = reconcile.subject;
        let existing = Existing::of(
            manifest.value(),
            |owner| is_reference_to(owner, subject),
            Management::of(manifest.value(), reconcile.operator.name()),
        );
        match self.store.maker(object) {
            None => existing,
            Some(maker) if *maker == key(self.cluster, subject) => Existing {
                controller: Controller::Subject,
                management: match self.generated.contains(object) {
                    true => Management::Created,
                    false => Management::Applied,
                },
                ..existing
            },
            Some(maker) => Existing {
                controller: Controller::Other(format!("{} {}", maker.kind, maker.name)),
                ..existing
            },
        }
    }
}

/// Whether an ownerReference is to a resource, by kind and name: the UIDs of resources in files aren't known.
fn is_reference_to(reference: &Value, resource: &provider_composer::Key) -> bool {
    let api_version = reference["apiVersion"].as_str().unwrap_or_default();
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    group == resource.kind.group
        && reference["kind"] == resource.kind.kind
        && reference["name"] == resource.name
}

/// The key of a composer's object in a cluster.
pub fn key(cluster: &str, key: &provider_composer::Key) -> Key {
    Key {
        cluster: cluster.to_owned(),
        api_version: key.kind.api_version(),
        kind: key.kind.kind.to_owned(),
        namespace: key.namespace.clone().unwrap_or_default(),
        name: key.name.clone(),
    }
}

/// An object as the API server stores it: a Secret has its texts among its data, and no line breaks in Base64.
pub fn stored(manifest: Manifest) -> Manifest {
    if manifest.kind() != "Secret" || !manifest.api_version().eq("v1") {
        return manifest;
    }
    manifest.changed(|fields| {
        if let Some(Value::Object(data)) = fields.get_mut("data") {
            for value in data.values_mut() {
                let base64 = value.as_str().unwrap_or_default();
                *value = json!(base64.replace(['\r', '\n'], ""));
            }
        }
        let Some(Value::Object(texts)) = fields.shift_remove("stringData") else {
            return;
        };
        let mut data = take(fields, "data");
        for (key, text) in texts {
            let bytes = text.as_str().unwrap_or_default().as_bytes().to_vec();
            data.insert(key, json!(ByteString(bytes)));
        }
        fields.insert("data".to_owned(), Value::Object(data));
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_a_secret_are_read_as_data() {
        let given = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s" },
            "data": { "kept": "Y\nQ==\n", "said-twice": "YQ==" }, "stringData": { "said-twice": "me" },
        });
        let stored = stored(Manifest::try_from(given).unwrap());
        assert_eq!(
            stored.value()["data"],
            json!({ "kept": "YQ==", "said-twice": "bWU=" })
        );
        assert_eq!(stored.value().get("stringData"), None);
    }
}
