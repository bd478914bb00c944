//! Ceph beside a ControlPlane that no claim composed: pools for images, volumes and backups.

use lab::{Ceph, Cloud, Result};
use serde_json::json;

/// What Ceph's users may do, as `functions/c5c3` composes it for a claim of the name production.
const USERS: [(&str, &str); 3] = [
    (
        "cinder",
        "profile rbd pool=production-volumes, profile rbd-read-only pool=production-images",
    ),
    ("glance", "profile rbd pool=production-images"),
    ("backup", "profile rbd pool=production-backups"),
];
const POOLS: [&str; 3] = ["volumes", "images", "backups"];

/// Starts a Ceph, and gives its users' keys to the control plane.
pub async fn ceph(cloud: &Cloud) -> Result<Ceph> {
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": cloud.namespace()}});
    cloud.cluster.apply(&namespace.to_string()).await?;
    let ceph = Ceph::start(cloud, "ceph").await?;
    for pool in POOLS {
        ceph.make_pool(&format!("production-{pool}"))?;
    }
    for (service, capabilities) in USERS {
        let user = format!("production-{service}");
        let key = ceph.make_user(&user, [("mon", "profile rbd"), ("osd", capabilities)])?;
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": format!("ceph-{service}-st-pool"), "namespace": cloud.namespace()},
            "stringData": {
                "ceph.conf": format!("[global]\nmon_host = {}\n", ceph.monitors()),
                "keyring": format!("[client.{user}]\nkey = {key}\n"),
                "userID": user,
            },
        });
        cloud.cluster.apply(&secret.to_string()).await?;
    }
    Ok(ceph)
}
