//! What External Secrets does: values of Secrets travel between clusters by way of a store.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use k8s_openapi::ByteString;
use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::unreported::unreported;
use super::{EXTERNAL_SECRET, PUSH_SECRET, text};
use crate::cluster::Cluster;
use crate::objects::SECRET;

/// The values of a Secret, or at a path of a store.
type Values = BTreeMap<String, ByteString>;

/// A store, the same for all clusters: values by path.
#[derive(Default)]
pub(super) struct Store(BTreeMap<String, Values>);

impl Store {
    /// Stores the Secrets of a cluster that are to be pushed and exist.
    pub(super) async fn push(&mut self, cluster: &Cluster) -> Result<()> {
        for push in unreported(cluster, PUSH_SECRET, "conditions").await? {
            let spec = &push.data["spec"];
            let namespace = push.namespace().unwrap_or_default();
            let secret = format!("{namespace}/{}", text(spec, "/selector/secret/name"));
            let Some(secret) = cluster.find(SECRET, &secret).await? else {
                continue;
            };
            let values: Values = serde_json::from_value(secret.data["data"].clone())?;
            for pushed in spec["data"].as_array().into_iter().flatten() {
                let path = text(pushed, "/match/remoteRef/remoteKey");
                let stored = self.0.entry(path).or_default();
                match pushed["match"]["secretKey"].as_str() {
                    None => stored.extend(values.clone()),
                    Some(key) => {
                        let value = values.get(key);
                        let value = value.with_context(|| format!("no {key} to push"))?;
                        let property = text(pushed, "/match/remoteRef/property");
                        stored.insert(property, value.clone());
                    }
                }
            }
            cluster.report(PUSH_SECRET, &push, synced()).await?;
        }
        Ok(())
    }

    /// Creates the Secrets of a cluster whose values are stored.
    pub(super) async fn pull(&self, cluster: &Cluster) -> Result<()> {
        for pull in unreported(cluster, EXTERNAL_SECRET, "conditions").await? {
            if let Some(values) = self.values(&pull.data["spec"]) {
                let secret = secret(&pull, &values)?;
                cluster.apply(&secret.to_string()).await?;
                cluster.report(EXTERNAL_SECRET, &pull, synced()).await?;
            }
        }
        Ok(())
    }

    /// What an ExternalSecret reads; none while a part of it isn't stored.
    fn values(&self, spec: &Value) -> Option<Values> {
        let mut values = Values::new();
        for read in spec["dataFrom"].as_array().into_iter().flatten() {
            values.extend(self.0.get(&text(read, "/extract/key"))?.clone());
        }
        for read in spec["data"].as_array().into_iter().flatten() {
            let stored = self.0.get(&text(read, "/remoteRef/key"))?;
            let value = stored.get(&text(read, "/remoteRef/property"))?;
            values.insert(text(read, "/secretKey"), value.clone());
        }
        Some(values)
    }
}

/// The Secret that an ExternalSecret describes. Of templates there are variables only.
fn secret(pull: &DynamicObject, values: &Values) -> Result<Value> {
    let target = &pull.data["spec"]["target"];
    let mut secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": target["name"],
            "namespace": pull.namespace(),
            "labels": target["template"]["metadata"]["labels"],
        },
        "data": values,
    });
    if let Some(templates) = target["template"]["data"].as_object() {
        let mut data = Values::new();
        for (key, template) in templates {
            let mut filled = template.as_str().unwrap_or_default().to_owned();
            for (name, value) in values {
                let value = std::str::from_utf8(&value.0)?;
                filled = filled.replace(&format!("{{{{ .{name} }}}}"), value);
            }
            data.insert(key.clone(), ByteString(filled.into_bytes()));
        }
        secret["data"] = json!(data);
    }
    if target["creationPolicy"] == "Owner" {
        secret["metadata"]["ownerReferences"] = json!([{
            "apiVersion": EXTERNAL_SECRET.api_version,
            "kind": EXTERNAL_SECRET.kind,
            "name": pull.name_any(),
            "uid": pull.metadata.uid,
        }]);
    }
    Ok(secret)
}

fn synced() -> Value {
    json!({"conditions": [{
        "type": "Ready", "status": "True", "reason": "Synced",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]})
}
