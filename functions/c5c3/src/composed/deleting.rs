//! Objects that are being deleted, because the claim no longer wants them: Rook keeps a pool that has images, and a share its nodes that have
//! servers. Crossplane hands over only what was wanted last (crossplane/crossplane, `UpdateResourceRefs` in
//! internal/controller/apiextensions/composite/composition_functions.go), but the Usages that wait for such an Object name it.

use std::collections::BTreeMap;

use c5c3_kinds::crossplane::UsageRef;
use function_protocol::v1::Resource;
use function_protocol::{Fatal, Match, Request, Required, Response, Selector};
use serde::Deserialize;

use super::kinds::is_composed;
use super::usages::{self, ObservedUsage};

/// Annotation of a composed resource: its name in the pipeline.
const COMPOSED_NAME: &str = "crossplane.io/composition-resource-name";

/// A resource that may have been composed.
#[derive(Deserialize)]
struct Candidate {
    metadata: CandidateMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CandidateMetadata {
    annotations: BTreeMap<String, String>,
    #[serde(default)]
    owner_references: Vec<OwnerReference>,
}

#[derive(Deserialize)]
struct OwnerReference {
    uid: String,
    #[serde(default)]
    controller: bool,
}

/// Requires every Object that a Usage waits for and that isn't observed, and adds those that exist to what is observed.
///
/// # Errors
/// There is no composite resource, or an observed Usage isn't one.
pub fn observe_deleting(request: &mut Request, response: &mut Response) -> Result<(), Fatal> {
    let unobserved = unobserved(request)?;
    if unobserved.is_empty() {
        return Ok(());
    }
    let metadata = request.head()?.metadata.clone();
    for (key, object) in unobserved {
        if let Required::Found([found, ..]) = request.required(&key)
            && let Some(name) = composed_name(found, &metadata.uid)
        {
            let found = found.clone();
            request.observe(name, found);
        }
        let selector = Selector {
            api_version: object.api_version,
            kind: object.kind,
            namespace: metadata.namespace.clone(),
            by: Match::Name(object.resource_ref.name),
        };
        response.require(key, selector);
    }
    Ok(())
}

/// Whether it isn't known yet of an Object that one of these Usages waits for if it still exists. Then Crossplane calls again.
pub(super) fn is_unresolved(request: &Request, usages: &[ObservedUsage<'_>]) -> bool {
    let mut unobserved = usages.iter().filter(|usage| usage.by.is_none());
    unobserved.any(|usage| request.required(&key(&usage.spec.by)) == Required::Unresolved)
}

/// The name under which the composite resource of this UID composed a resource; none if it didn't.
fn composed_name(resource: &Resource, uid: &str) -> Option<String> {
    let document = resource.resource.as_ref()?;
    let Candidate { mut metadata } = document.parse().ok()?;
    let mut owners = metadata.owner_references.iter();
    if owners.any(|owner| owner.controller && owner.uid != uid) {
        return None;
    }
    let name = metadata.annotations.remove(COMPOSED_NAME)?;
    is_composed(&name, document).then_some(name)
}

/// The name under which an object is required.
fn key(object: &UsageRef) -> String {
    format!("deleting/{}/{}", object.kind, object.resource_ref.name)
}

/// What Usages wait for and isn't observed, by the names under which it is required.
fn unobserved(request: &Request) -> Result<BTreeMap<String, UsageRef>, Fatal> {
    if usages::all_wait_for_observed(request) {
        return Ok(BTreeMap::new());
    }
    let usages = ObservedUsage::all(request)?.into_iter();
    let unobserved = usages.filter(|usage| usage.by.is_none());
    let unobserved = unobserved.map(|usage| (key(&usage.spec.by), usage.spec.by));
    Ok(unobserved.collect())
}
