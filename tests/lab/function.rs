//! The composition function under test, a process that a scenario may kill and start again.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use c5c3_program::Build;
use serde_json::Value;

use crate::crossplane::Crossplane;
use crate::eventually;
use crate::machine::{Machine, Program};
use crate::probe;

/// How long a function may take to listen.
const READY: Duration = Duration::from_secs(60);

/// What it logs: every resource that it has composed.
const LOGGED: &str = "info,function_runtime::calls=debug";

/// What the line of its metrics with the time of all calls begins with.
const BUSY: &str = "function_call_duration_seconds_sum ";

/// Which function a lab calls.
#[derive(Debug, Clone)]
pub struct FunctionProgram {
    /// Its name in the Compositions' `functionRef`.
    pub name: String,
    /// Its program. It gets `--address`, `--metrics-address` and `--tls-certs-dir` after its arguments.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

impl FunctionProgram {
    /// The project's own function, `c5c3 function`, built from the working tree first.
    pub fn c5c3() -> Result<Self> {
        Ok(Self {
            name: "function-c5c3".to_owned(),
            program: our_program(Build::Debug)?,
            arguments: vec!["function".to_owned()],
        })
    }
}

/// The project's own program, `c5c3`, built from the working tree first.
pub fn our_program(build: Build) -> Result<PathBuf> {
    build.program(Path::new(env!("CARGO_MANIFEST_DIR")))
}

/// A running function, or one that was killed.
pub struct Function {
    machine: Arc<Machine>,
    program: FunctionProgram,
    port: u16,
    metrics_port: u16,
    certificates: PathBuf,
}

impl Function {
    /// Starts it, waits until it listens, and registers its address with Crossplane.
    pub(crate) async fn serve(
        machine: &Arc<Machine>,
        crossplane: &Crossplane,
        program: FunctionProgram,
    ) -> Result<Self> {
        let authority = machine.authority();
        let certificates = authority.write(
            &authority.server(&["localhost"])?,
            &machine.folder().join("function"),
        )?;
        let function = Self {
            machine: machine.clone(),
            program,
            port: machine.port(),
            metrics_port: machine.port(),
            certificates,
        };
        function.start().await?;
        crossplane
            .register_function(&function.program.name, &function.address())
            .await?;
        Ok(function)
    }

    /// Starts it again after a `kill`, at the same address.
    ///
    /// # Errors
    /// When it still runs, or doesn't listen in time.
    pub async fn start(&self) -> Result<()> {
        let mut program = Program::new(&self.program.program);
        for argument in &self.program.arguments {
            program = program.arg(argument);
        }
        // The port that a function serves metrics on by itself is provider-kubernetes' on this machine.
        let program = program
            .flag("address", self.address())
            .flag(
                "metrics-address",
                format!("127.0.0.1:{}", self.metrics_port),
            )
            .flag("tls-certs-dir", &self.certificates)
            .env("RUST_LOG", LOGGED);
        self.machine.start("function", &program)?;
        eventually("the function listens", READY, async || {
            self.machine.check("function")?;
            probe::listens(self.port).await
        })
        .await
    }

    /// Kills it in the middle of whatever it does.
    pub fn kill(&self) -> Result<()> {
        self.machine.kill("function")
    }

    /// In how many versions it has composed a composite resource, which its log calls `Kind namespace/name`, or `Kind name` without a
    /// namespace. Each is another reconcile: Crossplane calls it several times in one, all with one version.
    pub fn composed(&self, subject: &str) -> Result<usize> {
        let log = fs::read_to_string(self.machine.log("function"))?;
        Ok(versions_composed(&log, subject))
    }

    /// How long all its calls took together, in seconds.
    ///
    /// # Errors
    /// Its metrics can't be read, or don't have that.
    pub async fn busy(&self) -> Result<f64> {
        let page = probe::page(self.metrics_port, "/metrics").await?;
        busy(&page).with_context(|| format!("no {BUSY} in {page}"))
    }

    /// Where it listens, `ip:port`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Where it serves metrics, a port of this machine.
    pub fn metrics_port(&self) -> u16 {
        self.metrics_port
    }

    /// Its `ca.crt`, `tls.crt` and `tls.key`; it should read them again when they change.
    pub fn certificates(&self) -> &Path {
        &self.certificates
    }
}

/// How long all calls took, by a page of metrics, in seconds.
fn busy(page: &str) -> Option<f64> {
    let mut lines = page.lines();
    let busy = lines.find_map(|line| line.strip_prefix(BUSY))?;
    busy.trim().parse().ok()
}

/// The number of versions of a resource that were composed, as a log says.
fn versions_composed(log: &str, subject: &str) -> usize {
    let lines = log
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines
        .filter(|line| line["message"] == "composed" && line["subject"] == subject)
        .map(|line| line["version"].to_string())
        .collect::<BTreeSet<_>>()
        .len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_all_calls_is_read_from_metrics() {
        let page = "HTTP/1.0 200 OK\r\n\r\n\
            # TYPE function_call_duration_seconds histogram\n\
            function_call_duration_seconds_sum 1.25\n\
            function_call_duration_seconds_count 5\n";
        assert_eq!(busy(page), Some(1.25));
        assert_eq!(busy("HTTP/1.0 200 OK\r\n\r\n"), None);
    }

    #[test]
    fn composed_versions_of_one_resource_are_counted_in_the_log() {
        let log = "\
            {\"level\":\"INFO\",\"message\":\"serving\"}\n\
            {\"level\":\"DEBUG\",\"message\":\"composed\",\"subject\":\"OpenStackCluster a/b\",\"version\":\"1\",\"tag\":\"x\"}\n\
            {\"level\":\"DEBUG\",\"message\":\"composed\",\"subject\":\"OpenStackCluster a/b\",\"version\":\"1\",\"tag\":\"w\"}\n\
            {\"level\":\"DEBUG\",\"message\":\"composed\",\"subject\":\"OpenStackCluster a/bc\",\"version\":\"3\",\"tag\":\"y\"}\n\
            {\"level\":\"WARN\",\"message\":\"fatal result\",\"subject\":\"OpenStackCluster a/b\"}\n\
            {\"level\":\"DEBUG\",\"message\":\"composed\",\"subject\":\"OpenStackCluster a/b\",\"version\":\"2\",\"tag\":\"z\"}\n\
            {\"level\":\"DEBUG\",\"mess";
        assert_eq!(versions_composed(log, "OpenStackCluster a/b"), 2);
        assert_eq!(versions_composed(log, "OpenStackCluster b"), 0);
    }
}
