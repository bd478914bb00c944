//! The kinds of operators that users may write without a claim.

use c5c3_kinds::gardener::Shoot;
use c5c3_kinds::{ResourceKind, Spec};

use crate::manifest::Manifest;
use crate::schema::Served;

/// The cluster of what is given without a claim, and so without a cluster.
pub const CONTROL_PLANE: &str = "control-plane";

/// The cluster of given Shoots, until an Object names the one that they are in.
pub const GARDEN: &str = "a garden";

/// The kind of Gardener's Shoots.
pub const SHOOT: ResourceKind = Shoot::KIND;

/// A resource as the API server keeps it, with the defaults of its schema; nothing where it isn't of an operator's kind.
pub fn defaulted(manifest: &Manifest) -> Option<Manifest> {
    let served = Served::named(manifest.api_version(), manifest.kind())?;
    let reconciled = served.claim.is_none() && !is_secret(manifest);
    reconciled.then(|| served.defaulted(manifest))
}

/// Whether it is a Secret, which operators read.
pub fn is_secret(manifest: &Manifest) -> bool {
    manifest.kind() == "Secret" && manifest.api_version() == "v1"
}
