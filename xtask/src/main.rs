//! The project's own chores, as `cargo xtask`.

mod generate;

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
    Generate(generate::Arguments),
}

fn main() -> Result<()> {
    match Arguments::parse().chore {
        Chore::Generate(arguments) => generate::run(&arguments),
    }
}
