//! Processor time, which unlike elapsed time doesn't depend on other processes.

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// Awaits a future, and returns how long this thread worked on it, without waiting and without other tasks of the
/// thread.
pub(crate) async fn metered<T>(future: impl Future<Output = T>) -> (T, Duration) {
    let mut future = pin!(future);
    let mut spent = Duration::ZERO;
    let output = poll_fn(|context| {
        let began = worked();
        let polled = future.as_mut().poll(context);
        spent += worked().saturating_sub(began);
        polled
    })
    .await;
    (output, spent)
}

/// Returns the processor time of this thread; zero where the operating system doesn't count it.
fn worked() -> Duration {
    let counted = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    counted.map(Duration::from).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use tokio::time::sleep;

    use super::*;

    const LONG: Duration = Duration::from_millis(20);

    /// Works for so long, in two parts with a pause between them.
    async fn work() {
        for _ in 0..2 {
            let began = worked();
            while worked() - began < LONG / 2 {
                black_box(());
            }
            sleep(LONG).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_work_counts_and_only_its_own() {
        let (((), one), ((), other)) = tokio::join!(metered(work()), metered(sleep(LONG)));
        assert!(one >= LONG, "{one:?}");
        assert!(other < LONG / 4, "{other:?}");
    }
}
