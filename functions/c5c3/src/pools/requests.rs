//! How a pool learns which claims want to consume it.
//!
//! A claim composes a Usage of every pool that it names. Crossplane labels the Usage and makes the composite resource its
//! controller, so a pool reads from it who asks, without reading any claim: what a pool's call costs depends on its own
//! consumers alone. Who may write Usages is said in docs/security.md.

use std::collections::BTreeMap;

use c5c3_api::{Consumer, Kind};
use function_protocol::{Fatal, Match, Request, Required, Response, Selector};
use serde::Deserialize;

use crate::composite::{ClaimLabels, Metadata, Scope};

/// Begins the project's own labels and annotations.
pub const PREFIX: &str = "c5c3.io/";

/// Label of a Usage with the UID of the pool that is asked for.
const POOL_UID: &str = "c5c3.io/pool-uid";

/// Name of the requirement for the Usages of a pool.
const KEY: &str = "requests";

/// A claim that wants to consume a pool.
#[derive(Clone, Debug)]
pub struct PoolRequest {
    /// The claim, and the nodes that it can't do without.
    pub consumer: Consumer,
    /// When the claim was created, RFC 3339 in UTC.
    pub created: String,
}

#[derive(Deserialize)]
struct Usage {
    metadata: UsageMetadata,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct UsageMetadata {
    namespace: Option<String>,
    labels: ClaimLabels,
    annotations: Annotations,
    owner_references: Vec<OwnerReference>,
}

/// What a claim says about itself in its request.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Annotations {
    #[serde(rename = "c5c3.io/claim-created")]
    created: String,
    #[serde(rename = "c5c3.io/min-hosts")]
    min_hosts: Option<String>,
}

#[derive(Deserialize)]
struct OwnerReference {
    name: String,
    uid: String,
    #[serde(default)]
    controller: bool,
}

impl PoolRequest {
    /// What a claim writes about itself. `min_hosts`: the nodes that it can't do without.
    pub fn annotations(claim: &Metadata, min_hosts: Option<u32>) -> BTreeMap<String, String> {
        let created = ("claim-created", Some(claim.creation_timestamp.clone()));
        let min_hosts = ("min-hosts", min_hosts.map(|hosts| hosts.to_string()));
        [created, min_hosts]
            .into_iter()
            .filter_map(|(key, value)| Some((format!("{PREFIX}{key}"), value?)))
            .collect()
    }

    /// Reads a Usage; none where Crossplane hasn't made the claim's composite resource its controller.
    ///
    /// A namespaced Usage is its namespace's, whatever its labels say.
    fn of(usage: UsageMetadata) -> Option<Self> {
        let mut references = usage.owner_references.into_iter();
        let composite = references.find(|reference| reference.controller)?;
        let (name, namespace) = match usage.namespace {
            Some(namespace) => (None, Some(namespace)),
            None => (usage.labels.name, usage.labels.namespace),
        };
        let min_hosts = usage.annotations.min_hosts;
        Some(PoolRequest {
            consumer: Consumer {
                name: name.unwrap_or(composite.name),
                namespace: namespace.unwrap_or_default(),
                uid: Some(composite.uid),
                min_hosts: min_hosts.and_then(|hosts| hosts.parse().ok()),
            },
            created: usage.annotations.created,
        })
    }
}

/// Name of the composed Usage by which a claim asks for a pool.
pub fn request_name<K: Kind>(pool: &str) -> String {
    format!("request-{}-{pool}", K::KIND.to_lowercase())
}

/// Labels of the Usages by which claims ask for a pool.
pub fn request_labels(pool: &Metadata) -> BTreeMap<String, String> {
    BTreeMap::from([(POOL_UID.to_owned(), pool.uid.clone())])
}

/// The claims that ask for a pool; None while they aren't fetched.
///
/// # Errors
/// A Usage isn't a Kubernetes object.
pub fn requests(
    pool: &Metadata,
    request: &Request,
    response: &mut Response,
) -> Result<Option<Vec<PoolRequest>>, Fatal> {
    let selector = Selector {
        api_version: usage_api_version(pool.scope()).to_owned(),
        kind: "Usage".to_owned(),
        namespace: None,
        by: Match::Labels(request_labels(pool)),
    };
    response.require(KEY, selector);
    let Required::Found(usages) = request.required(KEY) else {
        return Ok(None);
    };
    let documents = usages.iter().filter_map(|usage| usage.resource.as_ref());
    let usages: Result<Vec<Usage>, _> = documents.map(|document| document.parse()).collect();
    let usages = usages.map_err(|error| Fatal::from(error).within(KEY))?;
    let requests = usages.into_iter().map(|usage| usage.metadata);
    Ok(Some(requests.filter_map(PoolRequest::of).collect()))
}

/// Group and version of Crossplane's Usages: 1.x has them in its core group, 2.x namespaced in a group of their own.
pub fn usage_api_version(scope: Scope) -> &'static str {
    match scope {
        Scope::Cluster => "apiextensions.crossplane.io/v1beta1",
        Scope::Namespaced => "protection.crossplane.io/v1beta1",
    }
}
