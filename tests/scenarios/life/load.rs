//! The steady load, and what it has met.

use lab::{Cloud, Context, Result, ensure, eventually, minutes};
use serde_json::Value;

use super::POD;

const NAME: &str = "openstack/load";

/// A client that never stops.
pub struct Load<'a> {
    cloud: &'a Cloud,
}

/// What it had met at some time.
#[derive(Clone, Copy)]
struct Count {
    /// Lines that it had said.
    lines: usize,
    requests: u64,
    failed: u64,
}

impl<'a> Load<'a> {
    /// Starts it, and waits until it has tokens. Pods must see its program in ConfigMap `load`.
    pub async fn start(cloud: &'a Cloud) -> Result<Self> {
        cloud.cluster.apply(include_str!("load.yaml")).await?;
        let load = Self { cloud };
        eventually("there is load", minutes(2), async || {
            let requests = load.count().await?.requests;
            ensure!(requests > 100, "{requests} requests");
            Ok(())
        })
        .await?;
        Ok(load)
    }

    /// Does something under load, reports what the load met meanwhile, and fails if a request did. One that is given up later
    /// counts for what is done then, or when the load ends.
    pub async fn meets<T>(&self, step: &str, event: impl AsyncFnOnce() -> Result<T>) -> Result<T> {
        let before = self.count().await?;
        let began = std::time::Instant::now();
        let outcome = event().await?;
        let took = began.elapsed().as_secs();
        let over = self.count().await?.lines + 2;
        let after = eventually("the load goes on", minutes(2), async || {
            let count = self.count().await?;
            ensure!(count.lines >= over, "{} of {over} lines", count.lines);
            Ok(count)
        })
        .await?;
        let (requests, failed) = (
            after.requests - before.requests,
            after.failed - before.failed,
        );
        println!("{step}: {requests} requests, {failed} failed, in {took} s");
        ensure!(requests > 20, "{step}: there was no load");
        ensure!(
            failed == 0,
            "{step}: {:#?}",
            self.failures(before.lines).await?
        );
        Ok(outcome)
    }

    /// Ends it, and fails if a request ever did.
    pub async fn stop(self) -> Result<()> {
        let failed = self.count().await?.failed;
        ensure!(failed == 0, "{:#?}", self.failures(0).await?);
        self.cloud.cluster.delete(POD, NAME).await
    }

    async fn count(&self) -> Result<Count> {
        let said = self.said().await?;
        let last = said.last().context("the load says nothing yet")?;
        let number = |field: &str| last[field].as_u64().context("the load says no numbers");
        Ok(Count {
            lines: said.len(),
            requests: number("requests")?,
            failed: number("failed")?,
        })
    }

    /// What failed, since it had said so many lines.
    async fn failures(&self, since: usize) -> Result<Vec<Value>> {
        let said = self.said().await?;
        let failures = said.iter().enumerate().skip(since);
        Ok(failures
            .filter_map(|(second, line)| {
                let failures = line["failures"].as_array()?;
                (!failures.is_empty())
                    .then(|| serde_json::json!({"second": second - since, "failures": failures}))
            })
            .collect())
    }

    async fn said(&self) -> Result<Vec<Value>> {
        let said = self.cloud.node.logs(NAME).await?;
        said.lines()
            .map(|line| serde_json::from_str(line).with_context(|| format!("the load: {line}")))
            .collect()
    }
}
