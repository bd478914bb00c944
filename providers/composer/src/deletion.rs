//! Deletion of a subject whose pods use its other objects.

use std::collections::BTreeSet;

use c5c3_api::Reason;
use c5c3_kinds::{Resource, ResourceKind};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use serde::Deserialize;
use serde_json::Value;

use crate::composed::Composed;
use crate::desired::DesiredState;
use crate::failure::Failure;
use crate::lookup::Lookup;
use crate::observed::ObservedState;
use crate::owner::Owner;
use crate::status::status_of_failure;
use crate::subject::Metadata;
use crate::uses::{Access, Use};

/// The order in which the objects of a subject that is being deleted are deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// None: the garbage collector deletes all at once.
    Unordered,
    /// Deployments and StatefulSets are deleted first, with their pods. A finalizer keeps the subject until they are gone, and the garbage
    /// collector deletes the rest.
    PodsFirst,
    /// That of the composer, which is called until no object is left. A finalizer keeps the subject until then.
    Composed,
}

impl Deletion {
    /// The order for what a composer uses, where it has none of its own.
    pub(crate) fn of(uses: &[Use]) -> Self {
        match serving_kinds(uses).next() {
            Some(_) => Self::PodsFirst,
            None => Self::Unordered,
        }
    }

    /// Whether a finalizer keeps a subject that is being deleted.
    pub fn needs_finalizer(self) -> bool {
        self != Self::Unordered
    }
}

/// Whether a kind's objects have pods of a service, which may need what they use until they have stopped: a cinder-volume whose user of
/// the message bus is deleted waits for the bus until its grace period ends. DaemonSets have agents instead, which stop with the lease of
/// their node.
pub fn has_serving_pods(kind: ResourceKind) -> bool {
    [Deployment::KIND, StatefulSet::KIND].contains(&kind)
}

/// The kinds that a composer composes and that [have pods of a service](has_serving_pods).
fn serving_kinds(uses: &[Use]) -> impl Iterator<Item = ResourceKind> {
    let composed = uses.iter().filter(|used| used.access == Access::Composes);
    let kinds = composed.map(|used| used.kind);
    kinds.filter(|kind| has_serving_pods(*kind))
}

/// Whether a kind is a workload: its objects create pods.
pub(crate) fn is_workload(kind: ResourceKind) -> bool {
    has_serving_pods(kind) || [DaemonSet::KIND, Job::KIND, CronJob::KIND].contains(&kind)
}

/// Composes nothing for a subject that is being deleted, so that its pods are. Its status says which objects it waits for.
///
/// # Errors
/// Its metadata isn't valid.
pub(crate) fn compose(
    kind: ResourceKind,
    uses: &[Use],
    resource: &Value,
    observed: &ObservedState<'_>,
) -> Result<Composed, Failure> {
    let metadata = Metadata::deserialize(&resource["metadata"]);
    let metadata =
        metadata.map_err(|error| Failure::new(Reason::Invalid, format!("metadata: {error}")))?;
    let owner = Owner::of(kind, &metadata);
    let waiting = Failure::transient(Reason::Deleting, message(&owner, uses, observed));
    Ok(Composed {
        desired: DesiredState::default(),
        status: status_of_failure(resource, &waiting, observed.now()),
        failed: BTreeSet::new(),
        owner,
    })
}

fn message(owner: &Owner, uses: &[Use], observed: &ObservedState<'_>) -> String {
    let mut left = Vec::new();
    for kind in serving_kinds(uses) {
        match observed.keys(kind, &owner.namespace, &owner.labels()) {
            Lookup::Found(keys) => left.extend(keys.iter().map(ToString::to_string)),
            Lookup::Missing => {}
            Lookup::Unknown(why) => {
                return format!(
                    "being deleted: waits until {} can be read: {why}",
                    kind.plural
                );
            }
        }
    }
    format!(
        "being deleted: waits for the pods of {}, which are deleted before what they use; `kubectl get pods -n {} -o wide` shows their \
         nodes: if one of these is lost, delete the Node",
        left.join(", "),
        owner.namespace
    )
}
