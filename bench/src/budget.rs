//! Limits of instructions and sizes.

use crate::case::Case;
use crate::division::Pool;
use crate::reconcile::Kind;
use crate::size::Size;

/// Limit of the instructions of a call, as a multiple of the baseline with prost.
pub const MOST_OF_BASELINE: f64 = 2.0;

/// Limit of the growth of a claim's instructions when the number of consumers of its pools grows tenfold: their entries are
/// decoded, and skipped.
pub const MOST_OF_TENFOLD_CLAIM: f64 = 1.5;

/// Limit of the growth of a pool's instructions when the number of its consumers grows tenfold.
pub const MOST_OF_TENFOLD_POOL: f64 = 13.0;

/// Limit of the growth of a division's instructions when the number of nodes grows tenfold: n log n grows 13.3 times from 1,000
/// to 10,000 nodes, and 12.5 times from there to 100,000. Which racks a share has nodes in adds to it where racks are large.
pub const MOST_OF_DIVISION: f64 = 16.0;

/// Limit of the instructions of a division among 200 shares. That of 10,000 nodes takes at most about a tenth of a second of one
/// core; other pools are limited by their growth.
pub fn most_of_division(pool: Pool, nodes: usize) -> Option<u64> {
    match (pool, nodes) {
        (Pool::Free | Pool::Blades, 10_000) => Some(350_000_000),
        (Pool::Leased | Pool::Shrunk, 10_000) => Some(120_000_000),
        _ => None,
    }
}

/// Limit of the instructions of a reconcile: of a new resource, and of a running one when nothing changes.
pub fn most(kind: Kind, case: Case) -> u64 {
    let (new, running) = match kind {
        Kind::ControlPlane => (7_800, 27_000),
        Kind::Keystone => (1_600, 4_300),
        Kind::Glance => (1_950, 3_100),
        Kind::Placement => (1_130, 2_440),
        Kind::Nova => (9_000, 30_000),
        Kind::Neutron => (3_500, 6_700),
        Kind::Ovn => (6_400, 8_300),
        Kind::HypervisorPool => (1_700_000, 600_000),
        Kind::HypervisorShare => (30_000, 30_000),
    };
    match case {
        Case::New => 1_000 * new,
        Case::Running => 1_000 * running,
    }
}

/// Limits of the objects that a service composes.
pub const LARGEST: Size = Size {
    objects: 18,
    deployment: 5_000,
    secret: 6_800,
};

/// Instructions of one call, in each mode.
pub struct Count {
    /// The call.
    pub name: String,
    /// Bytes of its request.
    pub request: usize,
    /// Bytes of its response.
    pub response: usize,
    /// See [`Mode::Conventional`](crate::mode::Mode).
    pub conventional: u64,
    /// See [`Mode::PassThrough`](crate::mode::Mode).
    pub pass_through: u64,
    /// See [`Mode::Compose`](crate::mode::Mode).
    pub compose: u64,
}

impl Count {
    /// The instructions of the call as a multiple of the baseline with prost.
    pub fn of_baseline(&self) -> f64 {
        self.compose as f64 / self.conventional as f64
    }

    /// Whether this is the other call with ten times the consumers: `pool-among-100` after `pool-among-10`.
    pub fn is_tenfold(&self, other: &Count) -> bool {
        self.name.strip_suffix('0') == Some(&other.name)
    }

    /// Limit of its growth when the number of consumers grows tenfold.
    fn most_of_tenfold(&self) -> f64 {
        if self.name.starts_with("pool-") {
            MOST_OF_TENFOLD_POOL
        } else {
            MOST_OF_TENFOLD_CLAIM
        }
    }
}

/// Returns a sentence for each call that exceeds its budget.
pub fn broken(counts: &[Count]) -> Vec<String> {
    let of_baseline = counts
        .iter()
        .map(|count| (count, count.of_baseline()))
        .filter(|(_, times)| *times > MOST_OF_BASELINE)
        .map(|(count, times)| {
            format!(
                "{} takes {times:.2} times the instructions of the baseline, and {MOST_OF_BASELINE} are allowed",
                count.name
            )
        });
    let of_tenfold = counts
        .iter()
        .zip(counts.iter().skip(1))
        .filter(|(fewer, more)| more.is_tenfold(fewer))
        .map(|(fewer, more)| (fewer, more, more.compose as f64 / fewer.compose as f64))
        .filter(|(_, more, times)| *times > more.most_of_tenfold())
        .map(|(fewer, more, times)| {
            format!(
                "{} takes {times:.1} times the instructions of {}, and {} are allowed",
                more.name,
                fewer.name,
                more.most_of_tenfold()
            )
        });
    of_baseline.chain(of_tenfold).collect()
}

/// Returns a sentence if a reconcile exceeds its budget.
pub fn broken_reconcile(kind: Kind, case: Case, instructions: u64) -> Option<String> {
    let most = most(kind, case);
    (instructions > most).then(|| {
        format!("a reconcile of {kind:?} ({case:?}) takes {instructions} instructions, and {most} are allowed")
    })
}

/// Returns a sentence for each division that exceeds its budget: the nodes of each, and the instructions. Each pool has ten times
/// the nodes of the one before.
pub fn broken_divisions(pool: Pool, counts: &[(usize, u64)]) -> Vec<String> {
    let growth = counts.windows(2).filter_map(|pair| match pair {
        [(_, fewer), (_, more)] => Some(*more as f64 / *fewer as f64),
        _ => None,
    });
    let growth = growth.filter(|times| *times > MOST_OF_DIVISION).map(|times| {
        format!("a division of ten times the nodes ({pool:?}) takes {times:.1} times the instructions, and {MOST_OF_DIVISION} are allowed")
    });
    let large = counts
        .iter()
        .filter_map(|(nodes, instructions)| {
            Some((nodes, instructions, most_of_division(pool, *nodes)?))
        })
        .filter(|(_, instructions, most)| *instructions > most)
        .map(|(nodes, instructions, most)| {
            format!("a division of {nodes} nodes ({pool:?}) takes {instructions} instructions, and {most} are allowed")
        });
    growth.chain(large).collect()
}

/// Returns a sentence for each limit that a service exceeds.
pub fn broken_size(kind: Kind, size: Size) -> Vec<String> {
    [
        ("objects", size.objects, LARGEST.objects),
        ("bytes of Deployment", size.deployment, LARGEST.deployment),
        ("bytes of Secret", size.secret, LARGEST.secret),
    ]
    .into_iter()
    .filter(|(_, is, most)| is > most)
    .map(|(what, is, most)| format!("{kind:?} has {is} {what}, and {most} are allowed"))
    .collect()
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    fn count(name: &str, conventional: u64, compose: u64) -> Count {
        Count {
            name: name.to_owned(),
            request: 0,
            response: 0,
            conventional,
            pass_through: 0,
            compose,
        }
    }

    #[test]
    fn count_within_the_budget_is_not_reported() {
        let counts = [
            count("claim", 100, 200),
            count("claim-among-10", 1000, 100),
            count("claim-among-100", 1000, 150),
            count("pool-among-10", 100, 10),
            count("pool-among-100", 1000, 130),
        ];
        assert_eq!(broken(&counts), Vec::<String>::new());
    }

    #[test]
    fn call_over_the_budget_is_reported() {
        assert_eq!(
            broken(&[count("claim", 100, 201)]),
            ["claim takes 2.01 times the instructions of the baseline, and 2 are allowed"]
        );
    }

    #[test]
    fn growth_is_compared_between_the_same_calls_only() {
        let counts = [
            count("claim", 100, 10),
            count("claim-among-100", 1000, 200),
            count("claim-among-1000", 9000, 320),
            count("pool-among-10", 100, 10),
            count("pool-among-100", 1000, 131),
        ];
        assert_eq!(
            broken(&counts),
            [
                "claim-among-1000 takes 1.6 times the instructions of claim-among-100, and 1.5 are allowed",
                "pool-among-100 takes 13.1 times the instructions of pool-among-10, and 13 are allowed",
            ]
        );
    }

    #[test]
    fn reconcile_over_the_budget_is_reported() {
        for kind in Kind::value_variants() {
            for case in Case::value_variants() {
                let most = most(*kind, *case);
                assert_eq!(broken_reconcile(*kind, *case, most), None);
                let told = broken_reconcile(*kind, *case, most + 1).unwrap();
                let expected = format!("of {kind:?} ({case:?}) takes {} instr", most + 1);
                assert!(told.contains(&expected), "{told}");
            }
        }
    }

    #[test]
    fn divisions_are_cheap_and_grow_little_faster_than_pools() {
        let divisions = |counts: [u64; 3]| {
            let counts: Vec<(usize, u64)> =
                [1_000, 10_000, 100_000].into_iter().zip(counts).collect();
            broken_divisions(Pool::Free, &counts)
        };
        assert_eq!(divisions([10, 160, 2_560]), Vec::<String>::new());
        assert_eq!(
            divisions([10, 161, 1_610]),
            [
                "a division of ten times the nodes (Free) takes 16.1 times the instructions, and 16 are allowed"
            ]
        );
        let most = most_of_division(Pool::Free, 10_000).unwrap();
        assert_eq!(divisions([most / 10, most, most]), Vec::<String>::new());
        assert_eq!(
            divisions([most / 10, most + 1, 2 * most]),
            [
                "a division of 10000 nodes (Free) takes 350000001 instructions, and 350000000 are allowed"
            ]
        );
    }

    #[rstest::rstest]
    fn composed_objects_of_a_service_stay_small(
        #[values(Kind::Keystone, Kind::Glance, Kind::Placement)] kind: Kind,
    ) {
        let size = Size::of(&kind.answer(Case::Running).unwrap());
        assert!(size.deployment > 0 && size.secret > 0, "{size:?}");
        assert_eq!(broken_size(kind, size), Vec::<String>::new());
    }

    #[test]
    fn size_over_the_budget_is_reported() {
        let size = Size {
            secret: LARGEST.secret + 1,
            ..LARGEST
        };
        let told = broken_size(Kind::Glance, size);
        assert_eq!(told.len(), 1);
        assert!(told[0].contains("bytes of Secret"), "{told:?}");
    }
}
