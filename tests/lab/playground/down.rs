//! Stopping a lab, and removing what it left.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::Signal;

use super::state::{FILE, Process, State};
use super::{access, server, up};
use crate::minutes;
use crate::scenario::remove_leftovers;

/// The files of a lab's folder. The state is the last to go, so that an attempt that fails can be repeated.
const FILES: [&str; 8] = [
    access::KUBECONFIG,
    access::CLOUDS,
    access::AUTHORITY,
    access::HOSTS,
    up::LOG,
    server::LOCK,
    "state.json.new",
    FILE,
];

/// How long all processes of a lab may take to end; a node alone may take a minute.
const GRACE: Duration = minutes(3);

const POLL: Duration = Duration::from_millis(100);

/// Stops a lab, and removes what it left.
pub(super) fn down(folder: &Path) -> Result<()> {
    let Some(state) = State::read(folder)? else {
        println!("no lab runs");
        return Ok(());
    };
    let started = Instant::now();
    println!("==> stopping the lab");
    if state.server.runs() {
        // It ends its processes, nodes with their mounts and control groups, and removes its folder.
        state.server.signal(Signal::SIGINT)?;
        end(&[("the lab", state.server)])?;
    }
    remove(folder, &state)?;
    println!(
        "    everything is gone after {} s",
        started.elapsed().as_secs()
    );
    Ok(())
}

/// Removes what is left of a lab whose own process has ended.
pub(super) fn remove(folder: &Path, state: &State) -> Result<()> {
    ensure!(!state.server.runs(), "the lab still runs");
    // They end with the lab's process, however it has ended: nodes a little later.
    let processes = state.processes.iter();
    let processes: Vec<_> = processes
        .map(|(name, process)| (name.as_str(), *process))
        .collect();
    end(&processes)?;
    if let Some(machine) = &state.machine {
        let mounts = fs::read_to_string("/proc/self/mounts").context("cannot list mounts")?;
        if let Some(mount) = mount_in(&mounts, machine) {
            bail!(
                "{mount} is still mounted: run `umount {mount}`, and `cargo xtask lab down` again"
            );
        }
        gone(fs::remove_dir_all(machine))
            .with_context(|| format!("cannot remove {}", machine.display()))?;
    } else {
        // It ended before it wrote down where its folder is.
        remove_leftovers()?;
    }
    gone(fs::remove_dir_all(folder.join(access::PROGRAMS)))
        .with_context(|| format!("cannot remove the programs of {}", folder.display()))?;
    for name in FILES {
        gone(fs::remove_file(folder.join(name)))
            .with_context(|| format!("cannot remove {name} of {}", folder.display()))?;
    }
    if let Err(error) = fs::remove_dir(folder) {
        println!("{} is kept: {error}", folder.display());
    }
    Ok(())
}

/// Whether a lab's folder has such a file or folder.
pub(super) fn is_ours(name: &OsStr) -> bool {
    name == access::PROGRAMS || FILES.iter().any(|ours| name == *ours)
}

/// Waits for the end of processes, and kills those that don't end by themselves.
fn end(processes: &[(&str, Process)]) -> Result<()> {
    let started = Instant::now();
    let mut killed = false;
    loop {
        let mut running = processes.iter().filter(|(_, process)| process.runs());
        let Some((name, _)) = running.next() else {
            return Ok(());
        };
        if started.elapsed() < GRACE {
            thread::sleep(POLL);
            continue;
        }
        ensure!(
            !killed || started.elapsed() < GRACE * 2,
            "{name} doesn't end: run `cargo xtask lab down` again"
        );
        if !killed {
            println!("    {name} doesn't end by itself, and is killed");
            for (_, process) in processes.iter().filter(|(_, process)| process.runs()) {
                process.signal(Signal::SIGKILL)?;
            }
            killed = true;
        }
        thread::sleep(POLL);
    }
}

/// The first mount in a folder, by the lines of `/proc/self/mounts`.
fn mount_in<'a>(mounts: &'a str, folder: &Path) -> Option<&'a str> {
    let mut places = mounts
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1));
    places.find(|place| Path::new(place).starts_with(folder))
}

/// Fine when something is removed, or was before.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn mounts_of_a_lab_are_found_and_no_others() {
        let mounts = "proc /proc proc rw 0 0\n\
                      tmpfs /tmp/c5c3-lab-12-main-x/node/run tmpfs rw 0 0\n\
                      tmpfs /tmp/c5c3-lab-12-main-xy tmpfs rw 0 0\n";
        let found = |folder: &str| mount_in(mounts, Path::new(folder));
        assert_eq!(
            found("/tmp/c5c3-lab-12-main-x"),
            Some("/tmp/c5c3-lab-12-main-x/node/run")
        );
        assert_eq!(found("/tmp/c5c3-lab-12-main"), None);
    }

    #[test]
    fn nothing_is_left_of_a_lab_but_the_files_of_others() -> Result<()> {
        let server = serde_json::from_value(json!({"id": u32::MAX, "started": 1}))?;
        let folder = tempfile::tempdir()?;
        let machine = folder.path().join("machine");
        fs::create_dir(&machine)?;
        fs::write(machine.join("etcd.log"), "")?;
        let state = State {
            machine: Some(machine),
            ..State::of(server)
        };
        state.write(folder.path())?;
        fs::create_dir(folder.path().join(access::PROGRAMS))?;
        fs::write(folder.path().join(access::CLOUDS), "")?;
        fs::write(folder.path().join("notes.txt"), "")?;
        remove(folder.path(), &state)?;
        let left: Vec<_> = fs::read_dir(folder.path())?
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        assert_eq!(left, ["notes.txt"]);
        Ok(())
    }
}
