//! RabbitMQ, as the control plane composes it: it exists while a service uses it, and a service's user reaches its virtual host.

use lab::{Cloud, Kind, Result, ensure, eventually, is, kind, minutes};
use serde_json::json;

use super::{CONTROL_PLANE, does};

const RABBITMQ: Kind = kind("rabbitmq.com/v1beta1", "RabbitmqCluster");

const COMPOSED: [Kind; 3] = [
    kind("rabbitmq.com/v1beta1", "Vhost"),
    kind("rabbitmq.com/v1beta1", "User"),
    kind("rabbitmq.com/v1beta1", "Permission"),
];

/// Enables a service that uses a message bus, sends a message, and disables the service again.
pub async fn follows_services(cloud: &Cloud) -> Result<()> {
    let enable = async |enabled: bool| {
        let change = json!({ "spec": { "services": { "cinder": { "enabled": enabled } } } });
        let cluster = &cloud.cluster;
        cluster
            .edit(CONTROL_PLANE, "openstack/production", change)
            .await
    };
    let rabbitmq = "openstack/openstack-rabbitmq";
    cloud.cluster.gone(RABBITMQ, rabbitmq).await?;
    enable(true).await?;
    // The topology operator tries again after twice the time that it waited before.
    eventually("RabbitMQ is ready", minutes(4), async || {
        let found = cloud.cluster.get(RABBITMQ, rabbitmq).await?;
        is(&found, "AllReplicasReady")
    })
    .await?;
    connects(cloud).await?;
    enable(false).await?;
    eventually("RabbitMQ is deleted", minutes(2), async || {
        cloud.cluster.gone(RABBITMQ, rabbitmq).await
    })
    .await
}

/// Sends a message through a quorum queue as the user of a virtual host.
async fn connects(cloud: &Cloud) -> Result<()> {
    cloud.cluster.apply(include_str!("messaging.yaml")).await?;
    eventually("the virtual host is ready", minutes(2), async || {
        for kind in COMPOSED {
            is(
                &cloud.cluster.get(kind, "openstack/letters").await?,
                "Ready",
            )?;
        }
        Ok(())
    })
    .await?;
    let received = does(cloud, "messages", "messages").await?;
    ensure!(received.trim() == "a letter", "received: {received}");
    Ok(())
}
