//! Pools in Ceph: who uses them, and whether they can be reached, as a pod sees it that runs what the service runs.

mod checks;

use std::collections::BTreeMap;

use c5c3_api::parts::Rbd;
use provider_composer::{DesiredState, Progress, Reason};

use crate::digest::digest;
use crate::files::Files;
use crate::jobs::{Jobs, Task};
use crate::pod::{Program, Source};
use crate::prerequisite::Prerequisite;
use crate::service::Service;

pub use checks::check_pools;

/// How a part of a keyring begins, up to the user's name.
const PART: &str = "[client.";
/// Options that say where Ceph is and how connections to it are protected. Others name files and libraries to load.
const CONNECTION: [&str; 6] = [
    "fsid",
    "mon_host",
    "ms_client_mode",
    "ms_cluster_mode",
    "ms_mon_client_mode",
    "ms_service_mode",
];
/// The task that checks.
const CEPH: &str = "ceph";

/// Reads from the pool as the service's user does. Only an OSD knows whether the user may: monitors open the pool for every user.
/// Its parameters are environment variables.
const SCRIPT: &str = "\
import os, rados
with rados.Rados(conffile='/etc/ceph/ceph.conf', rados_id=os.environ['CEPH_USER']) as cluster:
    with cluster.open_ioctx(os.environ['CEPH_POOL']) as pool:
        try:
            pool.stat('no-such-object')
        except rados.ObjectNotFound:
            pass
";

/// A pool in Ceph, and who uses it.
#[derive(Clone, PartialEq, Eq)]
pub struct Pool {
    /// Name of the pool.
    pub pool: String,
    /// Ceph's user.
    pub user: String,
    /// Secret with configuration and key.
    secret: String,
    /// How Ceph is reached.
    conf: String,
    /// The user's key.
    keyring: String,
}

impl Pool {
    /// The pool that a field describes.
    ///
    /// # Errors
    /// Its Secret isn't there, or lacks something.
    pub fn resolve(service: &Service<'_>, field: &str, rbd: &Rbd) -> Prerequisite<Self> {
        let secret = &rbd.ceph_secret_ref.name;
        let values = service.secret(secret, "Ceph's configuration and key")?;
        let keyring = values.text("keyring")?;
        let conf = values.text("ceph.conf")?;
        let user = match &rbd.user {
            Some(user) => user.clone(),
            None => values.line("userID")?.to_owned(),
        };
        if !has_key(keyring) {
            let message = format!(
                "the keyring in Secret {secret} has no key: put in what `ceph auth get client.{user}` prints"
            );
            return Err(Progress::failed(Reason::InvalidSecret, message));
        }
        if user.starts_with("client.") {
            let message = format!(
                "Ceph's user is {user}: write it without client., in {field}.rbd.user or under userID of Secret {secret}"
            );
            return Err(Progress::failed(Reason::InvalidSecret, message));
        }
        Ok(Self {
            pool: rbd.pool.clone(),
            user,
            secret: secret.clone(),
            conf: with_sorted_monitors(conf),
            keyring: keyring.to_owned(),
        })
    }

    /// Adds the configuration of Ceph and the user's key, by the names of their files in a folder. A service may reach several Cephs,
    /// so each has a configuration of its own, which names its own keyring: what is said last of a user holds.
    pub fn files(&self, folder: &str, conf: &str, keyring: &str, files: &mut Files) {
        let own = format!("[client.{}]\nkeyring = {folder}/{keyring}\n", self.user);
        files.secret(conf, format!("{}\n\n{own}", self.conf.trim_end()));
        files.secret(keyring, &self.keyring);
    }

    /// Checks that its user can be a part of a file's name and of a section's.
    ///
    /// # Errors
    /// It has other characters.
    pub fn plainly_named(self) -> Prerequisite<Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        match self.user.bytes().all(is_plain) {
            true => Ok(self),
            false => Err(Progress::failed(
                Reason::InvalidSecret,
                format!(
                    "Ceph's user is {}: choose one of letters, digits, -, _ and .",
                    self.user
                ),
            )),
        }
    }

    /// How Ceph is reached, and nothing else of its configuration: for processes that are root on nodes, which must not load what
    /// the author of a Secret names.
    ///
    /// # Errors
    /// It doesn't say where the monitors are.
    pub fn connection(&self) -> Prerequisite<Self> {
        let lines = self.conf.lines().filter_map(connection);
        let options: BTreeMap<String, &str> = lines.collect();
        if !options.contains_key("mon_host") {
            let message = format!(
                "the ceph.conf in Secret {} has no mon_host: add the addresses of the monitors in one line",
                self.secret
            );
            return Err(Progress::failed(Reason::InvalidSecret, message));
        }
        let lines = options.iter();
        let lines = lines.map(|(name, value)| format!("{name} = {value}\n"));
        Ok(Self {
            conf: format!("[global]\n{}", lines.collect::<String>()),
            keyring: format!("[client.{}]\nkey = {}\n", self.user, self.key()?),
            ..self.clone()
        })
    }

    /// The user's key, as libvirt takes it.
    ///
    /// # Errors
    /// The keyring has no key of the user.
    pub fn key(&self) -> Prerequisite<&str> {
        key_of(&self.user, &self.keyring).ok_or_else(|| {
            let message = format!(
                "the keyring in Secret {0} has no key of client.{1}: put in what `ceph auth get client.{1}` prints",
                self.secret, self.user
            );
            Progress::failed(Reason::InvalidSecret, message)
        })
    }

    /// What a check is for: the pool, its user, and how it is reached.
    fn purpose(&self) -> String {
        let key = digest([self.conf.as_str(), self.keyring.as_str()]);
        format!("{} {} {key}", self.pool, self.user)
    }

    /// Tells it from others, and with another key from itself.
    fn id(&self) -> String {
        digest([self.purpose().as_str()])
    }

    /// Checks whether its user can open it.
    fn check(&self) -> Task {
        let program = Program::default()
            .mount("ceph", "/etc/ceph", Source::Secret(self.secret.clone()))
            .command(["timeout", "60", "python3", "-c", SCRIPT].map(str::to_owned))
            .variable("CEPH_USER", &self.user)
            .variable("CEPH_POOL", &self.pool);
        Task {
            name: CEPH,
            purpose: self.purpose(),
            migrates: None,
            program,
            often: format!(
                "Ceph has no pool {}, refuses user {}, its key has no capabilities for the pool, or monitors or OSDs can't be reached from here",
                self.pool, self.user
            ),
        }
    }
}

/// Checks whether the users of some pools can open them, once for each pool, user and key, and again while one can't.
fn reached<'p>(
    pools: impl IntoIterator<Item = &'p Prerequisite<Pool>>,
    jobs: &Jobs<'_>,
    desired: &mut DesiredState,
) -> Vec<Progress> {
    let pools = pools.into_iter();
    let each = pools.map(|pool| match pool {
        Ok(pool) => jobs.once(&pool.check(), desired),
        Err(pending) => {
            jobs.keep(&[CEPH], desired);
            pending.clone()
        }
    });
    each.collect()
}

/// The option in a line of Ceph's configuration, if it says how Ceph is reached. Words of its name may be separated by spaces.
fn connection(line: &str) -> Option<(String, &str)> {
    let (name, value) = line.split_once('=')?;
    let (name, value) = (name.trim().replace([' ', '-'], "_"), value.trim());
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b" .,:;/-[]".contains(&byte);
    let is_taken = CONNECTION.contains(&name.as_str()) && value.bytes().all(is_plain);
    is_taken.then_some((name, value))
}

/// A configuration whose monitors are in order. Rook writes them in another order each time
/// (rook/rook, pkg/daemon/ceph/client/config.go), which means nothing to clients, and would replace their pods.
fn with_sorted_monitors(conf: &str) -> String {
    let lines = conf.lines().map(|line| match connection(line) {
        Some((name, value)) if name == "mon_host" => {
            // A monitor may have several addresses in brackets.
            let mut monitors: Vec<&str> = Vec::new();
            let (mut depth, mut start) = (0_usize, 0);
            for (place, byte) in value.bytes().enumerate() {
                match byte {
                    b'[' => depth += 1,
                    b']' => depth = depth.saturating_sub(1),
                    b',' if depth == 0 => {
                        monitors.push(value[start..place].trim());
                        start = place + 1;
                    }
                    _ => {}
                }
            }
            monitors.push(value[start..].trim());
            monitors.sort_unstable();
            format!("mon_host = {}\n", monitors.join(","))
        }
        _ => format!("{line}\n"),
    });
    lines.collect()
}

/// Whether there is a key in each part of a keyring, where there are parts
/// (<https://docs.ceph.com/en/tentacle/rados/operations/user-management/#keyring-management>).
fn has_key(keyring: &str) -> bool {
    let mut parts = keyring.split(PART).skip(1);
    parts.all(|part| key_in(part).is_some())
}

/// The key of a user in a keyring.
fn key_of<'k>(user: &str, keyring: &'k str) -> Option<&'k str> {
    let mut parts = keyring.split(PART).skip(1);
    parts.find_map(|part| key_in(part.strip_prefix(user)?.strip_prefix(']')?))
}

/// The key in a part of a keyring.
fn key_in(part: &str) -> Option<&str> {
    part.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        Some(value.trim()).filter(|value| name.trim() == "key" && !value.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::with_sorted_monitors;

    #[test]
    fn monitors_are_in_order_however_they_are_listed() {
        let sorted = "[global]\nmon_host = [v2:10.0.0.1:3300,v1:10.0.0.1:6789],[v2:10.0.0.2:3300]\nother = b,a\n";
        for given in [
            sorted,
            "[global]\nmon host = [v2:10.0.0.2:3300], [v2:10.0.0.1:3300,v1:10.0.0.1:6789]\nother = b,a",
        ] {
            assert_eq!(with_sorted_monitors(given), sorted);
        }
        assert_eq!(
            with_sorted_monitors("mon_host = b,a,c"),
            "mon_host = a,b,c\n"
        );
    }
}
