//! Where a story is told: a thread, a namespace and a machine of its own, closed whatever happens.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};
use tempfile::TempDir;
use tokio::runtime;

use crate::crossplane::Release;
use crate::function::FunctionProgram;
use crate::lab::Lab;
use crate::machine::Machine;
use crate::memory;
use crate::namespace;
use crate::say::say;

/// Tells a story in a whole lab: four clusters, the garden, Crossplane of one release, and a function.
///
/// # Errors
/// The story's, or what kept the lab from starting.
pub fn story(
    release: Release,
    program: FunctionProgram,
    tell: impl AsyncFnOnce(&Lab) -> Result<()> + Send + 'static,
) -> Result<()> {
    let _room = memory::room()?;
    on_a_bare_machine(async move |machine| {
        let started = Instant::now();
        let lab = Lab::start(machine, release, program).await?;
        say(format_args!(
            "ready after {} s",
            started.elapsed().as_secs()
        ));
        tell(&lab).await
    })
}

/// Tells a story on a machine with nothing on it yet.
///
/// Everything of it, the story's own connections included, is in one network namespace. When the story ends, well or
/// badly, every process is stopped. A failed one shows the end of each log and leaves its folder behind.
///
/// # Errors
/// The story's, or what kept it from being told.
pub fn on_a_bare_machine<T>(
    tell: impl AsyncFnOnce(Arc<Machine>) -> Result<T> + Send + 'static,
) -> Result<T>
where
    T: Send + 'static,
{
    let name = thread::current().name().unwrap_or("story").to_owned();
    // One thread for all of it: processes are tied to the thread that starts them, and the namespace is the thread's.
    let told = thread::Builder::new()
        .name(name.clone())
        .spawn(move || -> Result<T> {
            namespace::enter()?;
            let mut folder = folder(&name)?;
            let machine = Arc::new(Machine::new(folder.path())?);
            let runtime = runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .context("cannot start a runtime")?;
            let outcome =
                panic::catch_unwind(AssertUnwindSafe(|| runtime.block_on(tell(machine.clone()))));
            if !matches!(outcome, Ok(Ok(_))) {
                folder.disable_cleanup(true);
                say(format_args!(
                    "everything is kept in {}\n{}",
                    folder.path().display(),
                    machine.autopsy().unwrap_or_default()
                ));
            }
            drop(runtime);
            machine.close()?;
            outcome.unwrap_or_else(|panicked| panic::resume_unwind(panicked))
        });
    match told.context("cannot start a thread")?.join() {
        Ok(outcome) => outcome,
        Err(panicked) => panic::resume_unwind(panicked),
    }
}

fn folder(story: &str) -> Result<TempDir> {
    let story: String = story
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    tempfile::Builder::new()
        .prefix(&format!("c5c3-lab-{story}-"))
        .tempdir()
        .context("cannot make a temporary folder")
}
