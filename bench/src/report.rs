//! Tables of what was measured beside its budgets.

use clap::ValueEnum;

use crate::budget::{
    self, Count, LARGEST, MOST_OF_BASELINE, MOST_OF_DIVISION, MOST_OF_TENFOLD_CLAIM,
    MOST_OF_TENFOLD_POOL,
};
use crate::case::Case;
use crate::division::Pool;
use crate::reconcile::Kind;
use crate::size::Size;
use crate::table::Cell::{self, Fixed, Measured};
use crate::table::Table;

/// Instructions by what was counted.
pub type Counts<T> = Vec<(T, u64)>;

/// What was measured.
#[derive(Default)]
pub struct Measurements {
    /// Instructions of calls.
    pub calls: Vec<Count>,
    /// Instructions of reconciles.
    pub reconciles: Vec<(Kind, Counts<Case>)>,
    /// Instructions of divisions by the number of nodes. Each pool has ten times the nodes of the one before.
    pub divisions: Vec<(Pool, Counts<usize>)>,
    /// Objects of running services.
    pub sizes: Vec<(Kind, Size)>,
}

impl Measurements {
    /// Returns the tables by their names in docs/performance.md.
    pub fn tables(&self) -> [(&'static str, Table); 4] {
        [
            ("calls", calls(&self.calls)),
            ("reconciles", reconciles(&self.reconciles)),
            ("divisions", divisions(&self.divisions)),
            ("sizes", sizes(&self.sizes)),
        ]
    }

    /// Returns a sentence for each exceeded budget.
    pub fn broken(&self) -> Vec<String> {
        let mut broken = budget::broken(&self.calls);
        for (kind, counts) in &self.reconciles {
            let told = counts
                .iter()
                .filter_map(|(case, count)| budget::broken_reconcile(*kind, *case, *count));
            broken.extend(told);
        }
        for (pool, counts) in &self.divisions {
            broken.extend(budget::broken_divisions(*pool, counts));
        }
        for (kind, size) in &self.sizes {
            broken.extend(budget::broken_size(*kind, *size));
        }
        broken
    }
}

fn calls(counts: &[Count]) -> Table {
    let mut table = Table::new(&[
        "Call",
        "Request",
        "Response",
        "Baseline with prost",
        "With `functions/protocol`",
        "Whole call",
        &format!("/ baseline with prost (at most {MOST_OF_BASELINE})"),
        &format!(
            "/ a tenth of the consumers (at most {MOST_OF_TENFOLD_CLAIM}, of a pool {MOST_OF_TENFOLD_POOL})"
        ),
    ]);
    for count in counts {
        let fewer = counts.iter().find(|other| count.is_tenfold(other));
        table.row(vec![
            Fixed(count.name.clone()),
            Measured(kilobytes(count.request)),
            Measured(kilobytes(count.response)),
            Measured(thousands(count.conventional)),
            Measured(thousands(count.pass_through)),
            Measured(thousands(count.compose)),
            Measured(format!("{:.2}", count.of_baseline())),
            growth(count.compose, fewer.map(|fewer| fewer.compose)),
        ]);
    }
    table
}

fn reconciles(kinds: &[(Kind, Counts<Case>)]) -> Table {
    let mut table = Table::new(&["Reconcile", "New", "Budget", "Running", "Budget"]);
    for (kind, counts) in kinds {
        let cells = Case::value_variants().iter().flat_map(|case| {
            let count = counts.iter().find(|(counted, _)| counted == case);
            count.map_or([Cell::EMPTY, Cell::EMPTY], |(_, count)| {
                let most = budget::most(*kind, *case);
                [Measured(thousands(*count)), Fixed(thousands(most))]
            })
        });
        let name = Fixed(format!("{kind:?}"));
        table.row([name].into_iter().chain(cells).collect());
    }
    table
}

fn divisions(pools: &[(Pool, Counts<usize>)]) -> Table {
    let mut table = Table::new(&[
        "Division",
        "Instructions",
        "Budget",
        &format!("/ a tenth of the nodes (at most {MOST_OF_DIVISION})"),
    ]);
    for (pool, counts) in pools {
        let mut fewer = None;
        for (nodes, count) in counts {
            let most = budget::most_of_division(*pool, *nodes);
            table.row(vec![
                Fixed(format!("{pool:?}, {nodes} nodes")),
                Measured(thousands(*count)),
                most.map_or(Cell::EMPTY, |most| Fixed(thousands(most))),
                growth(*count, fewer.replace(*count)),
            ]);
        }
    }
    table
}

fn sizes(sizes: &[(Kind, Size)]) -> Table {
    let mut table = Table::new(&["Service", "Objects", "Deployment", "Secret"]);
    for (kind, size) in sizes {
        table.row(size_row(format!("{kind:?}"), size, Measured));
    }
    table.row(size_row("Limit".to_owned(), &LARGEST, Fixed));
    table
}

fn size_row(name: String, size: &Size, cell: fn(String) -> Cell) -> Vec<Cell> {
    vec![
        Fixed(name),
        cell(size.objects.to_string()),
        cell(kilobytes(size.deployment)),
        cell(kilobytes(size.secret)),
    ]
}

/// A count as a multiple of the count of a tenth, if there is one.
fn growth(count: u64, fewer: Option<u64>) -> Cell {
    fewer.map_or(Cell::EMPTY, |fewer| {
        Measured(format!("{:.1}", count as f64 / fewer as f64))
    })
}

fn kilobytes(count: usize) -> String {
    format!("{:.1} KB", count as f64 / 1e3)
}

/// A count in thousands, such as `4,843 k`.
fn thousands(count: u64) -> String {
    let digits = format!("{:.0}", count as f64 / 1e3);
    let mut text = String::new();
    for (position, digit) in digits.char_indices() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    format!("{text} k")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(name: &str, compose: u64) -> Count {
        Count {
            name: name.to_owned(),
            request: 182_340,
            response: 40,
            conventional: 10_000_000,
            pass_through: 617_400,
            compose,
        }
    }

    /// The lines of a table, with its heading, but without the line below that.
    fn lines(table: &Table) -> Vec<String> {
        let text = table.to_string();
        let lines = text.lines().filter(|line| !line.starts_with("|-"));
        let words = lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        words.collect()
    }

    #[test]
    fn calls_have_their_ratios_beside_the_limits() {
        let counts = [
            count("pool-among-10", 2_500_000),
            count("pool-among-100", 23_000_499),
        ];
        assert_eq!(
            lines(&calls(&counts)),
            [
                "| Call | Request | Response | Baseline with prost | With `functions/protocol` | Whole call \
                 | / baseline with prost (at most 2) | / a tenth of the consumers (at most 1.5, of a pool 13) |",
                "| pool-among-10 | 182.3 KB | 0.0 KB | 10,000 k | 617 k | 2,500 k | 0.25 | |",
                "| pool-among-100 | 182.3 KB | 0.0 KB | 10,000 k | 617 k | 23,000 k | 2.30 | 9.2 |",
            ]
        );
    }

    #[test]
    fn reconciles_have_their_budgets() {
        let counts = [
            (
                Kind::Nova,
                vec![(Case::New, 5_668_000), (Case::Running, 999)],
            ),
            (Kind::HypervisorPool, vec![(Case::Running, 402_709_000)]),
        ];
        assert_eq!(
            lines(&reconciles(&counts)),
            [
                "| Reconcile | New | Budget | Running | Budget |",
                "| Nova | 5,668 k | 9,000 k | 1 k | 30,000 k |",
                "| HypervisorPool | | | 402,709 k | 600,000 k |",
            ]
        );
    }

    #[test]
    fn divisions_are_compared_with_those_of_the_same_pool() {
        let counts = [
            (Pool::Free, vec![(1_000, 29_004_000), (10_000, 435_060_000)]),
            (Pool::Leased, vec![(1_000, 6_984_000)]),
        ];
        assert_eq!(
            lines(&divisions(&counts)),
            [
                "| Division | Instructions | Budget | / a tenth of the nodes (at most 16) |",
                "| Free, 1000 nodes | 29,004 k | | |",
                "| Free, 10000 nodes | 435,060 k | 350,000 k | 15.0 |",
                "| Leased, 1000 nodes | 6,984 k | | |",
            ]
        );
    }

    #[test]
    fn sizes_end_with_their_limits() {
        let size = Size {
            objects: 14,
            deployment: 4_123,
            secret: 5_600,
        };
        assert_eq!(
            lines(&sizes(&[(Kind::Keystone, size)])),
            [
                "| Service | Objects | Deployment | Secret |",
                "| Keystone | 14 | 4.1 KB | 5.6 KB |",
                "| Limit | 18 | 5.0 KB | 6.8 KB |",
            ]
        );
    }

    #[test]
    fn every_exceeded_budget_is_told() {
        let size = Size {
            objects: 19,
            ..LARGEST
        };
        let measured = Measurements {
            calls: vec![count("claim", 20_000_001)],
            reconciles: vec![(Kind::Nova, vec![(Case::Running, 30_000_001)])],
            divisions: vec![(Pool::Leased, vec![(10_000, 120_000_001)])],
            sizes: vec![(Kind::Glance, size)],
        };
        let told = measured.broken();
        for (told, what) in told
            .iter()
            .zip(["claim takes", "of Nova", "(Leased)", "Glance has"])
        {
            assert!(told.contains(what), "{told}");
        }
        assert_eq!(told.len(), 4, "{told:?}");
    }
}
