//! The services that have no operator here yet: each gets the release that its resource wants.

use provider_openstack::{SERVICES, in_cluster};
use serde_json::{Value, json};

use super::condition;
use crate::manifest::Manifest;
use crate::store::Key;

pub fn service(_: &Key, manifest: &Manifest) -> Value {
    let known = SERVICES
        .iter()
        .find(|service| service.name.eq_ignore_ascii_case(manifest.kind()));
    let mut status = json!({ "conditions": [condition("Ready", "Ready")] });
    if let Some(service) = known {
        let encrypted = manifest.spec()["tls"]["enabled"] == true;
        let scheme = if encrypted { "https" } else { "http" };
        let (name, namespace) = (manifest.name(), manifest.namespace());
        let port = service.port();
        let known = manifest.status()["endpoint"].as_str();
        // What a cluster says, unless that is about to change.
        let known = known.filter(|url| url.starts_with(&format!("{scheme}://")));
        let url = format!("{scheme}://{}:{port}", in_cluster(name, namespace));
        status["endpoint"] = json!(known.unwrap_or(&url));
    }
    if let Some(release) = manifest.spec()["release"].as_str() {
        status["release"] = json!(release);
    }
    status
}
