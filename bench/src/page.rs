//! The tables in docs/performance.md.

use std::ops::Range;

use anyhow::{Context, Result};

use crate::table::Table;

/// The page.
pub const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/performance.md");

/// Returns the page with these tables, each by its name. The rest of the page stays.
///
/// # Errors
/// The page has no place for a table.
pub fn with(mut page: String, tables: &[(&str, Table)]) -> Result<String> {
    for (name, table) in tables {
        let place = place(&page, name)?;
        page.replace_range(place, &format!("\n{table}\n"));
    }
    Ok(page)
}

/// Returns a sentence for each cell of the page that isn't as in these tables.
///
/// # Errors
/// The page has no place for a table.
pub fn differences(page: &str, tables: &[(&str, Table)]) -> Result<Vec<String>> {
    let mut differences = Vec::new();
    for (name, table) in tables {
        let told = table.differences(page[place(page, name)?].trim());
        differences.extend(told.into_iter().map(|told| format!("{name}: {told}")));
    }
    Ok(differences)
}

/// The place of a table: between two lines that name it.
fn place(page: &str, name: &str) -> Result<Range<usize>> {
    let begin =
        format!("<!-- The {name}, made by `cargo xtask bench --write` from bench/src. -->\n");
    let end = format!("<!-- The end of the {name}. -->\n");
    let missing = |line: &str| {
        let line = line.trim_end();
        format!("docs/performance.md must have this line: {line}")
    };
    let (before, rest) = page.split_once(&begin).with_context(|| missing(&begin))?;
    let (table, _) = rest.split_once(&end).with_context(|| missing(&end))?;
    let start = before.len() + begin.len();
    Ok(start..start + table.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Measurements;
    use crate::table::Cell;

    const PAGE: &str = "# Page\n
<!-- The calls, made by `cargo xtask bench --write` from bench/src. -->

| Call | Instructions |
|---|---:|
| claim | 5 k |

<!-- The end of the calls. -->\n
The rest.\n";

    fn calls() -> [(&'static str, Table); 1] {
        let mut table = Table::new(&["Call", "Instructions"]);
        table.row(vec![
            Cell::Fixed("claim".to_owned()),
            Cell::Measured("10 k".to_owned()),
        ]);
        [("calls", table)]
    }

    #[test]
    fn page_differs_until_its_tables_are_written() {
        assert_eq!(
            differences(PAGE, &calls()).unwrap(),
            ["calls: claim, Instructions: `5 k` is `10 k` now"]
        );
        let written = with(PAGE.to_owned(), &calls()).unwrap();
        let table =
            "| Call  | Instructions |\n|-------|-------------:|\n| claim |         10 k |\n";
        let old = "| Call | Instructions |\n|---|---:|\n| claim | 5 k |\n";
        assert_eq!(written, PAGE.replace(old, table));
        assert_eq!(
            differences(&written, &calls()).unwrap(),
            Vec::<String>::new()
        );
    }

    #[test]
    fn page_without_a_place_for_a_table_fails() {
        let page = PAGE.replace("The end", "An end");
        let error = differences(&page, &calls()).unwrap_err().to_string();
        assert_eq!(
            error,
            "docs/performance.md must have this line: <!-- The end of the calls. -->"
        );
        assert!(with(page, &calls()).is_err());
    }

    #[test]
    fn performance_page_has_a_place_for_every_table() {
        let page = include_str!("../../docs/performance.md").to_owned();
        with(page, &Measurements::default().tables()).unwrap();
    }
}
