//! The namespace of a share's agents: whose it is, and what is done with it.
//!
//! A share that is created again has another UID, and what was composed for the earlier one belongs to that one by its ownerReferences.
//! Kubernetes deletes each such object by itself, at any time, because its owner doesn't exist (isDangling in
//! pkg/controller/garbagecollector/garbagecollector.go compares UIDs). So nothing is taken over from an earlier share: the deletion is
//! waited for, which stops agents and no server.

use std::collections::BTreeMap;

use c5c3_api::hypervisor::HypervisorShareSpec;
use c5c3_kinds::Manifest;
use c5c3_kinds::cert_manager::{Certificate, Issuer};
use k8s_openapi::api::apps::v1::{DaemonSet, StatefulSet};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use provider_composer::{
    DesiredState, Failure, Key, Lookup, ObservedState, Owner, Progress, Reason, Resource,
    ResourceKind, Subject,
};
use provider_openstack::labelled;
use serde_json::Value;

use crate::drain;

/// The kinds of what is composed in the namespace.
pub const INSIDE: [ResourceKind; 7] = [
    Secret::KIND,
    ConfigMap::KIND,
    DaemonSet::KIND,
    StatefulSet::KIND,
    PodDisruptionBudget::KIND,
    Manifest::<Certificate>::KIND,
    Manifest::<Issuer>::KIND,
];

/// The level of Pod Security that pods with files and processes of a node need
/// (<https://kubernetes.io/docs/concepts/security/pod-security-standards/>).
const POD_SECURITY: &str = "pod-security.kubernetes.io/enforce";

/// Whose an existing namespace is.
enum Holder {
    /// The share's.
    Share,
    /// An earlier share's of the same name, by its UID.
    Earlier(String),
    /// No one's any more, and a share's of this name before: tools that restore a backup leave out ownerReferences.
    Nobody,
    /// Someone else's.
    Other,
}

/// Composes the namespace. Only where it is ready may anything be in it.
///
/// # Errors
/// It belongs to someone else, or can't be read.
pub fn compose(
    share: &Subject<HypervisorShareSpec>,
    observed: &ObservedState<'_>,
    desired: &mut DesiredState,
) -> Result<Progress, Failure> {
    let name = drain::namespace(share.name());
    let key = Key::of::<Namespace>("", &name);
    let creation = format!("waits for the Namespace {name}");
    let found = match observed.object(&key) {
        Lookup::Found(found) => found,
        Lookup::Missing => {
            apply(&name, desired);
            return Ok(Progress::waiting(Reason::Starting, creation));
        }
        Lookup::Unknown(why) => {
            return Err(Failure::transient(
                Reason::LookupFailed,
                format!("the Namespace {name} can't be read: {why}"),
            ));
        }
    };
    let message = match Holder::of(&found, share) {
        _ if found.pointer("/metadata/deletionTimestamp").is_some() => format!(
            "waits for Kubernetes to delete the Namespace {name}, which is then created again with its agents"
        ),
        Holder::Share => {
            apply(&name, desired);
            return Ok(Progress::Ready);
        }
        // It gets an ownerReference first, or is refused if this operator didn't apply it.
        Holder::Nobody => {
            apply(&name, desired);
            creation
        }
        Holder::Earlier(uid) => format!(
            "waits for Kubernetes to delete the Namespace {name} of an earlier HypervisorShare {} with the UID {uid}, and creates it \
             again with its agents; servers keep running. If the Namespace is still there after some minutes, delete it",
            share.name()
        ),
        Holder::Other => {
            return Err(Failure::new(
                Reason::NameTaken,
                format!(
                    "the Namespace {name} exists and doesn't belong to this share: delete it, or give the share another name"
                ),
            ));
        }
    };
    keep(key, observed, desired);
    Ok(Progress::waiting(Reason::Starting, message))
}

fn apply(name: &str, desired: &mut DesiredState) {
    let labels = BTreeMap::from([(POD_SECURITY.to_owned(), "privileged".to_owned())]);
    let namespace = Namespace {
        metadata: labelled(labels),
        ..Namespace::default()
    };
    desired.apply("", name, &namespace);
}

/// Leaves the namespace and everything in it as it is, because nothing is composed there now.
fn keep(namespace: Key, observed: &ObservedState<'_>, desired: &mut DesiredState) {
    for kind in INSIDE {
        // What can't be read isn't deleted either.
        let inside = observed.keys(kind, &namespace.name, &[]).found();
        desired.kept.extend(inside.into_iter().flatten());
    }
    desired.keep(namespace);
}

impl Holder {
    fn of(namespace: &Value, share: &Subject<HypervisorShareSpec>) -> Self {
        let kind = Subject::<HypervisorShareSpec>::KIND;
        let metadata = &namespace["metadata"];
        let mut owners = metadata["ownerReferences"].as_array().into_iter().flatten();
        let Some(controller) = owners.find(|owner| owner["controller"] == true) else {
            let owner = Owner::of(kind, &share.metadata);
            let mut labels = owner.labels().into_iter();
            return match labels.all(|(label, value)| metadata["labels"][label] == value) {
                true => Self::Nobody,
                false => Self::Other,
            };
        };
        let uid = controller["uid"].as_str().unwrap_or_default();
        if share.metadata.uid.as_deref() == Some(uid) {
            Self::Share
        } else if controller["kind"] == kind.kind && controller["name"] == share.name() {
            Self::Earlier(uid.to_owned())
        } else {
            Self::Other
        }
    }
}
