//! A plan for tools: what Crossplane applies, and the status of each claim.

use c5c3_api::Generation;
use serde::Serialize;
use serde_json::{Value, json};

use crate::Error;
use crate::composite::composite;
use crate::input::{Given, InputError};
use crate::manifest::Manifest;
use crate::outcome::Plan;

/// How a plan is written for tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A stream of YAML documents.
    Yaml,
    /// One JSON List.
    Json,
}

/// Writes everything that Crossplane applies for each claim, followed by the claim with its status; then what our operators
/// apply for each resource that was given without a claim, followed by the resource. Values of Secrets are left out.
///
/// # Errors
/// A document can't be written.
pub fn stream(plan: &Plan, format: Format) -> Result<String, Error> {
    let claims = plan
        .planned
        .iter()
        .flat_map(|planned| planned.composed.iter().chain([&planned.claim]));
    let resources = plan
        .resources
        .iter()
        .flat_map(|operated| operated.manifests.iter().chain([&operated.resource]));
    let documents = claims.chain(resources).map(|manifest| {
        let mut document = manifest.value().clone();
        hide_secrets(&mut document);
        document
    });
    match format {
        Format::Json => {
            let items: Vec<Value> = documents.collect();
            let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
            let text = serde_json::to_string_pretty(&list);
            text.map(|text| text + "\n")
                .map_err(|error| Error::Written(error.to_string()))
        }
        Format::Yaml => yaml(documents),
    }
}

/// The composite resources that Crossplane makes of claims, as YAML.
///
/// # Errors
/// There are no claims, or a document can't be written.
pub fn composites(given: &[Given], generation: Generation) -> Result<String, Error> {
    if given.is_empty() {
        return Err(InputError::Nothing(Vec::new()).into());
    }
    let composites: Result<Vec<Manifest>, _> = given
        .iter()
        .map(|given| composite(&given.manifest, given.kind, generation))
        .collect();
    yaml(composites?.iter().map(Manifest::value))
}

/// Documents as a stream of YAML.
///
/// # Errors
/// A document can't be written.
pub fn yaml<T: Serialize>(documents: impl IntoIterator<Item = T>) -> Result<String, Error> {
    let mut texts = Vec::new();
    for document in documents {
        let text = serde_saphyr::to_string(&document);
        texts.push(text.map_err(|error| Error::Written(error.to_string()))?);
    }
    Ok(texts.join("---\n"))
}

/// Replaces the values of Secrets, wherever they are within a document.
fn hide_secrets(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if fields.get("kind").is_some_and(|kind| kind == "Secret") {
                for secret in ["data", "stringData"] {
                    let values = fields.get_mut(secret).and_then(Value::as_object_mut);
                    for value in values.into_iter().flat_map(serde_json::Map::values_mut) {
                        *value = json!("(hidden)");
                    }
                }
            }
            fields.values_mut().for_each(hide_secrets);
        }
        Value::Array(items) => items.iter_mut().for_each(hide_secrets),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secrets_are_hidden_at_any_depth() {
        let mut object = json!({
            "kind": "Object",
            "spec": { "forProvider": { "manifest": {
                "kind": "Secret",
                "metadata": { "name": "s" },
                "data": { "password": "c2VjcmV0" },
                "stringData": { "user": "me" },
            } } },
        });
        hide_secrets(&mut object);
        let text = object.to_string();
        assert!(
            !text.contains("c2VjcmV0") && !text.contains("\"me\""),
            "{text}"
        );
        assert!(text.contains("password"));
    }
}
