//! What one call composes: Objects for other clusters, and the Usages that keep deletion in order.

mod retained;

use std::collections::BTreeSet;

use c5c3_api::Kind;
use function_protocol::{Document, Fatal, Readiness, Request, Response};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::composite::{Metadata, Scope};
use crate::manifest::kubernetes::{
    ForProvider, Object, ObjectSpec, ProviderConfigRef, ResourceRef, Usage, UsageRef, UsageSpec,
};
use crate::observed::{Identity, Observation};
use crate::pools;

/// Collects what is wanted, and never drops what exists because something else could not be read.
pub struct Composed<'a> {
    request: &'a Request,
    response: &'a mut Response,
    scope: Scope,
    /// Names of what is wanted so far.
    desired: BTreeSet<String>,
    all_ready: bool,
}

/// Whether an object may be made that isn't there yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creation {
    /// It may.
    Allowed,
    /// Not now: what is there stays and changes, nothing is added.
    Held,
}

impl From<bool> for Creation {
    fn from(allowed: bool) -> Self {
        if allowed {
            Creation::Allowed
        } else {
            Creation::Held
        }
    }
}

/// An Object as it was observed, to be wanted again as it is.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Kept {
    api_version: String,
    kind: String,
    spec: KeptSpec,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct KeptSpec {
    for_provider: serde_json::Value,
    provider_config_ref: serde_json::Value,
    #[serde(default)]
    watch: bool,
}

impl<'a> Composed<'a> {
    /// Nothing yet.
    pub fn new(request: &'a Request, response: &'a mut Response, scope: Scope) -> Self {
        Composed {
            request,
            response,
            scope,
            desired: BTreeSet::new(),
            all_ready: true,
        }
    }

    /// Where composed resources live.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Whether a composed resource exists.
    pub fn exists(&self, name: &str) -> bool {
        self.request.observed().contains_key(name)
    }

    /// Whether everything wanted so far is ready.
    pub fn all_ready(&self) -> bool {
        self.all_ready
    }

    /// Wants a manifest in a cluster, and says what is known of it there. `ready` judges its status.
    ///
    /// # Errors
    /// The name is taken by an earlier step of the pipeline.
    pub fn object<M: Serialize, S: DeserializeOwned + Default>(
        &mut self,
        name: &str,
        cluster: &str,
        manifest: &M,
        creation: Creation,
        ready: impl FnOnce(&S) -> bool,
    ) -> Result<Observation<S>, Fatal> {
        let observation = self.observation::<S>(name);
        if !observation.exists && creation == Creation::Held {
            self.all_ready = false;
            return Ok(observation);
        }
        let is_ready = observation.synced && ready(&observation.status);
        let (api_version, provider_config_kind) = match self.scope {
            Scope::Cluster => ("kubernetes.crossplane.io/v1alpha2", None),
            Scope::Namespaced => (
                "kubernetes.m.crossplane.io/v1alpha1",
                Some("ClusterProviderConfig"),
            ),
        };
        let object = Object {
            api_version,
            kind: "Object",
            spec: ObjectSpec {
                for_provider: ForProvider { manifest },
                provider_config_ref: ProviderConfigRef {
                    kind: provider_config_kind,
                    name: cluster,
                },
                watch: true,
            },
        };
        self.desire(name, &object, is_ready)?;
        Ok(observation)
    }

    /// Wants a resource of the management cluster itself; it is ready as soon as it exists.
    ///
    /// # Errors
    /// The name is taken by an earlier step of the pipeline.
    pub fn local<M: Serialize>(
        &mut self,
        name: &str,
        manifest: &M,
        creation: Creation,
    ) -> Result<(), Fatal> {
        let exists = self.exists(name);
        if exists || creation == Creation::Allowed {
            self.desire(name, manifest, exists)?;
        }
        Ok(())
    }

    /// Wants an existing Object as it was last wanted, when what it follows from can't be read now.
    ///
    /// # Errors
    /// The observed Object isn't one, or the name is taken by an earlier step.
    pub fn keep(&mut self, name: &str) -> Result<(), Fatal> {
        self.all_ready = false;
        let Some(document) = self.observed(name) else {
            return Ok(());
        };
        let mut kept: Kept = document
            .parse()
            .map_err(|error| Fatal::from(error).within(name))?;
        kept.spec.for_provider.sort_all_objects();
        kept.spec.provider_config_ref.sort_all_objects();
        self.desire(name, &kept, false)
    }

    /// Keeps `of` until `by` is gone. Both are composed resources; wanted once both exist.
    ///
    /// # Errors
    /// The name is taken by an earlier step of the pipeline.
    pub fn order(&mut self, of: &str, by: &str, reason: &str) -> Result<(), Fatal> {
        let (Some(used), Some(using)) = (self.reference(of), self.reference(by)) else {
            return Ok(());
        };
        self.usage(&format!("{of}-until-{by}"), used, using, reason)
    }

    /// Keeps a composite resource, such as a pool, until the composed resource `by` is gone.
    ///
    /// # Errors
    /// The name is taken by an earlier step of the pipeline.
    pub fn hold<K: Kind>(
        &mut self,
        composite: &Metadata,
        by: &str,
        reason: &str,
    ) -> Result<(), Fatal> {
        let Some(using) = self.reference(by) else {
            return Ok(());
        };
        let used = UsageRef {
            api_version: K::api_version(),
            kind: pools::kind::<K>(self.scope),
            resource_ref: ResourceRef {
                name: composite.name.clone(),
                namespace: composite.namespace.clone(),
            },
        };
        self.usage(
            &format!("{}-until-{by}", composite.claim_name()),
            used,
            using,
            reason,
        )
    }

    /// Keeps an existing Usage when what it protects can't be read now.
    ///
    /// # Errors
    /// The observed Usage isn't one, or the name is taken by an earlier step.
    pub fn keep_hold(&mut self, composite: &str, by: &str) -> Result<(), Fatal> {
        let name = format!("{composite}-until-{by}");
        let Some(document) = self.observed(&name) else {
            return Ok(());
        };
        let usage: Usage = document
            .parse()
            .map_err(|error| Fatal::from(error).within(&name))?;
        self.desire(&name, &usage, true)
    }

    fn usage(&mut self, name: &str, of: UsageRef, by: UsageRef, reason: &str) -> Result<(), Fatal> {
        let api_version = match self.scope {
            Scope::Cluster => "apiextensions.crossplane.io/v1beta1",
            Scope::Namespaced => "protection.crossplane.io/v1beta1",
        };
        let usage = Usage {
            api_version: api_version.to_owned(),
            kind: "Usage".to_owned(),
            spec: UsageSpec {
                of,
                by,
                reason: reason.to_owned(),
                replay_deletion: true,
            },
        };
        let exists = self.exists(name);
        self.desire(name, &usage, exists)
    }

    /// A composed resource as a Usage refers to it; none while it doesn't exist.
    fn reference(&self, name: &str) -> Option<UsageRef> {
        let identity: Identity = self.observed(name)?.parse().ok()?;
        Some(UsageRef {
            api_version: identity.api_version,
            kind: identity.kind,
            resource_ref: ResourceRef {
                name: identity.metadata.name,
                namespace: None,
            },
        })
    }

    fn observed(&self, name: &str) -> Option<&'a Document> {
        self.request.observed().get(name)?.resource.as_ref()
    }

    fn desire<M: Serialize>(&mut self, name: &str, manifest: &M, ready: bool) -> Result<(), Fatal> {
        self.all_ready &= ready;
        self.desired.insert(name.to_owned());
        self.response.desire(name, manifest, Readiness::from(ready))
    }

    /// What is known of a composed Object.
    pub fn observation<S: DeserializeOwned + Default>(&self, name: &str) -> Observation<S> {
        Observation::of(self.request.observed().get(name))
    }
}
