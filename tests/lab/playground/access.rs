//! How clients reach a lab: kubeconfig, clouds.yaml, programs, and the network namespace.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Error, Result, ensure};
use c5c3_program::Build;
use serde_json::{Value, json};

use super::state::State;
use crate::function::our_program;
use crate::node::NAMED;
use crate::tools::{self, Tool};

/// The files of the lab's folder.
pub(super) const KUBECONFIG: &str = "kubeconfig";
pub(super) const CLOUDS: &str = "clouds.yaml";
pub(super) const AUTHORITY: &str = "ca.crt";
pub(super) const HOSTS: &str = "hosts";
/// Its folder of programs.
pub(super) const PROGRAMS: &str = "bin";

/// The process whose network namespace is the lab's.
const INSIDE: &str = "etcd";

/// Variables of proxies, which can't be reached from the lab's network.
const PROXIES: [&str; 6] = [
    "ALL_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "all_proxy",
    "http_proxy",
    "https_proxy",
];

/// Runs a command, or a shell, in the lab's network, in the place of this process.
pub(super) fn enter(folder: &Path, command: &[OsString]) -> Result<()> {
    let state = State::read(folder)?.filter(|state| state.server.runs());
    let state = state.context("no lab runs: `cargo xtask lab up` starts one")?;
    ensure!(
        state.answers.is_some(),
        "the lab isn't complete yet: `cargo xtask lab up` shows what it does"
    );
    let inside = state.processes.get(INSIDE).filter(|inside| inside.runs());
    let inside = inside
        .context("the lab's store doesn't run: `cargo xtask lab down` stops the other processes")?;
    let mut entering = Command::new("nsenter");
    entering
        .arg("--target")
        .arg(inside.id().to_string())
        .args(["--net", "--"])
        .args(["unshare", "--mount", "--", "sh", "-euc", NAMED])
        .arg(folder.join(HOSTS))
        .envs(variables(folder));
    for proxy in PROXIES {
        entering.env_remove(proxy);
    }
    match command {
        // The user's own settings may replace PATH.
        [] => entering.args(["bash", "--norc"]).env("PS1", "lab:\\w\\$ "),
        _ => entering.args(command),
    };
    Err(Error::new(entering.exec()).context("cannot start nsenter"))
}

/// The variables by which `kubectl`, `c5c3` and `openstack` find the lab, and the shell finds them.
pub(super) fn variables(folder: &Path) -> [(&'static str, OsString); 6] {
    let mut programs = folder.join(PROGRAMS).into_os_string();
    if let Some(others) = env::var_os("PATH") {
        programs.push(":");
        programs.push(others);
    }
    [
        ("PATH", programs),
        ("KUBECONFIG", folder.join(KUBECONFIG).into()),
        ("OS_CLIENT_CONFIG_FILE", folder.join(CLOUDS).into()),
        ("OS_CACERT", folder.join(AUTHORITY).into()),
        ("OS_CLOUD", "openstack".into()),
        (super::FOLDER, folder.into()),
    ]
}

/// Puts the programs that people use into the lab's folder.
pub(super) fn link_programs(folder: &Path) -> Result<()> {
    let programs = folder.join(PROGRAMS);
    fs::create_dir_all(&programs)
        .with_context(|| format!("cannot create {}", programs.display()))?;
    for (name, program) in [
        ("kubectl", Tool::Kubectl.path()?),
        ("openstack", tools::openstack()?.join("openstack")),
        ("c5c3", our_program(Build::Debug)?),
    ] {
        symlink(program, programs.join(name)).with_context(|| format!("cannot link {name}"))?;
    }
    Ok(())
}

/// One kubeconfig of several, each with its name as a context; the first one's is current.
///
/// # Errors
/// When one isn't a kubeconfig.
pub(super) fn merged(kubeconfigs: &[(&str, &str)]) -> Result<Value> {
    let mut merged = json!({
        "apiVersion": "v1", "kind": "Config", "clusters": [], "users": [], "contexts": [],
        "current-context": kubeconfigs.first().map(|(name, _)| name),
    });
    for (name, kubeconfig) in kubeconfigs {
        let mut kubeconfig: Value = serde_json::from_str(kubeconfig)
            .with_context(|| format!("the kubeconfig of {name} isn't JSON"))?;
        for list in ["clusters", "users", "contexts"] {
            let mut entry = kubeconfig[list][0].take();
            entry["name"] = json!(name);
            if list == "contexts" {
                entry["context"]["cluster"] = json!(name);
                entry["context"]["user"] = json!(name);
            }
            let entries = merged[list].as_array_mut();
            entries
                .context("the merged kubeconfig has no such list")?
                .push(entry);
        }
    }
    Ok(merged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubeconfigs_of_several_clusters_are_contexts_of_one() -> Result<()> {
        let of = |port: u16| {
            let server = format!("https://127.0.0.1:{port}");
            let context = json!({"cluster": "lab", "user": "lab", "namespace": "default"});
            let one = json!({
                "apiVersion": "v1", "kind": "Config", "current-context": "lab",
                "clusters": [{"name": "lab", "cluster": {"server": server}}],
                "users": [{"name": "lab", "user": {"token": port.to_string()}}],
                "contexts": [{"name": "lab", "context": context}],
            });
            one.to_string()
        };
        let (management, storage) = (of(10_000), of(10_001));
        let merged = merged(&[("management", &management[..]), ("storage", &storage[..])])?;
        let context = |name: &str| {
            let context = json!({"cluster": name, "user": name, "namespace": "default"});
            json!({"name": name, "context": context})
        };
        let expected = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "management",
            "clusters": [
                {"name": "management", "cluster": {"server": "https://127.0.0.1:10000"}},
                {"name": "storage", "cluster": {"server": "https://127.0.0.1:10001"}},
            ],
            "users": [
                {"name": "management", "user": {"token": "10000"}},
                {"name": "storage", "user": {"token": "10001"}},
            ],
            "contexts": [context("management"), context("storage")],
        });
        assert_eq!(merged, expected);
        Ok(())
    }

    #[test]
    fn clients_find_the_labs_own_files_and_programs_first() {
        let variables = variables(Path::new("/run/lab"));
        let value = |name: &str| {
            let mut found = variables.iter().filter(|(known, _)| *known == name);
            found.next().map(|(_, value)| value.to_string_lossy())
        };
        assert_eq!(value("KUBECONFIG").as_deref(), Some("/run/lab/kubeconfig"));
        let path = value("PATH").unwrap_or_default();
        assert!(path.starts_with("/run/lab/bin:"), "{path}");
    }
}
