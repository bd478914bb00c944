//! Waiting for what is to become true.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Error, Result, anyhow};

use crate::machine::{Ended, check_processes};
use crate::say::say;

/// Whoever watches a scenario wants to know what it waits for, but not of every moment.
const WORTH_SAYING: Duration = Duration::from_secs(5);

const PAUSE: Duration = Duration::from_millis(200);

/// Tries again and again until an attempt succeeds, and answers with what it found.
///
/// An attempt's error says what it saw instead; the last one is shown when time is up.
///
/// # Errors
/// When nothing succeeded within the time given, or a process of the scenario's machine has ended by itself.
pub async fn eventually<T>(
    what: &str,
    within: Duration,
    mut attempt: impl AsyncFnMut() -> Result<T>,
) -> Result<T> {
    let started = Instant::now();
    let deadline = started + within;
    loop {
        match attempt().await {
            Ok(found) => {
                if started.elapsed() > WORTH_SAYING {
                    say(format_args!(
                        "{what}: took {} s",
                        started.elapsed().as_secs()
                    ));
                }
                return Ok(found);
            }
            Err(error) if error.is::<Ended>() => {
                return Err(error.context(format!("{what}: never")));
            }
            Err(error) if let Err(ended) = check_processes() => {
                return Err(ended.context(format!("{what}: never; last seen: {error:#}")));
            }
            Err(error) if Instant::now() >= deadline => {
                return Err(anyhow!(
                    "{what}: not so after {} s; last seen: {error:#}",
                    within.as_secs()
                ));
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Tries again and again for the whole time given, and fails as soon as an attempt does: for what must stay as it is.
///
/// # Errors
/// The first attempt's that failed.
pub async fn throughout(
    what: &str,
    time: Duration,
    mut attempt: impl AsyncFnMut() -> Result<()>,
) -> Result<()> {
    let deadline = Instant::now() + time;
    while Instant::now() < deadline {
        attempt()
            .await
            .map_err(|error| anyhow!("{what}: no longer so: {error:#}"))?;
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

/// As [`throughout`], for what must never happen, on no machine: a failure is one of the product, and no second run of the
/// scenario excuses it.
///
/// # Errors
/// The first attempt's that failed.
pub async fn never(
    what: &str,
    time: Duration,
    attempt: impl AsyncFnMut() -> Result<()>,
) -> Result<()> {
    throughout(what, time, attempt)
        .await
        .map_err(|error| Error::new(Forbidden).context(format!("{error:#}")))
}

/// Something that must never happen has happened.
#[derive(Debug)]
pub(crate) struct Forbidden;

impl fmt::Display for Forbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this must never happen")
    }
}

impl std::error::Error for Forbidden {}

/// So many seconds.
pub const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// So many minutes.
pub const fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}
