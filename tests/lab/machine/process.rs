//! A process of a machine, and its end.

use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::scale::scaled;

/// A process that was started.
pub(super) struct Process {
    pub(super) child: Child,
    /// How long it may take to leave by itself once asked to.
    pub(super) grace: Duration,
    /// How it has ended, once that is known.
    pub(super) left: Option<ExitStatus>,
    /// Whether whoever started it waits for its end.
    pub(super) is_run: bool,
}

impl Process {
    /// How it has ended, if it has.
    pub(super) fn exit(&mut self) -> Result<Option<ExitStatus>> {
        if self.left.is_none() {
            self.left = self
                .child
                .try_wait()
                .context("cannot ask after a process")?;
        }
        Ok(self.left)
    }
}

/// Ends processes together: asked first, made to after their grace.
pub(super) fn end(processes: &mut [Process]) -> Result<()> {
    let asked = Instant::now();
    for process in processes.iter_mut() {
        if process.exit()?.is_none() {
            let pid = Pid::from_raw(
                i32::try_from(process.child.id()).context("an impossible process id")?,
            );
            kill(pid, Signal::SIGTERM).context("cannot ask a process to end")?;
        }
    }
    for process in processes.iter_mut() {
        while process.exit()?.is_none() {
            if asked.elapsed() >= scaled(process.grace) {
                process.child.kill().context("cannot kill a process")?;
                process.left = Some(process.child.wait().context("cannot wait for a process")?);
            } else {
                thread::sleep(Duration::from_millis(10));
            }
        }
    }
    Ok(())
}
