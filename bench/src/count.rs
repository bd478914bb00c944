//! Counting.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;

use crate::budget::{self, Count};
use crate::table::Table;
use crate::ways::Way;
use crate::{Written, write};

/// How often a request is answered at least; the second half is what counts, so that first allocations don't.
const TIMES: u64 = 2;

/// Counts every workload in every way, prints a table and checks the budgets.
///
/// # Errors
/// Valgrind is missing or fails, or a budget is broken.
pub fn all() -> Result<()> {
    let folder = tempfile::tempdir().context("there is no room for temporary files")?;
    let mut table = Table::new(&[
        "call",
        "request",
        "response",
        "nothing, conventionally",
        "nothing, ours",
        "whole answer",
        "of nothing",
    ]);
    let mut counts = Vec::new();
    for workload in write(folder.path())? {
        let count = Count {
            conventional: count(&workload, Way::Conventional)?,
            pass_through: count(&workload, Way::PassThrough)?,
            compose: count(&workload, Way::Compose)?,
            name: workload.name,
        };
        table.row(&[
            count.name.clone(),
            kilobytes(workload.request),
            kilobytes(workload.response),
            thousands(count.conventional),
            thousands(count.pass_through),
            thousands(count.compose),
            format!("{:.2}", count.of_nothing()),
        ]);
        counts.push(count);
    }
    println!("{table}");
    let broken = budget::broken(&counts);
    ensure!(broken.is_empty(), "{}", broken.join("; "));
    Ok(())
}

/// Instructions of one answer.
fn count(workload: &Written, way: Way) -> Result<u64> {
    let once = collected(&workload.path, way, TIMES)?;
    let twice = collected(&workload.path, way, 2 * TIMES)?;
    Ok(twice.saturating_sub(once) / TIMES)
}

/// Instructions of the whole program that answers a request so many times.
fn collected(workload: &Path, way: Way, times: u64) -> Result<u64> {
    let program = std::env::current_exe().context("this program has no path")?;
    let way = way.to_possible_value().context("the way has no name")?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["repeat", way.get_name()])
        .arg(workload)
        .arg(times.to_string())
        .stdin(Stdio::null())
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            bail!(
                "valgrind is missing; as root, run: apt-get update && apt-get install --yes valgrind"
            )
        }
        Err(error) => return Err(error).context("valgrind can't be started"),
    };
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "valgrind failed: {said}");
    said.lines()
        .find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
        .with_context(|| format!("valgrind counted nothing: {said}"))
}

fn kilobytes(count: usize) -> String {
    format!("{:.1} KB", count as f64 / 1e3)
}

fn thousands(count: u64) -> String {
    format!("{:.0} k", count as f64 / 1e3)
}
