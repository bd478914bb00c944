//! Flux's controllers.

use std::fs;
use std::sync::Arc;

use anyhow::Result;

use super::{Operator, Readiness, loopback};
use crate::cluster::Cluster;
use crate::machine::{Machine, Program};
use crate::tools::Tool;

impl Operator {
    /// Installs Flux's kinds and starts the controllers of sources, Kustomizations and HelmReleases, each with all rights of a service
    /// account of its name in the namespace `default`, and with the arguments of `examples/gitops/clusters/base/flux`.
    pub async fn flux(machine: &Arc<Machine>, cluster: &Cluster) -> Result<Vec<Self>> {
        cluster.install_flux().await?;
        let folder = machine.folder().join("flux");
        let (artifacts, authority) = (folder.join("artifacts"), folder.join("authority.crt"));
        fs::create_dir_all(&artifacts)?;
        fs::write(&authority, machine.authority().certificate())?;
        let storage = loopback(machine.port());
        let source = Program::new(Tool::SourceController.path()?)
            .flag("storage-path", artifacts)
            .flag("storage-addr", &storage)
            .flag("storage-adv-addr", &storage)
            .env("SSL_CERT_FILE", authority);
        let kustomize = Program::new(Tool::KustomizeController.path()?)
            .flag("no-cross-namespace-refs", "true")
            .flag("no-remote-bases", "true")
            .flag("feature-gates", "CancelHealthCheckOnNewRevision=true");
        let helm =
            Program::new(Tool::HelmController.path()?).flag("no-cross-namespace-refs", "true");
        let mut controllers = Vec::new();
        for (name, program) in [
            ("source-controller", source),
            ("kustomize-controller", kustomize),
            ("helm-controller", helm),
        ] {
            let account = cluster.account(name).await?;
            let health = machine.port();
            let program = program
                .flag("health-addr", loopback(health))
                .flag("metrics-addr", "0")
                .flag("concurrent", "10")
                .flag("requeue-dependency", "5s")
                .env("KUBECONFIG", account.kubeconfig_file())
                .env("RUNTIME_NAMESPACE", "flux-system")
                .env("TMPDIR", &folder);
            controllers.push(Self::run(machine, name, program, Readiness::Asked(health)).await?);
        }
        Ok(controllers)
    }
}
