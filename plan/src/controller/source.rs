//! The objects of one cluster, as the source of composers' lookups.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::ByteString;
use provider_composer::{ExternalRequest, Lookup, ResourceKind, Source};
use serde_json::{Map, Value, json};

use super::external::Simulated;
use crate::manifest::Manifest;
use crate::store::{Key, Store};

/// The objects of one cluster, and the systems that it can reach.
pub struct InCluster<'a> {
    pub store: &'a Store,
    pub cluster: &'a str,
    pub external: &'a BTreeMap<&'static str, Box<dyn Simulated>>,
}

impl Source for InCluster<'_> {
    fn object(&self, wanted: &provider_composer::Key) -> Lookup<Arc<Value>> {
        match self.store.get(&key(self.cluster, wanted)) {
            Some(manifest) => Lookup::Found(Arc::new(manifest.value().clone())),
            None => Lookup::Missing,
        }
    }

    fn objects(
        &self,
        kind: ResourceKind,
        namespace: &str,
        labels: &BTreeMap<String, String>,
    ) -> Lookup<Vec<Arc<Value>>> {
        let api_version = kind.api_version();
        let namespace = if kind.namespaced { namespace } else { "" };
        let objects = self
            .store
            .of_kind(self.cluster, &api_version, kind.kind, Some(namespace))
            .filter(|(_, manifest)| {
                let mut labels = labels.iter();
                labels.all(|(label, value)| manifest.label(label) == value)
            })
            .map(|(_, manifest)| Arc::new(manifest.value().clone()));
        Lookup::Found(objects.collect())
    }

    fn external(&self, request: &ExternalRequest) -> Lookup<Arc<Value>> {
        match self.external.get(request.system) {
            Some(system) => Lookup::Found(Arc::new(system.observe(&request.content))),
            None => Lookup::Unknown(format!("a plan knows nothing of {}", request.system)),
        }
    }
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

/// An object as the API server stores it: a Secret has its texts among its data.
pub fn stored(manifest: Manifest) -> Manifest {
    if manifest.kind() != "Secret" || !manifest.api_version().eq("v1") {
        return manifest;
    }
    manifest.changed(|fields| {
        let Some(Value::Object(texts)) = fields.shift_remove("stringData") else {
            return;
        };
        let mut data = match fields.shift_remove("data") {
            Some(Value::Object(data)) => data,
            _ => Map::new(),
        };
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
            "data": { "kept": "YQ==", "said-twice": "YQ==" }, "stringData": { "said-twice": "me" },
        });
        let stored = stored(Manifest::try_from(given).unwrap());
        assert_eq!(
            stored.value()["data"],
            json!({ "kept": "YQ==", "said-twice": "bWU=" })
        );
        assert_eq!(stored.value().get("stringData"), None);
    }
}
