//! The project's own chores, as `cargo xtask`.

mod generate;
mod package;
mod test;

use std::path::Path;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// The project's own chores.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Writes the files that are made from Rust types
    Generate(generate::Options),
    /// Builds the Crossplane packages
    Package(package::Options),
    /// Runs every check and every test
    Test(test::Options),
}

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match Arguments::parse().chore {
        Chore::Generate(options) => generate::run(&root, &options),
        Chore::Package(options) => package::run(&root, &options),
        Chore::Test(options) => test::run(&root, &options),
    }
}
