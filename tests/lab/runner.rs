//! Runs scenarios, each in a process of its own: `cargo test --package lab --test scenarios -- --help`.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Parser;

use crate::evidence::RESULTS;
use crate::minutes;
use crate::suite::{Need, Scenario, Suite, download_modules};

/// How many scenarios, and how many preparations, run side by side: most of their time they wait.
const SIDE_BY_SIDE: usize = 2;

/// How many times its budget a scenario may take before it is killed, and at least how long.
const PATIENCE: u32 = 4;
const AT_LEAST: Duration = minutes(15);

/// How many lines of a failed scenario's output are shown, and how much of a line.
const SHOWN: usize = 120;
const WIDTH: usize = 1_000;

/// Runs scenarios.
#[derive(Parser)]
struct Options {
    /// Scenarios or modules; none: the gate
    names: Vec<String>,
    /// Both suites
    #[arg(long)]
    all: bool,
    /// Prints each scenario, its suite, its budget and how long it took last
    #[arg(long)]
    list: bool,
    /// Builds the tools and images that the scenarios need, and runs none
    #[arg(long)]
    prepare: bool,
    /// Runs one in this process
    #[arg(long, hide = true)]
    exec: Option<String>,
}

/// Where what is known of scenarios is kept: `lab` in cargo's target folder.
struct Results(PathBuf);

/// How a scenario ended.
struct Outcome {
    scenario: &'static Scenario,
    took: Duration,
    failure: Option<String>,
}

/// Does what the command line says, with `target` for cargo's target folder.
pub fn main(scenarios: &'static [&'static [Scenario]], target: &Path) -> ExitCode {
    let options = Options::parse();
    let results = Results(target.join("lab"));
    let done = match (&options.exec, options.list) {
        (Some(name), _) => execute(scenarios, name),
        (None, true) => chosen(scenarios, &options).map(|chosen| list(&chosen, &results)),
        (None, false) => chosen(scenarios, &options).and_then(|chosen| match options.prepare {
            true => prepare(&chosen),
            false => run(&chosen, scenarios, &results),
        }),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The scenarios that the command line names, longest first.
fn chosen(
    scenarios: &'static [&'static [Scenario]],
    options: &Options,
) -> Result<Vec<&'static Scenario>> {
    let all = || scenarios.iter().copied().flatten();
    for name in &options.names {
        ensure!(
            all().any(|scenario| scenario.suite != Suite::Fixture && scenario.is_called(name)),
            "there is no scenario {name}: --list shows all"
        );
    }
    let mut chosen: Vec<_> = all()
        .filter(|scenario| match scenario.suite {
            Suite::Fixture => false,
            _ if !options.names.is_empty() => {
                options.names.iter().any(|name| scenario.is_called(name))
            }
            Suite::Gate => true,
            Suite::Long => options.all || options.list,
        })
        .collect();
    chosen.sort_by_key(|scenario| std::cmp::Reverse(scenario.budget));
    Ok(chosen)
}

fn list(chosen: &[&Scenario], results: &Results) {
    for scenario in chosen {
        let suite = match scenario.suite {
            Suite::Gate => "gate",
            Suite::Long => "long",
            Suite::Fixture => "fixture",
        };
        let last = results
            .last(scenario)
            .map_or_else(String::new, |last| format!(", last {last} s"));
        println!(
            "{suite}  {:>5} s  {}{last}",
            scenario.budget,
            scenario.name()
        );
    }
}

/// Builds what scenarios need, several things at once.
fn prepare(chosen: &[&Scenario]) -> Result<()> {
    download_modules()?;
    let mut needs: Vec<Need> = Vec::new();
    for need in chosen.iter().flat_map(|scenario| scenario.needs.concat()) {
        if !needs.contains(&need) {
            needs.push(need);
        }
    }
    let (compiled, downloaded) = needs.into_iter().partition(|need| need.is_compiled());
    let all = |needs: Vec<Need>| needs.into_iter().try_for_each(Need::prepare);
    thread::scope(|scope| {
        let downloads = scope.spawn(move || all(downloaded));
        let compiled = all(compiled);
        let downloaded = downloads
            .join()
            .map_err(|_| anyhow!("the preparation of images panicked"))?;
        compiled.and(downloaded)
    })
}

/// Runs scenarios and reports them as Rust's own tests are.
fn run(chosen: &[&'static Scenario], scenarios: &[&[Scenario]], results: &Results) -> Result<()> {
    let started = Instant::now();
    println!("\nrunning {} scenarios", chosen.len());
    let shown = chosen.len() == 1;
    let (alone, others): (Vec<_>, Vec<_>) = chosen.iter().partition(|scenario| scenario.alone);
    let mut outcomes = side_by_side(SIDE_BY_SIDE, others, results, shown);
    outcomes.extend(side_by_side(1, alone, results, shown));
    let failed: Vec<&str> = outcomes
        .iter()
        .filter(|outcome| outcome.failure.is_some())
        .map(|outcome| outcome.scenario.name())
        .collect();
    let all: usize = scenarios.iter().map(|scenarios| scenarios.len()).sum();
    println!(
        "\ntest result: {}. {} passed; {} failed; 0 ignored; 0 measured; {} filtered out; finished in {:.2}s\n",
        if failed.is_empty() { "ok" } else { "FAILED" },
        outcomes.len() - failed.len(),
        failed.len(),
        all - outcomes.len(),
        started.elapsed().as_secs_f64()
    );
    ensure!(
        failed.is_empty(),
        "failed; to see them alone, run: cargo xtask test {}",
        failed.join(" ")
    );
    Ok(())
}

/// Runs so many scenarios at once until all have ended.
fn side_by_side(
    count: usize,
    scenarios: Vec<&'static Scenario>,
    results: &Results,
    shown: bool,
) -> Vec<Outcome> {
    let queue = Mutex::new(VecDeque::from(scenarios));
    let outcomes = Mutex::new(Vec::new());
    let next = || {
        queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front()
    };
    let work = || {
        while let Some(scenario) = next() {
            let outcome = results.of(scenario, shown);
            outcome.report(results);
            let mut outcomes = outcomes.lock().unwrap_or_else(PoisonError::into_inner);
            outcomes.push(outcome);
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

/// Runs one scenario in this process.
fn execute(scenarios: &'static [&'static [Scenario]], name: &str) -> Result<()> {
    let scenario = scenarios
        .iter()
        .copied()
        .flatten()
        .find(|scenario| scenario.name() == name)
        .with_context(|| format!("there is no scenario {name}"))?;
    let function = name.rsplit("::").next().unwrap_or(name);
    // Its machine's folder is named by the thread.
    let running = thread::Builder::new()
        .name(function.to_owned())
        .spawn(scenario.run)
        .context("cannot start a thread")?;
    running.join().map_err(|_| anyhow!("{name} panicked"))?
}

impl Results {
    fn folder(&self, scenario: &Scenario) -> PathBuf {
        self.0.join(scenario.name().replace("::", "/"))
    }

    /// How many seconds it took when it last passed.
    fn last(&self, scenario: &Scenario) -> Option<String> {
        fs::read_to_string(self.folder(scenario).join("seconds")).ok()
    }

    /// Runs a scenario in a process of its own, whose output is kept in a file, or shown.
    fn of(&self, scenario: &'static Scenario, shown: bool) -> Outcome {
        let started = Instant::now();
        let failure = self.process(scenario, shown).err();
        Outcome {
            scenario,
            took: started.elapsed(),
            failure: failure.map(|error| format!("{error:#}")),
        }
    }

    fn process(&self, scenario: &Scenario, shown: bool) -> Result<()> {
        let folder = self.folder(scenario);
        if folder.exists() {
            fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let program = std::env::current_exe().context("this program has no path")?;
        let mut command = Command::new(program);
        command
            .args(["--exec", scenario.name()])
            .env(RESULTS, &folder)
            .stdin(Stdio::null());
        if !shown {
            let output = File::create(folder.join("output.log")).context("cannot keep output")?;
            command.stdout(output.try_clone()?).stderr(output);
        }
        let mut child = command.spawn().context("cannot start the scenario")?;
        let started = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().context("cannot wait for the scenario")? {
                break status;
            }
            let patience = (scenario.budget() * PATIENCE).max(AT_LEAST);
            if started.elapsed() > patience {
                child.kill().context("cannot kill the scenario")?;
                child.wait().context("cannot wait for the scenario")?;
                bail!("killed after {} s", patience.as_secs());
            }
            thread::sleep(Duration::from_millis(100));
        };
        ensure!(status.success(), "{status}");
        let took = started.elapsed().as_secs().to_string();
        fs::write(folder.join("seconds"), took).context("cannot keep the duration")
    }
}

impl Outcome {
    fn report(&self, results: &Results) {
        let folder = results.folder(self.scenario);
        let mut report = String::new();
        if let Some(failure) = &self.failure {
            let output = fs::read(folder.join("output.log")).unwrap_or_default();
            let output = String::from_utf8_lossy(&output);
            let lines: Vec<String> = output
                .lines()
                .map(|line| line.chars().take(WIDTH).collect())
                .collect();
            report = format!(
                "---- {} ({failure})\n{}\n---- logs, events and objects are in {}\n",
                self.scenario.name(),
                lines[lines.len().saturating_sub(SHOWN)..].join("\n"),
                folder.display(),
            );
        }
        println!(
            "{report}test {} ... {} ({:.0} s of {} s)",
            self.scenario.name(),
            if self.failure.is_none() {
                "ok"
            } else {
                "FAILED"
            },
            self.took.as_secs_f64(),
            self.scenario.budget
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIOS: &[Scenario] = &[
        crate::scenario!(Gate, 10 s, short, []),
        crate::scenario!(Long, 20 s, inner::long, []),
        crate::scenario!(Fixture, 10 s, fixture, []),
    ];

    fn short() -> Result<()> {
        Ok(())
    }

    fn fixture() -> Result<()> {
        bail!("it fails")
    }

    mod inner {
        pub fn long() -> super::Result<()> {
            super::short()
        }
    }

    fn names(arguments: &[&str]) -> Result<Vec<&'static str>> {
        let options = Options::parse_from([&["scenarios"], arguments].concat());
        let chosen = chosen(&[SCENARIOS], &options)?;
        Ok(chosen.iter().map(|scenario| scenario.name()).collect())
    }

    #[test]
    fn scenarios_are_chosen_by_suite_module_and_function() {
        let (short, long) = ("runner::tests::short", "runner::tests::inner::long");
        assert_eq!(names(&[]).unwrap(), [short]);
        assert_eq!(names(&["--all"]).unwrap(), [long, short]);
        assert_eq!(names(&["runner"]).unwrap(), [long, short]);
        assert_eq!(names(&["runner::tests::inner"]).unwrap(), [long]);
        assert_eq!(names(&["long"]).unwrap(), [long]);
        for unknown in ["runn", "fixture"] {
            let error = names(&[unknown]).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("there is no scenario {unknown}: --list shows all")
            );
        }
    }

    #[test]
    fn scenario_runs_by_its_whole_name() {
        assert!(execute(&[SCENARIOS], "runner::tests::short").is_ok());
        let failure = execute(&[SCENARIOS], "runner::tests::fixture").unwrap_err();
        assert_eq!(failure.to_string(), "it fails");
    }
}
