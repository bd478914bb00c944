//! A network namespace for the current thread, in which only loopback exists.

use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::process::Command;
use std::thread;

use anyhow::{Context, Result, anyhow, bail};
use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};

use crate::output::{installed, printed};

/// Moves the current thread into a network namespace of its own and brings loopback up there.
///
/// Threads and processes that this thread starts from now on are in it too, so it must come before the runtime.
/// The namespace goes when the last of them ends.
///
/// # Errors
/// When the machine doesn't let us, with what to do about it.
pub(crate) fn enter() -> Result<()> {
    match unshare(CloneFlags::CLONE_NEWNET) {
        Ok(()) => {}
        Err(Errno::EPERM) => bail!(
            "a lab runs in a network namespace of its own, which needs root: \
             run the tests as root, or as `unshare --user --map-root-user cargo test --package lab`"
        ),
        Err(error) => bail!(
            "this kernel gives no network namespace ({error}); inside a container, start it with \
             `--cap-add SYS_ADMIN --security-opt seccomp=unconfined`"
        ),
    }
    ip(&["link", "set", "lo", "up"])
}

/// Has `ip` change the network of the current thread's namespace.
pub(crate) fn ip(words: &[&str]) -> Result<()> {
    let output = Command::new("ip").args(words).output();
    let output = installed(output, "ip", "`ip` is missing: `apt-get install iproute2`")?;
    printed(output, &format!("ip {}", words.join(" "))).map(drop)
}

/// Gives the machine of the current thread's scenario one more address, besides loopback's: endpoints of Services and load balancers
/// can't be on loopback.
pub fn take_address(address: Ipv4Addr) -> Result<()> {
    ip(&["address", "add", &format!("{address}/32"), "dev", "lo"])
}

/// Does some work in the namespace that the process was started in, where the world can be reached.
///
/// # Errors
/// When there is no way back there.
pub(crate) fn outside<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T> {
    thread::scope(|scope| {
        let worked = scope.spawn(|| {
            // The process's own namespace is that of its first thread, which runs no scenario.
            let (here, there) = ("/proc/thread-self/ns/net", "/proc/self/ns/net");
            if fs::read_link(here)? != fs::read_link(there)? {
                setns(File::open(there)?, CloneFlags::CLONE_NEWNET)
                    .context("cannot leave the network namespace")?;
            }
            Ok(work())
        });
        worked.join().map_err(|_| anyhow!("a thread panicked"))?
    })
}
