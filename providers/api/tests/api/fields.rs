//! That every field of what operators reconcile can be used.

use std::{collections::BTreeSet, fs, path::Path};

use c5c3_api::custom_resources;
use serde_json::Value;

use crate::resources::{root, text};

/// The paths of all fields of a schema, without what any name may stand for.
fn fields(schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        fields(property, &path, found);
        found.insert(path);
    }
    for within in ["items", "additionalProperties"] {
        if let Some(schema) = schema.get(within) {
            fields(schema, path, found);
        }
    }
}

/// Removes the paths of the fields that a document has.
fn tick(schema: &Value, value: &Value, path: &str, left: &mut BTreeSet<String>) {
    for (name, field) in value.as_object().into_iter().flatten() {
        if let Some(property) = schema["properties"].get(name) {
            let path = format!("{path}.{name}");
            left.remove(&path);
            tick(property, field, &path, left);
        } else if let Some(values) = schema.get("additionalProperties") {
            tick(values, field, path, left);
        }
    }
    for item in value.as_array().into_iter().flatten() {
        tick(&schema["items"], item, path, left);
    }
}

/// A field that no document has may not be as it should, and nobody would know.
#[test]
fn every_field_is_in_a_document_that_is_taken() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let documents: Vec<Value> = ["accepted", "seeds"]
        .iter()
        .flat_map(|folder| fs::read_dir(fixtures.join(folder)).unwrap())
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
        .flat_map(|text| serde_saphyr::from_multiple::<Value>(&text).unwrap())
        .collect();
    for definition in custom_resources() {
        let kind = text(&definition, "/spec/names/kind");
        let mut left = BTreeSet::new();
        for part in ["spec", "status"] {
            let schema = &root(&definition)["properties"][part];
            fields(schema, part, &mut left);
            for document in documents.iter().filter(|document| document["kind"] == kind) {
                tick(schema, &document[part], part, &mut left);
            }
        }
        // Another name of what `services` has, by the same schema.
        left.retain(|path| !path.starts_with("spec.openstack."));
        // The runtime writes it for every kind.
        left.remove("status.observedGeneration");
        assert_eq!(left, BTreeSet::new(), "{kind}");
    }
}
