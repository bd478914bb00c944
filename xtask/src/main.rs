//! The project's development commands, as `cargo xtask`.

mod advisories;
mod bench;
#[cfg(test)]
mod containerfiles;
mod files;
mod generate;
mod lab;
mod machine;
mod package;
mod pins;
mod test;

use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's development commands.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Writes the known vulnerabilities of what the project pins, from copies of the advisory databases
    Advisories(advisories::Options),
    /// Counts the instructions of calls and reconciles, and checks their budgets and the numbers in docs/performance.md
    Bench(bench::Options),
    /// Writes the files that are generated from Rust types
    Generate(generate::Options),
    /// Starts a lab to try the project in, enters it, and stops it
    Lab(lab::Options),
    /// Builds the Crossplane packages
    Package(package::Options),
    /// Runs every check and every test
    Test(test::Options),
}

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."));
    let outcome = match Arguments::parse().task {
        Task::Advisories(options) => advisories::run(root, &options),
        Task::Bench(options) => bench::run(root, &options),
        Task::Generate(options) => generate::run(root, &options),
        Task::Lab(options) => lab::run(root, &options),
        Task::Package(options) => package::run(root, &options),
        Task::Test(options) => test::run(root, &options),
    };
    if let Err(error) = outcome {
        eprintln!("error: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
