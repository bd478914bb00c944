//! How a cluster is reached: a provider configuration of its name, with the kubeconfig from a Secret.
//!
//! The kubeconfig-operator writes that Secret where a ShootKubeconfig asks for it: Gardener's kubeconfigs live a day at most.

use c5c3_kinds::provider_kubernetes::{
    ClusterProviderConfig, Credentials, ProviderConfig, SecretKeySelector,
};
use function_protocol::Fatal;

use super::Cluster;
use super::shoot::SHOOT;
use crate::composed::Composed;
use crate::composite::Scope;
use crate::manifest::Manifest;
use crate::names::ACCESS;
use crate::observed::ConditionedStatus;

/// provider-kubernetes' own finalizer of a provider configuration. An Object that applies one without it takes it off, the
/// provider puts it on again, and so on without end (seen with 1.2.1).
const IN_USE: &str = "in-use.crossplane.io";

impl Cluster<'_> {
    /// Name of the Secret with the cluster's kubeconfig.
    pub fn kubeconfig(&self) -> String {
        format!("{}-kubeconfig", self.name())
    }

    /// Wants the provider configuration: composed itself where composites are cluster-scoped; within an Object for the
    /// management cluster where they are namespaced, since those compose nothing cluster-scoped. The Shoot is kept until it is gone.
    pub fn access(&self, composed: &mut Composed<'_>) -> Result<(), Fatal> {
        let access = &self.presets.access;
        let config = ProviderConfig {
            credentials: Credentials {
                source: "Secret",
                secret_ref: SecretKeySelector {
                    namespace: access.kubeconfig_namespace.clone(),
                    name: self.kubeconfig(),
                    key: "kubeconfig",
                },
            },
        };
        let creation = self.creation();
        match composed.scope() {
            Scope::Cluster => {
                let config = Manifest::cluster_scoped(self.name(), config);
                composed.local(ACCESS, &config, creation)?;
            }
            Scope::Namespaced => {
                let config = ClusterProviderConfig(config);
                let mut config = Manifest::cluster_scoped(self.name(), config);
                config.metadata.finalizers.push(IN_USE.to_owned());
                let management = &access.management_provider_config;
                let ready = |_: &ConditionedStatus| true;
                composed.object(ACCESS, management, config, creation, ready)?;
            }
        }
        let reason = "the cluster is reached with it until the end";
        composed.order(SHOOT, ACCESS, reason)
    }
}
