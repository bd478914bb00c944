//! Counts instructions with callgrind, and prints them.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::ValueEnum;

use crate::budget::{self, Count};
use crate::division::Pool;
use crate::reconcile::{Case, Kind};
use crate::size::Size;
use crate::table::Table;
use crate::ways::Way;
use crate::{Written, write};

/// Repetitions of the shorter of two runs. The other one has twice as many, and their difference is what counts, so that first
/// allocations don't.
const TIMES: u64 = 1;

/// Counts every call and every reconcile, measures the objects that services compose, prints tables and checks the budgets.
///
/// # Errors
/// Valgrind is missing or fails, or a budget is exceeded.
pub fn all() -> Result<()> {
    let mut broken = calls()?;
    broken.extend(reconciles()?);
    broken.extend(sizes()?);
    broken.extend(divisions()?);
    ensure!(broken.is_empty(), "{}", broken.join("; "));
    Ok(())
}

/// Counts every workload in every way, and returns the exceeded budgets.
fn calls() -> Result<Vec<String>> {
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    let mut table = Table::new(&[
        "call",
        "request",
        "response",
        "baseline with prost",
        "baseline with functions/protocol",
        "whole call",
        "whole call / baseline with prost",
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
            format!("{:.2}", count.of_baseline()),
        ]);
        counts.push(count);
    }
    println!("{table}");
    Ok(budget::broken(&counts))
}

/// Counts reconciles, and returns the exceeded budgets.
fn reconciles() -> Result<Vec<String>> {
    let mut table = Table::new(&["reconcile", "new", "running"]);
    let mut broken = Vec::new();
    for kind in Kind::value_variants() {
        let mut row = vec![format!("{kind:?}")];
        for case in Case::value_variants() {
            if !kind.cases().contains(case) {
                row.push(String::new());
                continue;
            }
            let instructions = once(&["reconcile".into(), name(*kind)?, name(*case)?])?;
            row.push(thousands(instructions));
            broken.extend(budget::broken_reconcile(*kind, *case, instructions));
        }
        table.row(&row);
    }
    println!("{table}");
    Ok(broken)
}

/// Measures the objects that services compose, and returns the exceeded limits.
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

/// Counts divisions of a pool, and returns the exceeded budgets.
fn divisions() -> Result<Vec<String>> {
    let mut table = Table::new(&["division among 200 shares", "nodes", "instructions"]);
    let mut broken = Vec::new();
    for pool in Pool::value_variants() {
        let mut counts = Vec::new();
        for nodes in pool.sizes() {
            let instructions = once(&["divide".into(), name(*pool)?, nodes.to_string().into()])?;
            table.row(&[
                format!("{pool:?}"),
                nodes.to_string(),
                thousands(instructions),
            ]);
            counts.push((*nodes, instructions));
        }
        broken.extend(budget::broken_divisions(*pool, &counts));
    }
    println!("{table}");
    Ok(broken)
}

/// Instructions of one call.
fn count(workload: &Written, way: Way) -> Result<u64> {
    once(&["repeat".into(), name(way)?, workload.path.clone().into()])
}

/// The name of a value on the command line.
fn name(value: impl ValueEnum) -> Result<OsString> {
    let value = value.to_possible_value();
    let value = value.context("a value has no name")?;
    Ok(value.get_name().into())
}

/// Instructions of one repetition of an action of this program. The number of repetitions is appended to the arguments.
fn once(arguments: &[OsString]) -> Result<u64> {
    let (fewer, more) = thread::scope(|scope| {
        let fewer = scope.spawn(|| collected(arguments, TIMES));
        let more = collected(arguments, 2 * TIMES);
        (fewer.join(), more)
    });
    let fewer = fewer.map_err(|_| anyhow!("a count panicked"))??;
    Ok(more?.saturating_sub(fewer) / TIMES)
}

/// Instructions of a run of the whole program with this number of repetitions.
fn collected(arguments: &[OsString], times: u64) -> Result<u64> {
    let program = std::env::current_exe().context("this program has no path")?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(arguments)
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
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "valgrind failed: {stderr}");
    stderr
        .lines()
        .find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
        .with_context(|| format!("valgrind printed no count: {stderr}"))
}

fn kilobytes(count: usize) -> String {
    format!("{:.1} KB", count as f64 / 1e3)
}

fn thousands(count: u64) -> String {
    format!("{:.0} k", count as f64 / 1e3)
}
