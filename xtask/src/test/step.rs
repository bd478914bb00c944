//! A step, how long it takes, and the tests counted in what it prints.

use std::fmt;
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::{Error, anyhow};

use super::results::Outcome;

/// A command that passes or fails.
pub struct Step {
    pub name: String,
    /// Seconds that it may take, on two cores and with nothing cached but sources.
    budget: u64,
    pub variables: Vec<(&'static str, String)>,
    pub arguments: Vec<String>,
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
    pub fn with_variable(mut self, name: &'static str, value: &str) -> Self {
        self.variables.push((name, value.to_owned()));
        self
    }

    /// The step in the summary.
    pub fn took(&self, duration: Duration) -> Took {
        Took {
            name: self.name.clone(),
            duration,
            budget: Duration::from_secs(self.budget),
        }
    }

    /// Says how it failed, and how to see it alone.
    pub fn failed(&self, status: ExitStatus) -> Error {
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
    pub passed: u64,
    pub failed: u64,
    pub ignored: u64,
}

impl Tally {
    /// Adds what a line such as `test result: ok. 5 passed; 0 failed; 1 ignored; ...` reports; other lines add nothing.
    pub fn count(&mut self, line: &str) {
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

/// How long something took.
pub struct Took {
    pub name: String,
    pub duration: Duration,
    budget: Duration,
}

impl Took {
    /// Of a scenario, by a line such as `test claims::on_2_4 ... ok (290 s of 420 s)`, and how it ended.
    pub fn parse(line: &str) -> Option<(Self, Outcome)> {
        let (name, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
        let (outcome, times) = rest.split_once(" (")?;
        let (took, budget) = times.strip_suffix(" s)")?.split_once(" s of ")?;
        let took = Self {
            name: name.to_owned(),
            duration: Duration::from_secs(took.parse().ok()?),
            budget: Duration::from_secs(budget.parse().ok()?),
        };
        Some((took, Outcome::of(outcome)?))
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
    fn scenario_is_shown_against_its_budget() {
        let shown = |line| Took::parse(line).map(|(took, outcome)| (took.to_string(), outcome));
        let (slow, fast) = (
            "test claims::a ... FAILED (430 s of 420 s)",
            "test claims::b ... flaky (29 s of 60 s)",
        );
        assert_eq!(
            [slow, fast, "test a ... ok"].map(shown),
            [
                Some((
                    "   430 s of   420 s  claims::a, over its budget".to_owned(),
                    Outcome::Failed
                )),
                Some(("    29 s of    60 s  claims::b".to_owned(), Outcome::Flaky)),
                None,
            ]
        );
    }
}
