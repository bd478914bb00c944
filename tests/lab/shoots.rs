//! Asking Gardener's own types what they think of a Shoot, without a garden.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::tools::Tool;

/// The feature gates that pools need.
const IN_PLACE_UPDATES: &[&str] = &["InPlaceNodeUpdates=true"];

/// What the oldest and the newest Gardener's API server would refuse in the Shoots of a manifest: unknown fields first, then,
/// with defaults set, what its validation finds. A Shoot with a resourceVersion is an update of the one before it. Nothing when
/// all are fine. What depends on a garden's contents, as machine types do, is not looked at.
pub fn shoot_faults(manifest: &str) -> Result<Vec<String>> {
    shoot_faults_with(IN_PLACE_UPDATES, manifest)
}

/// The same for a Gardener without any feature gate.
pub fn shoot_faults_without_gates(manifest: &str) -> Result<Vec<String>> {
    shoot_faults_with(&[], manifest)
}

fn shoot_faults_with(gates: &[&str], manifest: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for (gardener, check) in [("oldest", Tool::ShootOldest), ("newest", Tool::ShootNewest)] {
        let faults = faults(check, gates, manifest)?;
        found.extend(
            faults
                .iter()
                .map(|fault| format!("the {gardener} Gardener: {fault}")),
        );
    }
    Ok(found)
}

fn faults(check: Tool, gates: &[&str], manifest: &str) -> Result<Vec<String>> {
    let mut check = Command::new(check.path()?)
        .args(gates)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot run the check of Shoots")?;
    // It reads to the end before it answers more than a pipe holds.
    check
        .stdin
        .take()
        .context("no input")?
        .write_all(manifest.as_bytes())?;
    let answer = check.wait_with_output()?;
    match answer.status.code() {
        Some(0) => Ok(Vec::new()),
        Some(1) => Ok(String::from_utf8_lossy(&answer.stdout)
            .lines()
            .map(str::to_owned)
            .collect()),
        _ => bail!(
            "the check of Shoots failed: {}",
            String::from_utf8_lossy(&answer.stderr)
        ),
    }
}
