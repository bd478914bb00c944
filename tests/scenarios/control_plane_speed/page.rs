//! The page of metrics that an operator serves.

use std::net::Ipv4Addr;

use lab::{Context, Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What an operator has counted.
pub struct Page(String);

impl Page {
    /// As it is now, at a port of this machine.
    pub async fn at(port: u16) -> Result<Self> {
        let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        connection
            .write_all(b"GET /metrics HTTP/1.0\r\n\r\n")
            .await?;
        let mut page = String::new();
        connection.read_to_string(&mut page).await?;
        ensure!(
            page.split(' ').nth(1) == Some("200"),
            "/metrics answers {page}"
        );
        Ok(Self(page))
    }

    /// The sum of a counter, whatever its labels.
    pub fn sum(&self, counter: &str) -> f64 {
        let values = self.values(counter);
        values
            .filter_map(|(_, value)| value.parse::<f64>().ok())
            .sum()
    }

    /// What so much of a histogram does not exceed, as far as its buckets show.
    pub fn quantile(&self, histogram: &str, share: f64) -> Result<f64> {
        let mut buckets = Vec::new();
        for (labels, count) in self.values(&format!("{histogram}_bucket")) {
            let most = labels
                .split_once("le=\"")
                .and_then(|(_, rest)| rest.split_once('"'));
            let (most, _) = most.with_context(|| format!("no bucket: {labels}"))?;
            let most = most.trim_start_matches('+');
            buckets.push((most.parse::<f64>()?, count.parse::<f64>()?));
        }
        let all = buckets.iter().map(|(_, count)| *count).fold(0.0, f64::max);
        ensure!(all > 0.0, "{histogram} has nothing in it");
        let reached = buckets.iter().find(|(_, count)| *count >= share * all);
        Ok(reached.context("no bucket has so much")?.0)
    }

    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let lines = self.0.lines().filter_map(move |line| {
            let rest = line.strip_prefix(name)?;
            rest.starts_with(['{', ' ']).then_some(rest)
        });
        lines.filter_map(|line| line.rsplit_once(' '))
    }
}
