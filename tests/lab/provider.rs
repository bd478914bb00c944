//! provider-kubernetes, which carries Objects from the management cluster to the others.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use k8s_openapi::ByteString;
use serde_json::json;

use crate::cluster::Cluster;
use crate::crossplane::{Release, SYSTEM, on_loopback};
use crate::eventually;
use crate::machine::{Machine, Program};
use crate::manifests::read_folder;
use crate::objects::{Kind, SECRET, kind};
use crate::pki::Authority;
use crate::probe;

/// How long it may take to serve its webhook.
const READY: Duration = Duration::from_secs(90);

/// The port of its conversion webhook; it has no flag for another.
const WEBHOOK: u16 = 9443;

/// An Object made by a claim or a cluster-scoped composite.
pub const OBJECT: Kind = kind("kubernetes.crossplane.io/v1alpha2", "Object");

/// An Object made by a namespaced composite.
pub const NAMESPACED_OBJECT: Kind = kind("kubernetes.m.crossplane.io/v1alpha1", "Object");

/// The provider.
pub struct Provider {
    machine: Arc<Machine>,
    management: Cluster,
}

impl Provider {
    /// Installs the kinds of the one beside a release of Crossplane, starts it, and waits until it serves. It needs the namespace of
    /// Crossplane.
    pub async fn start(
        machine: &Arc<Machine>,
        management: &Cluster,
        release: Release,
    ) -> Result<Self> {
        let authority = machine.authority();
        management
            .install_provider_kubernetes(release, authority)
            .await?;

        let folder = machine.folder().join("provider-kubernetes");
        let health = machine.port();
        let program = Program::new(release.provider().path()?)
            .arg("--debug")
            .arg("--enable-watches")
            // By default, 10 minutes. Only PushSecrets and ExternalSecrets that are ready aren't watched, and External Secrets writes
            // their statuses every 30 seconds: each poll that finds a new one has Crossplane apply everything of its claim again.
            .flag("poll", "3m")
            .flag("health-probe-bind-addr", format!("127.0.0.1:{health}"))
            .env("REMOVE_MANAGED_FIELDS", "true")
            .env("KUBECONFIG", management.kubeconfig_file())
            .env(
                "TLS_SERVER_CERTS_DIR",
                authority.write(&authority.server(&["localhost"])?, &folder)?,
            );
        machine.start("provider-kubernetes", &program)?;
        eventually("provider-kubernetes is ready", READY, async || {
            machine.check("provider-kubernetes")?;
            probe::ready(health).await
        })
        .await?;
        Ok(Self {
            machine: machine.clone(),
            management: management.clone(),
        })
    }

    /// Hands over access to a cluster: the Secret `<name>-kubeconfig` in `crossplane-system`, key `kubeconfig`.
    pub async fn give_kubeconfig(&self, name: &str, cluster: &Cluster) -> Result<()> {
        let kubeconfig = ByteString(cluster.kubeconfig().as_bytes().to_vec());
        let secret = json!({"data": {"kubeconfig": kubeconfig}});
        let place = format!("{SYSTEM}/{name}-kubeconfig");
        self.management.put(SECRET, &place, secret).await
    }

    /// Access to a cluster and a ProviderConfig of that name for each generation, as a site makes them by hand.
    pub async fn connect(&self, name: &str, cluster: &Cluster) -> Result<()> {
        self.give_kubeconfig(name, cluster).await?;
        let config = json!({"spec": {"credentials": {
            "source": "Secret",
            "secretRef": {"namespace": SYSTEM, "name": format!("{name}-kubeconfig"), "key": "kubeconfig"},
        }}});
        for kind in [
            kind("kubernetes.crossplane.io/v1alpha1", "ProviderConfig"),
            kind(
                "kubernetes.m.crossplane.io/v1alpha1",
                "ClusterProviderConfig",
            ),
        ] {
            self.management.put(kind, name, config.clone()).await?;
        }
        Ok(())
    }

    /// Fine while it runs.
    pub fn check(&self) -> Result<()> {
        self.machine.check("provider-kubernetes")
    }
}

impl Cluster {
    /// Installs provider-kubernetes' custom resource definitions, without the provider; `authority` signs what its webhook
    /// will show.
    pub async fn install_provider_kubernetes(
        &self,
        release: Release,
        authority: &Authority,
    ) -> Result<()> {
        let sources = release.provider_module().folder()?;
        let mut definitions = read_folder(&sources.join("package/crds"))?;
        for definition in &mut definitions {
            if let Some(client) = definition
                .data
                .pointer_mut("/spec/conversion/webhook/clientConfig")
            {
                *client = on_loopback(WEBHOOK, "/convert", authority.certificate());
            }
        }
        self.install_definitions(definitions).await
    }
}
