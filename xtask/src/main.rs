//! The project's development commands, as `cargo xtask`.

mod bench;
mod generate;
mod machine;
mod package;
mod test;

use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's development commands.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Counts the instructions of answers and checks their budget; with --peers, measures beside others
    Bench(bench::Options),
    /// Writes the files that are generated from Rust types
    Generate(generate::Options),
    /// Builds the Crossplane packages
    Package(package::Options),
    /// Runs every check and every test
    Test(test::Options),
}

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."));
    let outcome = match Arguments::parse().chore {
        Chore::Bench(options) => bench::run(root, &options),
        Chore::Generate(options) => generate::run(root, &options),
        Chore::Package(options) => package::run(root, &options),
        Chore::Test(options) => test::run(root, &options),
    };
    if let Err(error) = outcome {
        eprintln!("error: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
