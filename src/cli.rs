//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use c5c3_api::Generation;
use c5c3_plan::graph::Picture;
use c5c3_plan::images::Mirror;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use function_runtime::{
    DEFAULT_ADDRESS, DEFAULT_MAX_MESSAGE_BYTES, DEFAULT_METRICS_ADDRESS, LogFormat,
};

use crate::metrics_address::MetricsAddress;

/// OpenStack control planes as a service.
#[derive(Parser)]
#[command(name = "c5c3", version, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    pub task: Task,
}

#[derive(Subcommand)]
pub enum Task {
    /// Serve the composition function that Crossplane calls
    Function(Function),
    /// Run operators: watch resources, create what they need, report their status
    ///
    /// Replicas agree by a Lease for each operator who writes; the others wait. RUST_LOG says what is logged, for instance
    /// `info,provider_runtime=debug`.
    Operator(Operator),
    /// Copy labels of nodes to the pods on them: a webhook labels pods while they are bound, a controller labels the others
    LabelsInjector(LabelsInjector),
    /// Show what claims and pools become, with no cluster at all
    ///
    /// Pools in the files are taken to come up, unless their file has a status: then that counts. What a claim composes is
    /// shown as it would be applied, with what this project's operators create for it, and waits for the operators of others.
    /// With --assume-ready, missing pools are assumed to exist, and everything becomes ready. A ControlPlane or another resource
    /// that an operator of a control plane reconciles needs no claim.
    ///
    /// With the Shoot of a cluster among the files, as `kubectl get shoot -o yaml` prints it, the cluster counts as running: what Gardener
    /// can't change stays, and the message of ShootReady says what.
    ///
    /// Documents are first checked as the API server does: schema, defaults, rules. Other kinds are skipped with a note.
    ///
    /// With --against, what would be applied in the control plane cluster is compared with what runs there, values of
    /// Secrets hidden. Nothing is written.
    ///
    /// Exit code: 0 for a plan, even one that waits for pools; 1 when the API server would refuse a document, a claim cannot be
    /// composed as written, or the files cannot be used. With --against, as of `diff`: 0 when all is as planned, 1 when something differs, 2 when it cannot be
    /// compared.
    Plan(Plan),
    /// Show the resources that this project's operators reconcile in a cluster: which are ready, and what the others wait for
    ///
    /// Each control plane comes with how many of its parts are ready, and each part with what it waits for. With --watch, it is
    /// drawn again on a terminal whenever something changes; through a pipe goes a line for each change.
    ///
    /// Nothing is written, and no Secret is read. Exit code: 0 when the cluster could be looked at, ready or not; 1 when it could not.
    Status(Status),
    /// Serve a read-only web page of claims, pools, nodes and storage
    ///
    /// The cluster is read with the kubeconfig's rights, and the page is served on this machine only. With --per-viewer, the kubeconfig's
    /// credentials aren't used: the cluster is read with the token that each request has as `Authorization: Bearer`, as an
    /// authenticating proxy sets it, so that a viewer sees what he may list. Nothing is written, and no Secret is read.
    Dashboard(Dashboard),
    /// List the container images of OpenStack releases, and what to copy to a registry of your own
    ///
    /// Images of control planes with all their parts, of hypervisors, of storage pools and of this program are listed, each with its
    /// digest, where it is pinned, and with the setting that names another registry or image. Of images that operators of others
    /// choose, MariaDB's and RabbitMQ's are listed, as the versions choose them that this project is tested with. Cortex's is listed with
    /// --cortex.
    ///
    /// With --mirror, each image has the place at which those settings look for it in that registry: its name and tag are kept.
    Images(Images),
    /// Write the composite resource (XR) that Crossplane makes of a claim, for `crossplane render`
    Xr(Xr),
    /// Write the CompositeResourceDefinitions of all claims
    Xrds(Xrds),
    /// Write a script that completes this command line in a shell
    Completions(Completions),
}

#[derive(Args)]
pub struct Function {
    /// Where to serve the function protocol
    #[arg(long, value_name = "ADDRESS", default_value_t = DEFAULT_ADDRESS)]
    pub address: SocketAddr,
    /// Serve without TLS: for `crossplane render` and tests
    #[arg(long)]
    pub insecure: bool,
    /// Folder with tls.crt, tls.key and ca.crt for mutual TLS, read again when they change
    #[arg(long, value_name = "DIR", env = "TLS_SERVER_CERTS_DIR")]
    pub tls_certs_dir: Option<PathBuf>,
    /// Where to serve metrics for Prometheus, or `none`
    #[arg(long, value_name = "ADDRESS", default_value_t = MetricsAddress(Some(DEFAULT_METRICS_ADDRESS)))]
    pub metrics_address: MetricsAddress,
    /// The largest request taken, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = DEFAULT_MAX_MESSAGE_BYTES)]
    pub max_message_size: usize,
    /// Log every call
    #[arg(long, short)]
    pub debug: bool,
    /// How log lines look
    #[arg(long, value_enum, default_value_t = Log::Json)]
    pub log_format: Log,
}

#[derive(Args)]
pub struct Operator {
    /// Which operators; none given: all
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// The cluster [default: as KUBECONFIG says, or ~/.kube/config, or the one that this runs in]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Where to serve /healthz, /readyz and /metrics, or `none`
    #[arg(long, value_name = "ADDRESS", default_value_t = MetricsAddress(Some(provider_runtime::DEFAULT_ADDRESS)))]
    pub address: MetricsAddress,
    /// The namespace of the Leases [default: the one that this runs in]
    #[arg(long, value_name = "NAMESPACE", conflicts_with = "alone")]
    pub lease_namespace: Option<String>,
    /// Watch only these namespaces [default: all]
    #[arg(
        long = "watch-namespaces",
        value_name = "NAMESPACE",
        value_delimiter = ','
    )]
    pub watch_namespaces: Vec<String>,
    /// Write without a Lease: there is no other replica
    #[arg(long)]
    pub alone: bool,
    /// Log every reconcile
    #[arg(long, short)]
    pub debug: bool,
    /// How log lines look
    #[arg(long, value_enum, default_value_t = Log::Json)]
    pub log_format: Log,
}

#[derive(Args)]
pub struct LabelsInjector {
    /// The cluster [default: as KUBECONFIG says, or ~/.kube/config, or the one that this runs in]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Where to serve the webhook
    #[arg(long, value_name = "ADDRESS", default_value_t = labels_injector::DEFAULT_WEBHOOK)]
    pub webhook_address: SocketAddr,
    /// Folder with tls.crt and tls.key of the webhook, read again when they change
    #[arg(long, value_name = "DIR")]
    pub tls_certs_dir: PathBuf,
    /// Where to serve /healthz, /readyz and /metrics, or `none`
    #[arg(long, value_name = "ADDRESS", default_value_t = MetricsAddress(Some(provider_runtime::DEFAULT_ADDRESS)))]
    pub address: MetricsAddress,
    /// Log more
    #[arg(long, short)]
    pub debug: bool,
    /// How log lines look
    #[arg(long, value_enum, default_value_t = Log::Json)]
    pub log_format: Log,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Log {
    /// One JSON object a line
    Json,
    /// For people
    Text,
}

impl From<Log> for LogFormat {
    fn from(format: Log) -> Self {
        match format {
            Log::Json => Self::Json,
            Log::Text => Self::Text,
        }
    }
}

#[derive(Args)]
pub struct Plan {
    /// Files with claims, pools or ControlPlanes, or folders of such files
    #[arg(required_unless_present = "files", value_name = "FILE|DIR")]
    pub paths: Vec<PathBuf>,
    /// The same, as kubectl takes it; `-` is the standard input
    #[arg(long = "filename", short = 'f', value_name = "FILE|DIR")]
    pub files: Vec<PathBuf>,
    /// Go on as if missing pools were there, and everything composed became ready
    #[arg(long)]
    pub assume_ready: bool,
    /// How to show the plan
    #[arg(long, short, value_enum, default_value_t = Output::Tree)]
    pub output: Output,
    /// Draw the dependency graph of each ControlPlane instead, with what waits for what
    #[arg(
        long,
        value_enum,
        value_name = "dot|svg",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "dot",
        conflicts_with_all = ["output", "against"]
    )]
    pub graph: Option<Graph>,
    /// Compare with what runs in the control plane cluster that this kubeconfig reaches
    #[arg(
        long,
        value_name = "KUBECONFIG",
        conflicts_with = "output",
        group = "cluster"
    )]
    pub against: Option<PathBuf>,
    /// Show how the plan would divide the nodes of the hypervisor pool whose cluster this kubeconfig reaches
    #[arg(long, value_name = "KUBECONFIG", conflicts_with_all = ["output", "graph"], group = "cluster")]
    pub pool: Option<PathBuf>,
    /// The context of that kubeconfig [default: its own choice]
    #[arg(long, value_name = "NAME", requires = "cluster")]
    pub context: Option<String>,
    /// The Composition of OpenStackClusters that choose none [default: openstack-production]
    #[arg(long, value_name = "NAME")]
    pub composition: Option<String>,
    /// Compositions, or inputs of them, to use instead of the built-in ones
    #[arg(long, value_name = "DIR")]
    pub compositions: Option<PathBuf>,
    /// The generation of Crossplane: namespaced composite resources with 2, claims with 1
    #[arg(long, value_enum, value_name = "1|2", default_value_t = Crossplane::Two)]
    pub crossplane: Crossplane,
}

#[derive(Args)]
pub struct Status {
    /// Only what is called so: a name, or namespace/name
    pub name: Option<String>,
    /// Only what is in this namespace [default: all namespaces]
    #[arg(long, short, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// What is in all namespaces, as without --namespace
    #[arg(long, short = 'A', conflicts_with = "namespace")]
    pub all_namespaces: bool,
    /// The hypervisor pool of the cluster instead, with its shares and nodes
    #[arg(long, conflicts_with_all = ["name", "namespace", "all_namespaces", "watch"])]
    pub pool: bool,
    /// How it is written
    #[arg(long, short, value_enum, value_name = "FORM", default_value_t = StatusOutput::Tree)]
    pub output: StatusOutput,
    /// Show it again whenever it changes
    #[arg(long, short, conflicts_with = "output")]
    pub watch: bool,
    /// The kubeconfig [default: the one that kubectl would use]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig [default: its own choice]
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}

#[derive(Args)]
pub struct Dashboard {
    /// The kubeconfig [default: the one that kubectl would use]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig [default: its own choice]
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Read the cluster with the token of each request, and with no other rights
    #[arg(long)]
    pub per_viewer: bool,
    /// Where to serve the page; an address that isn't loopback needs --per-viewer and --tls-certs-dir
    #[arg(long, value_name = "ADDRESS", default_value_t = c5c3_dashboard::DEFAULT_ADDRESS)]
    pub address: SocketAddr,
    /// Folder with tls.crt and tls.key, read again when they change [default: without TLS]
    #[arg(long, value_name = "DIR")]
    pub tls_certs_dir: Option<PathBuf>,
    /// Where to serve /healthz, /readyz and /metrics, or `none`
    #[arg(long, value_name = "ADDRESS", default_value_t = MetricsAddress(None))]
    pub metrics_address: MetricsAddress,
    /// Log more
    #[arg(long, short)]
    pub debug: bool,
    /// How log lines look
    #[arg(long, value_enum, default_value_t = Log::Text)]
    pub log_format: Log,
}

/// How a status is written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StatusOutput {
    /// For people
    Tree,
    /// A list of resources, each with its conditions and what was composed for it
    Json,
}

/// How the dependency graph is drawn.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Graph {
    /// For Graphviz
    Dot,
    /// For a browser
    Svg,
}

impl From<Graph> for Picture {
    fn from(graph: Graph) -> Self {
        match graph {
            Graph::Dot => Self::Dot,
            Graph::Svg => Self::Svg,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people
    Tree,
    /// What Crossplane and this project's operators apply, and each claim with its status, as a stream of YAML
    Yaml,
    /// The same as one JSON List
    Json,
    /// The configuration files of the services and of their agents on hypervisors, without secrets
    Config,
}

#[derive(Args)]
pub struct Images {
    /// OpenStack releases, for instance 2025.2; none given: all that this version knows
    #[arg(value_name = "RELEASE")]
    pub releases: Vec<String>,
    /// Say what to copy to this registry, with a path in it or without
    #[arg(long, value_name = "REGISTRY")]
    pub mirror: Option<Mirror>,
    /// List Cortex's image too, which this project doesn't publish: it can be copied where you have it
    #[arg(long)]
    pub cortex: bool,
    /// How they are listed
    #[arg(long, short, value_enum, value_name = "FORM", default_value_t = ImagesOutput::Table)]
    pub output: ImagesOutput,
    /// Compositions, or inputs of them, to use instead of the built-in ones
    #[arg(long, value_name = "DIR")]
    pub compositions: Option<PathBuf>,
}

/// How images are listed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImagesOutput {
    /// For people
    Table,
    /// A list of images, each with its digest, its place in the mirror, and what sets it
    Json,
    /// The same as YAML
    Yaml,
    /// A line for each image: its place, a space, and its place in the mirror
    Copy,
    /// What `skopeo sync --src yaml` copies
    Skopeo,
}

#[derive(Args)]
pub struct Xr {
    /// Files with claims, or folders of such files
    #[arg(required = true, value_name = "FILE|DIR")]
    pub paths: Vec<PathBuf>,
    /// The generation of Crossplane: with 2, a claim's manifest is the composite resource itself
    #[arg(long, value_enum, value_name = "1|2", default_value_t = Crossplane::Two)]
    pub crossplane: Crossplane,
}

#[derive(Args)]
pub struct Xrds {
    /// The generation of Crossplane: namespaced composite resources with 2, claims with 1
    #[arg(long, value_enum, value_name = "1|2", default_value_t = Crossplane::Two)]
    pub crossplane: Crossplane,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Crossplane {
    #[value(name = "1")]
    One,
    #[value(name = "2")]
    Two,
}

impl From<Crossplane> for Generation {
    fn from(crossplane: Crossplane) -> Self {
        match crossplane {
            Crossplane::One => Self::V1,
            Crossplane::Two => Self::V2,
        }
    }
}

#[derive(Args)]
pub struct Completions {
    /// The shell
    pub shell: Shell,
}
