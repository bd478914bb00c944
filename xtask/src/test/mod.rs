//! `cargo xtask test`: every check and every test, one step after the other.

mod run;

use std::path::Path;

use anyhow::{Context, Result, ensure};
use c5c3_program::Build;
use clap::Args;
use serde_json::Value;

use crate::machine;
use run::{Run, Step};

/// How much is tested.
#[derive(Args)]
pub struct Options {
    /// Stop before the lab, which builds and starts real API servers and Crossplanes
    #[arg(long)]
    fast: bool,
}

/// Runs the steps up to the first that fails, and prints how long each took and how many tests passed and failed. The
/// lab's scenarios know nothing of each other: one that fails doesn't keep the next from running.
///
/// # Errors
/// When a step fails; the message has the command that runs this step alone.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let mut run = Run::new(root);
    let outcome = steps(&mut run, root, options);
    run.summarise(outcome.is_ok());
    outcome
}

fn steps(run: &mut Run, root: &Path, options: &Options) -> Result<()> {
    // First, so that nobody learns half an hour later that a program is missing.
    if !options.fast {
        machine::prepare_lab()?;
        machine::prepare_bench()?;
    }
    run.step(&Step::cargo("format", &["fmt", "--all", "--check"]))?;
    run.step(&Step::cargo(
        "lints",
        &[
            "clippy",
            "--locked",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
    ))?;
    run.step(
        &Step::cargo(
            "tests",
            &[
                "test",
                "--locked",
                "--workspace",
                "--exclude",
                "lab",
                "--no-fail-fast",
            ],
        )
        .with_variable("INSTA_UPDATE", "no"),
    )?;
    run.step(&Step::cargo(
        "generated files",
        &["xtask", "generate", "--check"],
    ))?;
    if options.fast {
        println!("the lab is left out, as --fast asks");
        return Ok(());
    }

    let scenarios = scenarios(root)?;
    run.step(&Step::cargo("instruction budget", &["xtask", "bench"]))?;
    run.step(&Step::cargo(
        "lab tools",
        &[
            "run",
            "--locked",
            "--package",
            "lab",
            "--bin",
            "lab-prepare",
        ],
    ))?;
    run.step(&Step::cargo(
        "lab itself",
        &["test", "--locked", "--package", "lab", "--lib", "--bins"],
    ))?;
    // The last link takes one core for minutes. The scenarios that need it come late; those before mostly wait.
    let build = Build::Release.arguments();
    let shipped = run.begin(Step::cargo("program as it is shipped", &build))?;
    let mut failed: Vec<String> = Vec::new();
    for scenario in &scenarios {
        failed.extend(
            run_scenario(run, scenario)
                .err()
                .map(|error| error.to_string()),
        );
    }
    failed.extend(shipped.end().err().map(|error| error.to_string()));
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

fn run_scenario(run: &mut Run, scenario: &str) -> Result<()> {
    run.step(&Step::cargo(
        &format!("lab: {scenario}"),
        &[
            "test",
            "--locked",
            "--package",
            "lab",
            "--test",
            scenario,
            "--no-fail-fast",
        ],
    ))
}

/// The names of the lab's scenarios, each a test program of its own.
fn scenarios(root: &Path) -> Result<Vec<String>> {
    let arguments = ["metadata", "--locked", "--no-deps", "--format-version", "1"];
    let output = c5c3_program::cargo()
        .args(arguments)
        .current_dir(root)
        .output()
        .context("cargo can't be started")?;
    ensure!(
        output.status.success(),
        "cargo metadata failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let workspace: Value =
        serde_json::from_slice(&output.stdout).context("cargo metadata wrote no JSON")?;
    let scenarios: Vec<_> = members(&workspace["packages"])
        .filter(|package| package["name"] == "lab")
        .flat_map(|lab| members(&lab["targets"]))
        .filter(|target| members(&target["kind"]).any(|kind| kind == "test"))
        .filter_map(|target| target["name"].as_str().map(str::to_owned))
        .collect();
    ensure!(
        !scenarios.is_empty(),
        "the package lab has no [[test]] in tests/Cargo.toml: its scenarios belong there"
    );
    Ok(scenarios)
}

fn members(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}
