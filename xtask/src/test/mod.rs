//! `cargo xtask test`: every check, and the scenarios of a suite.

#[cfg(test)]
mod ci;
#[cfg(test)]
mod examples;
mod results;
mod run;
mod step;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use c5c3_program::{Build, Compiler, PROGRAM};
use clap::{ArgGroup, Args};

use crate::machine::{self, Lab};
use results::{Results, Tree};
use run::Run;
use step::Step;

/// The program with all scenarios, and how cargo is called for it: for the whole workspace, as all tests are, so that crates are
/// compiled with the same features.
const SCENARIOS: [&str; 6] = [
    "test",
    "--locked",
    "--workspace",
    "--test",
    "scenarios",
    "--",
];

/// What checks licenses and sources of dependencies.
const DENY: &str = "cargo-deny@0.20.2";

/// The newest Rust by whose lints everything was checked. The toolchain is the newest stable one: a release with further lints must not
/// fail changes that have nothing to do with it.
const LINTED: (u64, u64) = (1, 95);

/// The variable with the seed of proptest's random cases. Only `--all` draws new ones: a fault that one of a hundred thousand cases shows
/// must not fail a change that has nothing to do with it.
const SEED: &str = "PROPTEST_RNG_SEED";

/// What runs together, and is recorded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Suite {
    Gate,
    Cloud,
    All,
}

/// The names of all suites.
const SUITES: [&str; 3] = [Suite::Gate.name(), Suite::Cloud.name(), Suite::All.name()];

/// How many minutes the gate may take.
const GATE: u64 = 75;

/// How long scenarios may take to keep their logs and report when the time of the run is up.
const REPORT: Duration = Duration::from_secs(90);

/// How much is tested.
#[derive(Args)]
#[group(skip)]
#[command(group = ArgGroup::new("what").args(["names", "cloud", "all", "list", "fast", "status", "failed"]))]
pub struct Options {
    /// Scenarios or their modules, which run alone; without any, all checks and the gate's scenarios run
    names: Vec<String>,
    /// Run the scenarios with pods, older versions of Crossplane, and the options of every release
    #[arg(long)]
    cloud: bool,
    /// Run every check and every scenario, and build the program as it is shipped
    #[arg(long)]
    all: bool,
    /// Print each scenario, its suite, its time budget and how long it took last
    #[arg(long)]
    list: bool,
    /// Stop before instruction budgets and scenarios, which build and start real API servers and Crossplanes
    #[arg(long)]
    fast: bool,
    /// Print what was run on this tree, and whether the gate has passed
    #[arg(long)]
    status: bool,
    /// Run the scenarios that failed when they were run last
    #[arg(long)]
    failed: bool,
    /// Build the tools and images that the scenarios need, and run nothing
    #[arg(long, conflicts_with_all = ["list", "fast", "status"])]
    prepare: bool,
    /// Stop what still runs after so many minutes [default: 75 for the gate, unlimited for all else]
    #[arg(long, value_name = "MINUTES")]
    within: Option<u64>,
}

impl Suite {
    const fn name(self) -> &'static str {
        match self {
            Self::Gate => "gate",
            Self::Cloud => "cloud",
            Self::All => "all",
        }
    }
}

impl Options {
    /// The suite that is asked for; single scenarios are none.
    fn suite(&self) -> Option<Suite> {
        match self {
            Self { cloud: true, .. } => Some(Suite::Cloud),
            Self { all: true, .. } => Some(Suite::All),
            Self { failed: true, .. } => None,
            Self { names, .. } => names.is_empty().then_some(Suite::Gate),
        }
    }

    /// What the scenarios' program is told to run.
    fn scenarios(&self) -> Result<Vec<String>> {
        if let Some(suite) = self.suite() {
            return Ok(vec![format!("--{}", suite.name())]);
        }
        if !self.failed {
            return Ok(self.names.clone());
        }
        let failed = Results::open()?.failed(&SUITES);
        ensure!(
            !failed.is_empty(),
            "no scenario failed when it was run last"
        );
        Ok(failed)
    }

    /// What the scenarios need: single ones may need pods.
    fn lab(&self) -> Lab {
        match self.suite() {
            Some(Suite::Gate) => Lab::Clusters,
            _ => Lab::Pods,
        }
    }

    fn within(&self) -> Option<Duration> {
        let minutes = match self.suite() {
            Some(Suite::Gate) => self.within.or(Some(GATE)),
            _ => self.within,
        };
        minutes.map(|minutes| Duration::from_secs(60 * minutes))
    }
}

/// Runs the steps up to the first that fails, and prints how long each took of its budget and how many tests passed and
/// failed. Scenarios don't depend on each other: all run, even if one fails.
///
/// # Errors
/// When a step fails; the message has the command that runs this step alone.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    if options.status {
        println!("{}", Results::open()?.status(&Tree::of(root)?, &SUITES));
        return Ok(());
    }
    let mut run = Run::new(root, options.within());
    if options.list {
        return run.step(&scenarios("scenarios", 60, &["--list".to_owned()]));
    }
    if options.prepare {
        machine::prepare_lab(options.lab())?;
        machine::prepare_bench()?;
        return run.step(&preparation(&options.scenarios()?));
    }
    let outcome = steps(&mut run, root, options).and_then(|()| run.check_flaky());
    run.summarise(outcome.is_ok());
    if let (Some(suite), false) = (options.suite(), options.fast) {
        run.record_suite(suite.name(), outcome.is_ok())?;
    }
    outcome
}

fn steps(run: &mut Run, root: &Path, options: &Options) -> Result<()> {
    let suite = options.suite();
    if options.fast {
        return checks(run, root, suite);
    }
    let chosen = options.scenarios()?;
    // First, so that nobody learns half an hour later that a program is missing.
    machine::prepare_lab(options.lab())?;
    machine::prepare_bench()?;
    run.step(&Step::cargo(
        "build",
        400,
        &["test", "--locked", "--workspace", "--no-run"],
    ))?;
    let program = Build::Debug.program(root)?;
    match suite {
        Some(Suite::Gate | Suite::All) => {
            let background = run.begin(preparation(&chosen))?;
            checks(run, root, suite)?;
            if suite == Some(Suite::All) {
                licenses(run)?;
            }
            run.step(&Step::cargo("instruction budget", 200, &["xtask", "bench"]))?;
            run.end(background)?;
        }
        Some(Suite::Cloud) | None => run.step(&preparation(&chosen))?,
    }

    // The last link takes one core for minutes, and few scenarios need it.
    let shipped = match suite {
        Some(Suite::All) => {
            let package = ["xtask", "package"];
            Some(run.begin(Step::cargo("program as it is shipped", 600, &package))?)
        }
        _ => None,
    };
    let budget = match suite {
        Some(Suite::Gate) => 900,
        Some(Suite::Cloud) => 3_600,
        Some(Suite::All) => 14_400,
        None => 1_500,
    };
    let left = run.left().map(|left| {
        let left = left.saturating_sub(REPORT).as_secs();
        ["--within".to_owned(), left.to_string()]
    });
    let arguments = [chosen, left.into_iter().flatten().collect()].concat();
    let program = program.to_str().context("the program's path isn't UTF-8")?;
    let passed =
        run.step(&scenarios("scenarios", budget, &arguments).with_variable(PROGRAM, program));
    let built = shipped.map_or(Ok(()), |shipped| run.end(shipped));
    let failed: Vec<String> = [passed, built]
        .into_iter()
        .filter_map(|outcome| Some(outcome.err()?.to_string()))
        .collect();
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

/// What needs no lab.
fn checks(run: &mut Run, root: &Path, suite: Option<Suite>) -> Result<()> {
    run.step(&Step::cargo("format", 20, &["fmt", "--all", "--check"]))?;
    let release = Compiler::of(root)?.release;
    let is_checked = has_checked_lints(&release);
    if !is_checked {
        let (major, minor) = LINTED;
        println!(
            "\nwarnings of Rust {release} fail nothing: fix them, and raise LINTED in xtask/src/test/mod.rs, which is {major}.{minor}"
        );
    }
    let lints = ["clippy", "--locked", "--workspace", "--all-targets"];
    let denied: &[&str] = match is_checked {
        true => &["--", "-D", "warnings"],
        false => &[],
    };
    run.step(&Step::cargo("lints", 180, &[&lints[..], denied].concat()))?;
    let docs = ["doc", "--locked", "--workspace", "--no-deps"];
    let docs = Step::cargo("documentation", 120, &docs);
    run.step(&match is_checked {
        true => docs.with_variable("RUSTDOCFLAGS", "-D warnings"),
        false => docs,
    })?;
    let units = ["test", "--locked", "--workspace", "--no-fail-fast"];
    let units = Step::cargo("tests", 400, &units).with_variable("INSTA_UPDATE", "no");
    run.step(&match suite {
        Some(Suite::All) => units,
        _ => units.with_variable(SEED, "1"),
    })?;
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
    ))
}

/// Whether a release of Rust, such as `1.95.0`, has no lints that nobody has looked at.
fn has_checked_lints(release: &str) -> bool {
    let mut numbers = release.split('.').map(str::parse::<u64>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) <= LINTED,
        _ => false,
    }
}

/// Licenses and sources of dependencies.
fn licenses(run: &mut Run) -> Result<()> {
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
    ))
}

/// A step that builds what scenarios need.
fn preparation(chosen: &[String]) -> Step {
    let arguments = [chosen, &["--prepare".to_owned()]].concat();
    scenarios("tools and images", 2_700, &arguments)
}

/// A step that calls the program with all scenarios.
fn scenarios(name: &str, budget: u64, arguments: &[String]) -> Step {
    let arguments = arguments.iter().map(String::as_str);
    let arguments: Vec<&str> = SCENARIOS.into_iter().chain(arguments).collect();
    Step::cargo(name, budget, &arguments)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{LINTED, Options, has_checked_lints};

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        options: Options,
    }

    fn parsed(line: &str) -> Option<Options> {
        let arguments = ["test"].into_iter().chain(line.split_whitespace());
        Command::try_parse_from(arguments)
            .ok()
            .map(|command| command.options)
    }

    #[test]
    fn preparation_and_deadline_go_with_what_is_run() {
        for line in [
            "--prepare",
            "--prepare --cloud",
            "--prepare --all",
            "--prepare cloud::claim",
            "--cloud --within 90",
            "cloud::claim --within 90",
        ] {
            let options = parsed(line);
            assert!(options.is_some(), "{line}");
        }
        let options = parsed("--prepare cloud::claim").unwrap();
        assert_eq!(options.scenarios().unwrap(), ["cloud::claim"]);
    }

    #[test]
    fn one_run_has_one_choice() {
        for line in [
            "--cloud --all",
            "--fast cloud::claim",
            "--prepare --list",
            "--prepare --status",
        ] {
            assert!(parsed(line).is_none(), "{line}");
        }
    }

    #[test]
    fn warnings_of_a_later_rust_are_no_errors() {
        let (major, minor) = LINTED;
        for checked in [format!("{major}.{minor}.1"), format!("{major}.9.0")] {
            assert!(has_checked_lints(&checked), "{checked}");
        }
        for later in [
            format!("{major}.{}.0", minor + 1),
            format!("{}.0.0", major + 1),
            format!("{major}.{}.0-nightly", minor + 2),
        ] {
            assert!(!has_checked_lints(&later), "{later}");
        }
    }
}
