//! `cargo xtask test`: every check, and the scenarios of a suite.

mod run;

use std::path::Path;

use anyhow::{Result, ensure};
use clap::Args;

use crate::machine;
use run::{Run, Step};

/// The program with all scenarios, and how cargo is called for it.
const SCENARIOS: [&str; 7] = [
    "test",
    "--locked",
    "--package",
    "lab",
    "--test",
    "scenarios",
    "--",
];

/// What checks licenses and sources of dependencies.
const DENY: &str = "cargo-deny@0.20.2";

/// How much is tested.
#[derive(Args)]
pub struct Options {
    /// Scenarios or their modules, which run alone; without any, all checks and the gate's scenarios run
    names: Vec<String>,
    /// Run every scenario, and build the program as it is shipped
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Print each scenario, its suite, its time budget and how long it took last
    #[arg(long, conflicts_with_all = ["names", "all"])]
    list: bool,
    /// Stop before the scenarios, which build and start real API servers and Crossplanes
    #[arg(long, conflicts_with_all = ["names", "all", "list"])]
    fast: bool,
}

/// Runs the steps up to the first that fails, and prints how long each took of its budget and how many tests passed and
/// failed. Scenarios don't depend on each other: all run, even if one fails.
///
/// # Errors
/// When a step fails; the message has the command that runs this step alone.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let mut run = Run::new(root);
    if options.list {
        return run.step(&scenarios("scenarios", 60, &["--list"]));
    }
    let outcome = if options.names.is_empty() {
        steps(&mut run, options)
    } else {
        let names: Vec<&str> = options.names.iter().map(String::as_str).collect();
        machine::prepare_lab().and_then(|()| run.step(&scenarios("scenarios", 1_500, &names)))
    };
    run.summarise(outcome.is_ok());
    outcome
}

fn steps(run: &mut Run, options: &Options) -> Result<()> {
    let suite: &[&str] = if options.all { &["--all"] } else { &[] };
    let mut background = None;
    if !options.fast {
        // First, so that nobody learns half an hour later that a program is missing.
        machine::prepare_lab()?;
        machine::prepare_bench()?;
        run.step(&Step::cargo(
            "build of the scenarios",
            300,
            &["build", "--locked", "--package", "lab", "--tests"],
        ))?;
        let prepare = [suite, &["--prepare"]].concat();
        background = Some(run.begin(scenarios("tools and images", 2_700, &prepare))?);
    }
    let checked = checks(run, options.fast);
    if options.fast || checked.is_err() {
        // What runs in the background ends with it.
        return checked;
    }
    if let Some(background) = background {
        run.end(background)?;
    }

    // The last link takes one core for minutes, and few scenarios need it.
    let shipped = match options.all {
        true => {
            let package = ["xtask", "package"];
            Some(run.begin(Step::cargo("program as it is shipped", 600, &package))?)
        }
        false => None,
    };
    let budget = if options.all { 7_200 } else { 1_500 };
    let passed = run.step(&scenarios("scenarios", budget, suite));
    let built = shipped.map_or(Ok(()), |shipped| run.end(shipped));
    let failed: Vec<String> = [passed, built]
        .into_iter()
        .filter_map(|outcome| Some(outcome.err()?.to_string()))
        .collect();
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

/// What needs no lab.
fn checks(run: &mut Run, fast: bool) -> Result<()> {
    run.step(&Step::cargo("format", 20, &["fmt", "--all", "--check"]))?;
    let lints = ["clippy", "--locked", "--workspace", "--all-targets"];
    let denied = ["--", "-D", "warnings"];
    run.step(&Step::cargo("lints", 180, &[&lints[..], &denied].concat()))?;
    let docs = ["doc", "--locked", "--workspace", "--no-deps"];
    run.step(
        &Step::cargo("documentation", 120, &docs).with_variable("RUSTDOCFLAGS", "-D warnings"),
    )?;
    let units = ["test", "--locked", "--workspace", "--exclude", "lab"];
    run.step(
        &Step::cargo("tests", 400, &[&units[..], &["--no-fail-fast"]].concat())
            .with_variable("INSTA_UPDATE", "no"),
    )?;
    run.step(&Step::cargo(
        "generated files",
        30,
        &["xtask", "generate", "--check"],
    ))?;
    // It prints what is old, and fails for none of it.
    run.step(&Step::cargo(
        "age of look-ups",
        10,
        &["xtask", "advisories"],
    ))?;
    if fast {
        println!("the scenarios are left out, as --fast asks");
        return Ok(());
    }
    run.step(&Step::cargo(
        "cargo-deny",
        400,
        &["install", "--locked", DENY],
    ))?;
    // It reads the manifests of all platforms' dependencies, which nothing else has downloaded.
    let deny = ["deny", "--locked", "check"];
    run.step(&Step::cargo(
        "dependencies",
        60,
        &[&deny[..], &["bans", "licenses", "sources"]].concat(),
    ))?;
    let lab = ["test", "--locked", "--package", "lab", "--lib", "--bins"];
    run.step(&Step::cargo("tests of the lab", 60, &lab))?;
    run.step(&Step::cargo("instruction budget", 120, &["xtask", "bench"]))
}

/// A step that calls the program with all scenarios.
fn scenarios(name: &str, budget: u64, arguments: &[&str]) -> Step {
    Step::cargo(name, budget, &[&SCENARIOS[..], arguments].concat())
}
