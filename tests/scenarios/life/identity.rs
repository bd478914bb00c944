//! The Keystone of the scenario, and its pods.

use std::collections::BTreeSet;

use lab::{Cloud, DynamicObject, Kind, Result, ensure, eventually, is, kind, minutes};
use serde_json::{Value, json};

use super::POD;

pub const KEYSTONE: Kind = kind("keystone.openstack.c5c3.io/v1alpha1", "Keystone");
const NAME: &str = "openstack/keystone";

/// The Keystone of the scenario.
pub struct Identity<'a> {
    pub cloud: &'a Cloud,
}

impl<'a> Identity<'a> {
    pub fn of(cloud: &'a Cloud) -> Self {
        Self { cloud }
    }

    pub async fn resource(&self) -> Result<DynamicObject> {
        self.cloud.cluster.get(KEYSTONE, NAME).await
    }

    /// Changes what is wanted of it.
    pub async fn want(&self, spec: Value) -> Result<()> {
        let change = json!({ "spec": spec });
        self.cloud.cluster.edit(KEYSTONE, NAME, change).await?;
        Ok(())
    }

    /// The pods of its API, those that go too.
    pub async fn pods(&self) -> Result<Vec<DynamicObject>> {
        let selector = "app.kubernetes.io/name=keystone";
        self.cloud.cluster.list(POD, selector).await
    }

    /// The containers of its API, each time that they were started.
    pub async fn containers(&self) -> Result<BTreeSet<String>> {
        let pods = self.pods().await?;
        let containers = pods
            .iter()
            .map(|pod| pod.data["status"]["containerStatuses"][0]["containerID"].to_string());
        Ok(containers.collect())
    }

    /// Waits until so many pods are ready and no other is left, and gives their containers.
    pub async fn stand(&self, replicas: usize) -> Result<BTreeSet<String>> {
        eventually(
            &format!("{replicas} pods are ready"),
            minutes(3),
            async || {
                let pods = self.pods().await?;
                ensure!(pods.len() == replicas, "{} pods", pods.len());
                for pod in &pods {
                    ensure!(pod.metadata.deletion_timestamp.is_none(), "a pod goes");
                    is(pod, "Ready")?;
                }
                Ok(())
            },
        )
        .await?;
        self.containers().await
    }

    /// Waits until all pods are others than these, and gives their containers.
    pub async fn replaced(
        &self,
        before: &BTreeSet<String>,
        replicas: usize,
    ) -> Result<BTreeSet<String>> {
        eventually("all pods are new", minutes(6), async || {
            let now = self.containers().await?;
            ensure!(now.is_disjoint(before), "{now:?}");
            Ok(())
        })
        .await?;
        self.stand(replicas).await
    }

    /// Has somebody ask for a token, once.
    pub async fn issues_a_token(&self, occasion: &str) -> Result<()> {
        let job = include_str!("login.yaml").replace("NAME", occasion);
        self.cloud.cluster.apply(&job).await?;
        self.cloud.says(occasion).await.map(drop)
    }

    /// Has somebody say something to its database, once, and gives the answers.
    pub async fn database(&self, occasion: &str, statements: &str) -> Result<String> {
        let job = include_str!("sql.yaml").replace("NAME", occasion);
        let job = job.replace("SAID", statements);
        self.cloud.cluster.apply(&job).await?;
        self.cloud.says(occasion).await
    }
}
