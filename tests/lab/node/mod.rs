//! A node: pods that really run.

mod configuration;
mod container;
mod registry;

use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, LogParams};
use tokio::net::{TcpStream, UnixStream};

use crate::cluster::Cluster;
use crate::eventually;
use crate::image::Image;
use crate::machine::{Machine, Program};
use crate::objects::{Kind, is, kind};
use crate::say::say;
use crate::tools::Tool;

pub use container::Container;
use registry::Registry;

/// How long a part of a node may take to be ready.
const READY: Duration = Duration::from_secs(120);

/// How long it may take until nothing of a node is left.
const GRACE: Duration = Duration::from_secs(60);

/// Keeps what runs on a node apart, and removes it.
const CONFINE: &str = include_str!("confine.sh");

const NODE: Kind = kind("v1", "Node");
const SERVICE_ACCOUNT: Kind = kind("v1", "ServiceAccount");

/// The bridge that has the node's address.
const BRIDGE: &str = "node";

/// What the process is called in which everything on a node ends.
const PROCESS: &str = "node";

/// A node of a cluster: a kubelet with containerd, Services that lead to pods and are found by their names, and a
/// registry that pods have their images from, whatever registry they name.
///
/// Everything of it ends with it, pods, mounts and control groups, even when the scenario is killed. A machine has at most
/// one.
pub struct Node {
    machine: Arc<Machine>,
    cluster: Cluster,
    registry: Registry,
}

impl Node {
    /// Gives a cluster a node, and all that pods come by: the scheduler, and the controllers of Deployments, Jobs and so on.
    ///
    /// # Errors
    /// When a part of it can't be built or started, or isn't ready in time.
    pub async fn start(machine: &Arc<Machine>, cluster: &Cluster) -> Result<Self> {
        // A build would hold up those who wait meanwhile.
        let pause = Image::tiny()?;
        for tool in [
            Tool::Crane,
            Tool::Kubelet,
            Tool::KubeScheduler,
            Tool::KubeProxy,
            Tool::CoreDns,
        ] {
            tool.path()?;
        }
        lay_bridge()?;
        let node = Self {
            machine: machine.clone(),
            cluster: cluster.clone(),
            registry: Registry::start(machine).await?,
        };
        node.offer(&pause).await?;
        node.start_controllers()?;
        node.start_pods(&pause).await?;
        node.start_services()?;
        eventually("pods can run", READY, async || {
            for part in node.parts() {
                machine.check(part)?;
            }
            is(&cluster.get(NODE, configuration::NAME).await?, "Ready")?;
            cluster.get(SERVICE_ACCOUNT, "default/default").await?;
            TcpStream::connect((configuration::ADDRESS, 53)).await?;
            Ok(())
        })
        .await?;
        machine.resolve_by(configuration::resolution(machine.folder())?);
        Ok(node)
    }

    /// Offers an image to pods, by the name that it has.
    ///
    /// # Errors
    /// When the registry doesn't take it.
    pub async fn offer(&self, image: &Image) -> Result<()> {
        self.registry.take(&self.machine, image).await
    }

    /// Where pods reach this machine.
    pub fn address(&self) -> Ipv4Addr {
        configuration::ADDRESS
    }

    /// What a pod's only container has said until now; of one that ended, too.
    ///
    /// # Errors
    /// When the pod isn't there or hasn't started.
    pub async fn logs(&self, pod: &str) -> Result<String> {
        let (namespace, pod) = pod
            .split_once('/')
            .context("a pod is named namespace/name")?;
        let pods: Api<Pod> = Api::namespaced(self.cluster.client(), namespace);
        Ok(pods.logs(pod, &LogParams::default()).await?)
    }

    /// What a pod's container sees in a Secret or ConfigMap that is mounted as this volume, by file. The pod goes by its UID.
    ///
    /// # Errors
    /// When it has no such volume, or not yet.
    pub fn sees(&self, pod: &str, volume: &str) -> Result<BTreeMap<String, Vec<u8>>> {
        let place = configuration::Place::new(self.machine.folder())?;
        // What is mounted there isn't mounted here.
        let root = PathBuf::from(format!("/proc/{}/root", self.init()?));
        let volumes = place
            .folder()
            .join("kubelet/pods")
            .join(pod)
            .join("volumes");
        let volumes = root.join(volumes.strip_prefix("/")?);
        let kinds = ["kubernetes.io~secret", "kubernetes.io~configmap"];
        let folder = kinds
            .into_iter()
            .map(|kind| volumes.join(kind).join(volume))
            .find(|folder| folder.exists())
            .with_context(|| format!("pod {pod} has no volume {volume}"))?;
        let mut files = BTreeMap::new();
        // A change comes to all files at once: they are behind one link.
        for file in fs::read_dir(folder.join("..data"))? {
            let file = file?;
            let name = file.file_name().to_string_lossy().into_owned();
            files.insert(name, fs::read(file.path())?);
        }
        Ok(files)
    }

    /// A folder of this machine's which goes with the scenario: a volume for pods that outlasts them.
    ///
    /// # Errors
    /// When it can't be made, or be given to the user of this ID.
    pub fn folder(&self, name: &str, user: u32) -> Result<PathBuf> {
        let folder = self.machine.folder().join("volumes").join(name);
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        std::os::unix::fs::chown(&folder, Some(user), Some(user))
            .with_context(|| format!("cannot give {} away", folder.display()))?;
        Ok(folder)
    }

    /// The process whose namespaces the node's programs are in.
    fn init(&self) -> Result<String> {
        let place = configuration::Place::new(self.machine.folder())?;
        let init = fs::read_to_string(place.folder().join("init"))?;
        Ok(init.trim().to_owned())
    }

    fn parts(&self) -> [&'static str; 7] {
        [
            PROCESS,
            "containerd",
            "kubelet",
            "kube-proxy",
            "coredns",
            "kube-scheduler",
            "controllers",
        ]
    }

    /// What pods come by.
    fn start_controllers(&self) -> Result<()> {
        let authority = self.machine.folder().join("authority.crt");
        fs::write(&authority, self.machine.authority().certificate())?;
        let controllers = Program::new(Tool::KubeControllerManager.path()?)
            .flag("kubeconfig", self.cluster.kubeconfig_file())
            .flag("root-ca-file", &authority)
            .flag("secure-port", "0")
            .flag("leader-elect", "false")
            // The cluster itself has those.
            .flag(
                "controllers",
                "*,-namespace-controller,-garbage-collector-controller",
            );
        self.machine.start("controllers", &controllers)?;
        let scheduler = Program::new(Tool::KubeScheduler.path()?)
            .flag("kubeconfig", self.cluster.kubeconfig_file())
            .flag("secure-port", "0")
            .flag("leader-elect", "false");
        self.machine.start("kube-scheduler", &scheduler)
    }

    /// What runs pods.
    async fn start_pods(&self, pause: &Image) -> Result<()> {
        let machine = &self.machine;
        let place = configuration::Place::new(machine.folder())?;
        let confined = Program::new("setpriv")
            .args(["--pdeathsig", "TERM", "--", "sh", "-uc", CONFINE, PROCESS])
            .arg(place.control_group())
            .arg(place.folder())
            .grace(GRACE);
        machine.start(PROCESS, &confined)?;
        let init = eventually("a node's namespaces are there", READY, async || {
            machine.check(PROCESS)?;
            self.init()
        })
        .await?;
        let inside = |program: PathBuf| {
            Program::new("nsenter")
                .args(["--target", &init, "--mount", "--pid", "--"])
                .args(["setpriv", "--pdeathsig", "KILL", "--"])
                .arg(program)
        };
        let containerd =
            inside("containerd".into())
                .arg("--config")
                .arg(configuration::containerd(
                    &place,
                    self.registry.url(),
                    pause.name(),
                )?);
        machine.start("containerd", &containerd)?;
        // A kubelet that doesn't find it gives up.
        let socket = format!("/proc/{}/root/run/containerd/containerd.sock", init);
        eventually("containerd listens", READY, async || {
            machine.check("containerd")?;
            Ok(UnixStream::connect(&socket).await?)
        })
        .await?;
        let certificates = machine.authority().write(
            &machine
                .authority()
                .server(&[&configuration::ADDRESS.to_string()])?,
            &place.folder().join("certificates"),
        )?;
        let kubelet = inside(Tool::Kubelet.path()?)
            .flag("config", configuration::kubelet(&place, &certificates)?)
            .flag("kubeconfig", self.cluster.kubeconfig_file())
            .flag("root-dir", place.folder().join("kubelet"))
            .flag("hostname-override", configuration::NAME)
            .flag("node-ip", configuration::ADDRESS.to_string());
        machine.start("kubelet", &kubelet)
    }

    /// What leads to them.
    fn start_services(&self) -> Result<()> {
        let folder = self.machine.folder();
        let kubeconfig = self.cluster.kubeconfig_file();
        let proxy = Program::new(Tool::KubeProxy.path()?)
            .flag("config", configuration::kube_proxy(folder, kubeconfig)?);
        self.machine.start("kube-proxy", &proxy)?;
        let names = Program::new(Tool::CoreDns.path()?)
            .arg("-conf")
            .arg(configuration::coredns(folder, kubeconfig)?);
        self.machine.start("coredns", &names)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Err(error) = self.machine.stop(PROCESS) {
            say(format_args!("something of a node may be left: {error:#}"));
        }
    }
}

/// A network between the node and this machine. Pods get one of their own behind it.
fn lay_bridge() -> Result<()> {
    let address = format!("{}/24", configuration::ADDRESS);
    for arguments in [
        &["link", "add", BRIDGE, "type", "bridge"][..],
        &["address", "add", &address, "dev", BRIDGE],
        &["link", "set", BRIDGE, "up"],
        // Nothing is behind it. But what asks for a way to anywhere finds the node's own address by it.
        &["route", "add", "default", "dev", BRIDGE],
    ] {
        let laid = match Command::new("ip").args(arguments).output() {
            Ok(output) => output,
            Err(error) => bail!("cannot run `ip` ({error}): `apt-get install iproute2`"),
        };
        ensure!(
            laid.status.success(),
            "ip {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&laid.stderr).trim()
        );
    }
    // This is the namespace's, not the machine's.
    fs::write("/proc/sys/net/ipv4/ip_forward", "1").context("cannot let pods reach each other")
}
