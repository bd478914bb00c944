//! One scenario in a process of its own, and what is kept of it.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::evidence::RESULTS;
use crate::minutes;
use crate::output::last_lines;
use crate::scale::{Scale, TIME_SCALE};
use crate::scenario::remove_leftovers;
use crate::suite::Scenario;

/// The exit code of a scenario in which something forbidden happened.
pub(super) const FORBIDDEN: u8 = 3;

/// How many times its budget a scenario may take before it is stopped.
const PATIENCE: u32 = 2;

/// How long a scenario that is stopped may collect its logs and objects.
const GRACE: Duration = minutes(1);

const POLL: Duration = Duration::from_millis(100);

/// How many lines of a failed scenario's output are shown, and how much of a line.
const SHOWN: usize = 120;
const WIDTH: usize = 1_000;

/// Where scenarios leave logs and results: a folder for each in `lab`, in cargo's target folder.
pub(super) struct Results(PathBuf);

/// How a scenario is run.
pub(super) struct Terms {
    /// Whether what it prints is shown, and not kept in a file.
    pub shown: bool,
    /// When the time of the whole run is up.
    pub deadline: Option<Instant>,
    /// How long its time-outs are.
    pub time_outs: Scale,
    /// How long its budget is.
    pub budget: Scale,
}

/// How a scenario failed.
pub(super) struct Failure {
    /// For instance its exit status.
    pub message: String,
    /// Whether it may be noise, so that the scenario is run again.
    pub may_be_noise: bool,
    /// The end of what it printed.
    pub output: String,
}

impl Results {
    /// Results in this folder.
    pub fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// The folder of one scenario.
    pub fn folder(&self, scenario: &Scenario) -> PathBuf {
        self.0.join(scenario.name().replace("::", "/"))
    }

    /// How many seconds it took when it last passed.
    pub fn last(&self, scenario: &Scenario) -> Option<String> {
        fs::read_to_string(self.folder(scenario).join("seconds")).ok()
    }

    /// Empties a scenario's folder.
    pub fn clear(&self, scenario: &Scenario) -> Result<()> {
        let folder = self.folder(scenario);
        if folder.exists() {
            fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))
    }

    /// Moves what a first run has left to `first` in the scenario's folder.
    pub fn set_aside(&self, scenario: &Scenario) -> Result<()> {
        let folder = self.folder(scenario);
        let aside = folder.with_added_extension("first");
        fs::rename(&folder, &aside)?;
        fs::create_dir_all(&folder)?;
        fs::rename(&aside, folder.join("first"))
            .with_context(|| format!("cannot keep the first run's logs in {}", folder.display()))
    }

    /// Runs a scenario until it ends, takes twice its budget, or time is up.
    pub fn run(&self, scenario: &Scenario, terms: &Terms) -> Result<(), Failure> {
        let started = Instant::now();
        let ended = self.process(scenario, terms);
        let failure = match ended {
            Ok((status, _)) if status.success() => {
                let took = started.elapsed().as_secs().to_string();
                // Only `--list` reads it.
                let _ = fs::write(self.folder(scenario).join("seconds"), took);
                return Ok(());
            }
            Ok((status, stopped)) => Failure {
                message: stopped.unwrap_or_else(|| status.to_string()),
                may_be_noise: status.code() != Some(FORBIDDEN.into()),
                output: String::new(),
            },
            Err(error) => Failure::of(format!("{error:#}")),
        };
        Err(Failure {
            output: self.output(scenario),
            ..failure
        })
    }

    /// How the process ended, and why it was stopped, if it was.
    fn process(&self, scenario: &Scenario, terms: &Terms) -> Result<(ExitStatus, Option<String>)> {
        let folder = self.folder(scenario);
        let program = std::env::current_exe().context("this program has no path")?;
        // A run that is killed takes its scenario with it, which would disturb others for as long as it lasts.
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "TERM", "--"])
            .arg(program)
            .args(["--exec", scenario.name()])
            .env(RESULTS, &folder)
            .env(TIME_SCALE, terms.time_outs.to_string())
            .stdin(Stdio::null());
        if !terms.shown {
            let output = File::create(folder.join("output.log")).context("cannot keep output")?;
            command.stdout(output.try_clone()?).stderr(output);
        }
        let mut child = command.spawn().context("cannot start the scenario")?;
        let patience = terms.budget.of(scenario.budget() * PATIENCE);
        let out_of_patience = Instant::now() + patience;
        loop {
            if let Some(status) = child.try_wait().context("cannot wait for the scenario")? {
                return Ok((status, None));
            }
            let now = Instant::now();
            let stopped = if terms.deadline.is_some_and(|deadline| now >= deadline) {
                "stopped: the time of the whole run is up".to_owned()
            } else if now >= out_of_patience {
                format!("stopped after {} s", patience.as_secs())
            } else {
                thread::sleep(POLL);
                continue;
            };
            return Ok((stop(&mut child)?, Some(stopped)));
        }
    }

    /// The end of what a scenario has printed.
    fn output(&self, scenario: &Scenario) -> String {
        let output = fs::read(self.folder(scenario).join("output.log")).unwrap_or_default();
        last_lines(&output, SHOWN, WIDTH)
    }
}

impl Failure {
    /// One that a second run may excuse.
    pub fn of(message: String) -> Self {
        Self {
            message,
            may_be_noise: true,
            output: String::new(),
        }
    }
}

/// Asks a scenario to end, so that it keeps its logs, and kills it if it doesn't.
fn stop(child: &mut Child) -> Result<ExitStatus> {
    let asked = Instant::now();
    let process = i32::try_from(child.id()).context("an impossible process id")?;
    kill(Pid::from_raw(process), Signal::SIGTERM).context("cannot stop the scenario")?;
    while asked.elapsed() < GRACE {
        if let Some(status) = child.try_wait().context("cannot wait for the scenario")? {
            return Ok(status);
        }
        thread::sleep(POLL);
    }
    child.kill().context("cannot kill the scenario")?;
    let status = child.wait().context("cannot wait for the scenario")?;
    remove_leftovers()?;
    Ok(status)
}
