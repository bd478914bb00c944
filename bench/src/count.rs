//! Counting.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::ValueEnum;

use crate::budget::{self, Count};
use crate::reconcile::{Case, Kind};
use crate::size::Size;
use crate::table::Table;
use crate::ways::Way;
use crate::{Written, write};

/// How often anything is done at least; the second half is what counts, so that first allocations don't.
const TIMES: u64 = 1;

/// Counts every call and every reconcile, measures what services are composed of, prints tables and checks the budgets.
///
/// # Errors
/// Valgrind is missing or fails, or a budget is broken.
pub fn all() -> Result<()> {
    let mut broken = calls()?;
    broken.extend(reconciles()?);
    broken.extend(sizes()?);
    ensure!(broken.is_empty(), "{}", broken.join("; "));
    Ok(())
}

/// Counts every workload in every way; what is too much of it.
fn calls() -> Result<Vec<String>> {
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
    Ok(budget::broken(&counts))
}

/// Counts reconciles; what is too much of it.
fn reconciles() -> Result<Vec<String>> {
    let mut table = Table::new(&["reconcile", "just made", "running"]);
    let mut broken = Vec::new();
    for kind in Kind::value_variants() {
        let mut row = vec![format!("{kind:?}")];
        for case in [Case::New, Case::Running] {
            let instructions = once(&["reconcile".into(), name(*kind)?, name(case)?])?;
            row.push(thousands(instructions));
            broken.extend(budget::broken_reconcile(*kind, case, instructions));
        }
        table.row(&row);
    }
    println!("{table}");
    Ok(broken)
}

/// Measures what services are composed of; what is too much of it.
fn sizes() -> Result<Vec<String>> {
    let mut table = Table::new(&["service", "objects", "Deployment", "Secret"]);
    let mut broken = Vec::new();
    for kind in [Kind::Keystone, Kind::Glance, Kind::Placement] {
        let size = Size::of(&kind.answer(Case::Running)?);
        table.row(&[
            format!("{kind:?}"),
            size.objects.to_string(),
            kilobytes(size.deployment),
            kilobytes(size.secret),
        ]);
        broken.extend(budget::broken_size(kind, size));
    }
    println!("{table}");
    Ok(broken)
}

/// Instructions of one answer.
fn count(workload: &Written, way: Way) -> Result<u64> {
    once(&["repeat".into(), name(way)?, workload.path.clone().into()])
}

/// How the command line calls a value.
fn name(value: impl ValueEnum) -> Result<OsString> {
    let value = value.to_possible_value();
    let value = value.context("a value has no name")?;
    Ok(value.get_name().into())
}

/// Instructions of doing once what this program does when it is told so, and how many times.
fn once(told: &[OsString]) -> Result<u64> {
    let (fewer, more) = thread::scope(|scope| {
        let fewer = scope.spawn(|| collected(told, TIMES));
        let more = collected(told, 2 * TIMES);
        (fewer.join(), more)
    });
    let fewer = fewer.map_err(|_| anyhow!("a count panicked"))??;
    Ok(more?.saturating_sub(fewer) / TIMES)
}

/// Instructions of the whole program that does it so many times.
fn collected(told: &[OsString], times: u64) -> Result<u64> {
    let program = std::env::current_exe().context("this program has no path")?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(told)
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
