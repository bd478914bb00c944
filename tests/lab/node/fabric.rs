//! The networks between hypervisors and beyond them.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use anyhow::Result;

use super::READY;
use super::configuration::Host;
use crate::eventually;
use crate::machine::{Machine, Program};
use crate::namespace::ip;
use crate::output::output;

const FABRIC: &str = include_str!("fabric.sh");
const JOIN: &str = include_str!("join.sh");
const LEAD: &str = include_str!("lead.sh");

/// Starts a program, its second argument, where names are in the file that is its first; nobody else sees that.
pub(crate) const NAMED: &str = r#"mount --bind "$0" /etc/hosts && exec "$@""#;

/// The process whose namespace the networks are in.
const PROCESS: &str = "fabric";

/// The networks between hypervisors and beyond them: one that carries tunnels, and a physical network in which whoever is
/// outside of the cloud reaches floating IPs.
pub struct Fabric {
    process: String,
}

impl Fabric {
    /// The subnet of the physical network.
    pub const OUTSIDE: &str = "172.31.7.0/24";

    /// The address of whoever is outside, the gateway of the physical network.
    pub const GATEWAY: Ipv4Addr = Ipv4Addr::new(172, 31, 7, 1);

    /// The address by which whoever is outside reaches this machine.
    const CLIENT: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);

    /// Lays them.
    pub async fn lay(machine: &Arc<Machine>) -> Result<Self> {
        let file = machine.folder().join("fabric.pid");
        let program = Program::new("unshare")
            .args(["--net", "--", "sh", "-euc", FABRIC, PROCESS])
            .arg(&file)
            .arg(format!("{}/24", Self::GATEWAY));
        machine.start(PROCESS, &program)?;
        let process = eventually("the fabric is there", READY, async || {
            machine.check(PROCESS)?;
            Ok(fs::read_to_string(&file)?)
        })
        .await?;
        Ok(Self {
            process: process.trim().to_owned(),
        })
    }

    /// Runs a program outside of the cloud, and returns what it prints.
    ///
    /// # Errors
    /// When it fails, with what it says of that.
    pub fn run(&self, words: &[&str]) -> Result<String> {
        let mut nsenter = Command::new("nsenter");
        let command = nsenter.args(["--target", &self.process, "--net", "--"]);
        output(command.args(words), &words.join(" "))
    }

    /// Lets whoever is outside reach one address of this machine, which gets it, and no other.
    ///
    /// # Errors
    /// When this kernel doesn't let us, or there is such an address already.
    pub fn lead_to(&self, address: Ipv4Addr) -> Result<()> {
        let mut bash = Command::new("bash");
        let command = bash
            .args(["-euc", LEAD, "lead", &self.process])
            .args([address, Self::CLIENT].map(|address| address.to_string()));
        output(command, "leading to an address").map(drop)
    }

    /// Lets this machine reach floating IPs, through the client in the external network. Call [`lead_to`](Self::lead_to) before.
    pub(crate) fn reach_floating_ips(&self) -> Result<()> {
        self.run(&["sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"])?;
        let client = Self::CLIENT.to_string();
        ip(&["route", "add", Self::OUTSIDE, "via", &client])
    }

    /// How a program is started outside of the cloud, where names are in a file like `/etc/hosts`.
    pub fn outside(&self, hosts: &Path, program: Program) -> Program {
        Program::new("nsenter")
            .args(["--target", &self.process, "--net", "--"])
            .then(Self::with_hosts(hosts, program))
    }

    /// How a program is started on this machine, where names are in a file like `/etc/hosts`.
    pub(crate) fn with_hosts(hosts: &Path, program: Program) -> Program {
        Program::new("unshare")
            .args(["--mount", "--", "sh", "-euc", NAMED])
            .arg(hosts)
            .then(program)
    }

    /// Connects a hypervisor whose namespaces are those of this process.
    pub(super) fn connect(&self, host: &Host, init: &str, gateway: Ipv4Addr) -> Result<()> {
        let mut bash = Command::new("bash");
        let command = bash
            .args(["-euc", JOIN, "join", init, &self.process])
            .arg(host.number().to_string())
            .arg(host.address().to_string())
            .arg(host.pods())
            .arg(host.encapsulation().to_string())
            .arg(gateway.to_string());
        output(command, "connecting a hypervisor").map(drop)
    }
}
