//! Network policies, enforced by the packet filter of the node.

use lab::{Cloud, Kind, Result, ensure, eventually, kind, minutes};
use serde_json::json;

const POD: Kind = kind("v1", "Pod");

/// What neighbours reach, which authenticates its clients itself: the Services with their ports.
pub const OPEN: [(&str, u16); 8] = [
    ("keystone", 5000),
    ("glance", 9292),
    ("placement", 8778),
    ("nova", 8774),
    ("neutron", 9696),
    ("cinder", 8776),
    ("nova-metadata", 8775),
    ("ovn-sb", 6642),
];

/// What neighbours don't reach.
pub const CLOSED: [(&str, u16); 4] = [
    ("openstack-db", 3306),
    ("openstack-memcached", 11211),
    ("openstack-rabbitmq", 5671),
    ("ovn-nb", 6641),
];

/// Lets pods of the scenario itself connect to those of the control plane.
pub async fn admit_clients(cloud: &Cloud) -> Result<()> {
    let policies = include_str!("clients.yaml").replace("PLACE", cloud.namespace());
    cloud.cluster.apply(&policies).await.map(drop)
}

/// Tries servers from another namespace: those of the first list can be reached, those of the second can't.
pub async fn is_closed_to_neighbours(
    cloud: &Cloud,
    open: &[(&str, u16)],
    closed: &[(&str, u16)],
) -> Result<()> {
    let cluster = &cloud.cluster;
    let servers: Vec<_> = open.iter().chain(closed).collect();
    let manifest = include_str!("network.yaml")
        .replace("PLACE", cloud.namespace())
        .replace("SERVERS", &json!(json!(servers).to_string()).to_string());
    cluster.apply(&manifest).await?;
    eventually("a neighbour tried every port", minutes(2), async || {
        let pod = cluster.get(POD, "neighbour/neighbour").await?;
        let phase = &pod.data["status"]["phase"];
        ensure!(phase == "Succeeded", "the neighbour's pod is {phase}");
        Ok(())
    })
    .await?;
    let reached = cloud.node.logs("neighbour/neighbour").await?;
    let expected: String = open
        .iter()
        .map(|(server, port)| format!("{server} {port}\n"))
        .collect();
    ensure!(reached == expected, "a neighbour reaches:\n{reached}");
    Ok(())
}
