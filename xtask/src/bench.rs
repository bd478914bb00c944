//! `cargo xtask bench`: the instructions of calls and reconciles (docs/performance.md).

use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::machine;

/// Options of `bench`.
#[derive(Args)]
pub struct Options {
    /// Writes the tables of docs/performance.md, instead of comparing them with what is measured
    #[arg(long)]
    write: bool,
}

/// Measures, prints tables, compares with the budgets, and writes or compares the tables of the page.
///
/// # Errors
/// When something can't be built, a budget is exceeded, or the page has other numbers.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    machine::prepare_bench()?;
    let arguments = [
        "run",
        "--locked",
        "--quiet",
        "--profile",
        "budget",
        "--package",
        "bench",
    ];
    let mut command = c5c3_program::cargo();
    command.args(arguments).current_dir(root);
    if options.write {
        command.args(["--", "--write"]);
    }
    let shown = format!("{command:?}");
    let status = command
        .status()
        .with_context(|| format!("cannot start: {shown}"))?;
    ensure!(status.success(), "failed ({status}): {shown}");
    Ok(())
}
