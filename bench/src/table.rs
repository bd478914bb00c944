//! Tables in Markdown, and how they differ from those of a page.

use std::fmt;

/// How much a number in a page may differ from the measured one, as a part of it. Each compiler and machine counts slightly different
/// instructions, so equality would fail without any change of the code.
const TOLERANCE: f64 = 0.1;

/// A cell of a table.
pub enum Cell {
    /// A name or a limit: a page must have the same.
    Fixed(String),
    /// A measured number and its unit.
    Measured(String),
}

impl Cell {
    /// A cell without text.
    pub const EMPTY: Self = Self::Fixed(String::new());

    fn text(&self) -> &str {
        match self {
            Self::Fixed(text) | Self::Measured(text) => text,
        }
    }

    /// Whether a page may have this text in the cell.
    fn agrees_with(&self, page: &str) -> bool {
        match self {
            Self::Fixed(text) => text == page,
            Self::Measured(text) => match (number(text), number(page)) {
                (Some((measured, unit)), Some((written, unit_of_page))) => {
                    unit == unit_of_page && (measured - written).abs() <= TOLERANCE * measured
                }
                _ => false,
            },
        }
    }
}

/// The number of a cell, and its unit.
fn number(text: &str) -> Option<(f64, &str)> {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    Some((number.replace(',', "").parse().ok()?, unit))
}

/// Rows of cells; the first row is the heading.
pub struct Table {
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table with this heading and no rows.
    pub fn new(heading: &[&str]) -> Self {
        let heading = heading.iter().map(|cell| Cell::Fixed((*cell).to_owned()));
        Self {
            rows: vec![heading.collect()],
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// Returns a sentence for each cell that isn't as in this table of a page. A measured number may differ by a tenth.
    pub fn differences(&self, page: &str) -> Vec<String> {
        let lines = page.lines().filter(|line| !line.starts_with("|-"));
        let rows: Vec<Vec<&str>> = lines
            .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
            .collect();
        if !rows.iter().map(Vec::len).eq(self.rows.iter().map(Vec::len)) {
            return vec!["other rows or columns were measured".to_owned()];
        }
        let mut differences = Vec::new();
        for (row, written) in self.rows.iter().zip(&rows) {
            for ((cell, written), column) in row.iter().zip(written).zip(&self.rows[0]) {
                if !cell.agrees_with(written) {
                    let (row, column, cell) = (row[0].text(), column.text(), cell.text());
                    differences.push(format!("{row}, {column}: `{written}` is `{cell}` now"));
                }
            }
        }
        differences
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells
            .map(|cell| cell.text().chars().count())
            .max()
            .unwrap_or(0)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, row) in self.rows.iter().enumerate() {
            for (column, cell) in row.iter().enumerate() {
                let (cell, width) = (cell.text(), self.width(column));
                match column {
                    0 => write!(f, "| {cell:<width$} ")?,
                    _ => write!(f, "| {cell:>width$} ")?,
                }
            }
            writeln!(f, "|")?;
            if position == 0 {
                for column in 0..row.len() {
                    let line = "-".repeat(self.width(column));
                    let end = if column == 0 { '-' } else { ':' };
                    write!(f, "|-{line}{end}")?;
                }
                writeln!(f, "|")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["Service", "Running", "Budget"]);
        table.row(vec![
            Cell::Fixed("Nova".to_owned()),
            Cell::Measured("10,000 k".to_owned()),
            Cell::Fixed("30,000 k".to_owned()),
        ]);
        table.row(vec![
            Cell::Fixed("Pool".to_owned()),
            Cell::EMPTY,
            Cell::EMPTY,
        ]);
        table
    }

    /// How the table differs from that of a page with this row.
    fn differences(nova: &str) -> Vec<String> {
        let heading = "| Service | Running | Budget |\n|---|---:|---:|\n";
        table().differences(&format!("{heading}{nova}\n| Pool | | |\n"))
    }

    #[test]
    fn table_is_markdown_with_columns_of_one_width() {
        let text = [
            "| Service |  Running |   Budget |",
            "|---------|---------:|---------:|",
            "| Nova    | 10,000 k | 30,000 k |",
            "| Pool    |          |          |",
            "",
        ];
        assert_eq!(table().to_string(), text.join("\n"));
        assert_eq!(
            table().differences(&table().to_string()),
            Vec::<String>::new()
        );
    }

    #[rstest::rstest]
    #[case::least("9,000 k", true)]
    #[case::most("11,000 k", true)]
    #[case::less("8,999 k", false)]
    #[case::more("11,001 k", false)]
    #[case::another_unit("10,000 KB", false)]
    #[case::no_number("many", false)]
    #[case::nothing("", false)]
    fn measured_number_may_differ_by_a_tenth(#[case] written: &str, #[case] agrees: bool) {
        let told = differences(&format!("| Nova | {written} | 30,000 k |"));
        let expected = format!("Nova, Running: `{written}` is `10,000 k` now");
        assert_eq!(told, if agrees { vec![] } else { vec![expected] });
    }

    #[test]
    fn names_and_budgets_must_be_equal() {
        assert_eq!(
            differences("| Neutron | 10,000 k | 30,001 k |"),
            [
                "Nova, Service: `Neutron` is `Nova` now",
                "Nova, Budget: `30,001 k` is `30,000 k` now",
            ]
        );
    }

    #[rstest::rstest]
    #[case::a_column_less("| Nova | 10,000 k |")]
    #[case::a_row_more("| Nova | 10,000 k | 30,000 k |\n| Nova | 10,000 k | 30,000 k |")]
    fn other_rows_or_columns_are_told(#[case] nova: &str) {
        assert_eq!(differences(nova), ["other rows or columns were measured"]);
    }
}
