//! Starting a lab, and following it until it is complete.

use std::env;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::server::LOG;
use super::state::{FILE, State};
use super::{NEEDS, access, down};
use crate::evidence::RESULTS;
use crate::runner::prepare;
use crate::scale::TIME_SCALE;

/// How many times as long as in scenarios it waits: nobody knows what else the machine does.
pub(super) const PATIENCE: &str = "4";

const POLL: Duration = Duration::from_millis(300);

/// Starts a lab, or finds the one that runs. What was built before isn't built again.
pub(super) fn up(folder: &Path) -> Result<()> {
    if let Some(state) = State::read(folder)? {
        if let Some(url) = state.answers.as_ref().filter(|_| state.server.runs()) {
            println!("the lab runs already");
            summarise(folder, url);
            return Ok(());
        }
        if state.server.runs() {
            println!("the lab is being started already; this is its log:");
            return follow(folder, || Ok(!state.server.runs()));
        }
        println!("the last lab has failed: its files and processes are removed first");
        down::remove(folder, &state)?;
    }
    create(folder)?;
    println!("==> tools and images, which stay in the cache folder");
    let started = Instant::now();
    prepare(NEEDS.concat())?;
    println!("    tools and images: {} s", started.elapsed().as_secs());

    let mut server = start(folder)?;
    println!("Ctrl-C ends only this view: run `cargo xtask lab up` again to see the rest");
    follow(folder, || Ok(server.try_wait()?.is_some()))
}

/// Creates the lab's folder, for this user alone.
fn create(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut entries = fs::read_dir(folder)?
        .flatten()
        .map(|entry| entry.file_name());
    let foreign = entries.find(|name| !down::is_left_early(name));
    ensure!(
        foreign.is_none(),
        "{} has files that aren't a lab's: name another folder by {}",
        folder.display(),
        super::FOLDER
    );
    fs::set_permissions(folder, Permissions::from_mode(0o700))
        .with_context(|| format!("cannot protect {}", folder.display()))
}

/// Starts the lab's process, in a session of its own, so that it outlives the terminal.
fn start(folder: &Path) -> Result<Child> {
    let log = File::options()
        .create(true)
        .append(true)
        .open(folder.join(LOG))
        .context("cannot write the lab's log")?;
    let mut server = Command::new("setsid");
    server
        .arg(env::current_exe().context("this program has no path")?)
        .arg("--folder")
        .arg(folder)
        .arg("serve")
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log);
    if env::var_os(RESULTS).is_none() {
        server.env(RESULTS, results()?);
    }
    if env::var_os(TIME_SCALE).is_none() {
        server.env(TIME_SCALE, PATIENCE);
    }
    server
        .spawn()
        .context("cannot start `setsid`: `apt-get install util-linux`")
}

/// Where a lab that fails leaves its logs: beside those of scenarios, in cargo's target folder.
fn results() -> Result<PathBuf> {
    let program = env::current_exe().context("this program has no path")?;
    let target = program.parent().and_then(Path::parent);
    let results = target.context("an odd path")?.join("lab/playground");
    fs::create_dir_all(&results).with_context(|| format!("cannot create {}", results.display()))?;
    Ok(results)
}

/// Shows what a lab's process prints until the lab is complete.
fn follow(folder: &Path, mut has_ended: impl FnMut() -> Result<bool>) -> Result<()> {
    let mut log = File::open(folder.join(LOG)).context("the lab has no log")?;
    loop {
        // Before its last lines are read, so that all of them are.
        let ended = has_ended()?;
        let state = State::read(folder)?;
        io::copy(&mut log, &mut io::stdout()).context("cannot show the lab's log")?;
        ensure!(
            !ended,
            "the lab has ended before it was complete, and its log above says why. `cargo xtask lab up` starts it again; tools and images \
             are kept, and so are the logs of its processes, in target/lab/playground"
        );
        if let Some(url) = state.and_then(|state| state.answers) {
            summarise(folder, &url);
            return Ok(());
        }
        thread::sleep(POLL);
    }
}

/// Prints what a lab has, and what to do with it.
fn summarise(folder: &Path, url: &str) {
    let file = |name: &str| folder.join(name).display().to_string();
    println!(
        "\n\
         kubeconfig    {kubeconfig}, with the contexts management, control-plane, hypervisors and storage\n\
         clouds.yaml   {clouds}\n\
         log, state    {log}, {state}\n\
         first server  {url}\n\
         \n\
         They are reached in the lab's own network: `cargo xtask lab shell` enters it, and docs/first-cloud.md goes on from here.\n\
         `cargo xtask lab down` stops the lab and removes all of it but the tools and images that were built.",
        kubeconfig = file(access::KUBECONFIG),
        clouds = file(access::CLOUDS),
        log = file(LOG),
        state = file(FILE),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_with_files_of_others_is_refused() -> Result<()> {
        let folder = tempfile::tempdir()?;
        create(folder.path())?;
        fs::write(folder.path().join(LOG), "")?;
        create(folder.path())?;
        let mode = fs::metadata(folder.path())?.permissions().mode();
        assert_eq!(mode & 0o777, 0o700);

        // The names of a lab's own files are those of others, too.
        for name in ["thesis.txt", access::CLOUDS, access::KUBECONFIG] {
            let file = folder.path().join(name);
            fs::write(&file, "")?;
            let error = create(folder.path()).unwrap_err().to_string();
            assert!(error.contains("has files that aren't a lab's"), "{error}");
            fs::remove_file(file)?;
        }
        fs::create_dir(folder.path().join(access::PROGRAMS))?;
        assert!(create(folder.path()).is_err());
        Ok(())
    }
}
