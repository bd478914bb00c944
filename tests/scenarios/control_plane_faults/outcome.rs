//! What comes of a ControlPlane: everything of it, but for what is another each time.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use kube::core::DynamicObject;
use kube::discovery::ApiResource;
use kube::{Api, ResourceExt};
use lab::{Cluster, Context, Result, bail};
use provider_composer::{Composer, ResourceKind};
use provider_control_plane::ControlPlaneComposer;
use serde_json::{Value, json};

const OPERATOR: &str = ControlPlaneComposer::OPERATOR;

/// A password of a control plane, by its Secret and key.
pub type Passwords = BTreeMap<(String, String), String>;

/// Everything of a control plane, by kind and name, and its passwords. Where one stands anywhere, the outcome says which.
#[derive(PartialEq, Eq)]
pub struct Outcome {
    pub objects: BTreeMap<String, Value>,
    pub passwords: Passwords,
}

impl Outcome {
    /// Of the control plane of a namespace.
    pub async fn of(cluster: &Cluster, namespace: &str) -> Result<Self> {
        let mut all = Vec::new();
        let mut kinds: Vec<ResourceKind> = ControlPlaneComposer
            .uses()
            .iter()
            .map(|used| used.kind)
            .collect();
        kinds.dedup();
        for kind in kinds {
            let resource = ApiResource {
                group: kind.group.to_owned(),
                version: kind.version.to_owned(),
                api_version: kind.api_version(),
                kind: kind.kind.to_owned(),
                plural: kind.plural.to_owned(),
            };
            let api: Api<DynamicObject> =
                Api::namespaced_with(cluster.client(), namespace, &resource);
            match api.list(&Default::default()).await {
                Ok(listed) => all.extend(listed.items.into_iter().map(|object| (kind, object))),
                // Of a kind that isn't installed there is nothing.
                Err(kube::Error::Api(refusal)) if refusal.code == 404 => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut passwords = Passwords::new();
        let mut uids = BTreeMap::new();
        let mut objects = BTreeMap::new();
        for (kind, object) in all {
            let name = format!("{kind} {}", object.name_any());
            uids.extend(object.uid().map(|uid| (uid, name.clone())));
            let mut shown = serde_json::to_value(&object)?;
            if kind.kind == "Secret" {
                let values = values(&object)?;
                if is_generated(&object) {
                    let long = values.iter().filter(|(_, value)| value.len() >= 24);
                    passwords.extend(
                        long.map(|(key, value)| ((object.name_any(), key.clone()), value.clone())),
                    );
                }
                shown["data"] = json!(values);
            }
            forget(&mut shown);
            objects.insert(name, shown);
        }
        let mut text = serde_json::to_string(&objects)?;
        for ((secret, key), value) in &passwords {
            text = text.replace(value, &format!("<{key} of {secret}>"));
        }
        for (uid, name) in &uids {
            text = text.replace(uid, &format!("<uid of {name}>"));
        }
        // Last, for a ControlPlane is called as its namespace.
        let text = text.replace(namespace, "<namespace>");
        Ok(Self {
            objects: serde_json::from_str(&text)?,
            passwords,
        })
    }

    /// Fine when another has the same objects.
    pub fn is_as(&self, other: &Self) -> Result<()> {
        let names = self.objects.keys().chain(other.objects.keys());
        for name in names {
            match (self.objects.get(name), other.objects.get(name)) {
                (Some(one), Some(other)) => {
                    if let Some(difference) = difference(one, other) {
                        bail!("{name}{difference}")
                    }
                }
                (Some(_), None) => bail!("there is {name}, and should be none"),
                (None, _) => bail!("there is no {name}"),
            }
        }
        Ok(())
    }
}

/// The first difference, and where it is.
fn difference(one: &Value, other: &Value) -> Option<String> {
    match (one, other) {
        (one, other) if one == other => None,
        (Value::Object(fields), Value::Object(others)) => {
            let names = fields.keys().chain(others.keys());
            let mut each =
                names.filter_map(|name| Some((name, difference(&one[name], &other[name])?)));
            each.next().map(|(name, found)| format!("/{name}{found}"))
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            let mut each = items.iter().zip(others).enumerate();
            each.find_map(|(place, (one, other))| {
                Some(format!("/{place}{}", difference(one, other)?))
            })
        }
        (one, other) => Some(format!(" is {one} and not {other}")),
    }
}

/// Whether a Secret was made once, as opposed to applied.
fn is_generated(secret: &DynamicObject) -> bool {
    let managers = secret.metadata.managed_fields.iter().flatten();
    managers.into_iter().any(|entry| {
        entry.manager.as_deref() == Some(OPERATOR) && entry.operation.as_deref() == Some("Update")
    })
}

fn values(secret: &DynamicObject) -> Result<BTreeMap<String, String>> {
    let data: BTreeMap<String, ByteString> = serde_json::from_value(
        secret
            .data
            .get("data")
            .cloned()
            .unwrap_or_else(|| json!({})),
    )?;
    let text = |(key, ByteString(bytes))| {
        Ok((
            key,
            String::from_utf8(bytes).context("a Secret with bytes")?,
        ))
    };
    data.into_iter().map(text).collect()
}

/// Takes out what is another each time.
fn forget(object: &mut Value) {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in ["resourceVersion", "creationTimestamp"] {
            metadata.remove(field);
        }
    }
    let lists = [
        "/metadata/managedFields",
        "/metadata/ownerReferences",
        "/status/conditions",
    ];
    for list in lists {
        let entries = object.pointer_mut(list).and_then(Value::as_array_mut);
        for entry in entries
            .into_iter()
            .flatten()
            .filter_map(Value::as_object_mut)
        {
            for field in ["time", "lastTransitionTime"] {
                entry.remove(field);
            }
        }
    }
    // The API server sorts them by their time.
    if let Some(managers) = object
        .pointer_mut("/metadata/managedFields")
        .and_then(Value::as_array_mut)
    {
        managers.sort_by_key(Value::to_string);
    }
}
