//! A lab for people: one node, Crossplane, all operators, pools and one claim, which stay until they are stopped.
//!
//! `up` builds what is missing, and starts `serve` as a process of its own, which keeps the lab: all that it starts ends with it. A folder
//! has what others need: its state, the log, a kubeconfig and a clouds.yaml. `shell` enters the lab's network, and
//! `down` stops the process, and removes the folder.

mod access;
mod command;
mod down;
mod page;
mod server;
mod state;
mod up;

use std::path::{self, Path};
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Parser;

use crate::suite::{CLOUD_SITE, COMPUTE, EXTERNAL_OPERATORS, LAB, NODE, Need};
use crate::tools::Tool;
pub use command::FOLDER;
use command::{Command, Options};
pub use page::{Block, blocks};
use state::State;

/// What is built before it starts.
pub const NEEDS: [&[Need]; 6] = [
    NODE,
    LAB,
    EXTERNAL_OPERATORS,
    COMPUTE,
    CLOUD_SITE,
    &[Need::Tool(Tool::Kubectl), Need::Python("openstackclient")],
];

/// Does what the command line says.
pub fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    let folder = path::absolute(&options.folder)?;
    match &options.command {
        Command::Up => up::up(&folder),
        Command::Serve => server::serve(&folder),
        Command::Running => is_running(&folder),
        Command::Shell { command } => access::enter(&folder, command),
        Command::Down => down::down(&folder),
    }
}

fn is_running(folder: &Path) -> Result<()> {
    let state = State::read(folder)?;
    let runs = state.is_some_and(|state| state.server.runs());
    ensure!(runs, "no lab runs: `cargo xtask lab up` starts one");
    Ok(())
}
