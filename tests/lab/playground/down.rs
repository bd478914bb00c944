//! Stopping a lab, and removing what it left.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::Signal;

use super::state::{FILE, NEW, Process, State};
use super::{access, server};
use crate::cache::gone;
use crate::minutes;
use crate::scenario::{PREFIX, remove_leftovers};

/// The files of a lab's folder. The state is the last to go, so that an attempt that fails can be repeated.
const FILES: [&str; 8] = [
    access::KUBECONFIG,
    access::CLOUDS,
    access::AUTHORITY,
    access::HOSTS,
    server::LOG,
    server::LOCK,
    NEW,
    FILE,
];

/// What a lab writes before it has a state, and while it writes that.
const EARLY: [&str; 3] = [server::LOG, server::LOCK, NEW];

/// How long all processes of a lab may take to end. A node alone has a minute, times [`PATIENCE`](super::up::PATIENCE).
const GRACE: Duration = minutes(6);

/// How long control groups may be busy after their processes were killed.
const SETTLING: Duration = Duration::from_secs(10);

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
        // They are listed without symbolic links.
        let place = fs::canonicalize(machine).unwrap_or_else(|_| machine.clone());
        if let Some(mount) = mount_in(&mounts, &place) {
            bail!(
                "{mount} is still mounted: run `umount {mount}`, and `cargo xtask lab down` again"
            );
        }
        remove_groups(Path::new("/sys/fs/cgroup"), machine)?;
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

/// Whether an attempt that ended before it wrote a state may have left such a file. A folder with any other has files of somebody else,
/// whatever their names are.
pub(super) fn is_left_early(name: &OsStr) -> bool {
    EARLY.iter().any(|early| name == *early)
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

/// The first mount in a folder, by the lines of `/proc/self/mounts`, which have octal numbers for some characters.
fn mount_in<'a>(mounts: &'a str, folder: &Path) -> Option<&'a str> {
    let written = [
        ('\\', "\\134"),
        (' ', "\\040"),
        ('\t', "\\011"),
        ('\n', "\\012"),
    ];
    let folder = folder.to_string_lossy().into_owned();
    let folder = written.iter().fold(folder, |folder, (plain, octal)| {
        folder.replace(*plain, octal)
    });
    let mut places = mounts
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1));
    places.find(|place| Path::new(place).starts_with(&folder))
}

/// Removes the control groups of nodes that were killed; one that ends by itself has removed its own. They have the name of the lab's folder.
fn remove_groups(hierarchies: &Path, machine: &Path) -> Result<()> {
    let name = machine.file_name().and_then(OsStr::to_str);
    let Some(name) = name.filter(|name| name.starts_with(PREFIX)) else {
        return Ok(());
    };
    let (own, within, of_hypervisors) = (
        format!("*/{name}"),
        format!("*/{name}/*"),
        format!("*/{name}-*"),
    );
    let started = Instant::now();
    loop {
        let removed = Command::new("find")
            .arg(hierarchies)
            .args(["-depth", "-type", "d", "(", "-path", &own])
            .args(["-o", "-path", &within, "-o", "-path", &of_hypervisors])
            .args([")", "-exec", "rmdir", "{}", "+"])
            .stderr(Stdio::null())
            .status()
            .context("cannot run `find`")?;
        // Groups of others may come and go meanwhile, and processes that were killed take a moment to end.
        if removed.success() {
            return Ok(());
        }
        ensure!(
            started.elapsed() < SETTLING,
            "cannot remove the control groups {name} in {}: run `cargo xtask lab down` again",
            hierarchies.display()
        );
        thread::sleep(POLL);
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

        let mounts = "tmpfs /my\\040files/c5c3-lab-12-main-x/node/run tmpfs rw 0 0\n";
        let found = mount_in(mounts, Path::new("/my files/c5c3-lab-12-main-x"));
        assert_eq!(found, Some("/my\\040files/c5c3-lab-12-main-x/node/run"));
    }

    #[test]
    fn control_groups_of_a_lab_are_removed_and_no_others() -> Result<()> {
        let groups = tempfile::tempdir()?;
        let group = |path: &str| groups.path().join(path);
        for path in [
            "c5c3-lab-12-main-x/kubepods/pod",
            "cpu/c5c3-lab-12-main-x-1",
            "c5c3-lab-12-main-xy",
            "machine-1",
        ] {
            fs::create_dir_all(group(path))?;
        }
        remove_groups(groups.path(), Path::new("/tmp/c5c3-lab-12-main-x"))?;
        remove_groups(groups.path(), Path::new("/tmp/machine"))?;
        assert!(!group("c5c3-lab-12-main-x").exists());
        assert!(!group("cpu/c5c3-lab-12-main-x-1").exists());
        assert!(group("c5c3-lab-12-main-xy").exists());
        assert!(group("machine-1").exists());
        Ok(())
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
