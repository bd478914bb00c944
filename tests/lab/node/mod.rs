//! A node: pods that really run.

mod configuration;
mod container;
mod fabric;
mod hypervisor;
mod network;
mod registry;

use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, LogParams};
use kube::core::DynamicObject;
use tokio::net::{TcpStream, UnixStream};

use crate::cluster::{ADDRESS, Cluster, SERVICES};
use crate::eventually;
use crate::image::Image;
use crate::machine::{Machine, Program};
use crate::objects::{Kind, is, kind};
use crate::operator::Operator;
use crate::patience::answered;
use crate::say::say;
use crate::tools::Tool;

pub(crate) use configuration::STORAGE;
use configuration::{Host, NAME};
pub use container::Container;
pub use fabric::Fabric;
pub(crate) use fabric::NAMED;
pub use hypervisor::Hypervisor;
use network::{lay_bridge, lead_to_the_api_server};
use registry::Registry;

/// How long a part of a node may take to be ready.
const READY: Duration = Duration::from_secs(120);

/// How long it may take until nothing of a node is left.
const GRACE: Duration = Duration::from_secs(60);

/// Keeps what runs on a node apart, and removes it.
const CONFINE: &str = include_str!("confine.sh");

const NODE: Kind = kind("v1", "Node");
pub(crate) const SERVICE_ACCOUNT: Kind = kind("v1", "ServiceAccount");

/// The process of the first cluster's scheduler.
const SCHEDULER: &str = "kube-scheduler";

/// A node of a cluster: a kubelet with containerd, Services that lead to pods and are found by their names, and a
/// registry that pods have their images from, whatever registry they name.
///
/// Everything of it ends with it, pods, mounts and control groups, even when the scenario is killed. A machine has at most
/// one.
pub struct Node {
    machine: Arc<Machine>,
    cluster: Cluster,
    registry: Registry,
    /// The image of a pod's first process.
    pause: String,
}

impl Node {
    /// Gives a cluster a node, and all that pods come by: the scheduler, and the controllers of Deployments, Jobs and so on.
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
            pause: pause.name().to_owned(),
        };
        node.offer(&pause).await?;
        node.start_controllers(cluster, ["controllers", SCHEDULER])?;
        let host = Host::first(machine.folder())?;
        node.start_pods(&host).await?;
        node.start_proxy(&host, cluster)?;
        node.start_names()?;
        lead_to_the_api_server(cluster).await?;
        eventually("pods can run", READY, async || {
            node.runs(&host, cluster).await?;
            for part in ["coredns", SCHEDULER, "controllers"] {
                machine.check(part)?;
            }
            cluster.get(SERVICE_ACCOUNT, "default/default").await?;
            TcpStream::connect((ADDRESS, 53)).await?;
            Ok(())
        })
        .await?;
        machine.resolve_by(configuration::resolution(machine.folder())?);
        Ok(node)
    }

    /// Offers an image to pods, by the name that it has.
    pub async fn offer(&self, image: &Image) -> Result<()> {
        self.registry.take(&self.machine, image).await
    }

    /// Where pods reach this machine.
    pub fn address(&self) -> Ipv4Addr {
        ADDRESS
    }

    /// What a pod's only container has said until now; of one that ended, too.
    ///
    /// # Errors
    /// When the pod isn't there or hasn't started.
    pub async fn logs(&self, pod: &str) -> Result<String> {
        self.said(pod, &LogParams::default()).await
    }

    /// The last lines of what a pod's only container has said until now, so many at most.
    ///
    /// # Errors
    /// When the pod isn't there or hasn't started.
    pub async fn last_logs(&self, pod: &str, lines: i64) -> Result<String> {
        let last = LogParams {
            tail_lines: Some(lines),
            ..LogParams::default()
        };
        self.said(pod, &last).await
    }

    /// What a container of a pod has said until now, by its name; of one that ended, too.
    ///
    /// # Errors
    /// When it isn't there or hasn't started.
    pub async fn logs_of(&self, pod: &str, container: &str) -> Result<String> {
        let container = LogParams {
            container: Some(container.to_owned()),
            ..LogParams::default()
        };
        self.said(pod, &container).await
    }

    async fn said(&self, pod: &str, which: &LogParams) -> Result<String> {
        let (namespace, pod) = pod
            .split_once('/')
            .context("a pod is named namespace/name")?;
        let pods: Api<Pod> = Api::namespaced(self.cluster.client(), namespace);
        answered(async || Ok(pods.logs(pod, which).await?)).await
    }

    /// What a pod's container sees in a Secret or ConfigMap that is mounted as this volume, by file. The pod goes by its UID,
    /// and is on the first node.
    ///
    /// # Errors
    /// When it has no such volume, or not yet.
    pub fn sees(&self, pod: &str, volume: &str) -> Result<BTreeMap<String, Vec<u8>>> {
        let host = Host::first(self.machine.folder())?;
        // What is mounted there isn't mounted here.
        let root = PathBuf::from(format!("/proc/{}/root", self.init(NAME)?));
        let volumes = host.kubelet().join("pods").join(pod).join("volumes");
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
    pub fn folder(&self, name: &str, user: u32) -> Result<PathBuf> {
        let folder = self.machine.folder().join("volumes").join(name);
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        std::os::unix::fs::chown(&folder, Some(user), Some(user))
            .with_context(|| format!("cannot give {} away", folder.display()))?;
        Ok(folder)
    }

    /// The process whose namespaces the programs of a node are in.
    fn init(&self, node: &str) -> Result<String> {
        configuration::init(self.machine.folder(), node)
    }

    /// The same of the node that a pod is on.
    fn init_of(&self, pod: &DynamicObject) -> Result<String> {
        let node = pod.data["spec"]["nodeName"].as_str();
        self.init(node.context("the pod isn't on a node yet")?)
    }

    /// Lets hypervisors join another cluster: starts what pods come by there.
    pub async fn serve(&self, cluster: &Cluster) -> Result<()> {
        let names = ["controllers", SCHEDULER].map(|part| format!("{part}-{}", cluster.name()));
        self.start_controllers(cluster, names.each_ref().map(String::as_str))?;
        lead_to_the_api_server(cluster).await
    }

    /// Fine when the kubelet of a node of a cluster runs pods.
    async fn runs(&self, host: &Host, cluster: &Cluster) -> Result<()> {
        self.machine.check(host.name())?;
        for part in ["containerd", "kubelet", "kube-proxy"] {
            self.machine.check(&host.process(part))?;
        }
        is(&cluster.get(NODE, host.name()).await?, "Ready")
    }

    /// Starts what pods of a cluster come by, under these names of processes.
    fn start_controllers(
        &self,
        cluster: &Cluster,
        [controllers, scheduler]: [&str; 2],
    ) -> Result<()> {
        // The cluster itself has those that are left out.
        let all = "*,-namespace-controller,-garbage-collector-controller";
        Operator::controllers(&self.machine, cluster, controllers, all)?;
        Operator::scheduler(&self.machine, cluster, scheduler)
    }

    /// Starts what keeps a node apart, and returns the process whose namespaces its programs are in.
    async fn confine(&self, host: &Host) -> Result<String> {
        let program = match host.number() {
            0 => Program::new("setpriv"),
            _ => Program::new("unshare").args(["--net", "--uts", "--", "setpriv"]),
        };
        let confined = program
            .args([
                "--pdeathsig",
                "TERM",
                "--",
                "sh",
                "-uc",
                CONFINE,
                host.name(),
            ])
            .arg(host.control_group())
            .arg(host.folder())
            .arg(host.number().to_string())
            .grace(GRACE);
        self.machine.start(host.name(), &confined)?;
        eventually("a node's namespaces are there", READY, async || {
            self.machine.check(host.name())?;
            self.init(host.name())
        })
        .await
    }

    /// Starts a program of a node in its namespaces.
    fn start_on(&self, host: &Host, name: &str, program: Program) -> Result<()> {
        let inside = Program::new("nsenter")
            .args(["--target", &self.init(host.name())?])
            .args(["--mount", "--pid", "--net", "--uts", "--"])
            .args(["setpriv", "--pdeathsig", "KILL", "--"])
            .then(program);
        self.machine.start(&host.process(name), &inside)
    }

    /// Starts what runs pods on the first node.
    async fn start_pods(&self, host: &Host) -> Result<()> {
        self.confine(host).await?;
        self.start_kubelet(host, &self.cluster).await
    }

    /// Starts containerd, and the kubelet that uses it for a cluster.
    async fn start_kubelet(&self, host: &Host, cluster: &Cluster) -> Result<()> {
        let machine = &self.machine;
        let configured = configuration::containerd(host, self.registry.url(), &self.pause)?;
        let containerd = Program::new("containerd").arg("--config").arg(configured);
        self.start_on(host, "containerd", containerd)?;
        // A kubelet that doesn't find it gives up.
        let init = self.init(host.name())?;
        let socket = format!("/proc/{init}/root/run/containerd/containerd.sock");
        eventually("containerd listens", READY, async || {
            machine.check(&host.process("containerd"))?;
            Ok(UnixStream::connect(&socket).await?)
        })
        .await?;
        let authority = machine.authority();
        let certificates = authority.write(
            &authority.server(&[&host.address().to_string()])?,
            &host.folder().join("certificates"),
        )?;
        let kubelet = Program::new(Tool::Kubelet.path()?)
            .flag("config", configuration::kubelet(host, &certificates)?)
            .flag("kubeconfig", kubeconfig(host, cluster)?)
            .flag("root-dir", host.kubelet())
            .flag("hostname-override", host.name())
            .flag("node-ip", host.address().to_string());
        self.start_on(host, "kubelet", kubelet)
    }

    /// Starts what leads from a node to Services of a cluster.
    fn start_proxy(&self, host: &Host, cluster: &Cluster) -> Result<()> {
        let configured = configuration::kube_proxy(host, &kubeconfig(host, cluster)?)?;
        let proxy = Program::new(Tool::KubeProxy.path()?).flag("config", configured);
        self.start_on(host, "kube-proxy", proxy)
    }

    /// Has the NetworkPolicies of the first node's pods enforced from now on.
    pub fn enforce_policies(&self) -> Result<()> {
        let host = Host::first(self.machine.folder())?;
        let router = Program::new(Tool::KubeRouter.path()?)
            .flag("kubeconfig", kubeconfig(&host, &self.cluster)?)
            .flag("hostname-override", host.name())
            .flag("run-firewall", "true")
            .flag("run-router", "false")
            .flag("run-service-proxy", "false")
            .flag("run-loadbalancer", "false")
            .flag("service-cluster-ip-range", SERVICES)
            .flag("health-port", "0");
        self.start_on(&host, "kube-router", router)
    }

    /// Starts what Services are found by.
    fn start_names(&self) -> Result<()> {
        let configured =
            configuration::coredns(self.machine.folder(), self.cluster.kubeconfig_file())?;
        let names = Program::new(Tool::CoreDns.path()?)
            .arg("-conf")
            .arg(configured);
        self.machine.start("coredns", &names)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Err(error) = self.machine.stop(NAME) {
            say(format_args!("something of a node may be left: {error:#}"));
        }
    }
}

/// Writes the kubeconfig of a node's programs.
fn kubeconfig(host: &Host, cluster: &Cluster) -> Result<PathBuf> {
    let file = host.folder().join("kubeconfig");
    fs::write(&file, cluster.kubeconfig_at(ADDRESS))?;
    Ok(file)
}
