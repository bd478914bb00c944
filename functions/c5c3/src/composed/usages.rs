//! Usages: what is kept until something else is gone.

use c5c3_api::Claim;
use c5c3_kinds::crossplane::{NAMESPACED_USAGE, ResourceRef, USAGE, Usage, UsageRef};
use function_protocol::Fatal;

use super::Composed;
use crate::composite::{Metadata, Scope};
use crate::manifest::{Manifest, ObjectMeta};
use crate::observed::{Identity, Specified};

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

    /// Keeps a composite resource, such as a pool, until the composed resource `by` is gone.
    ///
    /// # Errors
    /// The name is taken by an earlier step of the pipeline.
    pub fn protect<K: Claim>(
        &mut self,
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
        let name = name(composite.claim_name(), by);
        self.usage(&name, used, using, reason)
    }

    /// Keeps an existing Usage when what it protects can't be read now.
    ///
    /// # Errors
    /// The observed Usage isn't one, or the name is taken by an earlier step.
    pub fn keep_usage(&mut self, composite: &str, by: &str) -> Result<(), Fatal> {
        let name = name(composite, by);
        let Some(document) = self.observed(&name) else {
            return Ok(());
        };
        let usage: Specified<Usage> = document
            .parse()
            .map_err(|error| Fatal::from(error).within(&name))?;
        self.desire(&name, &self.composed_usage(usage.spec), true)
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

    fn composed_usage(&self, usage: Usage) -> Manifest<Usage> {
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

/// What the Usage of a name protects, and until what is gone.
pub(super) fn sides(name: &str) -> Option<(&str, &str)> {
    name.split_once(UNTIL)
}
