//! The Keystone of the story, and its pods.

use std::collections::BTreeSet;

use lab::{Cloud, Context, DynamicObject, Kind, Result, ensure, eventually, is, kind, minutes};
use serde_json::{Value, json};

use super::POD;

pub const KEYSTONE: Kind = kind("keystone.openstack.c5c3.io/v1alpha1", "Keystone");
const JOB: Kind = kind("batch/v1", "Job");
const NAME: &str = "openstack/keystone";

/// The Keystone of the story.
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

    /// Kills the operator while a task's Job runs, and starts it again when the Job is done.
    pub async fn loses_its_operator_during(&self, task: &str) -> Result<()> {
        let runs = |job: &DynamicObject| job.data["status"]["active"] == 1;
        let name = eventually(&format!("{task} runs"), minutes(2), async || {
            let job = self.jobs(task).await?.into_iter().find(runs);
            job.and_then(|job| job.metadata.name).context("no Job runs")
        })
        .await?;
        let operator = self.cloud.operator("keystone")?;
        operator.kill()?;
        eventually(&format!("{task} is done"), minutes(2), async || {
            let job = format!("openstack/{name}");
            is(&self.cloud.cluster.get(JOB, &job).await?, "Complete")
        })
        .await?;
        operator.start().await
    }

    /// The Jobs of a task.
    async fn jobs(&self, task: &str) -> Result<Vec<DynamicObject>> {
        let selector = format!("c5c3.io/task={task}");
        self.cloud.cluster.list(JOB, &selector).await
    }

    /// Has somebody ask for a token, once.
    pub async fn issues_a_token(&self, occasion: &str) -> Result<()> {
        let job = include_str!("login.yaml").replace("NAME", occasion);
        self.cloud.cluster.apply(&job).await?;
        self.cloud.says(occasion).await.map(drop)
    }
}
