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
    /// The provider that applies Objects to other clusters.
    ProviderKubernetes,
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

    const fn recipe(self) -> Recipe {
        match self {
            Tool::Etcd => Recipe {
                name: "etcd",
                folder: "kubernetes",
                module: "go.etcd.io/etcd/server/v3",
                package: "go.etcd.io/etcd/server/v3",
                variables: &[],
            },
            Tool::KubeApiserver => Recipe {
                name: "kube-apiserver",
                folder: "kubernetes",
                module: "k8s.io/kubernetes",
                package: "k8s.io/kubernetes/cmd/kube-apiserver",
                variables: KUBERNETES_VERSION,
            },
            Tool::KubeControllerManager => Recipe {
                name: "kube-controller-manager",
                folder: "kubernetes",
                module: "k8s.io/kubernetes",
                package: "k8s.io/kubernetes/cmd/kube-controller-manager",
                variables: KUBERNETES_VERSION,
            },
            Tool::KubeScheduler => Recipe {
                name: "kube-scheduler",
                folder: "kubernetes",
                module: "k8s.io/kubernetes",
                package: "k8s.io/kubernetes/cmd/kube-scheduler",
                variables: KUBERNETES_VERSION,
            },
            Tool::Kubelet => Recipe {
                name: "kubelet",
                folder: "kubernetes",
                module: "k8s.io/kubernetes",
                package: "k8s.io/kubernetes/cmd/kubelet",
                variables: KUBERNETES_VERSION,
            },
            Tool::KubeProxy => Recipe {
                name: "kube-proxy",
                folder: "kubernetes",
                module: "k8s.io/kubernetes",
                package: "k8s.io/kubernetes/cmd/kube-proxy",
                variables: KUBERNETES_VERSION,
            },
            Tool::CoreDns => Recipe {
                name: "coredns",
                folder: "coredns",
                module: "github.com/coredns/coredns",
                package: "./coredns",
                variables: &[],
            },
            Tool::KubeRouter => Recipe {
                name: "kube-router",
                folder: "kube-router",
                module: "github.com/cloudnativelabs/kube-router/v2",
                package: "github.com/cloudnativelabs/kube-router/v2/cmd/kube-router",
                variables: &[],
            },
            Tool::Kubectl => Recipe {
                name: "kubectl",
                folder: "kubectl",
                module: "k8s.io/kubectl",
                package: "./kubectl",
                variables: &[],
            },
            Tool::CrossplaneV1 => Recipe {
                name: "crossplane-v1",
                folder: "crossplane-v1",
                module: "github.com/crossplane/crossplane",
                package: "github.com/crossplane/crossplane/cmd/crossplane",
                variables: &[
                    "github.com/crossplane/crossplane/internal/version.version=v{version}",
                ],
            },
            Tool::CrankV1 => Recipe {
                name: "crank-v1",
                folder: "crossplane-v1",
                module: "github.com/crossplane/crossplane",
                package: "github.com/crossplane/crossplane/cmd/crank",
                variables: &[
                    "github.com/crossplane/crossplane/internal/version.version=v{version}",
                ],
            },
            Tool::CrossplaneV2 => Recipe {
                name: "crossplane-v2",
                folder: "crossplane-v2",
                module: "github.com/crossplane/crossplane/v2",
                package: "github.com/crossplane/crossplane/v2/cmd/crossplane",
                variables: &[
                    "github.com/crossplane/crossplane-runtime/v2/pkg/version.version=v{version}",
                    "github.com/crossplane/crossplane/v2/internal/version.version=v{version}",
                ],
            },
            Tool::CrossplaneCli => Recipe {
                name: "crossplane-cli",
                folder: "crossplane-cli",
                module: "github.com/crossplane/cli/v2",
                package: "github.com/crossplane/cli/v2/cmd/crossplane",
                variables: &[
                    "github.com/crossplane/crossplane-runtime/v2/pkg/version.version=v{version}",
                ],
            },
            Tool::ProviderKubernetes => Recipe {
                name: "provider-kubernetes",
                folder: "provider-kubernetes",
                module: "github.com/crossplane-contrib/provider-kubernetes",
                package: "github.com/crossplane-contrib/provider-kubernetes/cmd/provider",
                variables: &[],
            },
            Tool::GardenerOldest => Recipe {
                name: "gardener-apiserver",
                folder: "gardener",
                module: "github.com/gardener/gardener",
                package: "github.com/gardener/gardener/cmd/gardener-apiserver",
                variables: &[],
            },
            Tool::GardenerNewest => Recipe {
                name: "gardener-apiserver",
                folder: "gardener-newest",
                module: "github.com/gardener/gardener",
                package: "github.com/gardener/gardener/cmd/gardener-apiserver",
                variables: &[],
            },
            Tool::ShootOldest => Recipe {
                name: "shoot",
                folder: "gardener",
                module: "github.com/gardener/gardener",
                package: "./shoot",
                variables: &[],
            },
            Tool::ShootNewest => Recipe {
                name: "shoot",
                folder: "gardener-newest",
                module: "github.com/gardener/gardener",
                package: "./shoot",
                variables: &[],
            },
            Tool::Crane => Recipe {
                name: "crane",
                folder: "registry",
                module: "github.com/google/go-containerregistry",
                package: "github.com/google/go-containerregistry/cmd/crane",
                variables: &[],
            },
            Tool::MariadbOperator => Recipe {
                name: "mariadb-operator",
                folder: "mariadb",
                module: "github.com/mariadb-operator/mariadb-operator",
                package: "github.com/mariadb-operator/mariadb-operator/cmd/controller",
                variables: &[],
            },
            Tool::RabbitmqOperator => Recipe {
                name: "rabbitmq-cluster-operator",
                folder: "rabbitmq",
                module: "github.com/rabbitmq/cluster-operator/v2",
                package: "github.com/rabbitmq/cluster-operator/v2",
                variables: &[],
            },
            Tool::RabbitmqTopologyOperator => Recipe {
                name: "rabbitmq-topology-operator",
                folder: "rabbitmq-topology",
                module: "github.com/rabbitmq/messaging-topology-operator",
                package: "github.com/rabbitmq/messaging-topology-operator",
                variables: &[],
            },
            Tool::KOrc => Recipe {
                name: "k-orc",
                folder: "k-orc",
                module: "github.com/k-orc/openstack-resource-controller/v2",
                package: "github.com/k-orc/openstack-resource-controller/v2/cmd/manager",
                variables: &[],
            },
            Tool::CertManager => Recipe {
                name: "cert-manager",
                folder: "cert-manager",
                module: "github.com/cert-manager/cert-manager",
                package: "./cert-manager",
                variables: &[],
            },
            Tool::ExternalSecrets => Recipe {
                name: "external-secrets",
                folder: "external-secrets",
                module: "github.com/external-secrets/external-secrets",
                package: "github.com/external-secrets/external-secrets",
                variables: &[],
            },
            Tool::Dex => Recipe {
                name: "dex",
                folder: "dex",
                module: "github.com/dexidp/dex",
                package: "github.com/dexidp/dex/cmd/dex",
                variables: &[],
            },
            Tool::Helm => Recipe {
                name: "helm",
                folder: "helm",
                module: "helm.sh/helm/v3",
                package: "helm.sh/helm/v3/cmd/helm",
                variables: &[],
            },
            Tool::Traefik => Recipe {
                name: "traefik",
                folder: "traefik",
                module: "github.com/traefik/traefik/v3",
                package: "github.com/traefik/traefik/v3/cmd/traefik",
                variables: &[],
            },
            Tool::SourceController => Recipe {
                name: "source-controller",
                folder: "flux",
                module: "github.com/fluxcd/source-controller",
                package: "github.com/fluxcd/source-controller",
                variables: &[],
            },
            Tool::KustomizeController => Recipe {
                name: "kustomize-controller",
                folder: "flux",
                module: "github.com/fluxcd/kustomize-controller",
                package: "github.com/fluxcd/kustomize-controller",
                variables: &[],
            },
            Tool::HelmController => Recipe {
                name: "helm-controller",
                folder: "flux",
                module: "github.com/fluxcd/helm-controller",
                package: "github.com/fluxcd/helm-controller",
                variables: &[],
            },
        }
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
