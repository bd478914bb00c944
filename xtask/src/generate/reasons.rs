//! The tables of reasons in the page about troubleshooting.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use c5c3_api::reason::{SECTIONS, Section};

use super::Files;

/// The page with the tables.
pub const PAGE: &str = "docs/troubleshooting.md";

/// The lines around the tables.
const BEGIN: &str =
    "<!-- The reasons, made by `cargo xtask generate` from providers/api/src/reason.rs. -->\n";
const END: &str = "<!-- The end of the reasons. -->\n";

/// Returns the page with the tables as the reasons are now. The rest of the page stays.
pub fn page(root: &Path) -> Result<Files> {
    let text = fs::read_to_string(root.join(PAGE)).with_context(|| format!("reading {PAGE}"))?;
    let (before, rest) = text.split_once(BEGIN).context("no begin of the reasons")?;
    let (_, after) = rest.split_once(END).context("no end of the reasons")?;
    let tables: String = SECTIONS.iter().map(table).collect();
    let page = format!("{before}{BEGIN}{tables}\n{END}{after}");
    Ok([(PAGE.into(), page)].into())
}

fn table(section: &Section) -> String {
    let rows = section.reasons.iter().map(|(reason, advice)| {
        let advice: String = advice.concat();
        format!("| `{reason}` | {} |\n", advice.trim())
    });
    format!(
        "\n## {}\n\n| Reason | What to do |\n|---|---|\n{}",
        section.title,
        rows.collect::<String>()
    )
}
