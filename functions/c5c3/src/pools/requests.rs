//! How a pool learns which claims want to consume it.
//!
//! A claim labels the Object of its control plane's namespace with the UID of every cluster that it names, and the nodes that
//! it needs there as an annotation of the same key. Crossplane makes the claim's composite resource the Object's
//! controller, so a pool reads from the Object who asks, without reading any claim: what a pool's call costs depends on
//! its own consumers alone. Who may write Objects is said in docs/security.md.

use std::collections::BTreeMap;

use c5c3_api::Consumer;
use function_protocol::{Fatal, Match, Request, Required, Response, Selector};
use serde::Deserialize;

use crate::composed::{OBSERVE_ONLY, object_kind};
use crate::composite::{CLAIM_NAME, CLAIM_NAMESPACE, Metadata};
use crate::manifest::ObjectMeta;

/// Begins the label by which a claim asks for a pool; the pool's UID follows.
const POOL: &str = "c5c3.io/pool-";

/// Annotation with the time at which the claim was created.
const CREATED: &str = "c5c3.io/claim-created";

/// Label of what Crossplane composes: the composite resource's name.
const COMPOSITE: &str = "crossplane.io/composite";

/// The name of the requirement for the Objects whose claims request a pool.
const KEY: &str = "requests";

/// A claim that wants to consume a pool.
#[derive(Clone, Debug)]
pub struct PoolRequest {
    /// The claim, and the nodes that it can't do without. Without a UID, it isn't known which claim of its name this is.
    pub consumer: Consumer,
    /// When the claim was created, RFC 3339 in UTC.
    pub created: String,
}

#[derive(Deserialize)]
struct Object {
    metadata: Requested,
    #[serde(default)]
    spec: Allowed,
}

/// What the provider may do with what an Object stands for.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Allowed {
    management_policies: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Requested {
    name: String,
    namespace: Option<String>,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    owner_references: Vec<OwnerReference>,
}

#[derive(Deserialize)]
struct OwnerReference {
    name: String,
    uid: String,
    #[serde(default)]
    controller: bool,
}

/// What a claim requests of a pool.
pub struct RequestedPool<'a> {
    /// The pool's composite resource.
    pub pool: &'a Metadata,
    /// The nodes that the claim can't do without there.
    pub hosts: u32,
    /// Whether the pool could admit the claim.
    pub is_eligible: bool,
}

/// What a claim asks for, as it stands on an Object: pools, and the nodes that the claim can't do without in each. A pool
/// that can't admit the claim is asked only if it was among the `last`, all of which stay where the claim `keeps_all`.
pub fn request_pools<'p>(
    claim: &Metadata,
    pools: impl Iterator<Item = RequestedPool<'p>>,
    last: BTreeMap<String, String>,
    keeps_all: bool,
) -> ObjectMeta {
    let requested: Vec<(String, String)> = pools
        .filter(|requested| !requested.pool.uid.is_empty())
        .map(|requested| (label(requested.pool), requested))
        .filter(|(label, requested)| requested.is_eligible || last.contains_key(label))
        .map(|(label, requested)| (label, requested.hosts.to_string()))
        .collect();
    let mut hosts = if keeps_all { last } else { BTreeMap::new() };
    hosts.extend(requested);
    let labels = hosts.keys().map(|label| (label.clone(), "true".to_owned()));
    let labels = labels.collect();
    hosts.insert(CREATED.to_owned(), claim.creation_timestamp.clone());
    ObjectMeta {
        labels,
        annotations: hosts,
        ..ObjectMeta::default()
    }
}

/// What the claim requested last, as [`request_pools`] takes it.
pub fn last_requests(request: &Request, resource: &str) -> BTreeMap<String, String> {
    let observed = request.observed().get(resource);
    let document = observed.and_then(|observed| observed.resource.as_ref());
    let object = document.and_then(|document| document.parse::<Object>().ok());
    let annotations = object.map(|object| object.metadata.annotations);
    let mut hosts = annotations.unwrap_or_default();
    hosts.retain(|key, _| key.starts_with(POOL));
    hosts
}

/// The claims that ask for a pool; None while they aren't fetched.
///
/// # Errors
/// An Object isn't a Kubernetes object.
pub fn requests(
    pool: &Metadata,
    request: &Request,
    response: &mut Response,
) -> Result<Option<Vec<PoolRequest>>, Fatal> {
    let object = object_kind(pool.scope());
    let selector = Selector {
        api_version: object.api_version(),
        kind: object.kind.to_owned(),
        namespace: None,
        by: Match::Labels(BTreeMap::from([(label(pool), "true".to_owned())])),
    };
    response.require(KEY, selector);
    let Required::Found(objects) = request.required(KEY) else {
        return Ok(None);
    };
    let documents = objects.iter().filter_map(|object| object.resource.as_ref());
    let objects: Result<Vec<Object>, _> = documents.map(|document| document.parse()).collect();
    let objects = objects.map_err(|error| Fatal::from(error).within(KEY))?;
    let requests = objects.into_iter().filter_map(|object| object.of(pool));
    Ok(Some(requests.collect()))
}

impl Object {
    /// What is requested of a pool. Without a controller, as after a restore without ownerReferences, the request has no UID: what the Object
    /// stands for may be in use. One that the provider may only observe requests nothing, since no pool has admitted its claim.
    ///
    /// A namespaced Object is its namespace's, whatever its labels say.
    fn of(self, pool: &Metadata) -> Option<PoolRequest> {
        let Requested {
            name,
            namespace,
            mut labels,
            mut annotations,
            owner_references,
        } = self.metadata;
        let mut references = owner_references.into_iter();
        let controller = references.find(|reference| reference.controller);
        let policies = self.spec.management_policies;
        let observes = policies.is_some_and(|policies| policies == OBSERVE_ONLY);
        if controller.is_none() && observes {
            return None;
        }
        let hosts = annotations.get(&label(pool));
        let min_hosts = hosts.and_then(|hosts| hosts.parse().ok());
        let (claim_name, namespace) = match namespace {
            Some(namespace) => (None, Some(namespace)),
            None => (labels.remove(CLAIM_NAME), labels.remove(CLAIM_NAMESPACE)),
        };
        let (composite, uid) = match controller {
            Some(controller) => (controller.name, Some(controller.uid)),
            None => (labels.remove(COMPOSITE).unwrap_or(name), None),
        };
        Some(PoolRequest {
            consumer: Consumer {
                name: claim_name.unwrap_or(composite),
                namespace: namespace.unwrap_or_default(),
                uid,
                min_hosts,
                ..Consumer::default()
            },
            created: annotations.remove(CREATED).unwrap_or_default(),
        })
    }
}

fn label(pool: &Metadata) -> String {
    format!("{POOL}{}", pool.uid)
}
