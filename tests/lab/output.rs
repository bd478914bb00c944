//! Programs of this machine that are run to their end, and what they print.

use std::io;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow, ensure};

use crate::scale::scaled;

/// What a program prints, without the white space around it.
///
/// # Errors
/// When it can't be run or fails, with what it says of that.
pub fn output(command: &mut Command, what: &str) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {}", Path::new(command.get_program()).display()))?;
    printed(output, what)
}

/// A program that is ended after this time, and fails then with a message that says so.
pub(crate) fn limited(program: &str, time: Duration) -> Command {
    let seconds = scaled(time).as_secs().to_string();
    let mut timeout = Command::new("timeout");
    timeout.args(["--verbose", "--kill-after=10", &seconds, program]);
    timeout
}

/// What a program that has ended has printed, without the white space around it.
///
/// # Errors
/// When it has failed, with what it says of that.
pub(crate) fn printed(output: Output, what: &str) -> Result<String> {
    ensure!(
        output.status.success(),
        "{what} ({}): {}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Returns what the start of a program returned. The error is this advice, if the program isn't installed.
pub(crate) fn installed<T>(started: io::Result<T>, program: &str, advice: &str) -> Result<T> {
    started.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => anyhow!("{advice}"),
        _ => Error::new(error).context(format!("cannot run {program}")),
    })
}

/// The last lines of a text, and this many characters of each.
pub(crate) fn last_lines(text: &[u8], count: usize, width: usize) -> String {
    let text = String::from_utf8_lossy(text);
    let lines: Vec<String> = text
        .lines()
        .map(|line| line.chars().take(width).collect())
        .collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_that_hangs_is_ended_after_its_time() {
        let ended = output(limited("sleep", Duration::from_secs(1)).arg("60"), "sleep");
        let error = ended.unwrap_err().to_string();
        let expected = "sleep (exit status: 124): timeout: sending signal TERM to command";
        assert!(error.starts_with(expected), "{error}");
    }
}
