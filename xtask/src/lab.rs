//! `cargo xtask lab`: a lab to try the project in.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Error, Result, bail, ensure};
use c5c3_program::{Build, PROGRAM};
use clap::{Args, Subcommand};

use crate::machine::{self, Lab};

/// The program that runs the lab. Cargo builds it into the folder of this one.
const LAB: &str = "lab-playground";

/// The memory that the lab with one claim should need, in GiB.
const MEMORY: u64 = 12;

/// The arguments of `cargo xtask lab`.
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, PartialEq, Eq, Subcommand)]
enum Action {
    /// Start one node with Crossplane, all operators, pools, a claim and a server in its cloud; again, continue or find it
    Up {
        /// Install what is missing and start the lab without asking
        #[arg(long, short)]
        yes: bool,
    },
    /// Enter the network of the lab, where `kubectl`, `openstack` and `c5c3` find it
    Shell {
        /// A command to run there instead of a shell
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
    /// Stop the lab, and remove all of it but the tools and images that were built
    Down,
}

/// Starts the lab, enters it, or stops it.
///
/// # Errors
/// Fails when the user doesn't confirm, when something can't be installed or built, or when the lab fails.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let program = program()?;
    match &options.action {
        Action::Up { yes } => up(root, &program, *yes),
        Action::Shell { command } => {
            become_lab(lab(&program)?.arg("shell").arg("--").args(command))
        }
        Action::Down => become_lab(lab(&program)?.arg("down")),
    }
}

fn up(root: &Path, program: &Path, yes: bool) -> Result<()> {
    ensure!(
        machine::is_root(),
        "the lab creates network namespaces, mounts and control groups, which needs root: run it as root, or run hack/docker.sh up"
    );
    if is_running(program) {
        return become_lab(lab(program)?.arg("up"));
    }
    println!("{}", announcement(&machine::requirements(Lab::Pods)?));
    agree(yes, io::stdin().is_terminal(), answer)?;
    println!("==> programs of this machine");
    let started = Instant::now();
    machine::prepare_lab(Lab::Pods)?;
    println!(
        "    programs of this machine: {} s",
        started.elapsed().as_secs()
    );
    println!("==> the project, as its tests are built");
    let started = Instant::now();
    let c5c3 = Build::Debug.program(root)?;
    println!("    the project: {} s", started.elapsed().as_secs());
    become_lab(lab(program)?.arg("up").env(PROGRAM, c5c3))
}

/// The text that is printed before the user confirms.
fn announcement(requirements: &str) -> String {
    format!(
        "This starts one node with Crossplane 2, all operators, two hypervisors without KVM, a Ceph and a claim, in a network namespace of \
         this machine.\n\
         {requirements}\n\
         Besides, it needs about {MEMORY} GiB of memory, and downloads sources of Go modules, crates, and Debian's and Python's packages.\n\
         `cargo xtask lab down` stops it and removes all of it but installed packages and what was built."
    )
}

/// Fails unless the user has confirmed, by `--yes` or by the answer.
fn agree(yes: bool, is_terminal: bool, answer: impl FnOnce() -> io::Result<String>) -> Result<()> {
    if yes {
        return Ok(());
    }
    ensure!(
        is_terminal,
        "the standard input isn't a terminal: run `cargo xtask lab up --yes` to start the lab without confirmation"
    );
    let answer = answer().context("cannot read the answer")?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => bail!("nothing was changed"),
    }
}

/// Prints the question, and reads a line from the standard input.
fn answer() -> io::Result<String> {
    print!("Continue? [y/N] ");
    io::stdout().flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(answer)
}

/// The path of the lab's program, which may not be built yet.
fn program() -> Result<PathBuf> {
    let own = env::current_exe().context("this program has no path")?;
    Ok(own.with_file_name(LAB))
}

/// A command that runs the lab's program.
///
/// # Errors
/// Fails when the program isn't built.
fn lab(program: &Path) -> Result<Command> {
    ensure!(
        program.is_file(),
        "{} isn't built: `cargo xtask lab up` starts a lab",
        program.display()
    );
    Ok(Command::new(program))
}

/// Whether a lab runs, complete or not.
fn is_running(program: &Path) -> bool {
    let running = Command::new(program)
        .arg("running")
        .stderr(Stdio::null())
        .status();
    running.is_ok_and(|status| status.success())
}

/// Runs the lab's program in the place of this one, so that the terminal's signals are its own.
fn become_lab(command: &mut Command) -> Result<()> {
    Err(Error::new(command.exec()).context("cannot start the lab's program"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn parsed(line: &str) -> Option<Action> {
        let words = ["lab"].into_iter().chain(line.split_whitespace());
        let line = Line::try_parse_from(words).ok();
        line.map(|line| line.options.action)
    }

    #[test]
    fn lab_is_started_entered_and_stopped() {
        assert_eq!(parsed("up"), Some(Action::Up { yes: false }));
        assert_eq!(parsed("up --yes"), Some(Action::Up { yes: true }));
        assert_eq!(parsed("down"), Some(Action::Down));
        let command = ["kubectl", "get", "-A", "pods"].map(OsString::from);
        let command = command.to_vec();
        let entered = Some(Action::Shell { command });
        assert_eq!(parsed("shell kubectl get -A pods"), entered);
        assert_eq!(parsed("shell -- kubectl get -A pods"), entered);
        for line in ["", "up now", "down --yes"] {
            assert_eq!(parsed(line), None, "{line}");
        }
    }

    #[test]
    fn up_changes_nothing_without_confirmation() {
        let answered = |text: &str| {
            let text = text.to_owned();
            agree(false, true, || Ok(text)).map_err(|error| error.to_string())
        };
        for yes in ["y\n", "Yes\n"] {
            assert_eq!(answered(yes), Ok(()));
        }
        for no in ["", "\n", "n\n", "yesterday\n"] {
            assert_eq!(answered(no), Err("nothing was changed".to_owned()));
        }
        let asked = || -> io::Result<String> { panic!("the user is asked") };
        assert!(agree(true, true, asked).is_ok());
        assert!(agree(true, false, asked).is_ok());
        let error = agree(false, false, asked).unwrap_err().to_string();
        assert!(error.contains("`cargo xtask lab up --yes`"), "{error}");
    }

    #[test]
    fn commands_of_the_page_are_parsed() {
        let page = include_str!("../../docs/first-cloud.md");
        let lines = page.lines();
        let commands: Vec<&str> = lines
            .filter_map(|line| line.strip_prefix("cargo xtask lab "))
            .collect();
        assert!(!commands.is_empty());
        for command in commands {
            assert!(parsed(command).is_some(), "{command}");
        }
    }
}
