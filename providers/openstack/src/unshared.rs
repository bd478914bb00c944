//! What one resource of a kind has to itself in a server: a database, or a virtual host.

use std::collections::BTreeSet;

use c5c3_kinds::{Manifest, Spec};
use k8s_openapi::api::core::v1::LocalObjectReference;
use provider_composer::{Key, Owner, Progress, Reason};
use serde::de::DeserializeOwned;

use crate::prerequisite::Prerequisite;
use crate::service::Service;

/// What to do where an object has to be deleted: none can be given another name.
const READ: &str = "before you delete anything, read \"Run two services of one kind in a namespace\" in docs/services.md";

/// Checks that no other resource of the service's kind uses a database or virtual host of this name in a server of this cluster. `place`
/// describes it, `field` is the field that names it, and `read` returns the server and the name that an object has. The resource with the
/// oldest object goes on where several use one.
///
/// # Errors
/// Another resource uses it, or it isn't known whether one does.
pub(crate) fn check_unshared<S: Spec + DeserializeOwned>(
    service: &Service<'_>,
    (server, name): (&str, &str),
    (place, field): (&str, &str),
    read: impl Fn(S) -> (LocalObjectReference, Option<String>),
) -> Prerequisite<()> {
    let kind = service.definition.kind.kind;
    // Only composed objects have the label, so none of other operators or users is read.
    let all = service.list::<Manifest<S>>(&[(Owner::KIND, kind)]);
    let all = all.or_default()?.into_iter();
    let same: BTreeSet<_> = all
        .filter_map(|live| {
            let metadata = live.metadata;
            let (reference, named) = read(live.body.spec);
            let is_same =
                reference.name == server && named.as_ref().unwrap_or(&metadata.name) == name;
            let owner = Owner::from_labels(&metadata.labels).filter(|_| is_same)?;
            Some((metadata.creation_timestamp, metadata.name, owner.name))
        })
        .collect();
    match same.first() {
        Some((_, object, owner)) if owner != service.name => {
            let object = Key::of::<Manifest<S>>(service.namespace, object);
            let remedy = match same.iter().any(|(_, _, owner)| owner == service.name) {
                true => READ.to_owned(),
                false => format!("name another in {field}"),
            };
            let message = format!("{object} of {kind} {owner} already uses {place}: {remedy}");
            Err(Progress::failed(Reason::DataShared, message))
        }
        _ => Ok(()),
    }
}

/// Whether this is the reason why a service isn't ready.
pub fn is_data_shared(progress: &Progress) -> bool {
    matches!(
        progress,
        Progress::Failed {
            reason: Reason::DataShared,
            ..
        }
    )
}
