//! A plan for tools: what Crossplane applies, and the status of each claim.

use std::collections::BTreeMap;

use c5c3_api::Generation;
use c5c3_api::hypervisor::HypervisorShareSpec;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use provider_composer::ResourceKind;
use provider_hypervisor_pool::libvirt;
use provider_openstack::{shown, shown_in_map};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::Error;
use crate::composite::composite;
use crate::controller::key;
use crate::input::Files;
use crate::manifest::Manifest;
use crate::operated::Operated;
use crate::outcome::{Applied, Plan};
use crate::store::Key;

/// How a plan is written for tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A stream of YAML documents.
    Yaml,
    /// One JSON List.
    Json,
}

/// Writes everything that Crossplane and operators apply for each claim, down to the last object, followed by the claim with
/// its status; then what operators apply for each resource that was given without a claim, followed by the resource. Values of
/// Secrets are left out; of configuration files in them only what is a secret there.
///
/// # Errors
/// A document can't be written.
pub fn stream<'a>(plan: &'a Plan, format: Format) -> Result<String, Error> {
    let applied = |operated: &'a Operated| {
        let all = operated.all().into_iter();
        all.flat_map(|operated| &operated.manifests)
    };
    let claims = plan.planned.iter().flat_map(|planned| {
        let objects = planned.clusters.values().flatten();
        let operated = objects.filter_map(|object| object.operated.as_deref());
        let composed = planned.composed.iter().chain(operated.flat_map(applied));
        composed.chain([&planned.claim])
    });
    let resources = plan
        .resources
        .iter()
        .flat_map(|resource| applied(resource).chain([&resource.resource]));
    let documents = claims.chain(resources).map(|manifest| {
        let mut document = manifest.value().clone();
        hide_secrets(&mut document);
        document
    });
    match format {
        Format::Json => {
            let items: Vec<Value> = documents.collect();
            let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
            Ok(format!("{list:#}\n"))
        }
        Format::Yaml => yaml(documents),
    }
}

/// The composite resources of claims, as YAML.
///
/// # Errors
/// There are no claims, or a document can't be written.
pub fn composites(files: &Files, generation: Generation) -> Result<String, Error> {
    if files.given.is_empty() {
        let found = files.resources.iter().map(Manifest::title);
        return Err(Error::NoClaim(found.collect::<Vec<_>>().join(", ")));
    }
    let composites: Result<Vec<Manifest>, _> = files
        .given
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

/// Rows in columns as wide as they need to be, the last as wide as it is.
pub fn aligned(rows: &[impl AsRef<[String]>]) -> String {
    let widths = rows.iter().fold(Vec::new(), |mut widths, row| {
        let row = row.as_ref();
        widths.resize(row.len().max(widths.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
        widths
    });
    let lines = rows.iter().map(|row| {
        let cells = row.as_ref().iter().zip(&widths);
        let line: String = cells
            .map(|(cell, width)| format!("{cell:width$}  "))
            .collect();
        format!("{}\n", line.trim_end())
    });
    lines.collect()
}

/// The configuration files of all services of a plan, and of their agents on hypervisors, each after a line that says where it is;
/// secrets in them are stars.
pub fn configuration(plan: &Plan) -> String {
    let mut texts = Vec::new();
    for applied in &plan.applied {
        let own = files(applied.manifest.value());
        let own = own.into_iter().map(|file| (applied.key.clone(), file));
        for (key, (name, text)) in own.chain(of_nodes(applied)) {
            texts.push(format!("# {name} of {key}\n{text}"));
        }
    }
    texts.join("\n")
}

/// libvirt's files on the nodes of a share, each with its ConfigMap. The share's operator writes them in the nodes' cluster, but doesn't run
/// in a plan.
fn of_nodes(applied: &Applied) -> Vec<(Key, (String, String))> {
    let (kind, manifest) = (ResourceKind::of::<HypervisorShareSpec>(), &applied.manifest);
    if (manifest.group(), manifest.kind()) != (kind.group, kind.kind) {
        return Vec::new();
    }
    let Ok(spec) = HypervisorShareSpec::deserialize(manifest.spec()) else {
        return Vec::new();
    };
    let (map, files) = libvirt::of_share(manifest.name(), &spec);
    let map = key(&applied.key.cluster, &map);
    let files = files.data.unwrap_or_default().into_iter();
    files.map(|file| (map.clone(), file)).collect()
}

/// The configuration files in a Secret or a ConfigMap, as they may be shown.
fn files(manifest: &Value) -> BTreeMap<String, String> {
    let files = match manifest["kind"].as_str() {
        Some("Secret") => Secret::deserialize(manifest).map(|secret| shown(&secret)),
        Some("ConfigMap") => ConfigMap::deserialize(manifest).map(|map| shown_in_map(&map)),
        _ => return BTreeMap::new(),
    };
    files.unwrap_or_default()
}

/// Replaces the values of Secrets, wherever they are within a document.
fn hide_secrets(value: &mut Value) {
    let files = files(value);
    match value {
        Value::Object(fields) => {
            if fields.get("kind").is_some_and(|kind| kind == "Secret") {
                for secret in ["data", "stringData"] {
                    let values = fields.get_mut(secret).and_then(Value::as_object_mut);
                    for value in values.into_iter().flat_map(Map::values_mut) {
                        *value = json!("(hidden)");
                    }
                }
                if !files.is_empty() {
                    if let Some(Value::Object(data)) = fields.get_mut("data") {
                        data.retain(|name, _| !files.contains_key(name));
                        if data.is_empty() {
                            fields.shift_remove("data");
                        }
                    }
                    fields.insert("stringData".to_owned(), json!(files));
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
