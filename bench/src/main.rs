//! Counts the instructions that answers take, with valgrind's callgrind: counts don't wobble as times do.
//!
//! `bench` prints a table and fails when a budget is broken. `bench write FOLDER` writes the requests and their responses to
//! files, for whoever wants to profile (docs/performance.md).

mod budget;
mod count;
mod ovn;
mod reconcile;
mod size;
mod table;
mod ways;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use function_c5c3_fixtures::Workload;

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
    /// Answers one of them so many times
    Repeat {
        way: Way,
        /// A file of the folder, without its extension
        workload: PathBuf,
        times: usize,
    },
    /// Reconciles a resource so many times
    Reconcile {
        kind: Kind,
        case: Case,
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
    }
}

/// Writes the requests and their responses to a folder, and says which there are.
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
