//! Who asked a cluster for what: the API server's audit log, at its Metadata level.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

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
    /// How long the answer took. A watch lasts that long.
    pub took: Duration,
    /// Whether it asked what a change would do.
    pub is_dry_run: bool,
}

impl Request {
    /// Whether it asked for a change.
    pub fn writes(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch")
    }
}

/// The size in megabytes at which an API server begins another log: more than any scenario writes. By default it is 100, and [`Log`] reads
/// the first one alone.
const LARGEST: &str = "1000000";

/// The options of the API server of the cluster with this folder, where it finds the policy and keeps its audit log.
pub(crate) fn options(folder: &Path) -> Result<[(&'static str, OsString); 3]> {
    Ok([
        ("audit-policy-file", policy(folder)?.into()),
        ("audit-log-path", log(folder).into()),
        ("audit-log-maxsize", LARGEST.into()),
    ])
}

/// Writes the policy into a cluster's folder: one line for each answer that is about objects.
fn policy(folder: &Path) -> Result<PathBuf> {
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
fn log(folder: &Path) -> PathBuf {
    folder.join("audit.jsonl")
}

/// The audit log of a cluster, of which each line is read once: scenarios look at thousands of them again and again.
#[derive(Default)]
pub(crate) struct Log(Mutex<Known>);

/// What was read so far.
#[derive(Default)]
struct Known {
    /// How many bytes.
    length: u64,
    requests: Vec<Request>,
}

impl Log {
    /// Every request in the log of the cluster with this folder.
    pub fn requests(&self, folder: &Path) -> Result<Vec<Request>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.read(&log(folder))?;
        Ok(known.requests.clone())
    }
}

impl Known {
    /// Reads what was written since.
    fn read(&mut self, file: &Path) -> Result<()> {
        let mut text = Vec::new();
        File::open(file)
            .and_then(|mut log| {
                log.seek(SeekFrom::Start(self.length))?;
                log.read_to_end(&mut text)
            })
            .with_context(|| format!("cannot read {}", file.display()))?;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            // The API server may be in the middle of its last line.
            if !line.ends_with(b"\n") {
                break;
            }
            let event: Event = serde_json::from_slice(line)
                .with_context(|| format!("not an audit event: {}", line.escape_ascii()))?;
            self.requests.push(event.into());
            self.length += line.len() as u64;
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    verb: String,
    request_received_timestamp: Timestamp,
    stage_timestamp: Option<Timestamp>,
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
        let time = event.request_received_timestamp;
        let answered = event.stage_timestamp.unwrap_or(time);
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
            time,
            took: answered.duration_since(time).unsigned_abs(),
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn line(verb: &str) -> String {
        let event = json!({
            "verb": verb, "requestReceivedTimestamp": "2026-01-01T00:00:00.000000Z", "user": {"username": "a"},
        });
        format!("{event}\n")
    }

    #[test]
    fn log_of_an_api_server_stays_one_file() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let mut options = options(folder.path())?.into_iter();
        let largest = options.find(|(name, _)| *name == "audit-log-maxsize");
        let megabytes = largest.and_then(|(_, value)| value.to_str()?.parse::<u32>().ok());
        assert!(megabytes >= Some(100_000), "{megabytes:?}");
        Ok(())
    }

    #[test]
    fn log_says_how_long_answers_took() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let event = json!({
            "verb": "get", "user": {"username": "a"},
            "requestReceivedTimestamp": "2026-01-01T00:00:00.000000Z",
            "stageTimestamp": "2026-01-01T00:00:00.025000Z",
        });
        fs::write(log(folder.path()), format!("{event}\n"))?;
        let requests = Log::default().requests(folder.path())?;
        let took: Vec<Duration> = requests.iter().map(|request| request.took).collect();
        assert_eq!(took, [Duration::from_millis(25)]);
        Ok(())
    }

    #[test]
    fn log_is_read_on_from_its_last_whole_line() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let mut file = File::create(log(folder.path()))?;
        let known = Log::default();
        let verbs = || -> Result<Vec<String>> {
            let requests = known.requests(folder.path())?;
            Ok(requests.into_iter().map(|request| request.verb).collect())
        };
        let (second, third) = (line("list"), line("watch"));
        let (begun, rest) = second.split_at(20);
        write!(file, "{}{begun}", line("get"))?;
        assert_eq!(verbs()?, ["get"]);
        write!(file, "{rest}{third}")?;
        assert_eq!(verbs()?, ["get", "list", "watch"]);
        assert_eq!(verbs()?, ["get", "list", "watch"]);
        Ok(())
    }
}
