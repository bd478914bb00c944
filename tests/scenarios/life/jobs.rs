//! What Keystone has done once, by Jobs, while its operator isn't there.

use std::collections::BTreeSet;

use lab::{Context, DynamicObject, Kind, Result, ensure, eventually, is, kind, minutes};

use super::identity::Identity;

const JOB: Kind = kind("batch/v1", "Job");
const EVENT: Kind = kind("v1", "Event");

/// A Job that came to its end without the operator.
pub struct Job<'a> {
    keystone: &'a Identity<'a>,
    name: String,
    /// What is said of each pod that it had until then.
    pods: BTreeSet<String>,
}

/// Kills the operator while a task's Job runs, and starts it again when the Job is done.
pub async fn loses_its_operator_during<'a>(
    keystone: &'a Identity<'a>,
    task: &str,
) -> Result<Job<'a>> {
    let cluster = &keystone.cloud.cluster;
    let runs = |job: &DynamicObject| {
        job.metadata.deletion_timestamp.is_none() && is(job, "Complete").is_err()
    };
    let name = eventually(&format!("{task} runs"), minutes(4), async || {
        let selector = format!("c5c3.io/task={task}");
        let jobs = cluster.list(JOB, &selector).await?;
        let job = jobs.into_iter().find(runs);
        job.and_then(|job| job.metadata.name).context("no Job runs")
    })
    .await?;
    let operator = keystone.cloud.operator("keystone")?;
    operator.kill()?;
    eventually(&format!("{task} is done"), minutes(2), async || {
        let job = format!("openstack/{name}");
        is(&cluster.get(JOB, &job).await?, "Complete")
    })
    .await?;
    let pods = pods(keystone, &name).await?;
    operator.start().await?;
    Ok(Job {
        keystone,
        name,
        pods,
    })
}

impl Job<'_> {
    /// Fine if it never had another pod, even if it was deleted and made again.
    pub async fn was_done_once(&self) -> Result<()> {
        let pods = pods(self.keystone, &self.name).await?;
        ensure!(!pods.is_empty(), "{} never had a pod", self.name);
        ensure!(
            pods == self.pods,
            "{}: {:?}, {pods:?}",
            self.name,
            self.pods
        );
        Ok(())
    }
}

/// What is said of each pod that Jobs of a name ever had. The pods themselves go with their Job.
async fn pods(keystone: &Identity<'_>, job: &str) -> Result<BTreeSet<String>> {
    let events = keystone.cloud.cluster.list(EVENT, "").await?;
    let made = events.iter().filter(|event| {
        event.data["involvedObject"]["name"] == job && event.data["reason"] == "SuccessfulCreate"
    });
    Ok(made
        .map(|event| event.data["message"].to_string())
        .collect())
}
