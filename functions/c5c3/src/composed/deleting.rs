//! Objects that are being deleted, because the claim no longer wants them: Rook keeps a pool that has images, and a share its nodes that have
//! servers. Crossplane hands over only what was wanted last (crossplane/crossplane, `UpdateResourceRefs` in
//! internal/controller/apiextensions/composite/composition_functions.go), but the Usages that wait for such an Object name it.

use std::collections::BTreeMap;

use c5c3_kinds::crossplane::{NAMESPACED_USAGE, USAGE, Usage, UsageRef};
use function_protocol::{DocumentError, Fatal, Match, Request, Required, Response, Selector};

use super::usages::sides;
use crate::composite::TypeMeta;
use crate::observed::Specified;

/// Requires every Object that a Usage waits for and that isn't observed, and adds those that exist to what is observed.
///
/// # Errors
/// There is no composite resource, or an observed Usage isn't one.
pub fn observe_deleting(request: &mut Request, response: &mut Response) -> Result<(), Fatal> {
    let namespace = request.head()?.metadata.namespace.clone();
    for (name, object) in unobserved(request)? {
        let key = key(&name);
        let selector = Selector {
            api_version: object.api_version,
            kind: object.kind,
            namespace: namespace.clone(),
            by: Match::Name(object.resource_ref.name),
        };
        if let Required::Found([found, ..]) = request.required(&key) {
            let found = found.clone();
            request.observe(name, found);
        }
        response.require(key, selector);
    }
    Ok(())
}

/// Whether it isn't known yet if the Object of a composed resource still exists. Then Crossplane calls again.
pub(super) fn is_unresolved(request: &Request, name: &str) -> bool {
    !request.observed().contains_key(name) && request.required(&key(name)) == Required::Unresolved
}

/// The name under which the Object of a composed resource is required.
fn key(name: &str) -> String {
    format!("deleting/{name}")
}

/// What Usages wait for and isn't observed, by the names of composed resources.
fn unobserved(request: &Request) -> Result<BTreeMap<String, UsageRef>, Fatal> {
    let observed = request.observed();
    let mut unobserved = BTreeMap::new();
    for (name, resource) in observed {
        let Some((_, by)) = sides(name).filter(|(_, by)| !observed.contains_key(*by)) else {
            continue;
        };
        let Some(document) = &resource.resource else {
            continue;
        };
        let within = |error: DocumentError| Fatal::from(error).within(name);
        let TypeMeta { api_version, kind } = document.parse().map_err(within)?;
        // An Object of a pool whose name has the word is named like a Usage.
        if USAGE.is(api_version, kind) || NAMESPACED_USAGE.is(api_version, kind) {
            let usage: Specified<Usage> = document.parse().map_err(within)?;
            unobserved.insert(by.to_owned(), usage.spec.by);
        }
    }
    Ok(unobserved)
}
