//! How long a kubeconfig is used.

use jiff::{SignedDuration, Timestamp};

/// How far clocks of two replicas may differ.
const SKEW: SignedDuration = SignedDuration::from_mins(5);

/// After how long a kubeconfig is replaced although the next one isn't due: since it was issued, the Shoot may have been created again, or
/// its authorities rotated. Then the cluster refuses the kubeconfig, and nothing reports that.
const REFRESH: SignedDuration = SignedDuration::from_hours(1);

/// The life of a kubeconfig, by the clock of the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Life {
    pub(crate) issued: Timestamp,
    pub(crate) expires: Timestamp,
}

impl Life {
    /// The life of a kubeconfig that was requested for so many seconds. Gardener shortens it, and never issues one for longer: where it
    /// seems so, the operator's clock is slow, and by that clock the kubeconfig would be renewed too late.
    pub(crate) fn of(issued: Timestamp, expires: Timestamp, seconds: u32) -> Self {
        let longest = later(issued, SignedDuration::from_secs(seconds.into()));
        Self {
            issued,
            expires: expires.min(longest),
        }
    }

    /// When the next one is requested.
    pub(crate) fn refresh(self) -> Timestamp {
        self.renewal().min(later(self.issued, REFRESH))
    }

    /// When the next one is due: early enough that attempts may fail before half of the life has passed.
    fn renewal(self) -> Timestamp {
        later(self.issued, self.length() / 5 * 2)
    }

    /// Whether the next one is due. What is issued in the future was issued by a clock that has been set back since, so
    /// that it isn't known how long the kubeconfig is valid.
    pub(crate) fn is_due(self, now: Timestamp) -> bool {
        now >= self.renewal() || later(now, SKEW) < self.issued
    }

    /// Whether half of the life has passed, and the next one is still missing.
    pub(crate) fn is_overdue(self, now: Timestamp) -> bool {
        now >= later(self.issued, self.length() / 2)
    }

    /// Whether it has expired.
    pub(crate) fn is_over(self, now: Timestamp) -> bool {
        now >= self.expires
    }

    fn length(self) -> SignedDuration {
        self.expires.duration_since(self.issued)
    }
}

/// A moment after another one.
pub(crate) fn later(moment: Timestamp, by: SignedDuration) -> Timestamp {
    moment.checked_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn kubeconfig_is_renewed_before_half_of_its_life_has_passed() {
        let life = Life::of(at(0), at(10 * HOUR), 86_400);
        assert_eq!(life.renewal(), at(4 * HOUR));
        assert_eq!(life.refresh(), at(HOUR));
        let short = Life::of(at(0), at(HOUR), 86_400);
        assert_eq!(short.refresh(), short.renewal());
        let cases = [
            (4 * HOUR - 1, [false, false, false]),
            (4 * HOUR, [true, false, false]),
            (5 * HOUR, [true, true, false]),
            (10 * HOUR - 1, [true, true, false]),
            (10 * HOUR, [true, true, true]),
        ];
        for (seconds, expected) in cases {
            let now = at(seconds);
            let found = [life.is_due(now), life.is_overdue(now), life.is_over(now)];
            assert_eq!(found, expected, "{seconds}");
        }
    }

    #[test]
    fn life_is_never_longer_than_requested() {
        let life = Life::of(at(0), at(100 * HOUR), 3_600);
        assert_eq!(life.expires, at(HOUR));
    }

    #[test]
    fn kubeconfig_of_the_future_is_renewed_unless_clocks_differ_a_little() {
        let life = Life::of(at(10 * HOUR), at(20 * HOUR), 86_400);
        assert!(!life.is_due(at(10 * HOUR - 300)));
        assert!(life.is_due(at(10 * HOUR - 301)));
    }
}
