//! The control plane that something befalls.

use lab::{Kind, Result, Site, eventually, is, kind, minutes};
use serde_json::{Value, json};

use crate::every_part::infrastructure;

pub const CONTROL_PLANE: Kind = kind("c5c3.io/v1alpha1", "ControlPlane");

/// Identity and images, and all of the infrastructure.
fn spec() -> Value {
    json!({
        "openStackRelease": "2025.2",
        "infrastructure": infrastructure(),
        "services": {
            "placement": { "enabled": false },
            "nova": { "enabled": false },
            "neutron": { "enabled": false },
            "cinder": { "enabled": false },
        },
        "global": { "tls": { "enabled": false } },
    })
}

/// Makes a namespace, and a ControlPlane in it.
pub async fn make(site: &Site, name: &str) -> Result<()> {
    site.control_plane(name, &spec()).await
}

/// Waits until a ControlPlane is ready.
pub async fn is_ready(site: &Site, name: &str) -> Result<()> {
    eventually(&format!("{name} is Ready"), minutes(3), async || {
        is(
            &site
                .cluster
                .get(CONTROL_PLANE, &format!("{name}/{name}"))
                .await?,
            "Ready",
        )
    })
    .await
}

/// Takes a ControlPlane away while no operator runs, so that the next one has nothing to do with it.
pub async fn forget(site: &Site, name: &str) -> Result<()> {
    let name = format!("{name}/{name}");
    let nobody = json!({ "metadata": { "finalizers": null } });
    site.cluster.edit(CONTROL_PLANE, &name, nobody).await?;
    site.cluster.delete(CONTROL_PLANE, &name).await
}
