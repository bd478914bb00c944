//! The state of a lab that runs: its processes, and where its files are.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// The file in the lab's folder.
pub(super) const FILE: &str = "state.json";

/// What becomes that file once it is written.
pub(super) const NEW: &str = "state.json.new";

/// A lab, as the process that keeps it writes it down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// The lab's process.
    pub server: Process,
    /// Where its logs and data are.
    pub machine: Option<PathBuf>,
    /// The processes that it has started, by name.
    pub processes: BTreeMap<String, Process>,
    /// Where the first server answers, once the lab is complete.
    pub answers: Option<String>,
}

/// A process: another one with the same id has begun at another time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Process {
    id: u32,
    /// In ticks since the machine's start.
    started: u64,
}

impl State {
    /// Returns the state of a lab that has just started.
    pub fn of(server: Process) -> Self {
        Self {
            server,
            machine: None,
            processes: BTreeMap::new(),
            answers: None,
        }
    }

    /// The one in a folder, if there is one.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let file = folder.join(FILE);
        let text = match fs::read(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.with_context(|| format!("cannot read {}", file.display()))?,
        };
        let state = serde_json::from_slice(&text)
            .with_context(|| format!("{} isn't the state of a lab", file.display()))?;
        Ok(Some(state))
    }

    /// Writes it to a folder. Readers see the old one or the new one.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let (file, new) = (folder.join(FILE), folder.join(NEW));
        fs::write(&new, serde_json::to_vec_pretty(self)?)
            .and_then(|()| fs::rename(&new, &file))
            .with_context(|| format!("cannot write {}", file.display()))
    }
}

impl Process {
    /// The process with an id, if it runs.
    pub fn of(id: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        started(&stat).map(|started| Self { id, started })
    }

    /// Its id.
    pub fn id(self) -> u32 {
        self.id
    }

    /// Whether it still runs.
    pub fn runs(self) -> bool {
        Self::of(self.id) == Some(self)
    }

    /// Sends it a signal. It may have ended.
    ///
    /// # Errors
    /// When this user may not.
    pub fn signal(self, signal: Signal) -> Result<()> {
        let id = i32::try_from(self.id).context("an impossible process id")?;
        match kill(Pid::from_raw(id), signal) {
            Ok(()) | Err(Errno::ESRCH) => Ok(()),
            Err(error) => Err(error).with_context(|| format!("cannot signal process {id}")),
        }
    }
}

/// When a process has started, by its `/proc/<id>/stat`; nothing for one that has ended.
fn started(stat: &str) -> Option<u64> {
    // The program's name, in parentheses, may have anything in it.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process;

    use super::*;

    const STAT: &str = "4242 (a) b) S 1 4242 4242 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1024 12 18446744073709551615";

    #[test]
    fn process_is_known_by_its_start() {
        assert_eq!(started(STAT), Some(98_765));
        assert_eq!(started(&STAT.replace(" S ", " Z ")), None);
        assert_eq!(started("4242 (cut"), None);
        let own = Process::of(process::id()).expect("this process runs");
        assert!(own.runs());
        let earlier = Process {
            started: own.started - 1,
            ..own
        };
        assert!(!earlier.runs());
    }

    #[test]
    fn state_is_read_as_it_was_written() -> Result<()> {
        let folder = tempfile::tempdir()?;
        assert_eq!(State::read(folder.path())?, None);
        let server = Process { id: 7, started: 70 };
        let state = State {
            machine: Some("/tmp/c5c3-lab-7".into()),
            processes: BTreeMap::from([("etcd".to_owned(), server)]),
            answers: Some("http://172.31.7.100/".to_owned()),
            ..State::of(server)
        };
        state.write(folder.path())?;
        assert_eq!(State::read(folder.path())?, Some(state));

        fs::write(folder.path().join(FILE), "{")?;
        let error = State::read(folder.path()).unwrap_err().to_string();
        assert!(error.ends_with("isn't the state of a lab"), "{error}");
        Ok(())
    }
}
