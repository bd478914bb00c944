//! How the parts of a node are configured.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// What a node is called.
pub(super) const NAME: &str = "node";

/// Its address, which pods ask for names, too.
pub(super) const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 88, 0, 1);

/// The addresses of pods.
const PODS: &str = "10.244.0.0/24";

/// What Services are called by, after their namespaces.
const DOMAIN: &str = "cluster.local";

/// Where Debian has the programs that connect pods.
const CNI: &str = "/usr/lib/cni";

/// What goes with a node.
pub(super) struct Place {
    folder: PathBuf,
    control_group: String,
    logs: PathBuf,
}

impl Place {
    /// The place of the node in a machine's folder.
    pub(super) fn new(machine: &Path) -> Result<Self> {
        let name = machine
            .file_name()
            .and_then(|name| name.to_str())
            .context("the scenario's folder has no name")?;
        let folder = machine.join("node");
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(Self {
            folder,
            control_group: name.to_owned(),
            logs: machine.join("pods"),
        })
    }

    /// What goes as soon as the node does, images for instance.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Name of the control group that all pods are in; no other scenario's.
    pub(super) fn control_group(&self) -> &str {
        &self.control_group
    }
}

/// Has every image taken from the registry at this URL.
pub(super) fn containerd(place: &Place, registry: &str, pause: &str) -> Result<PathBuf> {
    let folder = place.folder();
    let state = folder.display();
    write(
        &folder.join("registries/_default/hosts.toml"),
        &format!(
            "server = \"{registry}\"\n[host.\"{registry}\"]\ncapabilities = [\"pull\", \"resolve\"]\n"
        ),
    )?;
    let network = json!({
        "cniVersion": "0.4.0",
        "name": "pods",
        "plugins": [{
            "type": "bridge",
            "bridge": "pods",
            "isGateway": true,
            "hairpinMode": true,
            "ipam": {
                "type": "host-local",
                "dataDir": folder.join("addresses"),
                "ranges": [[{"subnet": PODS}]],
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        }],
    });
    write(&folder.join("network/pods.conflist"), &network.to_string())?;
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
conf_dir = "{state}/network"
[plugins."io.containerd.grpc.v1.cri".containerd]
default_runtime_name = "runc"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
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

pub(super) fn kubelet(place: &Place, certificates: &Path) -> Result<PathBuf> {
    let folder = place.folder();
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
            "cgroupRoot": format!("/{}", place.control_group()),
            "failCgroupV1": false,
            "failSwapOn": false,
            "clusterDNS": [ADDRESS],
            "clusterDomain": DOMAIN,
            "resolvConf": resolution,
            "podLogsDir": place.logs,
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

pub(super) fn kube_proxy(folder: &Path, kubeconfig: &Path) -> Result<PathBuf> {
    write_json(
        &folder.join("kube-proxy.json"),
        &json!({
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": "iptables",
            "clusterCIDR": PODS,
            "hostnameOverride": NAME,
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
            ". {{\n    bind {ADDRESS}\n    errors\n    kubernetes {DOMAIN} {{\n        kubeconfig {kubeconfig}\n    }}\n}}\n"
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
