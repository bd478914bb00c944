//! What the kernel says of a process.

use std::fs;
use std::time::Duration;

use lab::{Context, Machine, Result};

/// The kernel counts processor time by these (`USER_HZ`, which is 100 wherever Linux runs).
const TICK: Duration = Duration::from_millis(10);

/// A running process.
pub struct Process(u32);

impl Process {
    /// The one that runs under a name.
    pub fn of(machine: &Machine, name: &str) -> Result<Self> {
        let running = machine.running();
        let process = running.get(name);
        Ok(Self(
            *process.with_context(|| format!("{name} doesn't run"))?,
        ))
    }

    /// Memory that is its own or shared right now, in MB.
    pub fn memory(&self) -> Result<f64> {
        self.status("VmRSS:")
    }

    /// The most that it ever was, in MB.
    pub fn peak(&self) -> Result<f64> {
        self.status("VmHWM:")
    }

    /// For how long it worked, by itself and in the kernel.
    pub fn worked(&self) -> Result<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0))?;
        // The name, which is in brackets, may contain anything.
        let fields = stat.rsplit_once(')').context("no name")?.1;
        let ticks = fields.split_whitespace().skip(11).take(2);
        let ticks: u32 = ticks.map(str::parse::<u32>).sum::<Result<u32, _>>()?;
        Ok(TICK * ticks)
    }

    fn status(&self, field: &str) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0))?;
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let size = line.and_then(|line| line.trim().strip_suffix(" kB"));
        let size: f64 = size.with_context(|| format!("no {field}"))?.parse()?;
        Ok(size * 1024.0 / 1e6)
    }
}
