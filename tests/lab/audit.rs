//! Who asked a cluster for what: the API server's audit log, at its Metadata level.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;

/// A request that a cluster has answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Who asked, for instance `system:serviceaccount:c5c3-system:c5c3-operator`.
    pub user: String,
    /// The program that asked, as it calls itself.
    pub agent: String,
    /// As in a role: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: String,
    /// The API group, empty for the core.
    pub group: String,
    /// As in a role: the plural, followed by `/` and the subresource where there is one.
    pub resource: String,
    /// The object, `namespace/name` where it has a namespace. No name where many or a generated one are asked for.
    pub name: String,
    /// The HTTP status of the answer.
    pub code: u16,
    /// When it was asked.
    pub time: Timestamp,
    /// Whether it asked what a change would do.
    pub is_dry_run: bool,
}

impl Request {
    /// Whether it asked for a change.
    pub fn writes(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch")
    }
}

/// Writes the policy into a cluster's folder: one line for each answer that is about objects.
pub(crate) fn policy(folder: &Path) -> Result<PathBuf> {
    let policy = json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived", "ResponseStarted", "Panic"],
        "omitManagedFields": true,
        "rules": [
            {"level": "None", "nonResourceURLs": ["*"]},
            {"level": "Metadata"},
        ],
    });
    let file = folder.join("audit-policy.json");
    fs::write(&file, policy.to_string())
        .with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}

/// Where a cluster with this folder keeps its audit log.
pub(crate) fn log(folder: &Path) -> PathBuf {
    folder.join("audit.jsonl")
}

/// Reads the audit log of the cluster with this folder.
pub(crate) fn read(folder: &Path) -> Result<Vec<Request>> {
    let file = log(folder);
    let text =
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    // The API server may be in the middle of its last line.
    text.split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
        .map(|line| {
            let event: Event = serde_json::from_str(line)
                .with_context(|| format!("not an audit event: {line}"))?;
            Ok(event.into())
        })
        .collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    verb: String,
    request_received_timestamp: Timestamp,
    user: User,
    #[serde(default)]
    user_agent: String,
    #[serde(default, rename = "requestURI")]
    uri: String,
    #[serde(default)]
    object_ref: ObjectReference,
    #[serde(default)]
    response_status: ResponseStatus,
}

#[derive(Deserialize)]
struct User {
    username: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ObjectReference {
    api_group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ResponseStatus {
    code: u16,
}

impl From<Event> for Request {
    fn from(event: Event) -> Self {
        let object = event.object_ref;
        Self {
            user: event.user.username,
            agent: event.user_agent,
            verb: event.verb,
            group: object.api_group,
            resource: joined(object.resource, &object.subresource),
            name: if object.namespace.is_empty() {
                object.name
            } else {
                joined(object.namespace, &object.name)
            },
            code: event.response_status.code,
            time: event.request_received_timestamp,
            is_dry_run: event.uri.contains("dryRun=All"),
        }
    }
}

fn joined(first: String, second: &str) -> String {
    if second.is_empty() {
        first
    } else {
        format!("{first}/{second}")
    }
}
