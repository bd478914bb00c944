//! Hypervisors: further nodes of a cluster.

use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result};
use serde_json::json;

use super::configuration::Host;
use super::{Container, Fabric, NODE, Node, READY};
use crate::cluster::{ADDRESS, Cluster};
use crate::eventually;
use crate::machine::Machine;
use crate::output::output;
use crate::say::say;

/// The label of nodes that are hypervisors, and their taint: pods of the control plane stay on the first node.
const LABEL: &str = "node-role.kubernetes.io/hypervisor";

/// A node on which virtual machines can run: it has /dev/net/tun and no /dev/kvm, a /run and a /var/lib of its own, and
/// beside `eth0` two network interfaces that nothing uses yet: `underlay`, with the address for tunnels, and `external` in
/// the physical network.
///
/// Everything of it ends with it, even when the scenario is killed.
pub struct Hypervisor {
    machine: Arc<Machine>,
    cluster: Cluster,
    host: Host,
    init: String,
}

impl Node {
    /// Adds a hypervisor to the cluster of this node or another one that it [serves](Self::serve), `hypervisor-<number>`,
    /// counted from 1.
    pub async fn add_hypervisor(
        &self,
        cluster: &Cluster,
        fabric: &Fabric,
        number: u8,
    ) -> Result<Hypervisor> {
        let host = Host::hypervisor(self.machine.folder(), number)?;
        let init = self.confine(&host).await?;
        let hypervisor = Hypervisor {
            machine: self.machine.clone(),
            cluster: cluster.clone(),
            host,
            init,
        };
        let host = &hypervisor.host;
        fabric.connect(host, &hypervisor.init, ADDRESS)?;
        self.start_kubelet(host, cluster).await?;
        self.start_proxy(host, cluster)?;
        eventually(&format!("{} is ready", host.name()), READY, async || {
            self.runs(host, cluster).await
        })
        .await?;
        let role = json!({
            "metadata": {"labels": {LABEL: ""}},
            "spec": {"taints": [{"key": LABEL, "effect": "NoSchedule"}]},
        });
        cluster.edit(NODE, host.name(), role).await?;
        Ok(hypervisor)
    }
}

impl Hypervisor {
    /// Its node's name.
    pub fn name(&self) -> &str {
        self.host.name()
    }

    /// The cluster that it is a node of.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The only container of a pod on it.
    ///
    /// # Errors
    /// When the pod isn't there or hasn't started.
    pub async fn container(&self, pod: &str) -> Result<Container> {
        Container::of(&self.cluster, pod, None, |_| Ok(self.init.clone())).await
    }

    /// Its address for tunnels to other hypervisors, the one that `underlay` has.
    pub fn encapsulation(&self) -> Ipv4Addr {
        self.host.encapsulation()
    }

    /// Kills its kubelet, and starts it again. What runs on it goes on.
    ///
    /// # Errors
    /// When the kubelet doesn't run, or can't be killed or started.
    pub fn restart_kubelet(&self) -> Result<()> {
        self.machine.restart(&self.host.process("kubelet"))
    }

    /// Runs a program of this machine in its namespaces, and returns what it prints.
    ///
    /// # Errors
    /// When it fails, with what it says of that.
    pub fn run(&self, words: &[&str]) -> Result<String> {
        let mut nsenter = Command::new("nsenter");
        let command = nsenter
            .args(["--target", &self.init])
            .args(["--mount", "--pid", "--net", "--uts", "--"]);
        output(command.args(words), &words.join(" ")).with_context(|| format!("on {}", self.name()))
    }
}

impl Drop for Hypervisor {
    fn drop(&mut self) {
        if let Err(error) = self.machine.stop(self.host.name()) {
            say(format_args!("something of a node may be left: {error:#}"));
        }
    }
}
