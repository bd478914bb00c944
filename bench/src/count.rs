//! Counting, and what the counts must not exceed.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;

use crate::table::Table;
use crate::ways::Way;
use crate::{Written, write};

/// How often a request is answered at least; the second half is what counts, so that first allocations don't.
const TIMES: u64 = 2;

/// How many times the instructions of doing nothing, conventionally, an answer may take.
const MOST_OF_NOTHING: f64 = 2.0;

/// How many times as much ten times as many consumers may cost.
const MOST_OF_TENFOLD: f64 = 13.0;

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
    let mut broken = Vec::new();
    let mut last: Option<(String, u64)> = None;
    for workload in write(folder.path())? {
        let conventional = count(&workload, Way::Conventional)?;
        let pass_through = count(&workload, Way::PassThrough)?;
        let compose = count(&workload, Way::Compose)?;
        let ratio = compose as f64 / conventional as f64;
        table.row(&[
            workload.name.clone(),
            bytes(workload.request),
            bytes(workload.response),
            thousands(conventional),
            thousands(pass_through),
            thousands(compose),
            format!("{ratio:.2}"),
        ]);
        if ratio > MOST_OF_NOTHING {
            broken.push(format!(
                "{} takes {ratio:.2} times the instructions of doing nothing, and {MOST_OF_NOTHING} are allowed",
                workload.name
            ));
        }
        if let Some((name, before)) = last
            .take()
            .filter(|(name, _)| is_tenfold(name, &workload.name))
        {
            let growth = compose as f64 / before as f64;
            if growth > MOST_OF_TENFOLD {
                broken.push(format!(
                    "{} costs {growth:.1} times as much as {name}, and {MOST_OF_TENFOLD} are allowed",
                    workload.name
                ));
            }
        }
        last = Some((workload.name, compose));
    }
    println!("{table}");
    ensure!(broken.is_empty(), "{}", broken.join("; "));
    Ok(())
}

/// Whether one workload is another with ten times the consumers.
fn is_tenfold(one: &str, other: &str) -> bool {
    other.strip_suffix('0') == Some(one)
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

fn bytes(count: usize) -> String {
    format!("{:.1} KB", count as f64 / 1e3)
}

fn thousands(count: u64) -> String {
    format!("{:.0} k", count as f64 / 1e3)
}
