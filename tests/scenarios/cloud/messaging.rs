//! RabbitMQ, as the control plane composes it: a service's user reaches its virtual host.

use lab::{Cloud, Kind, Result, ensure, eventually, is, kind, minutes};

use super::does;

const COMPOSED: [Kind; 3] = [
    kind("rabbitmq.com/v1beta1", "Vhost"),
    kind("rabbitmq.com/v1beta1", "User"),
    kind("rabbitmq.com/v1beta1", "Permission"),
];

/// Sends a message through a quorum queue as the user of a virtual host.
pub async fn connects(cloud: &Cloud) -> Result<()> {
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
