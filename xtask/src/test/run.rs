//! Steps, how long they take, and the tests counted in what they print.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow, bail};

/// A command that passes or fails.
pub struct Step {
    name: String,
    variables: Vec<(&'static str, &'static str)>,
    arguments: Vec<String>,
}

impl Step {
    /// A step that calls cargo.
    pub fn cargo(name: &str, arguments: &[&str]) -> Self {
        let arguments = arguments
            .iter()
            .map(|&argument| argument.to_owned())
            .collect();
        Self {
            name: name.to_owned(),
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

/// A step that runs while others do.
pub struct Begun {
    step: Step,
    child: Child,
}

impl Begun {
    /// Waits for its end.
    ///
    /// # Errors
    /// When it has failed.
    pub fn end(self) -> Result<()> {
        let output = self
            .child
            .wait_with_output()
            .context("cannot wait for cargo")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("{}\n{said}", self.step.failed(output.status));
        }
        Ok(())
    }
}

/// The steps so far.
pub struct Run {
    root: PathBuf,
    started: Instant,
    durations: Vec<(String, Duration)>,
    tally: Tally,
}

impl Run {
    /// A run whose steps are started in the folder `root`.
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            started: Instant::now(),
            durations: Vec::new(),
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
        }
        let status = child.wait().context("cannot wait for cargo")?;

        let duration = started.elapsed();
        self.durations.push((step.name.clone(), duration));
        if !status.success() {
            println!("==> {}: failed in {}", step.name, seconds(duration));
            return Err(step.failed(status));
        }
        println!("==> {}: passed in {}", step.name, seconds(duration));
        Ok(())
    }

    /// Begins a step that others don't wait for, and that leaves them the cores; its errors are shown when it is over.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn begin(&self, step: Step) -> Result<Begun> {
        println!("\n==> {}, meanwhile: {step}", step.name);
        let child = c5c3_program::as_typed("nice".as_ref())
            .args(["-n", "10", "cargo"])
            .args(&step.arguments)
            .current_dir(&self.root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start: {step}"))?;
        Ok(Begun { step, child })
    }

    /// Prints the duration of each step and, last, the sum of the tests. A step that failed without a failed test, such
    /// as a lint, counts as one.
    pub fn summarise(&self, passed: bool) {
        println!();
        for (name, duration) in &self.durations {
            println!("{:>9}  {name}", seconds(*duration));
        }
        println!("{:>9}  in all", seconds(self.started.elapsed()));
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
        let step = Step::cargo("nonsense", &["no-such-subcommand"]).with_variable("LANG", "C");
        let error = run.step(&step).expect_err("cargo knows no such subcommand");
        assert!(
            error
                .to_string()
                .ends_with("to see it alone, run: LANG=C cargo no-such-subcommand"),
            "{error}"
        );
        assert_eq!(run.durations.len(), 1);
    }

    #[test]
    fn background_step_reports_its_failure() {
        let run = Run::new(Path::new("."));
        let begin = |arguments: &[&str]| run.begin(Step::cargo("meanwhile", arguments));
        assert!(begin(&["--version"]).and_then(Begun::end).is_ok());
        let error = begin(&["no-such-subcommand"]).and_then(Begun::end);
        let message = error
            .expect_err("cargo knows no such subcommand")
            .to_string();
        assert!(
            message.contains("to see it alone, run: cargo no-such-subcommand\n"),
            "{message}"
        );
    }
}
