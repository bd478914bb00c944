//! What Prometheus finds of a cloud.

use lab::{Cloud, Kind, Result, ensure, eventually, is, kind, minutes};

use super::client::does;

const SERVICE: Kind = kind("v1", "Service");
const MONITOR: Kind = kind("monitoring.coreos.com/v1", "ServiceMonitor");

/// Fine when a service is Ready though nothing tells Prometheus of it, and says so.
pub async fn are_no_condition(cloud: &Cloud, service: Kind, name: &str) -> Result<()> {
    let service = cloud
        .cluster
        .get(service, &format!("openstack/{name}"))
        .await?;
    is(&service, "Ready")?;
    let unmonitored = is(&service, "Monitored").err();
    let message = unmonitored.map(|error| format!("{error:#}"));
    ensure!(
        message
            .as_ref()
            .is_some_and(|message| message.contains("servicemonitors.monitoring.coreos.com")),
        "without its kind: {message:?}"
    );
    Ok(())
}

/// Goes the way that Prometheus goes, from ServiceMonitors to metrics, and sees them grow with the requests.
pub async fn are_exported(cloud: &Cloud, services: &[(Kind, &str)]) -> Result<()> {
    for (service, name) in services {
        let place = format!("openstack/{name}");
        eventually(&format!("{name} is monitored"), minutes(2), async || {
            is(&cloud.cluster.get(*service, &place).await?, "Monitored")
        })
        .await?;
        let monitor = cloud.cluster.get(MONITOR, &place).await?;
        let labels = monitor.data["spec"]["selector"]["matchLabels"].as_object();
        let labels: Vec<String> = labels
            .into_iter()
            .flatten()
            .filter_map(|(label, value)| Some(format!("{label}={}", value.as_str()?)))
            .collect();
        let found = cloud.cluster.list(SERVICE, &labels.join(",")).await?;
        let found: Vec<&str> = found
            .iter()
            .filter_map(|service| service.metadata.name.as_deref())
            .collect();
        ensure!(
            !labels.is_empty() && found == [format!("{name}-metrics")],
            "ServiceMonitor {name} leads to {found:?}"
        );
    }
    let said = does(cloud, "metrics").await?;
    let names: Vec<&str> = services.iter().map(|(_, name)| *name).collect();
    ensure!(
        said.split_whitespace().eq(names.iter().copied()),
        "metrics of {said}"
    );
    Ok(())
}
