//! Memory, which decides how many scenarios run at once.

use std::fs::{self, File, TryLockError};

use anyhow::{Context, Result};

use crate::cache::cache;
use crate::say::say;

/// What a whole lab takes at most, in KiB.
const LAB: u64 = 4 << 20;

/// Waits until the machine has memory for one more lab, and keeps it until the answer is dropped.
///
/// Every process of this user takes part; one lab is always let in.
///
/// # Errors
/// When the machine doesn't say how much memory it has, or the cache folder can't be written.
pub(crate) fn room() -> Result<File> {
    let places = (total()? / LAB).max(1);
    let mut place = None;
    for number in 0..places {
        let file = File::create(cache()?.join(format!("lab-{number}.lock")))?;
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => place = Some(file),
            Err(TryLockError::Error(error)) => {
                return Err(error).context("cannot lock a file of the cache folder");
            }
        }
    }
    let place = place.context("no place for a lab")?;
    say(format_args!(
        "waiting for one of the {places} labs that fit into memory to end"
    ));
    place.lock().context("cannot wait for another lab to end")?;
    Ok(place)
}

/// All of the machine's memory, in KiB.
fn total() -> Result<u64> {
    let memory = fs::read_to_string("/proc/meminfo").context("cannot read /proc/meminfo")?;
    let total = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"));
    total
        .and_then(|total| total.parse().ok())
        .context("/proc/meminfo has no MemTotal")
}
