//! Waiting longer each time, and never all at the same moment.

use std::time::Duration;

/// Waits that double from a first one up to a longest one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
}

impl Backoff {
    pub(crate) const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest }
    }

    /// How long to wait after so many failures in a row: between half of the wait and all of it, by chance.
    pub(crate) fn after(self, failures: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(failures.saturating_sub(1).min(30));
        let wait = self.first.saturating_mul(doubled).min(self.longest);
        wait.mul_f64(0.5 + fastrand::f64() / 2.0)
    }
}
