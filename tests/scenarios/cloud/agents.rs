//! Pods of agents.

use lab::{Context, Hypervisor, Kind, Result, kind};

const POD: Kind = kind("v1", "Pod");

/// The name of a pod of an agent of a control plane on a host.
pub async fn agent_pod(
    hypervisor: &Hypervisor,
    control_plane: &str,
    agent: &str,
) -> Result<String> {
    let namespace = format!("agents-{control_plane}");
    let pods = hypervisor
        .cluster()
        .list(POD, &format!("app.kubernetes.io/component={agent}"))
        .await?;
    let mut pods = pods.into_iter().filter(|pod| {
        let is_deleted = pod.metadata.deletion_timestamp.is_some();
        let is_theirs = pod.metadata.namespace.as_deref() == Some(namespace.as_str());
        is_theirs && !is_deleted && pod.data["spec"]["nodeName"] == hypervisor.name()
    });
    let name = pods.next().and_then(|pod| pod.metadata.name);
    let name = name.with_context(|| format!("{} has no pod of {agent}", hypervisor.name()))?;
    Ok(format!("{namespace}/{name}"))
}
