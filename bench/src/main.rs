//! Counts the instructions of calls and reconciles with valgrind's callgrind. Unlike times, counts are the same in each run.
//!
//! `bench` prints a table and fails if a budget is exceeded. `bench write FOLDER` writes the requests and their responses to
//! files, for profiling (docs/performance.md).

mod budget;
mod count;
mod division;
mod ovn;
mod pool;
mod reconcile;
mod size;
mod table;
mod ways;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use function_c5c3_fixtures::Workload;

use division::Pool;
use reconcile::{Case, Kind};
use ways::Way;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand)]
enum Action {
    /// Writes every request, and its response, to a folder
    Write { folder: PathBuf },
    /// Answers one of them the given number of times
    Repeat {
        way: Way,
        /// A file of the folder, without its extension
        workload: PathBuf,
        times: usize,
    },
    /// Reconciles a resource the given number of times
    Reconcile {
        kind: Kind,
        case: Case,
        times: usize,
    },
    /// Divides a pool of the given number of nodes the given number of times
    Divide {
        pool: Pool,
        nodes: usize,
        times: usize,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<()> {
    match arguments.action {
        None => count::all(),
        Some(Action::Write { folder }) => write(&folder).map(|_| ()),
        Some(Action::Repeat {
            way,
            workload,
            times,
        }) => {
            let request = read(&workload.with_extension("request"))?;
            let response = read(&workload.with_extension("response"))?;
            way.repeat(&request, &response, times)
        }
        Some(Action::Reconcile { kind, case, times }) => kind.repeat(case, times),
        Some(Action::Divide { pool, nodes, times }) => {
            pool.divide(nodes, times);
            Ok(())
        }
    }
}

/// Writes the requests and their responses to a folder, and returns them.
fn write(folder: &Path) -> Result<Vec<Written>> {
    let workloads = Workload::all().into_iter();
    workloads
        .map(|workload| {
            let path = folder.join(&workload.name);
            let request = workload.bytes();
            let response = ways::answer(&request)?;
            for (extension, bytes) in [("request", &request), ("response", &response)] {
                let file = path.with_extension(extension);
                std::fs::write(&file, bytes)
                    .with_context(|| format!("cannot write {}", file.display()))?;
            }
            Ok(Written {
                name: workload.name,
                path,
                request: request.len(),
                response: response.len(),
            })
        })
        .collect()
}

/// A workload in files.
struct Written {
    name: String,
    /// Without an extension.
    path: PathBuf,
    request: usize,
    response: usize,
}

fn read(file: &Path) -> Result<Vec<u8>> {
    std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}
