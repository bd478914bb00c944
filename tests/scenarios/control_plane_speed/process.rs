//! What the kernel says of a process, and of the whole machine.

use std::fs;
use std::time::Duration;

use lab::{Context, Machine, Result, bail};

/// Processor time as the kernel counts it (by `USER_HZ`, which is 100 wherever Linux runs).
fn ticks(count: u64) -> Duration {
    Duration::from_millis(10 * count)
}

/// For how long all processors of the machine worked, for whatever process.
pub fn machine() -> Result<Duration> {
    let stat = fs::read_to_string("/proc/stat")?;
    let fields = stat
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("cpu "));
    let fields = fields.context("/proc/stat has no processors")?;
    let fields = fields.split_whitespace().map(str::parse::<u64>);
    let fields = fields.collect::<Result<Vec<u64>, _>>()?;
    match fields.as_slice() {
        [user, nice, system, _idle, _io, hard, soft, ..] => {
            Ok(ticks(user + nice + system + hard + soft))
        }
        _ => bail!("/proc/stat says too little"),
    }
}

/// A running process.
pub struct Process(u32);

impl Process {
    /// This one.
    pub fn own() -> Self {
        Self(std::process::id())
    }

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
        let fields = fields.split_whitespace().skip(11).take(2);
        let worked = fields.map(str::parse::<u64>).sum::<Result<u64, _>>()?;
        Ok(ticks(worked))
    }

    fn status(&self, field: &str) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0))?;
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let size = line.and_then(|line| line.trim().strip_suffix(" kB"));
        let size: f64 = size.with_context(|| format!("no {field}"))?.parse()?;
        Ok(size * 1024.0 / 1e6)
    }
}
