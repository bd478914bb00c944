//! Composers as their authors write them, and as a runtime runs them.

use c5c3_api::parts::Resources;
use c5c3_api::{CustomResource, Reason};
use c5c3_kinds::ResourceKind;
use serde::Deserialize;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::composed::Composed;
use crate::deletion::{self, Deletion};
use crate::desired::DesiredState;
use crate::failure::Failure;
use crate::observed::ObservedState;
use crate::status::conditions;
use crate::subject::{Subject, is_deleted};
use crate::uses::Use;

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

    /// Composes the desired state and the status. On a failure nothing changes but the condition Ready and the gauges.
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
            let message = format!("the resource can't be understood: {error}");
            Failure::new(Reason::Invalid, message)
        })?;
        if !subject.is_deleted()
            && let Some(problem) = Resources::problem_within(&resource["spec"], "spec")
        {
            return Err(Failure::new(Reason::Invalid, problem));
        }
        let mut desired = DesiredState::default();
        let composed = self
            .compose(&subject, observed, &mut desired)
            .map(|status| desired.json("the status", &status));
        let mut status = match (composed, desired.failure.take()) {
            (Ok(status), None) => status,
            (Err(failure), _) | (Ok(_), Some(failure)) => {
                return Err(failure.exporting(desired.gauges));
            }
        };
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
