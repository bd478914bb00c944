//! The composition function under test, a process that a scenario may kill and start again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use c5c3_program::Build;

use crate::crossplane::Crossplane;
use crate::eventually;
use crate::machine::{Machine, Program};
use crate::probe;

/// How long a function may take to listen.
const READY: Duration = Duration::from_secs(60);

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
    ///
    /// # Errors
    /// When it doesn't build.
    pub fn c5c3() -> Result<Self> {
        Ok(Self {
            name: "function-c5c3".to_owned(),
            program: our_program(Build::Debug)?,
            arguments: vec!["function".to_owned()],
        })
    }
}

/// The project's own program, `c5c3`, built from the working tree first.
///
/// # Errors
/// When it doesn't build.
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
    ///
    /// # Errors
    /// When it can't be started or registered.
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
            .flag("tls-certs-dir", &self.certificates);
        self.machine.start("function", &program)?;
        eventually("the function listens", READY, async || {
            self.machine.check("function")?;
            probe::listens(self.port).await
        })
        .await
    }

    /// Kills it in the middle of whatever it does.
    ///
    /// # Errors
    /// When it can't be killed.
    pub fn kill(&self) -> Result<()> {
        self.machine.kill("function")
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
