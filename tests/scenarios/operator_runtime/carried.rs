//! An operator that runs within a scenario, and what it asked the API server for.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use c5c3_api::custom_resource;
use c5c3_api::secret_aggregate::SecretAggregateSpec;
use lab::{Cluster, Context, Machine, Result, ensure, eventually, minutes, scaled, seconds};
use provider_composer::Operator;
use provider_runtime::{Driver, Leadership, Options, run_until};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::annotate;

/// An operator that runs within this scenario. Dropped, it is killed.
pub struct Running {
    task: JoinHandle<()>,
    stop: Option<oneshot::Sender<()>>,
    address: SocketAddr,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Running {
    /// Starts operators that act as a service account of the cluster, and waits until they are ready.
    pub async fn start(
        machine: &Arc<Machine>,
        cluster: &Cluster,
        operators: Vec<Box<dyn Operator>>,
        drivers: Vec<Box<dyn Driver>>,
        leadership: Leadership,
    ) -> Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, machine.port()));
        let (stop, stopped) = oneshot::channel();
        let client = cluster.client();
        let task = tokio::spawn(async move {
            let options = Options {
                address: Some(address),
                leadership,
                ..Options::default()
            };
            let stopped = async { stopped.await.unwrap_or_default() };
            if let Err(error) = run_until(operators, drivers, client, &options, stopped).await {
                eprintln!("{error}");
            }
        });
        let running = Self {
            task,
            stop: Some(stop),
            address,
        };
        eventually("the operator is ready", minutes(1), async || {
            lab::page(running.address.port(), "/readyz").await.map(drop)
        })
        .await?;
        Ok(running)
    }

    /// Ends it as SIGTERM does.
    pub async fn stop(mut self) -> Result<()> {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        let stopped = tokio::time::timeout(scaled(minutes(1)), &mut self.task).await;
        Ok(stopped.context("it doesn't stop")??)
    }

    /// Has a resource reconciled again, by a note on it that changes nothing.
    pub async fn again(&self, cluster: &Cluster, resource: &str) -> Result<()> {
        let before = self.reconciles().await?;
        annotate(cluster, resource, json!({"note": before.to_string()})).await?;
        eventually("it is reconciled again", minutes(1), async || {
            let now = self.reconciles().await?;
            ensure!(now > before, "{now} reconciles");
            Ok(())
        })
        .await
    }

    /// The number of reconciles.
    async fn reconciles(&self) -> Result<f64> {
        let page = lab::page(self.address.port(), "/metrics").await?;
        let lines = page.lines();
        let lines = lines.filter(|line| line.starts_with("operator_reconciles_total"));
        let values = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        Ok(values.sum())
    }
}

/// The kind that trial composes, and a service account that may do everything.
pub async fn prepare(cluster: &Cluster, account: &str) -> Result<Cluster> {
    cluster
        .apply(&custom_resource::<SecretAggregateSpec>().to_string())
        .await?;
    cluster
        .apply(&format!(
            "\
apiVersion: v1
kind: ServiceAccount
metadata: {{name: {account}, namespace: default}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: {account}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}
subjects: [{{kind: ServiceAccount, name: {account}, namespace: default}}]
"
        ))
        .await?;
    cluster.acting_as(&format!("default/{account}")).await
}

/// What an account asked for, but for watches, Leases, events, and whether a kind is there by now.
pub fn asked(cluster: &Cluster, account: &str) -> Result<Vec<lab::Request>> {
    let user = format!("system:serviceaccount:default:{account}");
    let mut asked = cluster.audit()?;
    asked.retain(|request| {
        request.user == user
            && request.verb != "watch"
            && !(request.verb == "list"
                && (request.code == 404 || request.resource == "customresourcedefinitions"))
            && !matches!(request.resource.as_str(), "leases" | "events")
    });
    Ok(asked)
}

/// The same, of one object.
pub fn writes(cluster: &Cluster, account: &str, resource: &str, name: &str) -> Result<usize> {
    let asked = asked(cluster, account)?;
    let writes = asked
        .iter()
        .filter(|request| request.writes() && request.resource == resource && request.name == name);
    Ok(writes.count())
}

/// Waits until the operator does nothing any more.
pub async fn quiet(cluster: &Cluster, account: &str) -> Result<usize> {
    eventually("the operator comes to rest", minutes(3), async || {
        let before = asked(cluster, account)?.len();
        tokio::time::sleep(seconds(3)).await;
        let asked = asked(cluster, account)?;
        ensure!(asked.len() == before, "{:?}", asked.last());
        Ok(before)
    })
    .await
}
