//! Steps, how long they take, and the tests counted in what they print.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow, ensure};

/// A command that passes or fails.
pub struct Step {
    name: String,
    /// Seconds that it may take, on two cores and with nothing cached but sources.
    budget: u64,
    variables: Vec<(&'static str, &'static str)>,
    arguments: Vec<String>,
}

impl Step {
    /// A step that calls cargo.
    pub fn cargo(name: &str, budget: u64, arguments: &[&str]) -> Self {
        let arguments = arguments
            .iter()
            .map(|&argument| argument.to_owned())
            .collect();
        Self {
            name: name.to_owned(),
            budget,
            variables: Vec::new(),
            arguments,
        }
    }

    /// The step with a variable in its environment.
    #[must_use]
    pub fn with_variable(mut self, name: &'static str, value: &'static str) -> Self {
        self.variables.push((name, value));
        self
    }

    fn took(&self, duration: Duration) -> Took {
        Took {
            name: self.name.clone(),
            duration,
            budget: Duration::from_secs(self.budget),
        }
    }

    /// Says how it failed, and how to see it alone.
    fn failed(&self, status: ExitStatus) -> Error {
        let name = &self.name;
        anyhow!("{name} failed ({status}); to see it alone, run: {self}")
    }
}

/// The step's command as one types it.
impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.variables {
            write!(formatter, "{name}={value} ")?;
        }
        write!(formatter, "cargo {}", self.arguments.join(" "))
    }
}

/// Tests as cargo counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Tally {
    /// Adds what a line such as `test result: ok. 5 passed; 0 failed; 1 ignored; ...` reports; other lines add nothing.
    fn count(&mut self, line: &str) {
        let Some((_, counts)) = line
            .split_once("test result: ")
            .and_then(|(_, result)| result.split_once(". "))
        else {
            return;
        };
        for count in counts.split("; ") {
            match count
                .split_once(' ')
                .map(|(number, what)| (number.parse::<u64>(), what))
            {
                Some((Ok(number), "passed")) => self.passed += number,
                Some((Ok(number), "failed")) => self.failed += number,
                Some((Ok(number), "ignored")) => self.ignored += number,
                _ => {}
            }
        }
    }
}

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

/// How long something took.
struct Took {
    name: String,
    duration: Duration,
    budget: Duration,
}

impl Took {
    /// Of a scenario, by a line such as `test claims::on_2_4 ... ok (290 s of 420 s)`.
    fn parse(line: &str) -> Option<Self> {
        let (name, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
        let (took, budget) = rest
            .split_once(" (")?
            .1
            .strip_suffix(" s)")?
            .split_once(" s of ")?;
        Some(Self {
            name: name.to_owned(),
            duration: Duration::from_secs(took.parse().ok()?),
            budget: Duration::from_secs(budget.parse().ok()?),
        })
    }
}

impl fmt::Display for Took {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let over = if self.duration > self.budget {
            ", over its budget"
        } else {
            ""
        };
        let (took, budget) = (self.duration.as_secs(), self.budget.as_secs());
        write!(
            formatter,
            "{took:>6} s of {budget:>5} s  {}{over}",
            self.name
        )
    }
}

/// The steps so far.
pub struct Run {
    root: PathBuf,
    started: Instant,
    took: Vec<Took>,
    tally: Tally,
}

impl Run {
    /// A run whose steps are started in the folder `root`.
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            started: Instant::now(),
            took: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// Runs a step to its end, shows what it prints and counts the tests in it.
    ///
    /// # Errors
    /// When it can't be started or fails.
    pub fn step(&mut self, step: &Step) -> Result<()> {
        println!("\n==> {}: {step}", step.name);
        let started = Instant::now();
        let mut child = c5c3_program::cargo()
            .args(&step.arguments)
            .envs(step.variables.iter().copied())
            .current_dir(&self.root)
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start: {step}"))?;
        for line in child
            .stdout
            .take()
            .into_iter()
            .flat_map(|output| BufReader::new(output).split(b'\n'))
        {
            let line = line.context("the output of cargo broke off")?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            self.tally.count(&line);
            self.took.extend(Took::parse(&line));
        }
        let status = child.wait().context("cannot wait for cargo")?;

        let duration = started.elapsed();
        self.took.push(step.took(duration));
        if !status.success() {
            println!("==> {}: failed in {}", step.name, seconds(duration));
            return Err(step.failed(status));
        }
        println!("==> {}: passed in {}", step.name, seconds(duration));
        Ok(())
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
    /// When it has failed.
    pub fn end(&mut self, mut background: Background) -> Result<()> {
        let status = background.child.wait().context("cannot wait for cargo")?;
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

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_several_programs_are_added() {
        let mut tally = Tally::default();
        tally.count("test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s");
        tally.count("test a_test_named_result ... ok");
        tally.count("test result: FAILED. 2 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 9.00s");
        assert_eq!(
            tally,
            Tally {
                passed: 7,
                failed: 3,
                ignored: 1
            }
        );
    }

    #[test]
    fn a_failing_step_names_the_command_that_shows_it_alone() {
        let mut run = Run::new(Path::new("."));
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
        let mut run = Run::new(Path::new("."));
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
    fn scenario_is_shown_against_its_budget() {
        let shown = |line| Took::parse(line).map(|took| took.to_string());
        let (slow, fast) = (
            "test claims::a ... FAILED (430 s of 420 s)",
            "test claims::b ... ok (29 s of 60 s)",
        );
        assert_eq!(
            [slow, fast, "test a ... ok"].map(shown),
            [
                Some("   430 s of   420 s  claims::a, over its budget".to_owned()),
                Some("    29 s of    60 s  claims::b".to_owned()),
                None,
            ]
        );
    }
}
