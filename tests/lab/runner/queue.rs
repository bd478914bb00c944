//! Which scenario runs when, and what is said of it.

use std::collections::VecDeque;
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::process::{Failure, Results, Terms};
use crate::scale::{Scale, Scales};
use crate::scenario::remove_leftovers;
use crate::suite::Scenario;

/// How many scenarios run side by side: most of their time they wait.
const SIDE_BY_SIDE: usize = 2;

/// How a scenario ended.
struct Outcome {
    scenario: &'static Scenario,
    took: Duration,
    /// How long its budget is.
    budget: Scale,
    failure: Option<Failure>,
}

impl Outcome {
    fn may_be_noise(&self) -> bool {
        self.failure
            .as_ref()
            .is_some_and(|failure| failure.may_be_noise)
    }

    /// Prints the line that `cargo xtask test` reads.
    fn say(&self, outcome: &str) {
        println!(
            "test {} ... {outcome} ({:.0} s of {} s)",
            self.scenario.name(),
            self.took.as_secs_f64(),
            self.budget.of(self.scenario.budget()).as_secs()
        );
    }
}

/// Runs scenarios, the failed ones once more after all others, and reports them as Rust's own tests are.
///
/// # Errors
/// When one failed twice, or in a way that no second run excuses.
pub(super) fn run(
    chosen: &[&'static Scenario],
    results: &Results,
    deadline: Option<Instant>,
) -> Result<()> {
    let started = Instant::now();
    if chosen.is_empty() {
        println!("no scenario is asked for: `cargo xtask test` runs the gate");
        return Ok(());
    }
    remove_leftovers()?;
    println!("\nrunning {} scenarios", chosen.len());
    let scales = Scales::of_run(SIDE_BY_SIDE.min(chosen.len()))?;
    println!("{scales}");
    let queue = Queue {
        results,
        deadline,
        shown: chosen.len() == 1,
        started,
        scales,
    };
    let (alone, others): (Vec<_>, Vec<_>) = chosen.iter().partition(|scenario| scenario.alone);
    let mut outcomes = queue.side_by_side(SIDE_BY_SIDE, others);
    outcomes.extend(queue.side_by_side(1, alone));
    let failed: Vec<&str> = outcomes
        .into_iter()
        .filter_map(|outcome| queue.again(outcome))
        .collect();
    println!(
        "\ntest result: {}. {} passed; {} failed; 0 ignored; 0 measured; 0 filtered out; finished in {:.2}s\n",
        if failed.is_empty() { "ok" } else { "FAILED" },
        chosen.len() - failed.len(),
        failed.len(),
        started.elapsed().as_secs_f64()
    );
    ensure!(
        failed.is_empty(),
        "failed; to see them alone, run: cargo xtask test {}",
        failed.join(" ")
    );
    Ok(())
}

struct Queue<'a> {
    results: &'a Results,
    deadline: Option<Instant>,
    shown: bool,
    started: Instant,
    scales: Scales,
}

impl Queue<'_> {
    /// Runs so many scenarios at once until all have ended.
    fn side_by_side(&self, count: usize, scenarios: Vec<&'static Scenario>) -> Vec<Outcome> {
        let time_outs = match count.min(scenarios.len()) {
            0 | 1 => self.scales.alone,
            _ => self.scales.side_by_side,
        };
        let queue = Mutex::new(VecDeque::from(scenarios));
        let outcomes = Mutex::new(Vec::new());
        let next = || lock(&queue).pop_front();
        let work = || {
            while let Some(scenario) = next() {
                let outcome = self.first(scenario, time_outs);
                lock(&outcomes).push(outcome);
            }
        };
        thread::scope(|scope| {
            for _ in 0..count {
                scope.spawn(work);
            }
        });
        outcomes
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a scenario for the first time.
    fn first(&self, scenario: &'static Scenario, time_outs: Scale) -> Outcome {
        let cleared = self.results.clear(scenario);
        let outcome = match cleared {
            Ok(()) => self.timed(scenario, time_outs),
            Err(error) => Outcome {
                scenario,
                took: Duration::ZERO,
                budget: self.scales.alone,
                failure: Some(Failure::of(format!("{error:#}"))),
            },
        };
        match &outcome.failure {
            None => outcome.say("ok"),
            Some(failure) => {
                println!("{}", self.evidence(scenario, failure));
                if !failure.may_be_noise {
                    outcome.say("FAILED");
                }
            }
        }
        outcome
    }

    /// Runs a scenario that failed once more, alone, if that may help. Returns its name if it has failed.
    fn again(&self, first: Outcome) -> Option<&'static str> {
        let scenario = first.scenario;
        if !first.may_be_noise() {
            return first.failure.map(|_| scenario.name());
        }
        if let Err(error) = self.results.set_aside(scenario) {
            eprintln!("{error:#}");
        }
        let second = self.timed(scenario, self.scales.alone);
        match &second.failure {
            None => {
                second.say("flaky");
                None
            }
            Some(failure) => {
                println!("{}", self.evidence(scenario, failure));
                second.say("FAILED");
                Some(scenario.name())
            }
        }
    }

    fn is_late(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn timed(&self, scenario: &'static Scenario, time_outs: Scale) -> Outcome {
        let started = Instant::now();
        let run = if self.is_late() {
            Err(Failure::of(
                "not started: the time of the whole run is up".to_owned(),
            ))
        } else {
            let since = self.started.elapsed().as_secs();
            println!(
                "start {} (after {since} s, load {})",
                scenario.name(),
                load()
            );
            let terms = Terms {
                shown: self.shown,
                deadline: self.deadline,
                time_outs,
                budget: self.scales.alone,
            };
            self.results.run(scenario, &terms)
        };
        Outcome {
            scenario,
            took: started.elapsed(),
            budget: self.scales.alone,
            failure: run.err(),
        }
    }

    fn evidence(&self, scenario: &Scenario, failure: &Failure) -> String {
        format!(
            "---- {} ({})\n{}\n---- logs, events and objects are in {}",
            scenario.name(),
            failure.message,
            failure.output,
            self.results.folder(scenario).display(),
        )
    }
}

/// The machine's load average of the last minute.
fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
