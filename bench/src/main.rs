//! Counts the instructions of calls and reconciles with valgrind's callgrind. Unlike times, counts are the same in each run.
//!
//! `bench` prints tables and fails if a budget is exceeded or docs/performance.md has other numbers. `bench --write` writes them there.
//! `bench requests FOLDER` writes the requests and their responses to files, for profiling.

mod budget;
mod case;
mod count;
mod division;
mod mode;
mod ovn;
mod page;
mod pool;
mod reconcile;
mod report;
mod share;
mod size;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::{Parser, Subcommand};
use function_c5c3_fixtures::Workload;

use case::Case;
use division::Pool;
use mode::Mode;
use reconcile::Kind;

#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    /// Writes the tables of docs/performance.md, instead of comparing them with what is measured
    #[arg(long)]
    write: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand)]
enum Action {
    /// Writes every request, and its response, to a folder
    Requests { folder: PathBuf },
    /// Answers one of them the given number of times
    Repeat {
        mode: Mode,
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
        None => measure(arguments.write),
        Some(Action::Requests { folder }) => write(&folder).map(|_| ()),
        Some(Action::Repeat {
            mode,
            workload,
            times,
        }) => {
            let request = read(&workload.with_extension("request"))?;
            let response = read(&workload.with_extension("response"))?;
            mode.repeat(&request, &response, times)
        }
        Some(Action::Reconcile { kind, case, times }) => kind.repeat(case, times),
        Some(Action::Divide { pool, nodes, times }) => {
            pool.divide(nodes, times);
            Ok(())
        }
    }
}

/// Measures, prints tables, checks the budgets, and writes or compares the tables of the page.
fn measure(write: bool) -> Result<()> {
    let measured = count::all()?;
    let tables = measured.tables();
    for (_, table) in &tables {
        println!("{table}");
    }
    let broken = measured.broken();
    ensure!(broken.is_empty(), "{}", broken.join("; "));

    let path = Path::new(page::PATH);
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    if write {
        return std::fs::write(path, page::with(text, &tables)?)
            .with_context(|| format!("cannot write {}", path.display()));
    }
    let differences = page::differences(&text, &tables)?;
    ensure!(
        differences.is_empty(),
        "docs/performance.md isn't as measured; run `cargo xtask bench --write`: {}",
        differences.join("; ")
    );
    Ok(())
}

/// Writes the requests and their responses to a folder, and returns them.
fn write(folder: &Path) -> Result<Vec<Written>> {
    let workloads = Workload::all().into_iter();
    workloads
        .map(|workload| {
            let path = folder.join(&workload.name);
            let request = workload.bytes();
            let response = mode::answer(&request)?;
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
