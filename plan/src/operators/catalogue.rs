//! The service catalogue, and secrets that travel.

use provider_composer::GeneratedValue;
use serde_json::{Value, json};

use super::condition;
use super::infrastructure::drawn;
use crate::manifest::Manifest;
use crate::placeholder;
use crate::store::Key;

/// Everything exists in Keystone, under an identifier (K-ORC 2.6): the one that it has, where a cluster says so.
pub fn korc(_: &Key, manifest: &Manifest) -> Value {
    let generation = &manifest.value()["metadata"]["generation"];
    let path = manifest.path();
    let imported = &manifest.spec()["import"];
    let known = manifest.status()["id"].as_str();
    let id = match known.or(imported["id"].as_str()) {
        Some(id) => id.to_owned(),
        None => placeholder::identifier(&format!("{} {path}", manifest.kind())),
    };
    let mut resource = match &manifest.spec()["resource"] {
        Value::Null => imported["filter"].clone(),
        resource => resource.clone(),
    };
    if !resource.is_object() {
        resource = json!({});
    }
    if resource["name"].is_null() {
        resource["name"] = json!(manifest.name());
    }
    if let Some(password) = manifest.spec()["resource"].get("passwordRef") {
        resource["appliedPasswordRef"] = password.clone();
    }
    let mut conditions = [
        condition("Available", "Success"),
        condition("Progressing", "Success"),
    ];
    for known in &mut conditions {
        known["observedGeneration"] = generation.clone();
        known["lastTransitionTime"] = json!("1970-01-01T00:00:00Z");
    }
    let [available, mut progressing] = conditions;
    progressing["status"] = json!("False");
    json!({ "id": id, "resource": resource, "conditions": [available, progressing] })
}

pub fn external_secrets(_: &Key, _: &Manifest) -> Value {
    json!({ "conditions": [condition("Ready", "Synced")] })
}

/// The Secret that an ExternalSecret brings, as far as its keys are named.
pub fn of_external_secrets(manifest: &Manifest, _: &dyn Fn(&str) -> Option<Value>) -> Vec<Value> {
    let spec = manifest.spec();
    if manifest.kind() != "ExternalSecret" {
        return Vec::new();
    }
    let name = spec["target"]["name"].as_str().unwrap_or(manifest.name());
    let brought = spec["data"].as_array().into_iter().flatten();
    let brought = brought.filter_map(|entry| entry["secretKey"].as_str());
    let templates = spec["target"]["template"]["data"].as_object();
    let namespace = manifest.namespace();
    vec![match templates {
        Some(templates) => {
            let templates = templates.iter();
            let render = |text: &Value| render(text.as_str().unwrap_or_default(), name);
            let texts =
                templates.map(|(key, text)| (key.clone(), GeneratedValue::Text(render(text))));
            placeholder::secret(namespace, name, &texts.collect())
        }
        None => drawn(namespace, name, &brought.collect::<Vec<_>>(), &[]),
    }]
}

/// A template with a placeholder for each value.
fn render(template: &str, secret: &str) -> String {
    let mut parts = template.split("{{");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for (value, rest) in parts.filter_map(|part| part.split_once("}}")) {
        text += &placeholder::identifier(&format!("{secret} {}", value.trim()));
        text += rest;
    }
    text
}

/// Certificates (cert-manager).
pub fn certificates(_: &Key, _: &Manifest) -> Value {
    json!({ "conditions": [condition("Ready", "Ready")] })
}

/// The Secret with a certificate, its key and its issuer.
pub fn of_certificates(manifest: &Manifest, _: &dyn Fn(&str) -> Option<Value>) -> Vec<Value> {
    let name = manifest.text("/spec/secretName");
    if manifest.kind() != "Certificate" || name.is_empty() {
        return Vec::new();
    }
    let keys = ["tls.crt", "tls.key", "ca.crt"];
    vec![drawn(manifest.namespace(), name, &keys, &[])]
}
