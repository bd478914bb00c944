//! Usages: what is kept until something else is gone.

use std::collections::BTreeMap;

use c5c3_api::Claim;
use c5c3_kinds::crossplane::{NAMESPACED_USAGE, ResourceRef, USAGE, Usage, UsageRef};
use function_protocol::{Document, Fatal, Request};

use super::Composed;
use crate::composite::{Metadata, Scope, TypeMeta};
use crate::manifest::{Manifest, ObjectMeta};
use crate::observed::{Identity, Specified};

/// A Usage that exists.
pub(super) struct ObservedUsage<'a> {
    /// Its name as a composed resource.
    pub name: &'a str,
    /// The composed resource that it protects; none if that isn't observed, or if it is another composite resource, such as a pool.
    pub of: Option<&'a str>,
    /// The composed resource that it waits for; none if that isn't observed.
    pub by: Option<&'a str>,
    /// What it says.
    pub spec: Usage,
}

impl<'a> ObservedUsage<'a> {
    /// Returns all of them. What one protects, and until what is gone, is what it refers to. Its name isn't split: the name of a pool may
    /// have `-until-` in it.
    ///
    /// # Errors
    /// An observed Usage isn't one.
    pub fn all(request: &'a Request) -> Result<Vec<Self>, Fatal> {
        let mut composed: BTreeMap<String, &'a str> = BTreeMap::new();
        let mut usages: Vec<(&'a str, Usage)> = Vec::new();
        for (name, resource) in request.observed() {
            let Some(document) = &resource.resource else {
                continue;
            };
            if is_name(name) && is_usage(document) {
                usages.push((name.as_str(), spec(name, document)?));
            } else if let Ok(Identity { kind, metadata, .. }) = document.parse() {
                composed.insert(key(&kind, &metadata.name), name);
            }
        }
        let find = |side: &UsageRef| {
            let key = key(&side.kind, &side.resource_ref.name);
            composed.get(&key).copied()
        };
        let usages = usages.into_iter().map(|(name, spec)| ObservedUsage {
            name,
            of: find(&spec.of),
            by: find(&spec.by),
            spec,
        });
        Ok(usages.collect())
    }
}

impl Composed<'_> {
    /// Keeps `of` until `by` is gone. Both are composed resources; wanted once both exist.
    ///
    /// # Errors
    /// The name is taken by an earlier step of the pipeline.
    pub fn order(&mut self, of: &str, by: &str, reason: &str) -> Result<(), Fatal> {
        let (Some(used), Some(using)) = (self.reference(of), self.reference(by)) else {
            return Ok(());
        };
        self.usage(&name(of, by), used, using, reason)
    }

    /// Keeps a composite resource, such as a pool, until the composed resource `by` is gone. The name of the Usage begins with `of`.
    ///
    /// # Errors
    /// The name is taken by an earlier step of the pipeline.
    pub fn protect<K: Claim>(
        &mut self,
        of: &str,
        composite: &Metadata,
        by: &str,
        reason: &str,
    ) -> Result<(), Fatal> {
        let Some(using) = self.reference(by) else {
            return Ok(());
        };
        let used = UsageRef {
            api_version: K::api_version(),
            kind: self.scope.kind::<K>(),
            resource_ref: ResourceRef {
                name: composite.name.clone(),
                namespace: composite.namespace.clone(),
            },
        };
        self.usage(&name(of, by), used, using, reason)
    }

    /// Keeps an existing Usage when what it protects can't be read now.
    ///
    /// # Errors
    /// The observed Usage isn't one, or the name is taken by an earlier step.
    pub fn keep_usage(&mut self, of: &str, by: &str) -> Result<(), Fatal> {
        let name = name(of, by);
        let Some(document) = self.observed(&name) else {
            return Ok(());
        };
        let usage = spec(&name, document)?;
        self.desire(&name, &self.composed_usage(usage), true)
    }

    fn usage(&mut self, name: &str, of: UsageRef, by: UsageRef, reason: &str) -> Result<(), Fatal> {
        let usage = Usage {
            of,
            by,
            reason: reason.to_owned(),
            replay_deletion: true,
        };
        let exists = self.exists(name);
        self.desire(name, &self.composed_usage(usage), exists)
    }

    pub(super) fn composed_usage(&self, usage: Usage) -> Manifest<Usage> {
        let kind = match self.scope {
            Scope::Cluster => USAGE,
            Scope::Namespaced => NAMESPACED_USAGE,
        };
        Manifest::of(kind, ObjectMeta::default(), Some(usage))
    }

    /// A composed resource as a Usage refers to it; none while it doesn't exist.
    fn reference(&self, name: &str) -> Option<UsageRef> {
        let identity: Identity = self.observed(name)?.parse().ok()?;
        Some(UsageRef {
            api_version: identity.api_version,
            kind: identity.kind,
            resource_ref: ResourceRef {
                name: identity.metadata.name,
                namespace: None,
            },
        })
    }
}

/// Between the two sides in the name of a Usage.
const UNTIL: &str = "-until-";

/// The name of the Usage that protects `of` until `by` is gone.
fn name(of: &str, by: &str) -> String {
    format!("{of}{UNTIL}{by}")
}

/// Whether a Usage may have this name. Objects of a pool whose name has the word have such names, too.
pub(super) fn is_name(name: &str) -> bool {
    name.contains(UNTIL)
}

/// Whether the names of all Usages say that what they wait for is observed. So it isn't read of them in most calls.
pub(super) fn all_wait_for_observed(request: &Request) -> bool {
    let observed = request.observed();
    observed.keys().all(|name| match name.split_once(UNTIL) {
        Some((_, by)) => !is_name(by) && observed.contains_key(by),
        None => true,
    })
}

/// Whether a document is a Usage, of either kind.
fn is_usage(document: &Document) -> bool {
    let Ok(TypeMeta { api_version, kind }) = document.parse() else {
        return false;
    };
    USAGE.is(api_version, kind) || NAMESPACED_USAGE.is(api_version, kind)
}

/// The spec of an observed Usage.
fn spec(name: &str, document: &Document) -> Result<Usage, Fatal> {
    let usage: Specified<Usage> = document
        .parse()
        .map_err(|error| Fatal::from(error).within(name))?;
    Ok(usage.spec)
}

/// A composed resource as Usages refer to it. Its group follows from its kind and the scope of the composite resource.
fn key(kind: &str, name: &str) -> String {
    format!("{kind}/{name}")
}
