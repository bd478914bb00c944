//! Waiting for what is to become true.

use std::fmt;
use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::{Error, Result, anyhow};

use crate::machine::{Ended, check_processes};
use crate::say::say;
use crate::scale::scaled;
use crate::waits::Wait;

/// Whoever watches a scenario wants to know what it waits for, but not of every moment.
const WORTH_SAYING: Duration = Duration::from_secs(5);

const PAUSE: Duration = Duration::from_millis(200);

/// Tries again and again until an attempt succeeds, and answers with what it found.
///
/// An attempt's error says what it saw instead; the last one is shown when time is up. The time is that of two quiet cores: a slow
/// machine, or one on which other scenarios run, has more; see [`scaled`].
///
/// # Errors
/// When nothing succeeded within the time given, or a process of the scenario's machine has ended by itself.
pub async fn eventually<T>(
    what: &str,
    within: Duration,
    mut attempt: impl AsyncFnMut() -> Result<T>,
) -> Result<T> {
    let within = scaled(within);
    let started = Instant::now();
    let deadline = started + within;
    let wait = Wait::begin(what);
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
            Err(error) => {
                wait.saw(&error);
                tokio::time::sleep(PAUSE).await;
            }
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

/// As [`throughout`], until something comes that follows what must stay: a slow machine gets the time that it needs, and a fast one
/// loses none.
///
/// # Errors
/// The first attempt's that failed, or why it doesn't come.
pub async fn throughout_until<T>(
    what: &str,
    comes: impl Future<Output = Result<T>>,
    attempt: impl AsyncFnMut() -> Result<()>,
) -> Result<T> {
    watched(comes, attempt)
        .await
        .unwrap_or_else(|error| Err(anyhow!("{what}: no longer so: {error:#}")))
}

/// As [`throughout_until`], for what must never happen; see [`never()`].
///
/// # Errors
/// The first attempt's that failed, or why it doesn't come.
pub async fn never_until<T>(
    what: &str,
    comes: impl Future<Output = Result<T>>,
    attempt: impl AsyncFnMut() -> Result<()>,
) -> Result<T> {
    watched(comes, attempt).await.unwrap_or_else(|error| {
        Err(Error::new(Forbidden).context(format!("{what}: no longer so: {error:#}")))
    })
}

/// Makes attempts until something comes, and a last one then. Fails as soon as an attempt does.
async fn watched<T>(
    comes: impl Future<Output = Result<T>>,
    mut attempt: impl AsyncFnMut() -> Result<()>,
) -> Result<Result<T>> {
    let mut comes = pin!(comes);
    loop {
        attempt().await?;
        if let Ok(came) = tokio::time::timeout(PAUSE, &mut comes).await {
            attempt().await?;
            return Ok(came);
        }
    }
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// How it ends, and after how many attempts, when something comes after three, and what must stay is gone after so many.
    async fn gone_after(count: usize) -> (Result<&'static str>, usize) {
        let attempts = Cell::new(0);
        let comes = async {
            while attempts.get() < 3 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            Ok::<_, Error>("it came")
        };
        let outcome = never_until("it stays", comes, async || {
            attempts.set(attempts.get() + 1);
            match attempts.get() > count {
                true => Err(anyhow!("it is gone")),
                false => Ok(()),
            }
        });
        (outcome.await, attempts.get())
    }

    #[tokio::test]
    async fn never_until_attempts_until_its_future_ends() {
        let (outcome, attempts) = gone_after(usize::MAX).await;
        assert_eq!(outcome.unwrap(), "it came");
        assert_eq!(attempts, 4);

        for (count, which) in [(1, "the second"), (3, "the last")] {
            let (outcome, attempts) = gone_after(count).await;
            let error = outcome.unwrap_err();
            assert!(error.is::<Forbidden>(), "{which}");
            assert_eq!(error.to_string(), "it stays: no longer so: it is gone");
            assert_eq!(attempts, count + 1, "{which}");
        }
    }
}
