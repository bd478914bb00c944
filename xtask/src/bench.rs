//! `cargo xtask bench`: the instructions of calls and reconciles (docs/performance.md).

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::machine;

/// Measures, prints tables, and compares with the budgets.
///
/// # Errors
/// When something can't be built or a budget is exceeded.
pub fn run(root: &Path) -> Result<()> {
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
    let shown = format!("{command:?}");
    let status = command
        .status()
        .with_context(|| format!("cannot start: {shown}"))?;
    ensure!(status.success(), "failed ({status}): {shown}");
    Ok(())
}
