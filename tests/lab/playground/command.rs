//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// The variable with the lab's folder.
pub const FOLDER: &str = "C5C3_LAB";

/// A lab to try the project in. `cargo xtask lab` calls this.
#[derive(Debug, Parser)]
#[command(name = "lab-playground")]
pub(super) struct Options {
    /// Where the lab keeps its state, log, kubeconfig and clouds.yaml
    #[arg(long, env = FOLDER, default_value = "/run/c5c3-lab")]
    pub folder: PathBuf,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, PartialEq, Eq, Subcommand)]
pub(super) enum Command {
    /// Start the lab, or follow the one that starts
    Up,
    /// Run the lab in this process
    #[command(hide = true)]
    Serve,
    /// Fail unless a lab runs
    #[command(hide = true)]
    Running,
    /// Run a shell, or a command, in the lab's network
    Shell {
        /// The command
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
    /// Stop the lab, and remove what it left
    Down,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Option<Options> {
        let words = ["lab-playground"]
            .into_iter()
            .chain(line.split_whitespace());
        Options::try_parse_from(words).ok()
    }

    #[test]
    fn shell_takes_a_command_with_its_flags() {
        let options = parsed("--folder /tmp/lab shell -- kubectl get --all-namespaces pods");
        let options = options.expect("it is a command line");
        assert_eq!(options.folder, PathBuf::from("/tmp/lab"));
        let words = ["kubectl", "get", "--all-namespaces", "pods"];
        let command = words.map(OsString::from).to_vec();
        assert_eq!(options.command, Command::Shell { command });
        let interactive = parsed("shell").expect("it is a command line");
        let command = Vec::new();
        assert_eq!(interactive.command, Command::Shell { command });
    }

    #[test]
    fn up_and_down_take_nothing_else() {
        for line in ["up", "down", "serve", "running"] {
            assert!(parsed(line).is_some(), "{line}");
        }
        for line in ["", "up now", "down --force"] {
            assert!(parsed(line).is_none(), "{line}");
        }
    }
}
