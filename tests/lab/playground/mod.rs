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

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{self, Path};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Parser;

use crate::suite::{CLOUD_SITE, COMPUTE, EXTERNAL_OPERATORS, LAB_2_4, NODE, Need};
use crate::tools::Tool;
pub use command::FOLDER;
use command::{Command, Options};
pub use page::{Block, blocks};
use state::State;

/// What is built before it starts.
pub const NEEDS: [&[Need]; 6] = [
    NODE,
    LAB_2_4,
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
    is_own(&folder)?;
    match &options.command {
        Command::Up => up::up(&folder),
        Command::Serve => server::serve(&folder),
        Command::Running => is_running(&folder),
        Command::Shell { command } => access::enter(&folder, command),
        Command::Down => down::down(&folder),
    }
}

/// Fine unless a folder is another user's, who could write there which processes and folders this one ends and removes.
fn is_own(folder: &Path) -> Result<()> {
    let found = match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.with_context(|| format!("cannot look at {}", folder.display()))?,
    };
    let own = fs::metadata("/proc/self").context("/proc doesn't have this process")?;
    ensure!(
        found.is_dir() && found.uid() == own.uid(),
        "{} isn't a folder of this user: name another folder by {FOLDER}, or run this as the folder's owner",
        folder.display()
    );
    Ok(())
}

fn is_running(folder: &Path) -> Result<()> {
    let state = State::read(folder)?;
    let runs = state.is_some_and(|state| state.server.runs());
    ensure!(runs, "no lab runs: `cargo xtask lab up` starts one");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn folder_of_a_lab_is_this_users_and_no_link() -> Result<()> {
        let folder = tempfile::tempdir()?;
        is_own(folder.path())?;
        is_own(&folder.path().join("missing"))?;
        let link = folder.path().join("link");
        symlink(folder.path(), &link)?;
        let error = is_own(&link).unwrap_err().to_string();
        assert!(error.contains("isn't a folder of this user"), "{error}");
        Ok(())
    }
}
