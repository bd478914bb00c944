//! Go modules whose files a lab reads.

use std::path::PathBuf;

use anyhow::Result;

use crate::golang;

/// A Go module whose files a lab reads: custom resource definitions and webhook configurations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Module {
    /// Crossplane 1.20.
    CrossplaneV1,
    /// Crossplane 2.4.
    CrossplaneV2,
    /// provider-kubernetes.
    ProviderKubernetes,
    /// Rook, the operator of Ceph.
    Rook,
    /// External Secrets.
    ExternalSecrets,
    /// cert-manager.
    CertManager,
    /// The Gateway API.
    Gateway,
    /// The operator of Prometheus, whose ServiceMonitors others make.
    Prometheus,
    /// The operator of MariaDB.
    MariadbOperator,
    /// The operator of RabbitMQ's clusters.
    RabbitmqOperator,
    /// The operator of what is inside a RabbitMQ.
    RabbitmqTopology,
    /// K-ORC, the operator of what is inside an OpenStack.
    KOrc,
    /// Flux's sources.
    SourceController,
    /// Flux's Kustomizations.
    KustomizeController,
    /// Flux's HelmReleases.
    HelmController,
}

impl Module {
    /// Every module.
    pub const ALL: [Module; 15] = [
        Module::CrossplaneV1,
        Module::CrossplaneV2,
        Module::ProviderKubernetes,
        Module::Rook,
        Module::ExternalSecrets,
        Module::CertManager,
        Module::Gateway,
        Module::Prometheus,
        Module::MariadbOperator,
        Module::RabbitmqOperator,
        Module::RabbitmqTopology,
        Module::KOrc,
        Module::SourceController,
        Module::KustomizeController,
        Module::HelmController,
    ];

    /// The folder of its sources, downloaded first if need be.
    ///
    /// # Errors
    /// When `go` is missing or can't download it.
    pub fn folder(self) -> Result<PathBuf> {
        let (folder, module) = match self {
            Module::CrossplaneV1 => ("crossplane-v1", "github.com/crossplane/crossplane"),
            Module::CrossplaneV2 => ("crossplane-v2", "github.com/crossplane/crossplane/v2"),
            Module::ProviderKubernetes => (
                "provider-kubernetes",
                "github.com/crossplane-contrib/provider-kubernetes",
            ),
            Module::Rook => ("schemas", "github.com/rook/rook"),
            Module::ExternalSecrets => ("schemas", "github.com/external-secrets/external-secrets"),
            Module::CertManager => ("cert-manager", "github.com/cert-manager/cert-manager"),
            Module::Gateway => ("schemas", "sigs.k8s.io/gateway-api"),
            Module::Prometheus => (
                "schemas",
                "github.com/prometheus-operator/prometheus-operator",
            ),
            Module::MariadbOperator => ("mariadb", "github.com/mariadb-operator/mariadb-operator"),
            Module::RabbitmqOperator => ("rabbitmq", "github.com/rabbitmq/cluster-operator/v2"),
            Module::RabbitmqTopology => (
                "rabbitmq-topology",
                "github.com/rabbitmq/messaging-topology-operator",
            ),
            Module::KOrc => ("k-orc", "github.com/k-orc/openstack-resource-controller/v2"),
            Module::SourceController => ("flux", "github.com/fluxcd/source-controller"),
            Module::KustomizeController => ("flux", "github.com/fluxcd/kustomize-controller"),
            Module::HelmController => ("flux", "github.com/fluxcd/helm-controller"),
        };
        golang::sources(folder, module)
    }
}
