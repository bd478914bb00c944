//! What answers may cost.

use crate::reconcile::{Case, Kind};
use crate::size::Size;

/// How many times the instructions of doing nothing, conventionally, an answer may take.
const MOST_OF_NOTHING: f64 = 2.0;

/// How many times as much ten times as many consumers may cost.
const MOST_OF_TENFOLD: f64 = 13.0;

/// Instructions that a reconcile may take, in thousands: of what was just made, and of what runs, where nothing is to be done.
fn most(kind: Kind, case: Case) -> u64 {
    let (new, running) = match kind {
        Kind::ControlPlane => (7_800, 27_000),
        Kind::Keystone => (1_600, 4_300),
        Kind::Glance => (1_950, 3_100),
        Kind::Placement => (1_130, 2_440),
        Kind::Nova => (9_000, 30_000),
        Kind::Neutron => (3_500, 6_700),
        Kind::Ovn => (6_400, 8_300),
    };
    match case {
        Case::New => new,
        Case::Running => running,
    }
}

/// The size that nothing a service is composed of may exceed.
const LARGEST: Size = Size {
    objects: 18,
    deployment: 5_000,
    secret: 6_800,
};

/// Instructions of one call, answered in each way.
pub struct Count {
    /// The call.
    pub name: String,
    /// See [`Way::Conventional`](crate::ways::Way).
    pub conventional: u64,
    /// See [`Way::PassThrough`](crate::ways::Way).
    pub pass_through: u64,
    /// See [`Way::Compose`](crate::ways::Way).
    pub compose: u64,
}

impl Count {
    /// How many times the instructions of doing nothing the answer takes.
    pub fn of_nothing(&self) -> f64 {
        self.compose as f64 / self.conventional as f64
    }

    /// Whether this is the other call with ten times the consumers: `pool-among-100` after `pool-among-10`.
    fn is_tenfold(&self, other: &Count) -> bool {
        self.name.strip_suffix('0') == Some(&other.name)
    }
}

/// What costs more than it may, each in a sentence.
pub fn broken(counts: &[Count]) -> Vec<String> {
    let of_nothing = counts
        .iter()
        .map(|count| (count, count.of_nothing()))
        .filter(|(_, times)| *times > MOST_OF_NOTHING)
        .map(|(count, times)| {
            format!(
                "{} takes {times:.2} times the instructions of doing nothing, and {MOST_OF_NOTHING} are allowed",
                count.name
            )
        });
    let of_tenfold = counts
        .iter()
        .zip(counts.iter().skip(1))
        .filter(|(fewer, more)| more.is_tenfold(fewer))
        .map(|(fewer, more)| (fewer, more, more.compose as f64 / fewer.compose as f64))
        .filter(|(_, _, times)| *times > MOST_OF_TENFOLD)
        .map(|(fewer, more, times)| {
            format!(
                "{} takes {times:.1} times the instructions of {}, and {MOST_OF_TENFOLD} are allowed",
                more.name, fewer.name
            )
        });
    of_nothing.chain(of_tenfold).collect()
}

/// What a reconcile costs more than it may, in a sentence.
pub fn broken_reconcile(kind: Kind, case: Case, instructions: u64) -> Option<String> {
    let most = 1_000 * most(kind, case);
    (instructions > most).then(|| {
        format!("a reconcile of {kind:?} ({case:?}) takes {instructions} instructions, and {most} are allowed")
    })
}

/// What of a service is larger than it may be, each in a sentence.
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
            conventional,
            pass_through: 0,
            compose,
        }
    }

    #[test]
    fn what_is_within_the_budget_is_not_told() {
        let counts = [
            count("claim", 100, 200),
            count("pool-among-10", 100, 10),
            count("pool-among-100", 1000, 130),
        ];
        assert_eq!(broken(&counts), Vec::<String>::new());
    }

    #[test]
    fn an_answer_that_takes_too_much_is_told() {
        assert_eq!(
            broken(&[count("claim", 100, 201)]),
            ["claim takes 2.01 times the instructions of doing nothing, and 2 are allowed"]
        );
    }

    #[test]
    fn growth_is_compared_between_the_same_calls_only() {
        let counts = [
            count("claim", 100, 10),
            count("claim-among-100", 1000, 200),
            count("claim-among-1000", 9000, 2601),
            count("pool-among-10", 100, 10),
            count("pool-among-100", 1000, 131),
        ];
        assert_eq!(
            broken(&counts),
            [
                "claim-among-1000 takes 13.0 times the instructions of claim-among-100, and 13 are allowed",
                "pool-among-100 takes 13.1 times the instructions of pool-among-10, and 13 are allowed",
            ]
        );
    }

    #[test]
    fn a_reconcile_that_costs_too_much_is_told() {
        for kind in Kind::value_variants() {
            for case in Case::value_variants() {
                let most = 1_000 * most(*kind, *case);
                assert_eq!(broken_reconcile(*kind, *case, most), None);
                let told = broken_reconcile(*kind, *case, most + 1).unwrap();
                let expected = format!("of {kind:?} ({case:?}) takes {} instr", most + 1);
                assert!(told.contains(&expected), "{told}");
            }
        }
    }

    #[rstest::rstest]
    fn what_a_service_is_composed_of_stays_small(
        #[values(Kind::Keystone, Kind::Glance, Kind::Placement)] kind: Kind,
    ) {
        let size = Size::of(&kind.answer(Case::Running).unwrap());
        assert!(size.deployment > 0 && size.secret > 0, "{size:?}");
        assert_eq!(broken_size(kind, size), Vec::<String>::new());
    }

    #[test]
    fn what_is_too_large_is_told() {
        let size = Size {
            secret: LARGEST.secret + 1,
            ..LARGEST
        };
        let told = broken_size(Kind::Glance, size);
        assert_eq!(told.len(), 1);
        assert!(told[0].contains("bytes of Secret"), "{told:?}");
    }
}
