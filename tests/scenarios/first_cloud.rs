//! The commands of docs/first-cloud.md, in order, as a reader types them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

use c5c3_program::PROGRAM;
use lab::playground::{Block, FOLDER, NEEDS, blocks};
use lab::{Build, Context, Result, bail, ensure, our_program, scenario};
use serde_json::Value;
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use lab::suite::Scenario;

/// The scenario of the page.
pub const SCENARIOS: &[Scenario] = &[scenario!(
    Long alone, 3600 s, commands_of_the_page_work_and_leave_nothing,
    [NEEDS[0], NEEDS[1], NEEDS[2], NEEDS[3], NEEDS[4], NEEDS[5]]
)];

const PAGE: &str = include_str!("../../docs/first-cloud.md");

/// A reader of the page, with a lab in a folder of its own.
#[derive(Clone)]
struct Newcomer {
    folder: PathBuf,
}

fn commands_of_the_page_work_and_leave_nothing() -> Result<()> {
    let parent = tempfile::tempdir()?;
    let newcomer = Newcomer {
        folder: parent.path().join("lab"),
    };
    let typing = newcomer.clone();
    let outcome = unless_stopped(move || typing.types_all());
    // The lab runs on after the command that starts it. `down` succeeds where no lab runs.
    let stopped = newcomer.runs(&["down"]);
    outcome.and(stopped.map(drop))
}

/// The outcome of some work, or an error when the runner stops the scenario first.
fn unless_stopped(work: impl FnOnce() -> Result<()> + Send + 'static) -> Result<()> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (sender, outcome) = oneshot::channel();
    thread::spawn(move || sender.send(work()));
    runtime.block_on(first_of(outcome))
}

async fn first_of(outcome: oneshot::Receiver<Result<()>>) -> Result<()> {
    let mut stops = signal(SignalKind::terminate())?;
    tokio::select! {
        outcome = outcome => outcome.context("the scenario panicked")?,
        _ = stops.recv() => bail!("stopped by SIGTERM"),
    }
}

impl Newcomer {
    fn types_all(&self) -> Result<()> {
        let refused = self.lab(&["up"])?;
        ensure!(
            !refused.status.success() && !self.folder.exists(),
            "a lab starts without confirmation"
        );
        self.runs(&["up", "--yes"])?;
        let state = self.state()?;
        let traces = Traces::of(&state, &self.folder)?;
        ensure!(
            !traces.processes()?.is_empty() && traces.machine.exists(),
            "nothing is there of the lab: {state}"
        );
        let again = self.runs(&["up", "--yes"])?;
        ensure!(again.contains("the lab runs already"), "{again}");

        let inside = blocks(PAGE).into_iter().filter_map(|block| match block {
            Block::Inside(text) => Some(text),
            Block::Outside(_) => None,
        });
        let script = inside.collect::<Vec<_>>().join("\n");
        let printed = self.runs(&["shell", "--", "bash", "-euxo", "pipefail", "-c", &script])?;
        for expected in [
            "guest: ready",
            "hello.novalocal",
            " to add, ",
            "openstackcluster.c5c3.io/second condition met",
            "There is nothing yet",
        ] {
            ensure!(
                printed.contains(expected),
                "{expected:?} isn't printed: {printed}"
            );
        }
        self.runs(&["down"])?;
        traces.are_gone()?;
        ensure!(!self.folder.exists(), "the lab's folder is left");
        let nothing = self.runs(&["down"])?;
        ensure!(nothing.contains("no lab runs"), "{nothing}");
        Ok(())
    }

    /// Runs `cargo xtask lab` with these arguments.
    fn lab(&self, arguments: &[&str]) -> Result<Output> {
        let mut command = c5c3_program::cargo();
        command
            .args(["xtask", "lab"])
            .args(arguments)
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
            .env(FOLDER, &self.folder)
            .env(PROGRAM, our_program(Build::Debug)?)
            .stdin(Stdio::null());
        command.output().context("cannot run cargo")
    }

    /// Runs `cargo xtask lab`, which must succeed, and returns its standard output.
    fn runs(&self, arguments: &[&str]) -> Result<String> {
        let output = self.lab(arguments)?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        println!("==> lab {}\n{printed}{errors}", arguments.join(" "));
        ensure!(
            output.status.success(),
            "lab {} failed ({})",
            arguments.join(" "),
            output.status
        );
        Ok(printed)
    }

    /// The lab's state.
    fn state(&self) -> Result<Value> {
        let state = fs::read(self.folder.join("state.json"))?;
        serde_json::from_slice(&state).context("the lab's state isn't JSON")
    }
}

/// What a lab has on the machine.
struct Traces {
    /// Its network namespace.
    network: PathBuf,
    /// The folder of its processes.
    machine: PathBuf,
    /// The folder that is an argument of the lab's process.
    folder: PathBuf,
}

impl Traces {
    fn of(state: &Value, folder: &Path) -> Result<Self> {
        let etcd = state["processes"]["etcd"]["id"].as_u64();
        let etcd = etcd.context("the state has no etcd")?;
        let machine = state["machine"].as_str();
        Ok(Self {
            network: fs::read_link(format!("/proc/{etcd}/ns/net"))?,
            machine: machine.context("the state has no folder")?.into(),
            folder: folder.to_owned(),
        })
    }

    /// Fails if processes, files, mounts or control groups of the lab are left.
    fn are_gone(&self) -> Result<()> {
        let processes = self.processes()?;
        ensure!(processes.is_empty(), "processes are left: {processes:?}");
        ensure!(!self.machine.exists(), "{} is left", self.machine.display());
        let folder = self.machine.display().to_string();
        let mounts = fs::read_to_string("/proc/self/mounts")?;
        ensure!(!mounts.contains(&folder), "mounts are left:\n{mounts}");
        let group = self.machine.file_name().context("the folder has no name")?;
        let groups = Command::new("find")
            .args(["/sys/fs/cgroup", "-maxdepth", "2", "-name"])
            .arg(format!("{}*", group.to_string_lossy()))
            .output()?;
        let groups = String::from_utf8_lossy(&groups.stdout).into_owned();
        ensure!(groups.is_empty(), "control groups are left:\n{groups}");
        Ok(())
    }

    /// The command lines of processes in the lab's network, or with one of its folders in them.
    fn processes(&self) -> Result<Vec<String>> {
        let folders = [&self.machine, &self.folder].map(|folder| folder.display().to_string());
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc")?.flatten() {
            // One that has ended meanwhile has neither.
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            let network = fs::read_link(entry.path().join("ns/net")).ok();
            let is_argument = folders.iter().any(|folder| line.contains(folder));
            if is_argument || network.as_ref() == Some(&self.network) {
                found.push(line);
            }
        }
        Ok(found)
    }
}
