//! One turn of one server.

use std::cell::Cell;
use std::time::{Duration, Instant};

use anyhow::Result;
use prost::bytes::Bytes;

use crate::client::Client;
use crate::process::Server;
use crate::table::Table;

/// How much is called in a turn.
pub struct Limits {
    /// Calls under way at any time.
    pub at_once: usize,
    /// Calls that don't count.
    pub warm_up: usize,
    /// Calls that count, at most.
    pub calls: usize,
    /// Time they may take.
    pub time: Duration,
}

/// What a turn took.
pub struct Turn {
    name: &'static str,
    /// Of each call, ascending.
    latencies: Vec<Duration>,
    elapsed: Duration,
    /// The server's processor time.
    processor: Duration,
}

/// Calls a server as the limits say.
///
/// # Errors
/// A gRPC error.
pub async fn take(
    server: &Server,
    client: &Client,
    request: &Bytes,
    limits: &Limits,
) -> Result<Turn> {
    let part = limits.time / 10;
    call(client, request, limits.at_once, limits.warm_up, part).await?;
    let (before, started) = (server.processor_time()?, Instant::now());
    let mut latencies = call(client, request, limits.at_once, limits.calls, limits.time).await?;
    let elapsed = started.elapsed();
    let processor = server.processor_time()?.saturating_sub(before);
    latencies.sort();
    Ok(Turn {
        name: server.name(),
        latencies,
        elapsed,
        processor,
    })
}

/// Calls, so many at once; begins no call after the time is up.
async fn call(
    client: &Client,
    request: &Bytes,
    at_once: usize,
    calls: usize,
    time: Duration,
) -> Result<Vec<Duration>> {
    let (left, started) = (Cell::new(calls), Instant::now());
    let caller = || async {
        let mut latencies = Vec::new();
        while left.get() > 0 && started.elapsed() < time {
            left.set(left.get() - 1);
            let began = Instant::now();
            client.call(request.clone()).await?;
            latencies.push(began.elapsed());
        }
        anyhow::Ok(latencies)
    };
    let callers = (0..at_once).map(|_| caller());
    Ok(futures::future::try_join_all(callers).await?.concat())
}

impl Turn {
    /// Calls answered in a second.
    pub fn calls_per_second(&self) -> f64 {
        self.latencies.len() as f64 / self.elapsed.as_secs_f64()
    }

    fn percentile(&self, percent: usize) -> Duration {
        let last = self.latencies.len().saturating_sub(1);
        let at = self.latencies.get(last * percent / 100);
        at.copied().unwrap_or_default()
    }
}

/// The turn in the middle, by calls a second.
pub fn median(mut turns: Vec<Turn>) -> Option<Turn> {
    turns.sort_by(|one, other| one.calls_per_second().total_cmp(&other.calls_per_second()));
    let middle = turns.len() / 2;
    (middle < turns.len()).then(|| turns.swap_remove(middle))
}

/// The turns, for people.
pub fn table(turns: &[Turn]) -> Table {
    let mut table = Table::new(&[
        "",
        "calls",
        "calls/s",
        "p50",
        "p99",
        "processor time a call",
    ]);
    for turn in turns {
        let calls = u32::try_from(turn.latencies.len())
            .unwrap_or(u32::MAX)
            .max(1);
        table.row(&[
            turn.name.to_owned(),
            calls.to_string(),
            format!("{:.0}", turn.calls_per_second()),
            milliseconds(turn.percentile(50)),
            milliseconds(turn.percentile(99)),
            milliseconds(turn.processor / calls),
        ]);
    }
    table
}

fn milliseconds(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1e3)
}
