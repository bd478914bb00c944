//! What a composer answers.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::conditions::ObservedConditions;
use crate::seeds::Seeds;
use crate::v1::{self, Capability, Resource};
use crate::{Capabilities, Condition, Document, Fatal};

/// The field of a status with the generation that it is about.
const OBSERVED: &str = "observedGeneration";

/// The core's condition of a composite resource that is False while it drops most changes of what the resource depends on, because
/// there were too many. The core sets it before it calls the composer (crossplane/crossplane, internal/circuit/mapfunc.go and
/// internal/controller/apiextensions/composite/reconciler.go). Crossplane before 2.1 has none.
const RESPONSIVE: &str = "Responsive";

/// The core's condition that is False after an API server has refused something composed
/// (internal/controller/apiextensions/composite/composition_functions.go goes on after errors that are Invalid).
const SYNCED: &str = "Synced";

/// The answer to one call: what earlier steps of the pipeline wanted, and what this one adds.
#[derive(Debug, Default)]
pub struct Response {
    capabilities: Capabilities,
    observed_conditions: ObservedConditions,
    earlier: Earlier,
    seeds: Seeds,
    desired: BTreeMap<String, Resource>,
    observed_generation: Option<i64>,
    status: Option<Document>,
    ready: Readiness,
    results: Vec<v1::Result>,
    conditions: Vec<v1::Condition>,
    requirements: Option<v1::Requirements>,
    ttl: Option<prost_types::Duration>,
}

/// What passes through.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    pub(crate) tag: String,
    pub(crate) desired: v1::State,
    pub(crate) context: Option<Document>,
}

/// Whether a desired resource is ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Readiness {
    /// No opinion; another step of the pipeline may have one.
    #[default]
    Unspecified,
    /// It is.
    True,
    /// It is not.
    False,
}

/// What kind of event a result becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// A normal event.
    Normal,
    /// A warning event.
    Warning,
}

/// Which resources to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// As in a manifest, `group/version`.
    pub api_version: String,
    /// As in a manifest.
    pub kind: String,
    /// None for cluster-scoped resources, and with labels for all namespaces. Cores before 2.0 do not know it.
    pub namespace: Option<String>,
    /// One or many.
    pub by: Match,
}

/// How resources are selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    /// The one of this name.
    Name(String),
    /// All with these labels.
    Labels(BTreeMap<String, String>),
}

impl Response {
    pub(crate) fn following(
        capabilities: Capabilities,
        observed_conditions: ObservedConditions,
        earlier: Earlier,
        seeds: Seeds,
    ) -> Self {
        Self {
            capabilities,
            observed_conditions,
            earlier,
            seeds,
            ..Self::default()
        }
    }

    /// Wants this composed resource, under a name that stays the same from call to call.
    ///
    /// # Errors
    /// The name is taken, by an earlier step of the pipeline or by this one; or the manifest has no wire form.
    pub fn desire<T: Serialize + ?Sized>(
        &mut self,
        name: impl Into<String>,
        manifest: &T,
        ready: Readiness,
    ) -> Result<(), Fatal> {
        let name = name.into();
        if self.earlier.desired.resources.contains_key(&name) {
            return Err(Fatal::new(format!(
                "an earlier step of the pipeline already composes a resource named {name:?}; rename it there"
            )));
        }
        if self.desired.contains_key(&name) {
            return Err(Fatal::new(format!(
                "two resources would be composed under the name {name:?}"
            )));
        }
        let manifest =
            Document::from_value(manifest).map_err(|error| Fatal::from(error).within(&name))?;
        let resource = Resource {
            resource: Some(manifest),
            ready: v1::Ready::from(ready).into(),
            ..Resource::default()
        };
        self.desired.insert(name, resource);
        Ok(())
    }

    /// Wants this status of the composite resource. Fields that earlier steps want stay, except where `status` has the
    /// same one.
    ///
    /// # Errors
    /// The status has no wire form, or an earlier step's is malformed.
    pub fn status<T: Serialize + ?Sized>(&mut self, status: &T) -> Result<(), Fatal> {
        let status =
            Document::from_value(status).map_err(|error| Fatal::from(error).within("status"))?;
        let composite = self.earlier.desired.composite.as_ref();
        let earlier = composite.and_then(|composite| composite.resource.as_ref());
        let mut status = Document::with_status(earlier, &status)?;
        if let Some(generation) = self.observed_generation {
            let generation = Document::from_value(&BTreeMap::from([(OBSERVED, generation)]))?;
            status = Document::with_status(Some(&status), &generation)?;
        }
        self.status = Some(status);
        Ok(())
    }

    /// Adds `observedGeneration` to the status that is wanted from now on.
    pub fn observed_generation(&mut self, generation: i64) {
        self.observed_generation = Some(generation);
    }

    /// Says whether the composite resource is ready, in place of the core's own rule: all composed resources are.
    pub fn composite_ready(&mut self, ready: Readiness) {
        self.ready = ready;
    }

    /// Sets a condition on the composite resource and its claim. Left out where the core says it takes none.
    pub fn condition(&mut self, condition: Condition) {
        if !self.capabilities.lacks(Capability::Conditions) {
            self.conditions.push(condition.into());
        }
    }

    /// Sets a condition, and if it is news, says so in an event: the composite resource was not observed with a
    /// condition of this type, status and reason.
    pub fn transition(&mut self, condition: Condition, severity: Severity) {
        if self.capabilities.lacks(Capability::Conditions) {
            return;
        }
        if !self.observed_conditions.contain(&condition) {
            let severity = match severity {
                Severity::Normal => v1::Severity::Normal,
                Severity::Warning => v1::Severity::Warning,
            };
            let (reason, message) = (condition.reason.clone(), condition.message.clone());
            self.results.push(result(severity, Some(reason), message));
        }
        self.condition(condition);
    }

    /// Whether this call said that the composite resource is ready.
    pub fn is_composite_ready(&self) -> bool {
        self.ready == Readiness::True
    }

    /// The names of the resources that this call wants and that aren't ready, in order.
    pub fn unready(&self) -> impl Iterator<Item = &str> {
        let desired = self.desired.iter();
        let unready = desired.filter(|(_, resource)| resource.ready() != v1::Ready::True);
        unready.map(|(name, _)| name.as_str())
    }

    /// The condition of this type that this call set.
    pub fn condition_set(&self, type_: &str) -> Option<&v1::Condition> {
        let mut conditions = self.conditions.iter();
        conditions.find(|condition| condition.r#type == type_)
    }

    /// Whether the composite resource was observed with a condition of this type. Crossplane keeps a condition that isn't set any more.
    pub fn had_condition(&self, type_: &str) -> bool {
        self.observed_conditions.has(type_)
    }

    /// Asks for resources; the next call finds them with [`Request::required`](crate::Request::required) under this name. Ask in
    /// every call: what is not asked for is not given again.
    pub fn require(&mut self, name: impl Into<String>, selector: Selector) {
        let requirements = self.requirements.get_or_insert_default();
        let named = if self.capabilities.contains(Capability::RequiredResources) {
            &mut requirements.resources
        } else {
            &mut requirements.extra_resources
        };
        named.insert(name.into(), selector.into());
    }

    /// Whether the core is known to watch all that this call has required so far: a change of it then leads to the next call, whatever
    /// [`Response::ttl`] says. Not while the core drops such changes, or couldn't apply everything: it tries again with the next call, and
    /// nothing that it watches need change before.
    pub fn is_watched(&self) -> bool {
        let conditions = [RESPONSIVE, SYNCED];
        let mut conditions = conditions.iter();
        self.seeds.have_all(self.requirements.as_ref())
            && !conditions.any(|type_| self.observed_conditions.is_false(type_))
    }

    /// Says how long the core may reuse this answer for the same request.
    pub fn ttl(&mut self, ttl: Duration) {
        self.ttl = Some(prost_types::Duration {
            seconds: i64::try_from(ttl.as_secs()).unwrap_or(i64::MAX),
            nanos: ttl.subsec_nanos().cast_signed(),
        });
    }

    pub(crate) fn into_message(self) -> v1::RunFunctionResponse {
        let seeds = self.seeds;
        let context = seeds.marked(self.requirements.as_ref(), self.earlier.context);
        let mut desired = self.earlier.desired;
        let mut ours = self.desired;
        desired.resources.append(&mut ours);
        if let Some(status) = self.status {
            desired.composite.get_or_insert_default().resource = Some(status);
        }
        if self.ready != Readiness::Unspecified {
            desired.composite.get_or_insert_default().ready = v1::Ready::from(self.ready).into();
        }
        v1::RunFunctionResponse {
            meta: Some(v1::ResponseMeta {
                tag: self.earlier.tag,
                ttl: self.ttl,
            }),
            desired: Some(desired),
            results: self.results,
            context,
            requirements: self.requirements,
            conditions: self.conditions,
            output: None,
        }
    }

    pub(crate) fn into_fatal(self, fatal: Fatal) -> v1::RunFunctionResponse {
        let takes_conditions = !self.capabilities.lacks(Capability::Conditions);
        let shown_as = fatal.shown_as.iter().filter(|_| takes_conditions);
        let conditions = shown_as.map(|(type_, status, reason)| Condition {
            type_: (*type_).to_owned(),
            status: *status,
            reason: (*reason).to_owned(),
            message: fatal.message.clone(),
        });
        let conditions = conditions.map(v1::Condition::from).collect();
        v1::RunFunctionResponse {
            meta: Some(v1::ResponseMeta {
                tag: self.earlier.tag,
                ttl: None,
            }),
            desired: Some(self.earlier.desired),
            results: vec![result(v1::Severity::Fatal, None, fatal.message)],
            conditions,
            context: self.earlier.context,
            ..v1::RunFunctionResponse::default()
        }
    }
}

fn result(severity: v1::Severity, reason: Option<String>, message: String) -> v1::Result {
    v1::Result {
        severity: severity.into(),
        message,
        reason,
        target: Some(v1::Target::CompositeAndClaim.into()),
    }
}

impl From<bool> for Readiness {
    fn from(ready: bool) -> Self {
        if ready { Self::True } else { Self::False }
    }
}

impl From<Readiness> for v1::Ready {
    fn from(ready: Readiness) -> Self {
        match ready {
            Readiness::Unspecified => Self::Unspecified,
            Readiness::True => Self::True,
            Readiness::False => Self::False,
        }
    }
}

impl From<Selector> for v1::ResourceSelector {
    fn from(selector: Selector) -> Self {
        use v1::resource_selector::Match as Wire;
        let by = match selector.by {
            Match::Name(name) => Wire::MatchName(name),
            Match::Labels(labels) => Wire::MatchLabels(v1::MatchLabels { labels }),
        };
        Self {
            api_version: selector.api_version,
            kind: selector.kind,
            r#match: Some(by),
            namespace: selector.namespace,
        }
    }
}
