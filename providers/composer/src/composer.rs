//! Composers as their authors write them, and as a runtime runs them.

use c5c3_api::parts::Resources;
use c5c3_api::{Condition, CustomResource, Reason};
use c5c3_kinds::ResourceKind;
use jiff::Timestamp;
use serde::Deserialize;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::composed::Composed;
use crate::conditions::{Conditions, Progress};
use crate::deletion::{self, Deletion};
use crate::desired::DesiredState;
use crate::failure::Failure;
use crate::observed::ObservedState;
use crate::subject::{Subject, is_deleted};

/// A pure function from a resource and the observed state around it to the desired state.
pub trait Composer {
    /// The spec of the resources that it composes.
    type Spec: CustomResource<Status = Self::Status> + DeserializeOwned;
    /// The status of the resources. The runtime adds the conditions.
    type Status: Serialize + DeserializeOwned + Default;

    /// The operator's name and field manager, for instance `keystone-operator`.
    const OPERATOR: &'static str;
    /// Whether it composes the deletion of its subjects: a finalizer keeps the subject, and it is composed, until none of its objects is
    /// left. Where it doesn't, pods are deleted first, see [`Deletion`].
    const ORDERED_DELETION: bool = false;
    /// How the namespace of a cluster-scoped subject's objects begins; the subject's name follows. Objects in other namespaces are
    /// never the subject's, whatever they say. None: all its objects are cluster-scoped.
    const NAMESPACE_PREFIX: Option<&'static str> = None;

    /// The kinds that it composes and reads.
    fn uses(&self) -> Vec<Use>;

    /// Composes the desired state and the status. On a failure nothing changes but the condition Ready.
    ///
    /// # Errors
    /// The user has to change something; the failure says what.
    fn compose(
        &self,
        subject: &Subject<Self::Spec>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<Self::Status, Failure>;
}

/// What a composer does with the objects of a kind. The operator's role follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    /// The kind.
    pub kind: ResourceKind,
    /// What it does with them.
    pub access: Access,
}

/// What a composer does with the objects of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Reads them.
    Reads,
    /// Reads them, and sets labels on those that exist.
    Labels,
    /// Creates and changes them, and never deletes them: they have data that outlasts the subject.
    Keeps,
    /// Creates, changes and deletes them.
    Composes,
}

impl Use {
    /// Reads the objects of a kind.
    pub const fn reads(kind: ResourceKind) -> Self {
        Self {
            kind,
            access: Access::Reads,
        }
    }

    /// Reads the objects of a kind, and sets labels on them.
    pub const fn labels(kind: ResourceKind) -> Self {
        Self {
            kind,
            access: Access::Labels,
        }
    }

    /// Creates and changes objects of a kind without an owner, and never deletes them.
    pub const fn keeps(kind: ResourceKind) -> Self {
        Self {
            kind,
            access: Access::Keeps,
        }
    }

    /// Creates, changes and deletes the objects of a kind.
    pub const fn composes(kind: ResourceKind) -> Self {
        Self {
            kind,
            access: Access::Composes,
        }
    }
}

/// A composer as a runtime runs it: of whole resources, whatever their type. Every [`Composer`] is one.
pub trait Operator: Send + Sync {
    /// The operator's name and field manager.
    fn name(&self) -> &'static str;
    /// The kind that it composes.
    fn subject(&self) -> ResourceKind;
    /// The order in which the objects of a subject that is being deleted are deleted.
    fn deletion(&self) -> Deletion;
    /// How the namespace of a cluster-scoped subject's objects begins, see [`Composer::NAMESPACE_PREFIX`].
    fn namespace_prefix(&self) -> Option<&'static str> {
        None
    }
    /// The kinds that it composes and reads.
    fn uses(&self) -> Vec<Use>;
    /// Composes one resource, as the API server has it.
    ///
    /// # Errors
    /// The user has to change something; the failure says what.
    fn composed(&self, resource: &Value, observed: &ObservedState<'_>)
    -> Result<Composed, Failure>;
}

impl<C: Composer + Send + Sync> Operator for C {
    fn name(&self) -> &'static str {
        C::OPERATOR
    }

    fn subject(&self) -> ResourceKind {
        ResourceKind::of::<C::Spec>()
    }

    fn deletion(&self) -> Deletion {
        match C::ORDERED_DELETION {
            true => Deletion::Composed,
            false => Deletion::of(&Composer::uses(self)),
        }
    }

    fn namespace_prefix(&self) -> Option<&'static str> {
        C::NAMESPACE_PREFIX
    }

    fn uses(&self) -> Vec<Use> {
        Composer::uses(self)
    }

    fn composed(
        &self,
        resource: &Value,
        observed: &ObservedState<'_>,
    ) -> Result<Composed, Failure> {
        if !C::ORDERED_DELETION && is_deleted(resource) {
            let (kind, uses) = (ResourceKind::of::<C::Spec>(), Composer::uses(self));
            return deletion::compose(kind, &uses, resource, observed);
        }
        let subject = Subject::<C::Spec>::deserialize(resource).map_err(|error| {
            Failure::new(
                Reason::Invalid,
                format!("the resource can't be understood: {error}"),
            )
        })?;
        if !subject.is_deleted()
            && let Some(problem) = Resources::problem_within(&resource["spec"], "spec")
        {
            return Err(Failure::new(Reason::Invalid, problem));
        }
        let mut desired = DesiredState::default();
        let status = self.compose(&subject, observed, &mut desired)?;
        let mut status = desired.json("the status", &status);
        if let Some(failure) = desired.failure.take() {
            return Err(failure);
        }
        let conditions_now = std::mem::take(&mut desired.conditions);
        let failed = conditions_now.failed();
        let conditions = conditions_now.written(
            &conditions(&resource["status"]),
            subject.metadata.generation,
            observed.now(),
        );
        status["conditions"] = json!(conditions);
        status["observedGeneration"] = json!(subject.metadata.generation);
        Ok(Composed::of(C::OPERATOR, &subject, desired, status, failed))
    }
}

/// Returns the status of a resource that can't be composed: as it was, but for Ready, which has the failure.
pub fn status_of_failure(resource: &Value, failure: &Failure, now: Timestamp) -> Value {
    let status = match resource.get("status") {
        Some(status @ Value::Object(_)) => status.clone(),
        _ => json!({}),
    };
    status_with_failure(resource, status, failure, now)
}

/// Returns the status of a resource whose desired state could not be applied: as composed, but for Ready, which has the
/// failure.
pub fn status_with_failure(
    resource: &Value,
    mut status: Value,
    failure: &Failure,
    now: Timestamp,
) -> Value {
    let mut conditions_now = Conditions::from(conditions(&status));
    let progress = match failure.is_transient() {
        true => Progress::waiting(failure.reason(), failure.to_string()),
        false => Progress::failed(failure.reason(), failure.to_string()),
    };
    conditions_now.set("Ready", &progress);
    let generation = resource
        .pointer("/metadata/generation")
        .and_then(Value::as_i64);
    let previous = conditions(&resource["status"]);
    status["conditions"] = json!(conditions_now.written(&previous, generation, now));
    status["observedGeneration"] = json!(generation);
    status
}

/// The conditions of a status.
pub(crate) fn conditions(status: &Value) -> Vec<Condition> {
    let written = status.get("conditions");
    written
        .and_then(|conditions| Vec::deserialize(conditions).ok())
        .unwrap_or_default()
}
