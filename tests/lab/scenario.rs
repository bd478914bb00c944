//! Runs a scenario on a thread, a namespace and a machine of its own, which are closed whatever happens.

use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use std::{env, fs, process, thread};

use anyhow::{Context, Error, Result, anyhow};
use tempfile::TempDir;
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};

use crate::cache::gone;
use crate::crossplane::Release;
use crate::evidence;
use crate::function::FunctionProgram;
use crate::garden::Garden;
use crate::lab::Lab;
use crate::machine::Machine;
use crate::memory;
use crate::namespace;
use crate::say::say;
use crate::waits::waits;

/// How the folders of scenarios begin; the id of their process follows.
pub(crate) const PREFIX: &str = "c5c3-lab-";

/// Runs a scenario in a whole lab: four clusters, the garden, Crossplane of one release, and a function.
///
/// # Errors
/// The scenario's, or what kept the lab from starting.
pub fn in_lab(
    release: Release,
    garden: Garden,
    program: FunctionProgram,
    run: impl AsyncFnOnce(&Lab) -> Result<()> + Send + 'static,
) -> Result<()> {
    let _room = memory::room()?;
    on_a_bare_machine(async move |machine| {
        let started = Instant::now();
        let lab = Lab::start(machine, release, garden, program).await?;
        say(format_args!(
            "ready after {} s",
            started.elapsed().as_secs()
        ));
        run(&lab).await
    })
}

/// Runs a scenario on a machine with nothing on it yet.
///
/// Everything of it, the scenario's own connections included, is in one network namespace. When the scenario ends, well or
/// badly, or by SIGTERM, every process is stopped. A failed one shows the end of each log and leaves
/// its logs, events and objects in the folder that the runner gives.
///
/// # Errors
/// The scenario's, or what kept it from running.
pub fn on_a_bare_machine<T>(
    run: impl AsyncFnOnce(Arc<Machine>) -> Result<T> + Send + 'static,
) -> Result<T>
where
    T: Send + 'static,
{
    let name = thread::current().name().unwrap_or("scenario").to_owned();
    // One thread for all of it: processes are tied to the thread that starts them, and the namespace is the thread's.
    let running = thread::Builder::new()
        .name(name.clone())
        .spawn(move || -> Result<T> {
            namespace::enter()?;
            let mut folder = folder(&name)?;
            let machine = Machine::new(folder.path())?;
            let runtime = runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .context("cannot start a runtime")?;
            let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
                runtime.block_on(async {
                    tokio::select! {
                        outcome = run(machine.clone()) => outcome,
                        stopped = stop_signal() => Err(stopped?),
                    }
                })
            }));
            if !matches!(outcome, Ok(Ok(_))) {
                say(format_args!("{}", machine.autopsy().unwrap_or_default()));
                match evidence::results() {
                    Some(results) => {
                        runtime.block_on(evidence::collect(machine.folder(), &results))?;
                    }
                    None => folder.disable_cleanup(true),
                }
            }
            drop(runtime);
            machine.close()?;
            outcome.unwrap_or_else(|panicked| panic::resume_unwind(panicked))
        });
    match running.context("cannot start a thread")?.join() {
        Ok(outcome) => outcome,
        Err(panicked) => panic::resume_unwind(panicked),
    }
}

/// Waits for SIGTERM, and says what the scenario waits for then.
async fn stop_signal() -> Result<Error> {
    let mut signals = signal(SignalKind::terminate()).context("cannot wait for signals")?;
    signals.recv().await;
    Ok(anyhow!("stopped by SIGTERM\n{}", waits()))
}

fn folder(scenario: &str) -> Result<TempDir> {
    // The path of a Unix socket has at most 107 bytes, and the kubelet has one deep in this folder.
    let scenario: String = scenario
        .chars()
        .take(30)
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    tempfile::Builder::new()
        .prefix(&format!("{PREFIX}{}-{scenario}-", process::id()))
        .tempdir()
        .context("cannot make a temporary folder")
}

/// Removes the folders of scenarios whose process was killed, which another run may do meanwhile.
pub(crate) fn remove_leftovers() -> Result<()> {
    let temporary = env::temp_dir();
    for entry in
        fs::read_dir(&temporary).with_context(|| format!("cannot list {}", temporary.display()))?
    {
        let entry = entry?;
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.split_once('-'))
            .and_then(|(process, _)| process.parse::<u32>().ok());
        if let Some(process) = owner
            && !Path::new("/proc").join(process.to_string()).exists()
        {
            let folder = entry.path();
            gone(fs::remove_dir_all(&folder))
                .with_context(|| format!("cannot remove {}", folder.display()))?;
        }
    }
    Ok(())
}
