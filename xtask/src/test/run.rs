//! The steps of a run, one after the other, and what is reported of them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::results::{Outcome, Results, Tree};
use super::step::{Step, Tally, Took};

const POLL: Duration = Duration::from_millis(200);

/// A step that runs while others do. Dropped, it is killed with all that it has started.
pub struct Background {
    step: Step,
    started: Instant,
    child: Child,
}

impl Drop for Background {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let group = format!("-{}", self.child.id());
            let _ = Command::new("sh")
                .args(["-c", "kill -s KILL -- \"$0\"", &group])
                .status();
            let _ = self.child.wait();
        }
    }
}

/// The steps so far.
pub struct Run {
    root: PathBuf,
    started: Instant,
    deadline: Option<Instant>,
    took: Vec<Took>,
    tally: Tally,
    flaky: Vec<String>,
    /// Where scenarios are recorded; nowhere outside of a checkout of git.
    results: Option<(Tree, Results)>,
}

impl Run {
    /// A run whose steps are started in the folder `root`, and stopped when it takes longer than `within`.
    pub fn new(root: &Path, within: Option<Duration>) -> Self {
        let results = Tree::of(root).and_then(|tree| Ok((tree, Results::open()?)));
        if let Err(error) = &results {
            println!("results are not kept: {error:#}");
        }
        let started = Instant::now();
        Self {
            root: root.to_owned(),
            started,
            deadline: within.map(|within| started + within),
            took: Vec::new(),
            tally: Tally::default(),
            flaky: Vec::new(),
            results: results.ok(),
        }
    }

    /// How much time is left, if it is limited.
    pub fn left(&self) -> Option<Duration> {
        let deadline = self.deadline?;
        Some(deadline.saturating_duration_since(Instant::now()))
    }

    /// Runs a step to its end, shows what it prints and counts the tests in it.
    ///
    /// # Errors
    /// When it can't be started or fails, or the run's time is up.
    pub fn step(&mut self, step: &Step) -> Result<()> {
        println!("\n==> {}: {step}", step.name);
        let started = Instant::now();
        let mut child = c5c3_program::cargo()
            .args(&step.arguments)
            .envs(step.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.root)
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start: {step}"))?;
        let shown = self.show(&mut child);
        if shown.is_err() {
            kill_tree(child.id());
        }
        let status = child.wait().context("cannot wait for cargo")?;

        let duration = started.elapsed();
        self.took.push(step.took(duration));
        if let Err(error) = shown {
            return Err(error.context(format!("{} was stopped: {step}", step.name)));
        }
        if !status.success() {
            println!("==> {}: failed in {}", step.name, seconds(duration));
            return Err(step.failed(status));
        }
        println!("==> {}: passed in {}", step.name, seconds(duration));
        Ok(())
    }

    /// Shows and counts what a command prints, until it closes its output.
    fn show(&mut self, child: &mut Child) -> Result<()> {
        let output = child.stdout.take().context("cargo has no output")?;
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).split(b'\n') {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        loop {
            let line = match self.left() {
                Some(left) => lines.recv_timeout(left),
                None => lines.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match line {
                Ok(line) => {
                    let line = line.context("the output of cargo broke off")?;
                    let line = String::from_utf8_lossy(&line);
                    println!("{line}");
                    self.tally.count(&line);
                    self.record(&line)?;
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => bail!("the time of the whole run is up"),
            }
        }
    }

    /// Keeps what a line says of a scenario.
    fn record(&mut self, line: &str) -> Result<()> {
        let Some((took, outcome)) = Took::parse(line) else {
            return Ok(());
        };
        if outcome == Outcome::Flaky {
            self.flaky.push(took.name.clone());
        }
        if let Some((tree, results)) = &mut self.results {
            results.add(tree, &took.name, outcome, took.duration.as_secs())?;
        }
        self.took.push(took);
        Ok(())
    }

    /// Keeps how a suite ended, if the tree is still what was tested.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn record_suite(&mut self, suite: &str, passed: bool) -> Result<()> {
        let Some((tree, results)) = &mut self.results else {
            return Ok(());
        };
        if Tree::of(&self.root)? != *tree {
            println!("the tree changed meanwhile: it is not recorded how the {suite} ended");
            return Ok(());
        }
        let outcome = match passed {
            true => Outcome::Passed,
            false => Outcome::Failed,
        };
        results.add(tree, suite, outcome, self.started.elapsed().as_secs())
    }

    /// Fails when more scenarios were flaky than may be.
    ///
    /// # Errors
    /// The message names them.
    pub fn check_flaky(&self) -> Result<()> {
        let often = self
            .results
            .as_ref()
            .and_then(|(_, results)| results.too_flaky(&self.flaky));
        often.map_or(Ok(()), |often| bail!(often))
    }

    /// Begins a step that others don't wait for, and that leaves them the cores.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn begin(&self, step: Step) -> Result<Background> {
        println!("\n==> {}, in the background: {step}", step.name);
        let child = c5c3_program::as_typed("nice".as_ref())
            .args(["-n", "10", "cargo"])
            .args(&step.arguments)
            .envs(step.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start: {step}"))?;
        Ok(Background {
            step,
            started: Instant::now(),
            child,
        })
    }

    /// Waits for the end of a step that runs in the background.
    ///
    /// # Errors
    /// When it has failed, or the run's time is up.
    pub fn end(&mut self, mut background: Background) -> Result<()> {
        let status = loop {
            if let Some(status) = background
                .child
                .try_wait()
                .context("cannot wait for cargo")?
            {
                break status;
            }
            ensure!(
                self.left() != Some(Duration::ZERO),
                "the time of the whole run is up; {} was stopped",
                background.step.name
            );
            thread::sleep(POLL);
        };
        self.took
            .push(background.step.took(background.started.elapsed()));
        ensure!(status.success(), background.step.failed(status));
        Ok(())
    }

    /// Prints how long each step and scenario took, slowest first, and, last, the sum of the tests. A step that failed without a failed test, such
    /// as a lint, counts as one.
    pub fn summarise(&mut self, passed: bool) {
        println!();
        self.took
            .sort_by_key(|took| std::cmp::Reverse(took.duration));
        for took in &self.took {
            println!("{took}");
        }
        println!("{:>6} s in all", self.started.elapsed().as_secs());
        for flaky in &self.flaky {
            println!("flaky: {flaky} failed first, and passed when it was run again");
        }
        if self.tally.ignored > 0 {
            println!("{} ignored", self.tally.ignored);
        }
        let failed = if passed {
            self.tally.failed
        } else {
            self.tally.failed.max(1)
        };
        println!("{} passed, {failed} failed", self.tally.passed);
    }
}

/// Kills a process with all that it has started.
fn kill_tree(process: u32) {
    for child in children(process) {
        kill_tree(child);
    }
    let _ = Command::new("sh")
        .args(["-c", "kill -s KILL \"$0\"", &process.to_string()])
        .status();
}

fn children(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task"));
    threads
        .into_iter()
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok())
        .flat_map(|children| {
            let children = children.split_whitespace();
            children
                .filter_map(|child| child.parse().ok())
                .collect::<Vec<_>>()
        })
        .collect()
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_step_names_the_command_that_shows_it_alone() {
        let mut run = Run::new(Path::new("."), None);
        let step = Step::cargo("nonsense", 1, &["no-such-subcommand"]).with_variable("LANG", "C");
        let error = run.step(&step).expect_err("cargo knows no such subcommand");
        assert!(
            error
                .to_string()
                .ends_with("to see it alone, run: LANG=C cargo no-such-subcommand"),
            "{error}"
        );
        assert_eq!(run.took.len(), 1);
    }

    #[test]
    fn background_step_reports_its_failure() {
        let mut run = Run::new(Path::new("."), None);
        let mut end = |arguments: &[&str]| {
            let background = run.begin(Step::cargo("in the background", 1, arguments))?;
            run.end(background)
        };
        assert!(end(&["--version"]).is_ok());
        let error = end(&["no-such-subcommand"]);
        let message = error
            .expect_err("cargo knows no such subcommand")
            .to_string();
        assert!(
            message.ends_with("to see it alone, run: cargo no-such-subcommand"),
            "{message}"
        );
    }

    #[test]
    fn step_is_stopped_with_all_that_it_started_when_time_is_up() {
        let mut run = Run::new(Path::new("."), Some(Duration::from_secs(1)));
        let mut child = Command::new("sh")
            .args(["-c", "sleep 600 & echo $!; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh can be started");
        let error = run.show(&mut child).expect_err("it sleeps for ten minutes");
        assert_eq!(error.to_string(), "the time of the whole run is up");
        let [sleep] = children(child.id())[..] else {
            panic!("it sleeps in a process of its own")
        };
        kill_tree(child.id());
        child.wait().expect("it was killed");
        // A killed process ends when the kernel next runs it.
        let ended = (0..1000).any(|_| {
            thread::sleep(Duration::from_millis(10));
            let stat = fs::read_to_string(format!("/proc/{sleep}/stat")).unwrap_or_default();
            stat.is_empty() || stat.contains(") Z ")
        });
        assert!(ended, "{sleep} still runs");
    }
}
