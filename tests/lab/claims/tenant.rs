//! A tenant with the rights that the documentation gives it.

use anyhow::{Context, Result};
use serde_json::json;

use crate::cluster::Cluster;

/// The page with the Role.
const PAGE: &str = include_str!("../../../docs/security.md");

/// The management cluster with the rights of a tenant in its namespace, which must be there.
pub async fn tenant(management: &Cluster, namespace: &str) -> Result<Cluster> {
    let role = PAGE
        .split("```yaml\n")
        .filter_map(|block| block.split("```").next())
        .find(|block| block.contains("kind: Role\n"))
        .context("docs/security.md has no Role")?;
    let role = role.replace("tenant-customer-a", namespace);
    management.apply(&role).await?;
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": "tenant", "namespace": namespace},
    });
    management.apply(&account.to_string()).await?;
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "tenant", "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "tenant"},
        "subjects": [{"kind": "ServiceAccount", "name": "tenant", "namespace": namespace}],
    });
    management.apply(&binding.to_string()).await?;
    management.acting_as(&format!("{namespace}/tenant")).await
}
