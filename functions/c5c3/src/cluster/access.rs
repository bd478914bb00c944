//! How a cluster is reached: a provider configuration of its name, with the kubeconfig from a Secret.
//!
//! The kubeconfig-operator writes that Secret where a ShootKubeconfig asks for it: Gardener's kubeconfigs live a day at most.

use function_protocol::Fatal;

use super::Cluster;
use super::shoot::SHOOT;
use crate::composed::Composed;
use crate::composite::Scope;
use crate::manifest::kubernetes::{Credentials, PROVIDER_CONFIG, ProviderConfigSpec, SecretKeyRef};
use crate::manifest::{Manifest, ObjectMeta};
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
        let spec = ProviderConfigSpec {
            credentials: Credentials {
                source: "Secret",
                secret_ref: SecretKeyRef {
                    namespace: access.kubeconfig_namespace.clone(),
                    name: self.kubeconfig(),
                    key: "kubeconfig",
                },
            },
        };
        let creation = self.creation();
        let metadata = ObjectMeta::named(self.name());
        match composed.scope() {
            Scope::Cluster => {
                let (api_version, kind) = PROVIDER_CONFIG;
                let config = Manifest {
                    api_version: api_version.to_owned(),
                    kind,
                    metadata,
                    spec,
                };
                composed.local(ACCESS, &config, creation)?;
            }
            Scope::Namespaced => {
                let config = Manifest {
                    api_version: "kubernetes.m.crossplane.io/v1alpha1".to_owned(),
                    kind: "ClusterProviderConfig",
                    metadata: ObjectMeta {
                        finalizers: vec![IN_USE.to_owned()],
                        ..metadata
                    },
                    spec,
                };
                let management = &access.management_provider_config;
                let ready = |_: &ConditionedStatus| true;
                composed.object(ACCESS, management, config, creation, ready)?;
            }
        }
        let reason = "the cluster is reached with it until the end";
        composed.order(SHOOT, ACCESS, reason)
    }
}
