//! The bare machine that a scenario runs on: a folder, ports, and processes that never outlive it.

mod process;
mod program;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tokio::time::sleep;

pub use program::Program;

use process::{Process, end};

use crate::output::{installed, last_lines};
use crate::pki::Authority;
use crate::say::say;

/// How often to look whether a program has come to its end.
const POLL: Duration = Duration::from_millis(50);

/// How many lines, and how much of a line, a failed scenario shows of the log of a process that ended by itself.
const TAIL: usize = 20;
const WIDTH: usize = 240;

/// Starts a program, its third argument, where the first is the file that names are found by, and the second its path; nobody
/// else sees that.
const RESOLVED: &str = r#"mount --bind "$0" "$1" && shift && exec "$@""#;

/// A folder, ports, a certificate authority, and processes that end when it is dropped.
pub struct Machine {
    folder: PathBuf,
    authority: Authority,
    next_port: AtomicU16,
    /// What programs find names by, and where they look for it; the machine's own way without.
    resolution: OnceLock<(PathBuf, &'static str)>,
    processes: Mutex<BTreeMap<String, Process>>,
}

thread_local! {
    /// The machine of the scenario that runs on this thread.
    static MACHINE: RefCell<Weak<Machine>> = const { RefCell::new(Weak::new()) };
}

/// Fine while every process of this thread's scenario runs that was started and not stopped.
///
/// # Errors
/// When one has ended by itself, with the end of its log.
pub(crate) fn check_processes() -> Result<()> {
    let machine = MACHINE.with_borrow(Weak::upgrade);
    machine.map_or(Ok(()), |machine| machine.check_all())
}

/// A process that should run has ended: waiting any longer is of no use.
#[derive(Debug)]
pub(crate) struct Ended {
    name: String,
    status: ExitStatus,
    tail: String,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ended by itself ({}):\n{}",
            self.name, self.status, self.tail
        )
    }
}

impl Error for Ended {}

impl Machine {
    /// A machine in an empty folder, for the scenario on this thread.
    pub(crate) fn new(folder: &Path) -> Result<Arc<Self>> {
        let machine = Arc::new(Self {
            folder: folder.to_owned(),
            authority: Authority::new()?,
            next_port: AtomicU16::new(10_000),
            resolution: OnceLock::new(),
            processes: Mutex::new(BTreeMap::new()),
        });
        MACHINE.set(Arc::downgrade(&machine));
        Ok(machine)
    }

    /// Where logs, keys and data are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Who signs every certificate of this machine.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// A port that nothing else on this machine uses.
    pub fn port(&self) -> u16 {
        self.next_port.fetch_add(1, Ordering::Relaxed)
    }

    /// Has programs that are started from now on find names as a file says, a `resolv.conf`.
    pub(crate) fn resolve_by(&self, file: PathBuf) {
        // A second file would be another node's, and a machine has at most one.
        let _ = self.resolution.set((file, "/etc/resolv.conf"));
    }

    /// Has programs that are started from now on find these names on loopback.
    pub(crate) fn resolve_to_loopback(&self, names: &[String]) -> Result<()> {
        let file = self.folder().join("hosts");
        // A line each: resolvers have a limit for the length of one.
        let hosts = names.iter().map(|name| format!("127.0.0.1 {name}\n"));
        let hosts: String = hosts.collect();
        fs::write(&file, format!("127.0.0.1 localhost\n{hosts}"))?;
        let _ = self.resolution.set((file, "/etc/hosts"));
        Ok(())
    }

    /// Starts a program under a name, its output going to `<name>.log` in the folder. It dies with the scenario's thread,
    /// even when the scenario is killed.
    ///
    /// # Errors
    /// When one of that name still runs, or it can't be started.
    pub fn start(&self, name: &str, program: &Program) -> Result<()> {
        self.spawn(name, program, false)
    }

    fn spawn(&self, name: &str, program: &Program, is_run: bool) -> Result<()> {
        let mut processes = self.processes();
        if let Some(running) = processes.get_mut(name)
            && running.exit()?.is_none()
        {
            bail!("{name} is already running");
        }
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.log(name))
            .with_context(|| format!("cannot write the log of {name}"))?;
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]);
        if let Some((file, place)) = self.resolution.get() {
            command.args(["unshare", "--mount", "--", "sh", "-c", RESOLVED]);
            command.arg(file).arg(place);
        }
        let child = command
            .arg(&program.path)
            .args(&program.arguments)
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", self.folder())
            .envs(program.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.folder())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0)
            .spawn();
        let advice =
            "the lab ties processes to their scenario by `setpriv`: `apt-get install util-linux`";
        let process = Process {
            child: installed(child, name, advice)?,
            grace: program.grace,
            left: None,
            is_run,
        };
        processes.insert(name.to_owned(), process);
        Ok(())
    }

    /// Fine while the process runs.
    ///
    /// # Errors
    /// When it has ended, with the end of its log, or was never started.
    pub fn check(&self, name: &str) -> Result<()> {
        let mut processes = self.processes();
        let process = processes
            .get_mut(name)
            .with_context(|| format!("{name} was never started"))?;
        match process.exit()? {
            Some(status) => Err(self.ended(name, status).into()),
            None => Ok(()),
        }
    }

    fn check_all(&self) -> Result<()> {
        for (name, process) in self.processes().iter_mut() {
            if !process.is_run
                && let Some(status) = process.exit()?
            {
                return Err(self.ended(name, status).into());
            }
        }
        Ok(())
    }

    fn ended(&self, name: &str, status: ExitStatus) -> Ended {
        Ended {
            name: name.to_owned(),
            status,
            tail: self.tail(name, TAIL),
        }
    }

    /// Runs a program to its end.
    ///
    /// # Errors
    /// When it can't be started or fails, with the end of its log.
    pub async fn run(&self, name: &str, program: &Program) -> Result<()> {
        self.spawn(name, program, true)?;
        let status = loop {
            let exit = match self.processes().get_mut(name) {
                Some(process) => process.exit()?,
                None => bail!("{name} was stopped"),
            };
            match exit {
                Some(status) => break status,
                None => sleep(POLL).await,
            }
        };
        self.processes().remove(name);
        ensure!(
            status.success(),
            "{name} failed ({status}):\n{}",
            self.tail(name, TAIL)
        );
        Ok(())
    }

    /// Asks a process to leave, and makes it when it doesn't.
    pub fn stop(&self, name: &str) -> Result<()> {
        match self.processes().remove(name) {
            Some(process) => end(&mut [process]),
            None => Ok(()),
        }
    }

    /// Ends a process at once, as a crash or the kernel would.
    pub fn kill(&self, name: &str) -> Result<()> {
        if let Some(mut process) = self.processes().remove(name) {
            process
                .child
                .kill()
                .with_context(|| format!("cannot kill {name}"))?;
            process
                .child
                .wait()
                .with_context(|| format!("cannot wait for {name}"))?;
        }
        Ok(())
    }

    /// Kills a process, and starts the same program again.
    pub fn restart(&self, name: &str) -> Result<()> {
        let running = self.running();
        let process = running.get(name);
        let process = process.with_context(|| format!("{name} doesn't run"))?;
        let line = String::from_utf8(fs::read(format!("/proc/{process}/cmdline"))?)?;
        let mut words = line.split_terminator('\0');
        let program = Program::new(words.next().unwrap_or_default());
        let program = words.fold(program, Program::arg);
        self.kill(name)?;
        self.start(name, &program)
    }

    /// The process ids of everything that runs, by name.
    pub fn running(&self) -> BTreeMap<String, u32> {
        self.processes()
            .iter()
            .map(|(name, process)| (name.clone(), process.child.id()))
            .collect()
    }

    /// Where a process writes what it has to say.
    pub fn log(&self, name: &str) -> PathBuf {
        self.folder().join(format!("{name}.log"))
    }

    /// Stops everything.
    pub(crate) fn close(&self) -> Result<()> {
        let processes = std::mem::take(&mut *self.processes());
        end(&mut processes.into_values().collect::<Vec<_>>())
    }

    /// What a failed scenario needs to show: the end of every log, and which processes have ended by themselves.
    pub(crate) fn autopsy(&self) -> Result<String> {
        let mut ended = Vec::new();
        for (name, process) in self.processes().iter_mut() {
            if process.exit()?.is_some() {
                ended.push(name.clone());
            }
        }
        let mut found = String::new();
        for name in self.log_names() {
            let (note, lines) = if ended.contains(&name) {
                (" (ended by itself)", TAIL)
            } else {
                ("", TAIL / 4)
            };
            found.push_str(&format!("--- {name}{note}\n{}\n", self.tail(&name, lines)));
        }
        Ok(found)
    }

    fn log_names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.folder())
            .into_iter()
            .flatten()
            .filter_map(|entry| {
                entry
                    .ok()?
                    .file_name()
                    .to_str()?
                    .strip_suffix(".log")
                    .map(str::to_owned)
            })
            .collect();
        names.sort();
        names
    }

    fn tail(&self, name: &str, count: usize) -> String {
        let log = fs::read(self.log(name)).unwrap_or_default();
        last_lines(&log, count, WIDTH)
    }

    fn processes(&self) -> MutexGuard<'_, BTreeMap<String, Process>> {
        self.processes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            say(format_args!("a process may be left: {error:#}"));
        }
    }
}
