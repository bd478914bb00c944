//! What a failed scenario leaves behind: logs, events and objects of its clusters, and the logs of their pods.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use kube::api::{Api, DynamicObject, ListParams};
use kube::discovery::{Discovery, verbs};
use tokio::time::timeout;

use crate::cluster::client;
use crate::say::say;

/// The variable with the folder for what a failed scenario leaves behind.
pub(crate) const RESULTS: &str = "LAB_RESULTS";

/// How long an API server may take to list everything.
const ANSWERS: Duration = Duration::from_secs(30);

/// Where a failed scenario's evidence goes: to the folder that the runner gives, or nowhere.
pub fn results() -> Option<PathBuf> {
    env::var_os(RESULTS).map(PathBuf::from)
}

/// Copies every log of a machine's folder, and writes down what is in its clusters.
///
/// # Errors
/// When a file can't be read or written. What can't be listed is left out with a message.
pub(crate) async fn collect(machine: &Path, results: &Path) -> Result<()> {
    copy_logs(machine, results)?;
    for entry in fs::read_dir(machine)? {
        let folder = entry?.path();
        let (Ok(kubeconfig), Some(name)) = (
            fs::read_to_string(folder.join("kubeconfig")),
            folder.file_name(),
        ) else {
            continue;
        };
        let target = results.join(name);
        fs::create_dir_all(&target)?;
        match timeout(ANSWERS, objects(&kubeconfig, &target)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => say(format_args!("{}: {error:#}", target.display())),
            Err(_) => say(format_args!("{}: no answer in time", target.display())),
        }
    }
    Ok(())
}

/// Copies the logs of a folder, and everything in its folder `pods`, where each node has a folder for each pod.
fn copy_logs(from: &Path, to: &Path) -> Result<()> {
    copy(from, to, &|path| {
        path.extension().is_some_and(|extension| extension == "log")
    })?;
    let nodes = folders(&from.join("pods"));
    let pods = nodes.iter().flat_map(|node| folders(node));
    for container in pods.flat_map(|pod| folders(&pod)) {
        let place = container.strip_prefix(from).unwrap_or(&container);
        copy(&container, &to.join(place), &|_| true)?;
    }
    Ok(())
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| path.is_dir()).collect()
}

fn copy(from: &Path, to: &Path, wanted: &dyn Fn(&Path) -> bool) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        if let Some(name) = path.file_name()
            && path.is_file()
            && wanted(&path)
        {
            fs::copy(&path, to.join(name))
                .with_context(|| format!("cannot copy {}", path.display()))?;
        }
    }
    Ok(())
}

/// Writes a file of YAML for each kind, without the values of Secrets; Events are a kind, too.
async fn objects(kubeconfig: &str, folder: &Path) -> Result<()> {
    let client = client(kubeconfig).await?;
    let discovery = Discovery::new(client.clone()).run().await?;
    for (resource, capabilities) in discovery
        .groups()
        .flat_map(|group| group.recommended_resources())
    {
        if !capabilities.supports_operation(verbs::LIST) {
            continue;
        }
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let Ok(list) = api.list(&ListParams::default()).await else {
            continue;
        };
        let mut text = String::new();
        for mut object in list {
            object.metadata.managed_fields = None;
            if resource.plural == "secrets" {
                object.data["data"] = "hidden".into();
            }
            text.push_str("---\n");
            text.push_str(&serde_saphyr::to_string(&object)?);
        }
        if !text.is_empty() {
            let name = format!("{}.{}.yaml", resource.plural, resource.group);
            let name = name.replace("..", ".");
            fs::write(folder.join(&name), text).with_context(|| format!("cannot write {name}"))?;
        }
    }
    Ok(())
}
