//! A ControlPlane with every part, and as little of each as possible.

use lab::{Result, Site};
use serde_json::{Value, json};

/// Creates a namespace with such a ControlPlane, whose certificates are as `tls` says, and the Secret that its user creates.
pub async fn create(site: &Site, name: &str, tls: Value) -> Result<()> {
    let spec = json!({
        "openStackRelease": "2025.2",
        "infrastructure": infrastructure(),
        "cortex": { "enabled": true },
        "tempest": { "enabled": true },
        "global": { "tls": tls },
    });
    site.control_plane(name, &spec).await?;
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": "cortex-db-credentials", "namespace": name },
        "stringData": { "password": "given" },
    });
    site.cluster.apply(&secret.to_string()).await?;
    Ok(())
}

/// All of the infrastructure, one member of each.
pub fn infrastructure() -> Value {
    json!({
        "mariadb": { "replicas": 1, "storageSize": "1Gi" },
        "rabbitmq": { "replicas": 1, "storageSize": "1Gi" },
        "valkey": { "replicas": 1, "sentinel": { "enabled": false } },
        "memcached": { "replicas": 1, "memory": "64Mi" },
    })
}
