//! Composed resources, with the metadata that Crossplane gives them.

use c5c3_api::Generation;
use serde_json::{Map, Value, json};

use crate::Error;
use crate::composite::{CLAIM_NAME, CLAIM_NAMESPACE, COMPOSITE};
use crate::manifest::{Manifest, take};
use crate::names;
use crate::store::{Key, Store};

/// Annotation of a composed resource with the function's name for it.
const RESOURCE_NAME: &str = "crossplane.io/composition-resource-name";

/// The function's name for a composed resource.
pub fn name(manifest: &Manifest) -> &str {
    manifest.annotation(RESOURCE_NAME)
}

/// A desired resource with a name, the composite's labels and the function's name for it. A resource that exists keeps the
/// name that it has.
///
/// # Errors
/// It isn't a Kubernetes object.
pub fn render(
    wanted: Value,
    resource: &str,
    key: &Key,
    composite: &Manifest,
    generation: Generation,
    store: &Store,
) -> Result<Manifest, Error> {
    let Value::Object(mut wanted) = wanted else {
        return Err(Error::Composed {
            resource: resource.to_owned(),
        });
    };
    let mut metadata = take(&mut wanted, "metadata");
    let exists = store.made_by(key).find(|(_, made)| name(made) == resource);
    if let Some((existing, _)) = exists {
        metadata.insert("name".to_owned(), json!(existing.name));
    }
    if metadata.get("name").is_none_or(|name| name == "") {
        let parent = composite.label(COMPOSITE);
        let generated = |seed: &str| match generation {
            Generation::V1 => names::generated(parent, &format!("{seed} {resource}")),
            Generation::V2 => names::child(parent, seed, resource),
        };
        let text = |field: &str| {
            wanted
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let mut new = Key {
            cluster: key.cluster.clone(),
            api_version: text("apiVersion").to_owned(),
            kind: text("kind").to_owned(),
            namespace: composite.namespace().to_owned(),
            name: generated(&composite.path()),
        };
        // Crossplane generates another name, too. Composites of two kinds may have one path.
        if store.get(&new).is_some() {
            new.name = generated(&composite.title());
        }
        metadata.insert("name".to_owned(), json!(new.name));
    }
    if !composite.namespace().is_empty() {
        metadata.insert("namespace".to_owned(), json!(composite.namespace()));
    }
    let mut labels = take(&mut metadata, "labels");
    for label in [CLAIM_NAME, CLAIM_NAMESPACE, COMPOSITE] {
        let value = composite.label(label);
        if !value.is_empty() {
            labels.insert(label.to_owned(), json!(value));
        }
    }
    let mut annotations = take(&mut metadata, "annotations");
    annotations.insert(RESOURCE_NAME.to_owned(), json!(resource));
    metadata.insert("labels".to_owned(), Value::Object(labels));
    metadata.insert("annotations".to_owned(), Value::Object(annotations));
    let owner = json!({
        "apiVersion": composite.api_version(),
        "kind": composite.kind(),
        "name": composite.name(),
        "uid": composite.text("/metadata/uid"),
        "controller": true,
        "blockOwnerDeletion": true,
    });
    metadata.insert("ownerReferences".to_owned(), json!([owner]));

    let kind = ["apiVersion", "kind"].map(|field| wanted.shift_remove_entry(field));
    let mut manifest: Map<String, Value> = kind.into_iter().flatten().collect();
    manifest.insert("metadata".to_owned(), Value::Object(metadata));
    manifest.extend(wanted);
    Manifest::try_from(Value::Object(manifest)).map_err(|_| Error::Composed {
        resource: resource.to_owned(),
    })
}
