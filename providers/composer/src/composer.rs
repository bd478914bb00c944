//! Composers as their authors write them, and as they are carried.

use c5c3_api::Reason;
use c5c3_api::{Condition, CustomResource};
use jiff::Timestamp;
use serde::Deserialize;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::composition::Composition;
use crate::conditions::{Conditions, Progress};
use crate::failure::Failure;
use crate::kind::ResourceKind;
use crate::subject::Subject;
use crate::world::World;

/// A pure function from a resource and the world around it to what should be.
pub trait Composer {
    /// The spec of the resources that it composes.
    type Spec: CustomResource<Status = Self::Status> + DeserializeOwned;
    /// What it says of them. The conditions are put in after the others.
    type Status: Serialize + DeserializeOwned + Default;

    /// The operator's name, under which it applies: `keystone-operator`.
    const OPERATOR: &'static str;
    /// Whether deletion is more than deleting what was composed at once: then the subject stays, and is composed, until
    /// nothing of it is left.
    const ORDERED_DELETION: bool = false;

    /// The kinds that it composes and looks at.
    fn uses(&self) -> Vec<Use>;

    /// Says what should be. On a failure nothing changes but the condition Ready.
    ///
    /// # Errors
    /// The user has to change something; the failure says what.
    fn compose(
        &self,
        subject: &Subject<Self::Spec>,
        world: &World<'_>,
        composition: &mut Composition,
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
    /// Looks at them.
    Reads,
    /// Looks at them, and sets labels on those that exist.
    Labels,
    /// Makes, changes and deletes them.
    Composes,
}

impl Use {
    /// Looks at the objects of a kind.
    pub const fn reads(kind: ResourceKind) -> Self {
        Self {
            kind,
            access: Access::Reads,
        }
    }

    /// Looks at the objects of a kind, and sets labels on them.
    pub const fn labels(kind: ResourceKind) -> Self {
        Self {
            kind,
            access: Access::Labels,
        }
    }

    /// Makes, changes and deletes the objects of a kind.
    pub const fn composes(kind: ResourceKind) -> Self {
        Self {
            kind,
            access: Access::Composes,
        }
    }
}

/// A composer as it is carried: of whole resources, whatever their type.
pub trait Operator: Send + Sync {
    /// The operator's name, under which it applies.
    fn name(&self) -> &'static str;
    /// The kind that it composes.
    fn subject(&self) -> ResourceKind;
    /// Whether a subject that is being deleted stays until nothing of it is left.
    fn ordered_deletion(&self) -> bool;
    /// The kinds that it composes and looks at.
    fn uses(&self) -> Vec<Use>;
    /// What should be for one resource, as the API server has it.
    ///
    /// # Errors
    /// The user has to change something; the failure says what.
    fn answer(&self, resource: &Value, world: &World<'_>) -> Result<Answer, Failure>;
}

/// Carries a composer.
pub struct Carried<C>(pub C);

impl<C: Composer + Send + Sync> Operator for Carried<C> {
    fn name(&self) -> &'static str {
        C::OPERATOR
    }

    fn subject(&self) -> ResourceKind {
        ResourceKind::of::<C::Spec>()
    }

    fn ordered_deletion(&self) -> bool {
        C::ORDERED_DELETION
    }

    fn uses(&self) -> Vec<Use> {
        self.0.uses()
    }

    fn answer(&self, resource: &Value, world: &World<'_>) -> Result<Answer, Failure> {
        let subject = Subject::<C::Spec>::deserialize(resource).map_err(|error| {
            Failure::new(
                Reason::Invalid,
                format!("the resource can't be understood: {error}"),
            )
        })?;
        let mut composition = Composition::default();
        let status = self.0.compose(&subject, world, &mut composition)?;
        let mut status = composition.json("the status", &status);
        if let Some(failure) = composition.failure.take() {
            return Err(failure);
        }
        let hold = std::mem::take(&mut composition.conditions);
        let failed = hold.failed();
        let conditions = hold.written(
            &conditions(&resource["status"]),
            subject.metadata.generation,
            world.now(),
        );
        status["conditions"] = json!(conditions);
        status["observedGeneration"] = json!(subject.metadata.generation);
        Ok(Answer::of(
            C::OPERATOR,
            &subject,
            composition,
            status,
            failed,
        ))
    }
}

/// The status of a resource that can't be composed: as it was, but for Ready, which says why.
pub fn refused(resource: &Value, failure: &Failure, now: Timestamp) -> Value {
    let status = match resource.get("status") {
        Some(status @ Value::Object(_)) => status.clone(),
        _ => json!({}),
    };
    hindered(resource, status, failure, now)
}

/// The status of a resource that was composed, but whose answer could not be made so: as answered, but for Ready, which
/// says why.
pub fn hindered(resource: &Value, mut status: Value, failure: &Failure, now: Timestamp) -> Value {
    let mut now_holds = Conditions::from(conditions(&status));
    let progress = match failure.is_transient() {
        true => Progress::waiting(failure.reason(), failure.to_string()),
        false => Progress::failed(failure.reason(), failure.to_string()),
    };
    now_holds.set("Ready", &progress);
    let generation = resource
        .pointer("/metadata/generation")
        .and_then(Value::as_i64);
    let previous = conditions(&resource["status"]);
    status["conditions"] = json!(now_holds.written(&previous, generation, now));
    status["observedGeneration"] = json!(generation);
    status
}

/// What a status says.
fn conditions(status: &Value) -> Vec<Condition> {
    let written = status.get("conditions");
    written
        .and_then(|conditions| Vec::deserialize(conditions).ok())
        .unwrap_or_default()
}
