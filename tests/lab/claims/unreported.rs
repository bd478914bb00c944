//! Objects that have no status yet.

use anyhow::Result;
use kube::core::DynamicObject;

use crate::cluster::Cluster;
use crate::objects::Kind;

/// The objects whose status hasn't this field yet, and that stay.
pub(super) async fn unreported(
    cluster: &Cluster,
    kind: Kind,
    field: &str,
) -> Result<Vec<DynamicObject>> {
    let mut objects = cluster.list(kind, "").await?;
    objects.retain(|object| is_unreported(object, field));
    Ok(objects)
}

/// Whether an object's status hasn't this field yet, and the object stays.
pub(super) fn is_unreported(object: &DynamicObject, field: &str) -> bool {
    object.metadata.deletion_timestamp.is_none() && object.data["status"][field].is_null()
}
