//! Go modules whose files a lab reads.

use std::path::PathBuf;

use anyhow::Result;

use crate::golang;

/// Declares [`Module`] with its methods. A row has a variant, the path of the module, and the folder under `tests/tools` with its version.
macro_rules! modules {
    ($($(#[$docs:meta])* $name:ident: $path:literal in $folder:literal;)*) => {
        /// A Go module whose files a lab reads: custom resource definitions and webhook configurations.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Module {$(
            $(#[$docs])*
            $name,
        )*}

        impl Module {
            /// Every module.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The folder of its sources, downloaded first if need be.
            ///
            /// # Errors
            /// When `go` is missing or can't download it.
            pub fn folder(self) -> Result<PathBuf> {
                let (folder, module) = self.pin();
                golang::sources(folder, module)
            }

            /// Its version, without the `v`.
            ///
            /// # Errors
            /// When `go.mod` can't be read.
            pub fn version(self) -> Result<String> {
                let (folder, module) = self.pin();
                golang::version(folder, module)
            }

            /// The folder with its version, and its path.
            const fn pin(self) -> (&'static str, &'static str) {
                match self {$(
                    Self::$name => ($folder, $path),
                )*}
            }
        }
    };
}

modules! {
    /// Crossplane 1.20.
    CrossplaneV1: "github.com/crossplane/crossplane" in "crossplane-v1";
    /// Crossplane 2.4.
    CrossplaneV2: "github.com/crossplane/crossplane/v2" in "crossplane-v2";
    /// provider-kubernetes, the oldest supported release.
    ProviderKubernetesOldest: "github.com/crossplane-contrib/provider-kubernetes" in "provider-kubernetes";
    /// provider-kubernetes, the newest release that is tested.
    ProviderKubernetesNewest: "github.com/crossplane-contrib/provider-kubernetes" in "provider-kubernetes-newest";
    /// Rook, the operator of Ceph.
    Rook: "github.com/rook/rook" in "schemas";
    /// External Secrets.
    ExternalSecrets: "github.com/external-secrets/external-secrets" in "schemas";
    /// cert-manager.
    CertManager: "github.com/cert-manager/cert-manager" in "cert-manager";
    /// The Gateway API.
    Gateway: "sigs.k8s.io/gateway-api" in "schemas";
    /// The operator of Prometheus, whose ServiceMonitors others make.
    Prometheus: "github.com/prometheus-operator/prometheus-operator" in "schemas";
    /// The operator of MariaDB.
    MariadbOperator: "github.com/mariadb-operator/mariadb-operator" in "mariadb";
    /// The operator of RabbitMQ's clusters.
    RabbitmqOperator: "github.com/rabbitmq/cluster-operator/v2" in "rabbitmq";
    /// The operator of what is inside a RabbitMQ.
    RabbitmqTopology: "github.com/rabbitmq/messaging-topology-operator" in "rabbitmq-topology";
    /// K-ORC, the operator of what is inside an OpenStack.
    KOrc: "github.com/k-orc/openstack-resource-controller/v2" in "k-orc";
    /// Flux's sources.
    SourceController: "github.com/fluxcd/source-controller" in "flux";
    /// Flux's Kustomizations.
    KustomizeController: "github.com/fluxcd/kustomize-controller" in "flux";
    /// Flux's HelmReleases.
    HelmController: "github.com/fluxcd/helm-controller" in "flux";
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &str) -> Result<String> {
        let project = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        Ok(std::fs::read_to_string(format!("{project}/{file}"))?)
    }

    #[test]
    fn provider_kubernetes_is_tested_in_the_versions_that_the_docs_name() -> Result<()> {
        let oldest = Module::ProviderKubernetesOldest.version()?;
        let newest = Module::ProviderKubernetesNewest.version()?;
        for package in ["configuration-c5c3-v1", "configuration-c5c3-v2"] {
            let package = read(&format!("package/{package}/crossplane.yaml"))?;
            assert!(package.contains(&format!("\">=v{oldest}\"")), "{package}");
        }
        let documented = format!(
            "provider-kubernetes {oldest} or newer. Tested are {oldest} with Crossplane 1.20, and {newest} with 2.4."
        );
        assert!(
            read("docs/install.md")?.contains(&documented),
            "{documented}"
        );
        let installed = format!("/provider-kubernetes:v{newest}\n");
        for file in [
            "docs/install.md",
            "examples/gitops/apps/crossplane/packages/provider-kubernetes.yaml",
        ] {
            assert!(read(file)?.contains(&installed), "{file}: {installed}");
        }
        Ok(())
    }
}
