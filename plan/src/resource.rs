//! The kinds of our operators that users may write without a claim.

use c5c3_api::control_plane::ControlPlaneSpec;
use c5c3_api::credential_rotation::CredentialRotationSpec;
use c5c3_api::secret_aggregate::SecretAggregateSpec;
use c5c3_api::{CustomResource, schema};
use serde_json::Value;

use crate::manifest::Manifest;
use crate::schema::with_defaults;

/// The cluster of what is given without a claim, and so without a cluster.
pub const CONTROL_PLANE: &str = "control-plane";

/// The structural schema of the spec, if it is a resource of one of our operators.
pub fn schema(manifest: &Manifest) -> Option<Value> {
    schema_if::<ControlPlaneSpec>(manifest)
        .or_else(|| schema_if::<SecretAggregateSpec>(manifest))
        .or_else(|| schema_if::<CredentialRotationSpec>(manifest))
}

/// A resource as the API server keeps it, with the defaults of its schema; nothing where it isn't of one of our operators.
pub fn defaulted(manifest: &Manifest) -> Option<Manifest> {
    let schema = schema(manifest)?;
    let spec = with_defaults(&schema, manifest.spec().clone());
    let manifest = manifest.clone();
    Some(manifest.changed(|fields| {
        fields.insert("spec".to_owned(), spec);
    }))
}

/// Whether it is a Secret, which our operators look at.
pub fn is_secret(manifest: &Manifest) -> bool {
    manifest.kind() == "Secret" && manifest.api_version() == "v1"
}

fn schema_if<S: CustomResource>(manifest: &Manifest) -> Option<Value> {
    let same = manifest.kind() == S::KIND && manifest.api_version() == S::api_version();
    same.then(schema::structural::<S>)
}
