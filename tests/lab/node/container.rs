//! Programs beside those that a pod runs by itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use kube::core::DynamicObject;

use super::Node;
use crate::cluster::Cluster;
use crate::objects::kind;
use crate::output::{limited, output};

/// How long a program may run: longer than any that sets itself a limit.
const PATIENCE: Duration = Duration::from_secs(4 * 60);

/// A container of a pod that runs.
pub struct Container {
    /// The process whose namespaces the node's programs are in.
    init: String,
    id: String,
}

impl Node {
    /// The only container of a pod.
    ///
    /// # Errors
    /// When the pod isn't there or hasn't started.
    pub async fn container(&self, pod: &str) -> Result<Container> {
        Container::of(&self.cluster, pod, None, |pod| self.init_of(pod)).await
    }

    /// A container of a pod, by its name.
    ///
    /// # Errors
    /// When it isn't there or hasn't started.
    pub async fn container_of(&self, pod: &str, name: &str) -> Result<Container> {
        Container::of(&self.cluster, pod, Some(name), |pod| self.init_of(pod)).await
    }
}

impl Container {
    /// The only container of a pod of a cluster, or the one of this name, on the node whose programs are in the namespaces of the
    /// process that is returned.
    pub(super) async fn of(
        cluster: &Cluster,
        pod: &str,
        name: Option<&str>,
        init: impl FnOnce(&DynamicObject) -> Result<String>,
    ) -> Result<Self> {
        let found = cluster.get(kind("v1", "Pod"), pod).await?;
        let containers = found.data["status"]["containerStatuses"].as_array();
        let mut containers = containers.into_iter().flatten();
        let container =
            containers.find(|container| name.is_none_or(|name| container["name"] == name));
        let id = container
            .and_then(|container| container["containerID"].as_str())
            .and_then(|id| id.strip_prefix("containerd://"))
            .with_context(|| format!("{pod} has no container yet: {}", found.data["status"]))?;
        Ok(Container {
            init: init(&found)?,
            id: id.to_owned(),
        })
    }

    /// Sends its first process a signal, for instance `SIGKILL`.
    pub fn signal(&self, signal: &str) -> Result<()> {
        self.ctr(&["kill", "--signal", signal, &self.id]).map(drop)
    }

    /// Runs a program in it, and gives what it prints.
    ///
    /// # Errors
    /// When it fails, with what it says of that, or hasn't ended after four minutes.
    pub fn run(&self, words: &[&str]) -> Result<String> {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        let run = format!("run-{}", RUNS.fetch_add(1, Ordering::Relaxed));
        let exec = ["exec", "--exec-id", &run, &self.id];
        self.ctr(&[&exec[..], words].concat())
    }

    /// Has containerd do something with it.
    fn ctr(&self, words: &[&str]) -> Result<String> {
        let mut nsenter = limited("nsenter", PATIENCE);
        let command = nsenter
            .args(["--target", &self.init, "--mount", "--pid", "--"])
            .args(["ctr", "--namespace", "k8s.io", "tasks"]);
        output(command.args(words), &words.join(" "))
    }
}
