//! Counts instructions with callgrind.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::ValueEnum;

use crate::budget::Count;
use crate::case::Case;
use crate::division::Pool;
use crate::mode::Mode;
use crate::reconcile::Kind;
use crate::report::{Counts, Measurements};
use crate::size::Size;
use crate::{Written, write};

/// Repetitions of the shorter of two runs. The other one has twice as many, and their difference is what counts, so that first
/// allocations don't.
const TIMES: u64 = 1;

/// Counts every call, every reconcile and every division, and measures the objects that services compose.
///
/// # Errors
/// Valgrind is missing or fails.
pub fn all() -> Result<Measurements> {
    Ok(Measurements {
        calls: calls()?,
        reconciles: reconciles()?,
        divisions: divisions()?,
        sizes: sizes()?,
    })
}

/// Counts every workload in every mode.
fn calls() -> Result<Vec<Count>> {
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    let workloads = write(folder.path())?.into_iter();
    let counts = workloads.map(|workload| {
        Ok(Count {
            conventional: count(&workload, Mode::Conventional)?,
            pass_through: count(&workload, Mode::PassThrough)?,
            compose: count(&workload, Mode::Compose)?,
            request: workload.request,
            response: workload.response,
            name: workload.name,
        })
    });
    counts.collect()
}

fn reconciles() -> Result<Vec<(Kind, Counts<Case>)>> {
    let kinds = Kind::value_variants().iter().map(|kind| {
        let counts = kind.cases().iter().map(|case| {
            let instructions = once(&["reconcile".into(), name(*kind)?, name(*case)?])?;
            Ok((*case, instructions))
        });
        Ok((*kind, counts.collect::<Result<_>>()?))
    });
    kinds.collect()
}

fn divisions() -> Result<Vec<(Pool, Counts<usize>)>> {
    let pools = Pool::value_variants().iter().map(|pool| {
        let counts = pool.sizes().iter().map(|nodes| {
            let instructions = once(&["divide".into(), name(*pool)?, nodes.to_string().into()])?;
            Ok((*nodes, instructions))
        });
        Ok((*pool, counts.collect::<Result<_>>()?))
    });
    pools.collect()
}

fn sizes() -> Result<Vec<(Kind, Size)>> {
    let kinds = [Kind::Keystone, Kind::Glance, Kind::Placement].into_iter();
    let sizes = kinds.map(|kind| Ok((kind, Size::of(&kind.answer(Case::Running)?))));
    sizes.collect()
}

/// Instructions of one call.
fn count(workload: &Written, mode: Mode) -> Result<u64> {
    once(&["repeat".into(), name(mode)?, workload.path.clone().into()])
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
