//! The tools a lab runs: what each is built from, and where the binary is.
//!
//! Every tool is pinned by a `go.mod` and `go.sum` under `tests/tools` and built on first use, Keystone by a
//! `requirements.txt` and installed. A folder `replaced` there has files that take the place of the module's own, and a `package.go` in it
//! that of a whole package: nothing that a scenario uses, or what must answer alike. For the latter, `replaced.sha256` beside it has the
//! module's files that it was written by; a new version in which they differ isn't built until they are compared. All stay in the user's
//! cache folder (`$XDG_CACHE_HOME` or `~/.cache`, then `c5c3-lab`), named by a hash of everything that went in.

mod module;

use std::path::PathBuf;

use anyhow::Result;

use crate::golang::{self, Recipe};
use crate::python;

pub use module::Module;

/// A program that a lab runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// The store of every API server.
    Etcd,
    /// Kubernetes' API server.
    KubeApiserver,
    /// Kubernetes' controllers: namespaces and garbage collection, and on a node all that pods come by.
    KubeControllerManager,
    /// Chooses the node of a pod.
    KubeScheduler,
    /// Runs the pods of a node.
    Kubelet,
    /// Leads to Services on a node.
    KubeProxy,
    /// Resolves the addresses of Services; see `tests/tools/coredns/coredns`.
    CoreDns,
    /// Enforces the NetworkPolicies of a node's pods.
    KubeRouter,
    /// Kubernetes' command line; see `tests/tools/kubectl/kubectl`.
    Kubectl,
    /// Crossplane 1.20's core.
    CrossplaneV1,
    /// Crossplane 1.20's command line tool.
    CrankV1,
    /// Crossplane 2.4's core, also the engine that the newer command line tool renders with.
    CrossplaneV2,
    /// Crossplane 2.5's command line tool.
    CrossplaneCli,
    /// The provider that applies Objects to other clusters, in the oldest release that this project supports.
    ProviderKubernetesOldest,
    /// Its newest release that is tested; see `tests/tools/provider-kubernetes-newest/replaced`.
    ProviderKubernetesNewest,
    /// The API server of the oldest Gardener that is supported, which serves Shoots.
    GardenerOldest,
    /// The API server of the newest.
    GardenerNewest,
    /// Our own validator of Shoots, built with the oldest Gardener; see `tests/tools/gardener/shoot`.
    ShootOldest,
    /// The same, built with the newest.
    ShootNewest,
    /// An OCI registry and its client.
    Crane,
    /// The operator of MariaDB.
    MariadbOperator,
    /// The operator of RabbitMQ's clusters.
    RabbitmqOperator,
    /// The operator of what is inside a RabbitMQ.
    RabbitmqTopologyOperator,
    /// K-ORC, the operator of what is inside an OpenStack.
    KOrc,
    /// cert-manager; see `tests/tools/cert-manager/cert-manager`.
    CertManager,
    /// External Secrets, with one of its providers; see `tests/tools/external-secrets/replaced`.
    ExternalSecrets,
    /// Dex, an identity provider that speaks OpenID Connect.
    Dex,
    /// Helm, which renders charts.
    Helm,
    /// Traefik, a controller of Gateways and Ingresses with a proxy of its own; see `tests/tools/traefik/replaced`.
    Traefik,
    /// Flux's controller of sources.
    SourceController,
    /// Flux's controller of Kustomizations.
    KustomizeController,
    /// Flux's controller of HelmReleases.
    HelmController,
}

/// What `go` builds of a module: itself, a package in it, or a folder beside `go.mod`.
macro_rules! package {
    ($module:literal) => {
        $module
    };
    ($module:literal + $package:literal) => {
        concat!($module, $package)
    };
    ($module:literal, $folder:literal) => {
        $folder
    };
}

/// The name, folder, module, package and variables of each tool.
macro_rules! recipes {
    ($($tool:ident: $name:literal in $folder:literal of ($module:literal $($package:tt)*), $variables:expr;)*) => {
        const fn recipe(self) -> Recipe {
            match self {$(
                Tool::$tool => Recipe {
                    name: $name,
                    folder: $folder,
                    module: $module,
                    package: package!($module $($package)*),
                    variables: $variables,
                },
            )*}
        }
    };
}

impl Tool {
    /// The binary, built first if it isn't in the cache yet; other processes wait for the one that builds.
    ///
    /// # Errors
    /// When `go` is missing or the build fails; the message says what to install or shows what `go` said.
    pub fn path(self) -> Result<PathBuf> {
        golang::binary(&self.recipe())
    }

    /// The folder under `tests/tools` with the versions of all that it is built from.
    pub(crate) const fn folder(self) -> &'static str {
        self.recipe().folder
    }

    recipes! {
        Etcd: "etcd" in "kubernetes" of ("go.etcd.io/etcd/server/v3"), &[];
        KubeApiserver: "kube-apiserver" in "kubernetes" of ("k8s.io/kubernetes" + "/cmd/kube-apiserver"), KUBERNETES_VERSION;
        KubeControllerManager: "kube-controller-manager" in "kubernetes" of ("k8s.io/kubernetes" + "/cmd/kube-controller-manager"), KUBERNETES_VERSION;
        KubeScheduler: "kube-scheduler" in "kubernetes" of ("k8s.io/kubernetes" + "/cmd/kube-scheduler"), KUBERNETES_VERSION;
        Kubelet: "kubelet" in "kubernetes" of ("k8s.io/kubernetes" + "/cmd/kubelet"), KUBERNETES_VERSION;
        KubeProxy: "kube-proxy" in "kubernetes" of ("k8s.io/kubernetes" + "/cmd/kube-proxy"), KUBERNETES_VERSION;
        CoreDns: "coredns" in "coredns" of ("github.com/coredns/coredns", "./coredns"), &[];
        KubeRouter: "kube-router" in "kube-router" of ("github.com/cloudnativelabs/kube-router/v2" + "/cmd/kube-router"), &[];
        Kubectl: "kubectl" in "kubectl" of ("k8s.io/kubectl", "./kubectl"), &[];
        CrossplaneV1: "crossplane-v1" in "crossplane-v1" of ("github.com/crossplane/crossplane" + "/cmd/crossplane"), CROSSPLANE_V1_VERSION;
        CrankV1: "crank-v1" in "crossplane-v1" of ("github.com/crossplane/crossplane" + "/cmd/crank"), CROSSPLANE_V1_VERSION;
        CrossplaneV2: "crossplane-v2" in "crossplane-v2" of ("github.com/crossplane/crossplane/v2" + "/cmd/crossplane"), CROSSPLANE_V2_VERSION;
        CrossplaneCli: "crossplane-cli" in "crossplane-cli" of ("github.com/crossplane/cli/v2" + "/cmd/crossplane"), CROSSPLANE_CLI_VERSION;
        ProviderKubernetesOldest: "provider-kubernetes" in "provider-kubernetes" of ("github.com/crossplane-contrib/provider-kubernetes" + "/cmd/provider"), &[];
        ProviderKubernetesNewest: "provider-kubernetes" in "provider-kubernetes-newest" of ("github.com/crossplane-contrib/provider-kubernetes" + "/cmd/provider"), &[];
        GardenerOldest: "gardener-apiserver" in "gardener" of ("github.com/gardener/gardener" + "/cmd/gardener-apiserver"), &[];
        GardenerNewest: "gardener-apiserver" in "gardener-newest" of ("github.com/gardener/gardener" + "/cmd/gardener-apiserver"), &[];
        ShootOldest: "shoot" in "gardener" of ("github.com/gardener/gardener", "./shoot"), &[];
        ShootNewest: "shoot" in "gardener-newest" of ("github.com/gardener/gardener", "./shoot"), &[];
        Crane: "crane" in "registry" of ("github.com/google/go-containerregistry" + "/cmd/crane"), &[];
        MariadbOperator: "mariadb-operator" in "mariadb" of ("github.com/mariadb-operator/mariadb-operator" + "/cmd/controller"), &[];
        RabbitmqOperator: "rabbitmq-cluster-operator" in "rabbitmq" of ("github.com/rabbitmq/cluster-operator/v2"), &[];
        RabbitmqTopologyOperator: "rabbitmq-topology-operator" in "rabbitmq-topology" of ("github.com/rabbitmq/messaging-topology-operator" + "/cmd"), &[];
        KOrc: "k-orc" in "k-orc" of ("github.com/k-orc/openstack-resource-controller/v2" + "/cmd/manager"), &[];
        CertManager: "cert-manager" in "cert-manager" of ("github.com/cert-manager/cert-manager", "./cert-manager"), &[];
        ExternalSecrets: "external-secrets" in "external-secrets" of ("github.com/external-secrets/external-secrets"), &[];
        Dex: "dex" in "dex" of ("github.com/dexidp/dex" + "/cmd/dex"), &[];
        Helm: "helm" in "helm" of ("helm.sh/helm/v3" + "/cmd/helm"), &[];
        Traefik: "traefik" in "traefik" of ("github.com/traefik/traefik/v3" + "/cmd/traefik"), &[];
        SourceController: "source-controller" in "flux" of ("github.com/fluxcd/source-controller"), &[];
        KustomizeController: "kustomize-controller" in "flux" of ("github.com/fluxcd/kustomize-controller"), &[];
        HelmController: "helm-controller" in "flux" of ("github.com/fluxcd/helm-controller"), &[];
    }
}

/// What `kube-apiserver --version` answers, and what clients compare with their own.
const KUBERNETES_VERSION: &[&str] = &[
    "k8s.io/component-base/version.gitVersion=v{version}",
    "k8s.io/component-base/version.gitMajor={major}",
    "k8s.io/component-base/version.gitMinor={minor}",
    "k8s.io/component-base/version.gitTreeState=clean",
    "k8s.io/component-base/version.gitCommit=0000000000000000000000000000000000000000",
];
const CROSSPLANE_V1_VERSION: &[&str] =
    &["github.com/crossplane/crossplane/internal/version.version=v{version}"];
const CROSSPLANE_V2_VERSION: &[&str] = &[
    "github.com/crossplane/crossplane-runtime/v2/pkg/version.version=v{version}",
    "github.com/crossplane/crossplane/v2/internal/version.version=v{version}",
];
const CROSSPLANE_CLI_VERSION: &[&str] =
    &["github.com/crossplane/crossplane-runtime/v2/pkg/version.version=v{version}"];

/// The folder of Keystone's Python programs, installed first if it isn't in the cache yet.
///
/// # Errors
/// When Python is missing or can't install them.
pub fn keystone() -> Result<PathBuf> {
    python::environment("keystone")
}

/// The folder of Tempest's Python programs, installed first if it isn't in the cache yet. They are those of its image for the release of [`keystone`].
///
/// # Errors
/// When Python is missing or can't install them.
pub fn tempest() -> Result<PathBuf> {
    python::environment("tempest")
}

/// The folder of the `openstack` client's program, installed first if it isn't in the cache yet.
///
/// # Errors
/// When Python is missing or can't install it.
pub fn openstack() -> Result<PathBuf> {
    python::environment("openstackclient")
}
