//! A tenant with the rights that the documentation gives it.

use anyhow::{Context, Result};
use serde_json::json;

use crate::cluster::Cluster;
use crate::node::SERVICE_ACCOUNT;
use crate::objects::{Kind, kind};

const ROLE_BINDING: Kind = kind("rbac.authorization.k8s.io/v1", "RoleBinding");

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
    let account = format!("{namespace}/tenant");
    management.put(SERVICE_ACCOUNT, &account, json!({})).await?;
    let binding = json!({
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "tenant"},
        "subjects": [{"kind": "ServiceAccount", "name": "tenant", "namespace": namespace}],
    });
    management.put(ROLE_BINDING, &account, binding).await?;
    management.acting_as(&account).await
}
