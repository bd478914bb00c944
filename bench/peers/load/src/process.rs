//! The servers' processes.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::certificates::Certificates;
use crate::client::Client;
use crate::request::Dialect;

/// The kernel counts processor time in hundredths of a second for programs (proc_pid_stat(5), USER_HZ).
const TICK: Duration = Duration::from_millis(10);

/// A server, stopped when this is dropped.
pub struct Server {
    name: &'static str,
    dialect: Dialect,
    address: SocketAddr,
    log: PathBuf,
    process: Child,
}

/// What a process holds, in kB.
pub struct Memory {
    /// Now.
    pub now: u64,
    /// At most so far.
    pub peak: u64,
}

impl Server {
    /// Our own.
    ///
    /// # Errors
    /// It can't be started.
    pub fn ours(program: &Path, certificates: &Certificates) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(["function", "--metrics-address", "none"]);
        Self::start("ours", Dialect::Plain, command, certificates)
    }

    /// The same composers behind function-sdk-rust.
    ///
    /// # Errors
    /// It can't be started.
    pub fn sdk(program: &Path, certificates: &Certificates) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(["--metrics-address", ""]);
        Self::start("function-sdk-rust", Dialect::Plain, command, certificates)
    }

    /// The same expansion in Python.
    ///
    /// # Errors
    /// It can't be started.
    pub fn pythonic(
        program: &Path,
        composition: &Path,
        certificates: &Certificates,
    ) -> Result<Self> {
        let mut command = Command::new(program);
        command
            .args(["grpc", "--logger-level", "apiextensions=WARNING"])
            .arg("--python-path")
            .arg(composition);
        Self::start(
            "function-pythonic",
            Dialect::Pythonic,
            command,
            certificates,
        )
    }

    fn start(
        name: &'static str,
        dialect: Dialect,
        mut command: Command,
        certificates: &Certificates,
    ) -> Result<Self> {
        let address = free_address()?;
        let log = certificates.folder().join(format!("{name}.log"));
        let process = command
            .args(["--address", &address.to_string(), "--tls-certs-dir"])
            .arg(certificates.folder())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log)?)
            .spawn()
            .with_context(|| format!("{name} can't be started"))?;
        Ok(Self {
            name,
            dialect,
            address,
            log,
            process,
        })
    }

    /// Connects to it, as soon as it listens.
    ///
    /// # Errors
    /// It doesn't; the message has what it wrote.
    pub async fn connect(&self, certificates: &Certificates) -> Result<Client> {
        let client = Client::connect(self.address, certificates).await;
        client.with_context(|| self.trouble())
    }

    /// Says which server is in trouble, with what it wrote.
    pub fn trouble(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        format!("{} doesn't answer; it wrote: {log}", self.name)
    }

    /// What people call it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// How it wants its requests.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// What it holds.
    ///
    /// # Errors
    /// It is gone.
    pub fn memory(&self) -> Result<Memory> {
        let status = self.read("status")?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let value = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
            value.with_context(|| format!("{} has no {name}", self.name))
        };
        Ok(Memory {
            now: field("VmRSS:")?,
            peak: field("VmHWM:")?,
        })
    }

    /// Processor time it has used, in user and kernel mode.
    ///
    /// # Errors
    /// It is gone.
    pub fn processor_time(&self) -> Result<Duration> {
        let stat = self.read("stat")?;
        // The program's name, in parentheses, may have anything in it.
        let fields = stat.rsplit_once(')').map(|(_, fields)| fields);
        let fields = fields.into_iter().flat_map(str::split_whitespace);
        let ticks: Vec<u32> = fields.skip(11).take(2).flat_map(str::parse).collect();
        Ok(TICK * ticks.iter().sum())
    }

    fn read(&self, file: &str) -> Result<String> {
        let path = format!("/proc/{}/{file}", self.process.id());
        fs::read_to_string(path).with_context(|| format!("{} is gone", self.name))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let stopped = self.process.kill().and_then(|()| self.process.wait());
        if let Err(error) = stopped {
            eprintln!("{} could not be stopped: {error}", self.name);
        }
    }
}

fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}
