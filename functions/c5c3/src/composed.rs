//! What one call composes: Objects for other clusters, and the Usages that keep deletion in order.

mod deleting;
mod kinds;
mod retained;
mod transfer;
mod usages;

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::Reason;
use c5c3_kinds::provider_kubernetes::{
    ClusterProviderConfig, ForProvider, NAMESPACED_OBJECT, OBJECT, Object, ProviderConfigRef,
};
use c5c3_kinds::{ResourceKind, Spec};
use function_protocol::{Document, Fatal, Readiness, Request, Response};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::composite::Scope;
use crate::manifest::{Manifest, ObjectMeta};
use crate::observed::{IgnoredStatus, Observation, last_observed, last_spec};
use crate::ownership::{Foreign, Owner, Ownership};
use crate::transitions;

pub use deleting::observe_deleting;
pub use kinds::is_composed;
pub use retained::Retention;
pub use transfer::REFRESH;
use transfer::is_refreshed;

/// What the provider may do with an object that the composite isn't known to own: never change or delete it.
const CREATE_ONLY: &[&str] = &["Observe", "Create"];

/// What the provider may do with an object that isn't to be created yet.
pub const OBSERVE_ONLY: &[&str] = &["Observe"];

/// Collects what is wanted, and never drops what exists because something else could not be read.
pub struct Composed<'a> {
    request: &'a Request,
    response: &'a mut Response,
    scope: Scope,
    /// Names of what is wanted so far.
    desired: BTreeSet<String>,
    owner: Owner,
    foreign: BTreeMap<String, Foreign>,
    /// Labels and annotations of Objects that aren't wanted yet.
    metadata: BTreeMap<String, ObjectMeta>,
    all_ready: bool,
}

/// Whether an object may be made that doesn't exist yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creation {
    /// It may.
    Allowed,
    /// Not now: what is there stays and changes, nothing is added.
    Held,
    /// Not now, but whether it is there is observed.
    Observed,
}

impl Creation {
    /// The same where something else holds as well.
    #[must_use]
    pub fn when(self, holds: bool) -> Self {
        if holds { self } else { Creation::Held }
    }
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
    for_provider: Value,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    management_policies: Option<&'static [&'static str]>,
    provider_config_ref: Value,
    #[serde(default)]
    watch: bool,
}

impl<'a> Composed<'a> {
    /// Nothing yet, for a composite resource in this scope.
    pub fn new(
        request: &'a Request,
        response: &'a mut Response,
        scope: Scope,
        owner: Owner,
    ) -> Self {
        Composed {
            request,
            response,
            scope,
            desired: BTreeSet::new(),
            owner,
            foreign: BTreeMap::new(),
            metadata: BTreeMap::new(),
            all_ready: true,
        }
    }

    /// Where composed resources live.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Whether a composed resource exists, and stands for no object of another owner.
    pub fn exists(&self, name: &str) -> bool {
        self.request.observed().contains_key(name) && !self.foreign.contains_key(name)
    }

    /// What follows a prefix in the names of composed resources that exist.
    pub fn existing<'b>(&'b self, prefix: &'b str) -> impl Iterator<Item = &'b str> {
        let names = self.request.observed().keys();
        let names = names.filter(|name| self.exists(name));
        names.filter_map(move |name| name.strip_prefix(prefix))
    }

    /// Whether the composite resource isn't stored in any cluster. Then all that it leads to is wanted at once, to be shown.
    pub fn is_rendered(&self) -> bool {
        self.owner.is_rendered()
    }

    /// Whether no object wanted so far has another owner.
    pub fn owns_all(&self) -> bool {
        self.foreign.is_empty()
    }

    /// Says by the condition `Accepted` whether the names that the composite asks for are its own, and returns it.
    pub fn accept(&mut self) -> bool {
        let foreign: Vec<String> = self.foreign.values().map(Foreign::to_string).collect();
        let accepted = foreign.is_empty();
        let reason = if accepted {
            Reason::Accepted
        } else {
            Reason::NameTaken
        };
        transitions::set(
            self.response,
            "Accepted",
            accepted,
            reason,
            foreign.join("; "),
        );
        accepted
    }

    /// Whether a composed resource stands for an object of another owner.
    pub fn is_foreign(&self, name: &str) -> bool {
        self.foreign.contains_key(name)
    }

    /// Whether an object is observed to be the composite's own.
    pub fn owns(&self, name: &str) -> bool {
        self.is_own(&self.observation::<IgnoredStatus>(name))
    }

    /// Whether what was observed is the composite's own.
    pub fn is_own<S>(&self, observation: &Observation<S>) -> bool {
        let record = observation.record.as_ref();
        self.owner.ownership("", "", record) == Ownership::Owned
    }

    /// Whether everything wanted so far is ready.
    pub fn all_ready(&self) -> bool {
        self.all_ready
    }

    /// Wants a manifest in a cluster, and says what is known of it there. `ready` judges its status. An object of another
    /// owner counts as one that doesn't exist.
    ///
    /// # Errors
    /// The name is that of an Object for another object, which would be left in its cluster, or is taken by an earlier step of the
    /// pipeline.
    pub fn object<M: Serialize + Spec, S: DeserializeOwned + Default>(
        &mut self,
        name: &str,
        cluster: &str,
        manifest: Manifest<M>,
        creation: Creation,
        ready: impl FnOnce(&S) -> bool,
    ) -> Result<Observation<S>, Fatal> {
        let ready = |observation: &Observation<S>| ready(&observation.status);
        self.observed_object(name, cluster, manifest, creation, ready)
    }

    /// Like [`Composed::object`], but `ready` gets the whole observation.
    ///
    /// # Errors
    /// As of [`Composed::object`].
    pub fn observed_object<M: Serialize + Spec, S: DeserializeOwned + Default>(
        &mut self,
        name: &str,
        cluster: &str,
        mut manifest: Manifest<M>,
        creation: Creation,
        ready: impl FnOnce(&Observation<S>) -> bool,
    ) -> Result<Observation<S>, Fatal> {
        let mut observation = self.observation::<S>(name);
        if !observation.exists && creation == Creation::Held {
            self.all_ready = false;
            return Ok(observation);
        }
        if let Some(record) = &observation.record
            && !(observation.kind == M::KIND.kind && record.is_for(&manifest.metadata))
            && self.is_own(&observation)
        {
            let (present, kind) = (&observation.kind, M::KIND.kind);
            let (place, wanted) = (record.place(), manifest.metadata.place());
            return Err(Fatal::new(format!(
                "the composed resource {name} is {present} {place} and can't become {kind} {wanted}, since {present} {place} would be left \
                 behind: restore the former pools, cells or gardener.project, or choose other names"
            )));
        }
        let management_policies =
            self.policies(name, M::KIND.kind, cluster, creation, &mut observation);
        self.owner.record_in(&mut manifest);
        let is_ready = management_policies.is_none() && observation.synced && ready(&observation);
        // Each status that is written at rest would cost a call of the function.
        let watch = !(is_ready && is_refreshed(M::KIND.kind));
        let provider_config_kind = match self.scope {
            Scope::Cluster => None,
            Scope::Namespaced => Some(ClusterProviderConfig::KIND.kind),
        };
        let spec = Object {
            for_provider: ForProvider {
                manifest: &manifest,
            },
            management_policies,
            provider_config_ref: ProviderConfigRef {
                kind: provider_config_kind,
                name: cluster,
            },
            watch,
        };
        let metadata = self.metadata.remove(name).unwrap_or_default();
        let object = Manifest::of(object_kind(self.scope), metadata, Some(spec));
        self.desire(name, &object, is_ready)?;
        Ok(observation)
    }

    /// What the provider may do with an object, by its owner: everything (none given) with the composite's own. Forgets
    /// what was observed of another owner's.
    fn policies<S: Default>(
        &mut self,
        name: &str,
        kind: &str,
        cluster: &str,
        creation: Creation,
        observation: &mut Observation<S>,
    ) -> Option<&'static [&'static str]> {
        match self
            .owner
            .ownership(kind, cluster, observation.record.as_ref())
        {
            Ownership::Owned => return None,
            Ownership::Unknown => {}
            Ownership::Foreign(foreign) => {
                *observation = Observation::default();
                self.foreign.insert(name.to_owned(), foreign);
            }
        }
        Some(match creation {
            Creation::Observed => OBSERVE_ONLY,
            Creation::Allowed | Creation::Held => CREATE_ONLY,
        })
    }

    /// Gives an Object labels and annotations, before it is wanted.
    pub fn describe(&mut self, name: &str, metadata: ObjectMeta) {
        self.metadata.insert(name.to_owned(), metadata);
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
        let kept = self.kept(name, document)?;
        self.desire(name, &kept, false)
    }

    /// The spec that an Object's manifest was last wanted with, for what can't be read now.
    pub fn last_wanted<S: DeserializeOwned>(&self, name: &str) -> Option<S> {
        last_spec(self.request, name)
    }

    /// An object as its Object last observed it; none while it isn't observed to be the composite's own.
    pub fn own_object<M: DeserializeOwned>(&self, name: &str) -> Option<M> {
        let object = last_observed(self.request, name).ok().flatten();
        object.filter(|_| self.owns(name))
    }

    /// An observed Object as it was last wanted, with what the provider may do now.
    fn kept(&mut self, name: &str, document: &Document) -> Result<Kept, Fatal> {
        let mut kept: Kept = document
            .parse()
            .map_err(|error| Fatal::from(error).within(name))?;
        kept.spec.for_provider.sort_all_objects();
        kept.spec.provider_config_ref.sort_all_objects();
        let kind = kept.spec.for_provider["manifest"]["kind"].clone();
        let cluster = kept.spec.provider_config_ref["name"].clone();
        kept.spec.management_policies = self.policies(
            name,
            kind.as_str().unwrap_or_default(),
            cluster.as_str().unwrap_or_default(),
            Creation::Held,
            &mut self.observation::<IgnoredStatus>(name),
        );
        Ok(kept)
    }

    fn observed(&self, name: &str) -> Option<&'a Document> {
        self.request.observed().get(name)?.resource.as_ref()
    }

    fn desire<M: Serialize>(&mut self, name: &str, manifest: &M, ready: bool) -> Result<(), Fatal> {
        // Crossplane would create a second Object, whose object the first one deletes.
        if self.request.is_added(name) {
            self.all_ready = false;
            return Ok(());
        }
        self.all_ready &= ready;
        if !self.desired.insert(name.to_owned()) {
            return Err(Fatal::new(format!(
                "two composed resources would have the name {name}: remove one of the pools or cells whose names are in it"
            )));
        }
        self.response.desire(name, manifest, Readiness::from(ready))
    }

    /// What is known of a composed Object.
    pub fn observation<S: DeserializeOwned + Default>(&self, name: &str) -> Observation<S> {
        Observation::of(self.request.observed().get(name))
    }
}

/// The kind of provider-kubernetes' Objects.
pub fn object_kind(scope: Scope) -> ResourceKind {
    match scope {
        Scope::Cluster => OBJECT,
        Scope::Namespaced => NAMESPACED_OBJECT,
    }
}
