//! From the start of a process to its first reconcile.

use std::time::{Duration, Instant};

use lab::{Cluster, Replicas, Result, Site, seconds};
use tokio::time::{sleep, timeout};

use super::page::Page;

const PROCESS: &str = "started";

/// How often it is tried: the machine may have other things to do.
const TIMES: usize = 5;

/// How often a process is asked whether it has come so far.
const PAUSE: Duration = Duration::from_millis(5);

/// From the start of an operator to the end of its first reconcile, of whichever ControlPlane it finds there; the shortest of
/// some.
pub async fn to_first_reconcile(site: &Site, account: &Cluster) -> Result<Duration> {
    let mut shortest = Duration::MAX;
    for _ in 0..TIMES {
        let began = Instant::now();
        let port = site.start(PROCESS, account, Replicas::One)?;
        timeout(seconds(30), reconciled(port)).await?;
        shortest = shortest.min(began.elapsed());
        site.machine.kill(PROCESS)?;
    }
    Ok(shortest)
}

/// Waits until an operator has reconciled anything.
async fn reconciled(port: u16) {
    // At first it doesn't listen yet.
    while !matches!(Page::at(port).await, Ok(page) if page.sum("operator_reconciles_total") > 0.0) {
        sleep(PAUSE).await;
    }
}
