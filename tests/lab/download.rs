//! Downloads are tried again: proxies and mirrors fail for moments.

use std::thread;
use std::time::Duration;

use anyhow::Result;

use crate::say::say;

/// How long to wait before each further attempt.
const PAUSES: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(30)];

/// Makes up to three attempts at something that downloads.
///
/// # Errors
/// The last attempt's.
pub(crate) fn retried<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    for pause in PAUSES {
        match attempt() {
            Ok(done) => return Ok(done),
            Err(error) => say(format_args!(
                "next attempt in {} s, after: {error:#}",
                pause.as_secs()
            )),
        }
        thread::sleep(pause);
    }
    attempt()
}
