//! Runs scenarios, each in a process of its own: `cargo test --workspace --test scenarios -- --help`.

mod preparation;
mod process;
mod queue;

use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow, ensure};
use clap::Parser;

use crate::eventually::Forbidden;
use crate::suite::{Scenario, Suite};
pub(crate) use preparation::prepare;
use process::{FORBIDDEN, Results};

/// Runs scenarios.
#[derive(Parser)]
#[command(
    after_help = "Without a suite or a name, it runs none: `cargo xtask test` runs the gate."
)]
struct Options {
    /// Scenarios or modules
    names: Vec<String>,
    /// The gate: API servers and Crossplane, without pods
    #[arg(long, conflicts_with = "names")]
    gate: bool,
    /// The cloud suite: pods, older versions of Crossplane, the options of every release
    #[arg(long, conflicts_with = "names")]
    cloud: bool,
    /// All suites
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Prints each scenario, its suite, its budget and how long it took last
    #[arg(long, conflicts_with = "prepare")]
    list: bool,
    /// Builds the tools and images that the scenarios need, and runs none
    #[arg(long)]
    prepare: bool,
    /// Stops what still runs after so many seconds
    #[arg(long, value_name = "SECONDS")]
    within: Option<u64>,
    /// Runs one in this process
    #[arg(long, hide = true)]
    exec: Option<String>,
}

/// Does what the command line says, with `target` for cargo's target folder.
pub fn main(scenarios: &'static [&'static [Scenario]], target: &Path) -> ExitCode {
    let options = Options::parse();
    if let Some(name) = &options.exec {
        return executed(scenarios, name);
    }
    let results = Results::new(target.join("lab"));
    let done = chosen(scenarios, &options).and_then(|chosen| {
        if options.list {
            list(&chosen, &results);
            Ok(())
        } else if options.prepare {
            prepare(chosen.iter().flat_map(|scenario| scenario.needs.concat()))
        } else {
            let deadline = options.within.map(Duration::from_secs);
            let deadline = deadline.map(|within| Instant::now() + within);
            queue::run(&chosen, &results, deadline)
        }
    });
    if let Err(error) = done {
        eprintln!("error: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// The scenarios that the command line names, longest first.
fn chosen(
    scenarios: &'static [&'static [Scenario]],
    options: &Options,
) -> Result<Vec<&'static Scenario>> {
    let all = || scenarios.iter().copied().flatten();
    for name in &options.names {
        ensure!(
            all().any(|scenario| scenario.is_called(name)),
            "there is no scenario {name}: --list shows all"
        );
    }
    let every = options.all || (options.list && options.names.is_empty());
    let mut chosen: Vec<_> = all()
        .filter(|scenario| match scenario.suite {
            _ if !options.names.is_empty() => {
                options.names.iter().any(|name| scenario.is_called(name))
            }
            Suite::Fixture => false,
            Suite::Gate => every || options.gate,
            Suite::Cloud => every || options.cloud,
            Suite::Long => every,
        })
        .collect();
    chosen.sort_by_key(|scenario| std::cmp::Reverse(scenario.budget));
    Ok(chosen)
}

fn list(chosen: &[&Scenario], results: &Results) {
    for scenario in chosen {
        let last = results
            .last(scenario)
            .map_or_else(String::new, |last| format!(", last {last} s"));
        println!(
            "{:<5}  {:>5} s  {}{last}",
            scenario.suite.name(),
            scenario.budget,
            scenario.name()
        );
    }
}

/// Runs one scenario in this process. The exit code says whether a second run may excuse a failure.
fn executed(scenarios: &'static [&'static [Scenario]], name: &str) -> ExitCode {
    let mut all = scenarios.iter().copied().flatten();
    let outcome = all
        .find(|scenario| scenario.name() == name)
        .with_context(|| format!("there is no scenario {name}"))
        .and_then(execute);
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            match error.is::<Forbidden>() {
                true => FORBIDDEN.into(),
                false => ExitCode::FAILURE,
            }
        }
    }
}

fn execute(scenario: &Scenario) -> Result<()> {
    let name = scenario.name();
    let function = name.rsplit("::").next().unwrap_or(name);
    // Its machine's folder is named by the thread.
    let running = thread::Builder::new()
        .name(function.to_owned())
        .spawn(scenario.run)
        .context("cannot start a thread")?;
    running.join().map_err(|_| match scenario.strict {
        true => Error::new(Forbidden).context(format!("{name} panicked")),
        false => anyhow!("{name} panicked"),
    })?
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    const SCENARIOS: &[Scenario] = &[
        crate::scenario!(Gate, 10 s, short, []),
        crate::scenario!(Cloud strict, 15 s, asserts, []),
        crate::scenario!(Long, 20 s, inner::long, []),
        crate::scenario!(Fixture, 10 s, fixture, []),
    ];

    fn short() -> Result<()> {
        Ok(())
    }

    fn asserts() -> Result<()> {
        panic!("a tenant reads another's Secret")
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
        Ok(chosen
            .iter()
            .map(|scenario| scenario.name().rsplit("::").next().unwrap_or_default())
            .collect())
    }

    #[test]
    fn scenarios_are_chosen_by_suite_module_and_function() {
        assert!(names(&[]).unwrap().is_empty());
        assert_eq!(names(&["--gate"]).unwrap(), ["short"]);
        assert_eq!(names(&["--cloud"]).unwrap(), ["asserts"]);
        for all in ["--all", "--list", "runner"] {
            assert_eq!(names(&[all]).unwrap(), ["long", "asserts", "short"]);
        }
        assert_eq!(names(&["runner::tests::inner"]).unwrap(), ["long"]);
        assert_eq!(names(&["long"]).unwrap(), ["long"]);
        for unknown in ["runn", "fixture"] {
            let error = names(&[unknown]).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("there is no scenario {unknown}: --list shows all")
            );
        }
    }

    #[test]
    fn scenario_says_whether_its_failure_may_be_noise() {
        let [passes, asserts, _, fails] = SCENARIOS else {
            panic!("four scenarios")
        };
        assert!(execute(passes).is_ok());
        assert!(!execute(fails).unwrap_err().is::<Forbidden>());
        assert!(execute(asserts).unwrap_err().is::<Forbidden>());
    }
}
