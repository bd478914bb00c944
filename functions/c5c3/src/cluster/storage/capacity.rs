//! How full a storage pool is, as its status has it.
//!
//! Rook refreshes the figures each minute, and each change of a pool's status calls every claim that names the pool.

use c5c3_api::storage_cluster::Capacity;
use c5c3_kinds::ceph::CephCapacity;

/// The used share of a disk, in percent, from which Ceph refuses writes, unless it is told otherwise
/// (<https://docs.ceph.com/en/tentacle/rados/configuration/mon-config-ref/#storage-capacity>).
const FULL: u64 = 95;

/// Used shares, in percent, that are reported as soon as they are reached. Ceph warns from 85 %.
const LEVELS: [u64; 4] = [80, 85, 90, FULL];

/// Figures in whole GiB, rounded down.
#[derive(Clone, Copy)]
struct Figures {
    total: u64,
    available: u64,
    used: u64,
}

/// The capacity to report: what was reported before until the figures differ by 1 % of the total, or the pool gets as full as one of
/// [`LEVELS`], or full. None while Ceph reports none.
pub fn reported(bytes: CephCapacity, before: Option<Capacity>) -> Option<Capacity> {
    if bytes == CephCapacity::default() {
        return None;
    }
    let now = Figures::of(bytes);
    match before {
        Some(before)
            if Figures::read(&before).is_some_and(|before| !now.must_be_reported(before)) =>
        {
            Some(before)
        }
        _ => Some(now.capacity()),
    }
}

impl Figures {
    /// What Ceph calls available has the part of each disk that it never writes to, which its own `MAX AVAIL` of pools leaves out
    /// (`get_rule_avail` of <https://github.com/ceph/ceph/blob/tentacle/src/mon/PGMap.cc>).
    fn of(bytes: CephCapacity) -> Self {
        let unusable = bytes.bytes_total / 100 * (100 - FULL);
        Self {
            total: bytes.bytes_total >> 30,
            available: bytes.bytes_available.saturating_sub(unusable) >> 30,
            used: bytes.bytes_used >> 30,
        }
    }

    fn read(capacity: &Capacity) -> Option<Self> {
        let gibibytes = |text: &Option<String>| text.as_deref()?.strip_suffix("Gi")?.parse().ok();
        Some(Self {
            total: gibibytes(&capacity.total)?,
            available: gibibytes(&capacity.available)?,
            used: gibibytes(&capacity.used)?,
        })
    }

    fn capacity(self) -> Capacity {
        let quantity = |gibibytes: u64| Some(format!("{gibibytes}Gi"));
        Capacity {
            total: quantity(self.total),
            available: quantity(self.available),
            used: quantity(self.used),
        }
    }

    /// Whether the figures must be reported again. A level is reported only when use rises to it, so that use that varies around a level
    /// isn't reported each time.
    fn must_be_reported(self, before: Self) -> bool {
        let is_much = |one: u64, other: u64| one.abs_diff(other).saturating_mul(100) >= self.total;
        self.total != before.total
            || is_much(self.available, before.available)
            || is_much(self.used, before.used)
            || self.level() > before.level()
            || self.available == 0 && before.available > 0
    }

    /// How many of the levels are reached.
    fn level(self) -> usize {
        let share = self.used.saturating_mul(100);
        let reached = |level: &&u64| share >= self.total.saturating_mul(**level);
        LEVELS.iter().filter(reached).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pool of 10,000 GiB in which so much is used.
    fn used(gibibytes: u64) -> CephCapacity {
        CephCapacity {
            bytes_total: 10_000 << 30,
            bytes_used: gibibytes << 30,
            bytes_available: (10_000 - gibibytes) << 30,
        }
    }

    #[rstest::rstest]
    #[case::nothing_changed(5000, 5000, false)]
    #[case::a_little_more(5000, 5099, false)]
    #[case::a_little_less(5000, 4901, false)]
    #[case::one_percent_more(5000, 5100, true)]
    #[case::one_percent_less(5000, 4900, true)]
    #[case::rises_to_a_level(8499, 8500, true)]
    #[case::rises_above_a_level(9000, 9001, false)]
    #[case::falls_below_a_level(8000, 7999, false)]
    #[case::nearly_full(9450, 9498, false)]
    #[case::full(9450, 9500, true)]
    #[case::no_longer_full(9500, 9499, false)]
    fn capacity_is_reported_when_it_moves(
        #[case] before: u64,
        #[case] now: u64,
        #[case] is_reported: bool,
    ) {
        let before = reported(used(before), None);
        let after = reported(used(now), before.clone());
        let expected = if is_reported {
            reported(used(now), None)
        } else {
            before
        };
        assert_eq!(after, expected);
    }

    #[rstest::rstest]
    #[case::empty(0, "9500Gi")]
    #[case::half_full(5000, "4500Gi")]
    #[case::full(9500, "0Gi")]
    #[case::fuller(9999, "0Gi")]
    fn capacity_leaves_out_what_ceph_never_writes_to(#[case] gibibytes: u64, #[case] said: &str) {
        let capacity = reported(used(gibibytes), None);
        let available = capacity.and_then(|capacity| capacity.available);
        assert_eq!(available.as_deref(), Some(said));
    }

    #[test]
    fn capacity_is_reported_when_the_pool_grows() {
        let before = reported(used(5000), None);
        let mut bytes = used(5000);
        bytes.bytes_total += 1 << 30;
        let after = reported(bytes, before).and_then(|capacity| capacity.total);
        assert_eq!(after.as_deref(), Some("10001Gi"));
    }

    #[test]
    fn capacity_is_reported_where_the_last_one_cannot_be_read() {
        let before = Capacity {
            total: Some("10Ti".to_owned()),
            ..Capacity::default()
        };
        let after = reported(used(5000), Some(before));
        assert_eq!(after, reported(used(5000), None));
    }

    #[test]
    fn capacity_is_absent_until_ceph_reports_it() {
        assert_eq!(reported(CephCapacity::default(), None), None);
    }
}
