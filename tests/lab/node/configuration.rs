//! How the parts of a node are configured.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::cluster::ADDRESS;

/// The name of a cluster's first node.
pub(super) const NAME: &str = "node";

/// Where the pods of the first node find names: as a node's own DNS cache, which policies let them reach.
pub(super) const NAMES: Ipv4Addr = Ipv4Addr::new(169, 254, 20, 10);

/// The addresses of pods.
const PODS: &str = "10.244.0.0/16";

/// The addresses of pods of the RuntimeClass `storage`, which are in a network of their own behind the first node.
pub(crate) const STORAGE: &str = "10.99.0.0/24";

/// What Services are called by, after their namespaces.
const DOMAIN: &str = "cluster.local";

/// Where Debian has the programs that connect pods.
const CNI: &str = "/usr/lib/cni";

/// A node: its name, its addresses and its folder.
pub(super) struct Host {
    name: String,
    number: u8,
    folder: PathBuf,
    control_group: String,
    logs: PathBuf,
}

impl Host {
    /// The first node of the cluster on a machine with this folder.
    pub(super) fn first(machine: &Path) -> Result<Self> {
        Self::new(machine, NAME.to_owned(), 0)
    }

    /// A hypervisor, counted from 1.
    pub(super) fn hypervisor(machine: &Path, number: u8) -> Result<Self> {
        Self::new(machine, format!("hypervisor-{number}"), number)
    }

    fn new(machine: &Path, name: String, number: u8) -> Result<Self> {
        let scenario = machine
            .file_name()
            .and_then(|name| name.to_str())
            .context("the scenario's folder has no name")?;
        let folder = machine.join(&name);
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(Self {
            // A kubelet removes the logs of pods that it doesn't know.
            logs: machine.join("pods").join(&name),
            control_group: match number {
                0 => scenario.to_owned(),
                number => format!("{scenario}-{number}"),
            },
            name,
            number,
            folder,
        })
    }

    /// Its name, also the name of the process in which everything on it ends.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Its number as a hypervisor, which has a network of its own; 0 for the first node.
    pub(super) fn number(&self) -> u8 {
        self.number
    }

    /// Its address in the cluster.
    pub(super) fn address(&self) -> Ipv4Addr {
        match self.number {
            0 => ADDRESS,
            number => Ipv4Addr::new(10, 88, 0, 10 + number),
        }
    }

    /// Its address for tunnels between hypervisors.
    pub(super) fn encapsulation(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, 0, 10 + self.number)
    }

    /// The addresses of its pods.
    pub(super) fn pods(&self) -> String {
        format!("10.244.{}.0/24", self.number)
    }

    /// The name of one of its processes.
    pub(super) fn process(&self, program: &str) -> String {
        match self.number {
            0 => program.to_owned(),
            number => format!("{program}-{number}"),
        }
    }

    /// What is removed as soon as the node ends, images for instance.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of its kubelet, as the kubelet sees it. The path of a socket in it is short enough.
    pub(super) fn kubelet(&self) -> PathBuf {
        match self.number {
            0 => self.folder.join("kubelet"),
            _ => "/var/lib/kubelet".into(),
        }
    }

    /// Name of the control group that all its pods are in; no other scenario's.
    pub(super) fn control_group(&self) -> &str {
        &self.control_group
    }
}

/// The process whose namespaces the programs of a node are in.
pub(super) fn init(machine: &Path, node: &str) -> Result<String> {
    let file = machine.join(node).join("init");
    let init = fs::read_to_string(&file)
        .with_context(|| format!("node {node} doesn't run: cannot read {}", file.display()))?;
    Ok(init.trim().to_owned())
}

/// Has every image taken from the registry at this URL.
pub(super) fn containerd(host: &Host, registry: &str, pause: &str) -> Result<PathBuf> {
    let folder = host.folder();
    let state = folder.display();
    write(
        &folder.join("registries/_default/hosts.toml"),
        &format!(
            "server = \"{registry}\"\n[host.\"{registry}\"]\ncapabilities = [\"pull\", \"resolve\"]\n"
        ),
    )?;
    for (name, subnet) in [("pods", host.pods()), ("storage", STORAGE.to_owned())] {
        let network = json!({
            "cniVersion": "0.4.0",
            "name": name,
            "plugins": [{
                "type": "bridge",
                "bridge": name,
                "isGateway": true,
                "hairpinMode": true,
                "ipam": {
                    "type": "host-local",
                    "dataDir": folder.join("addresses"),
                    "ranges": [[{"subnet": subnet}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            }],
        });
        let file = folder.join(format!("network/{name}/{name}.conflist"));
        write_json(&file, &network)?;
    }
    write(
        &folder.join("containerd.toml"),
        &format!(
            r#"version = 2
root = "{state}/containerd"
state = "/run/containerd"
[grpc]
address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{pause}"
# The machine may not let us make a process less likely to be killed.
restrict_oom_score_adj = true
stream_server_address = "127.0.0.1"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{CNI}"
conf_dir = "{state}/network/pods"
[plugins."io.containerd.grpc.v1.cri".containerd]
default_runtime_name = "runc"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.storage]
runtime_type = "io.containerd.runc.v2"
cni_conf_dir = "{state}/network/storage"
[plugins."io.containerd.grpc.v1.cri".registry]
config_path = "{state}/registries"
"#
        ),
    )
}

/// Has programs beside the pods find Services as pods do, by `service.namespace.svc`.
pub(super) fn resolution(folder: &Path) -> Result<PathBuf> {
    write(
        &folder.join("resolv.conf"),
        &format!("nameserver {ADDRESS}\nsearch {DOMAIN}\noptions ndots:5\n"),
    )
}

pub(super) fn kubelet(host: &Host, certificates: &Path) -> Result<PathBuf> {
    let folder = host.folder();
    let resolution = folder.join("resolv.conf");
    write(&resolution, &format!("nameserver {ADDRESS}\n"))?;
    // Whoever else uses the machine decides how full it is.
    let limits = json!({
        "memory.available": "0%",
        "nodefs.available": "0%",
        "nodefs.inodesFree": "0%",
        "imagefs.available": "0%",
    });
    write_json(
        &folder.join("kubelet.json"),
        &json!({
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "authentication": {
                "anonymous": {"enabled": false},
                "webhook": {"enabled": false},
                "x509": {"clientCAFile": certificates.join("ca.crt")},
            },
            "authorization": {"mode": "AlwaysAllow"},
            "tlsCertFile": certificates.join("tls.crt"),
            "tlsPrivateKeyFile": certificates.join("tls.key"),
            "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": format!("/{}", host.control_group()),
            "failCgroupV1": false,
            "failSwapOn": false,
            "clusterDNS": [if host.number() == 0 { NAMES } else { ADDRESS }],
            "clusterDomain": DOMAIN,
            "resolvConf": resolution,
            "podLogsDir": host.logs,
            "serializeImagePulls": false,
            "registryPullQPS": 0,
            // Scenarios wait for a changed Secret to reach its pods.
            "syncFrequency": "10s",
            "evictionHard": limits,
            "imageGCHighThresholdPercent": 100,
            "imageGCLowThresholdPercent": 99,
        }),
    )
}

pub(super) fn kube_proxy(host: &Host, kubeconfig: &Path) -> Result<PathBuf> {
    write_json(
        &host.folder().join("kube-proxy.json"),
        &json!({
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": "iptables",
            "clusterCIDR": PODS,
            "hostnameOverride": host.name(),
            "clientConnection": {"kubeconfig": kubeconfig},
            // Answers must come back this way, and two pods on one bridge know a shorter one.
            "iptables": {"masqueradeAll": true},
            // The machine's own limits stay as they are.
            "conntrack": {"maxPerCore": 0, "min": 0},
        }),
    )
}

pub(super) fn coredns(folder: &Path, kubeconfig: &Path) -> Result<PathBuf> {
    let kubeconfig = kubeconfig.display();
    write(
        &folder.join("Corefile"),
        &format!(
            ". {{\n    bind {ADDRESS} {NAMES}\n    errors\n    kubernetes {DOMAIN} {{\n        kubeconfig {kubeconfig}\n    }}\n}}\n"
        ),
    )
}

fn write_json(file: &Path, content: &Value) -> Result<PathBuf> {
    write(file, &content.to_string())
}

fn write(file: &Path, content: &str) -> Result<PathBuf> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
    }
    fs::write(file, content).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file.to_owned())
}
