//! What provider-kubernetes says of an object in another cluster.

use c5c3_api::Condition;
use function_protocol::v1::Resource;
use function_protocol::{Fatal, Request};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::ownership::Record;

/// An object in another cluster, as its Object reports it.
#[derive(Clone, Debug, Default)]
pub struct Observation<S> {
    /// Whether the Object is there at all.
    pub exists: bool,
    /// Whether the cluster has what we want, as far as the provider knows.
    pub synced: bool,
    /// The object's kind; empty while the object hasn't been observed.
    pub kind: String,
    /// The object's status.
    pub status: S,
    /// What the object says about its owner; none while the object hasn't been observed.
    pub record: Option<Record>,
    /// Why nothing is known, in the provider's words.
    pub problem: Option<String>,
}

/// A status of which nothing is read.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct IgnoredStatus {}

/// An Object, or any resource with conditions.
#[derive(Deserialize)]
#[serde(bound(deserialize = "S: Deserialize<'de> + Default"))]
struct Object<S> {
    #[serde(default)]
    status: ObjectStatus<S>,
}

#[derive(Default, Deserialize)]
#[serde(
    rename_all = "camelCase",
    bound(deserialize = "S: Deserialize<'de> + Default")
)]
struct ObjectStatus<S> {
    #[serde(default)]
    conditions: Vec<Condition>,
    #[serde(default = "AtProvider::default")]
    at_provider: AtProvider<S>,
}

#[derive(Default, Deserialize)]
#[serde(bound(deserialize = "S: Deserialize<'de> + Default"))]
struct AtProvider<S> {
    #[serde(default = "Provided::default")]
    manifest: Provided<S>,
}

#[derive(Default, Deserialize)]
#[serde(bound(deserialize = "S: Deserialize<'de> + Default"))]
struct Provided<S> {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    metadata: Option<Record>,
    #[serde(default)]
    status: S,
}

impl<S: Default> Observation<S> {
    /// Reads an observed Object; what can't be read counts as not ready and says why.
    pub fn of<'de>(resource: Option<&'de Resource>) -> Self
    where
        S: Deserialize<'de>,
    {
        let Some(document) = resource.and_then(|resource| resource.resource.as_ref()) else {
            return Observation::default();
        };
        match document.parse::<Object<S>>() {
            Ok(object) => {
                let synced = condition(&object.status.conditions, "Synced");
                let provided = object.status.at_provider.manifest;
                Observation {
                    exists: true,
                    synced: synced.is_some_and(|synced| synced.status == "True"),
                    kind: provided.kind,
                    status: provided.status,
                    record: provided.metadata,
                    problem: synced
                        .filter(|synced| synced.status == "False")
                        .map(|synced| synced.message.clone()),
                }
            }
            Err(error) => Observation {
                exists: true,
                problem: Some(error.to_string()),
                ..Observation::default()
            },
        }
    }
}

impl<S> Observation<S> {
    /// Whether an operator that has reconciled `generation` of the object has reconciled its last change. It counts as reconciled while
    /// either isn't known.
    pub fn is_reconciled(&self, generation: Option<i64>) -> bool {
        let last = self.record.as_ref().and_then(|record| record.generation);
        last.zip(generation)
            .is_none_or(|(last, reconciled)| last <= reconciled)
    }
}

/// What the object behind a composed resource says about its owner; none while the object hasn't been observed.
pub fn record(request: &Request, name: &str) -> Option<Record> {
    Observation::<IgnoredStatus>::of(request.observed().get(name)).record
}

/// The manifest that an Object was last composed with; none while there is no Object.
///
/// # Errors
/// The observed resource isn't an Object with such a manifest.
pub fn last_composed<M: DeserializeOwned>(
    request: &Request,
    name: &str,
) -> Result<Option<M>, Fatal> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Spec<M> {
        for_provider: ForProvider<M>,
    }
    #[derive(Deserialize)]
    struct ForProvider<M> {
        manifest: M,
    }
    let object: Option<Specified<Spec<M>>> = parsed(request, name)?;
    Ok(object.map(|object| object.spec.for_provider.manifest))
}

/// Something with a spec.
#[derive(Deserialize)]
pub struct Specified<S> {
    /// The spec.
    pub spec: S,
}

/// The spec of the manifest that an Object was last composed with; none where it can't be read.
pub fn last_spec<S: DeserializeOwned>(request: &Request, name: &str) -> Option<S> {
    let manifest: Option<Specified<S>> = last_composed(request, name).ok()?;
    Some(manifest?.spec)
}

/// The object as an Object has last observed it; none while it hasn't.
///
/// # Errors
/// What was observed isn't such an object.
pub fn last_observed<M: DeserializeOwned>(
    request: &Request,
    name: &str,
) -> Result<Option<M>, Fatal> {
    #[derive(Deserialize)]
    struct Object<M> {
        status: Option<Status<M>>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Status<M> {
        at_provider: Option<Observed<M>>,
    }
    #[derive(Deserialize)]
    struct Observed<M> {
        manifest: Option<M>,
    }
    let object: Option<Object<M>> = parsed(request, name)?;
    Ok(object.and_then(|object| object.status?.at_provider?.manifest))
}

/// An observed resource; none while it doesn't exist.
fn parsed<O: DeserializeOwned>(request: &Request, name: &str) -> Result<Option<O>, Fatal> {
    let observed = request.observed().get(name);
    let document = observed.and_then(|observed| observed.resource.as_ref());
    document
        .map(|document| document.parse())
        .transpose()
        .map_err(|error| Fatal::from(error).within(name))
}

/// The condition of a type.
pub fn condition<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Whether the condition of a type is True.
pub fn is_true(conditions: &[Condition], type_: &str) -> bool {
    condition(conditions, type_).is_some_and(|condition| condition.status == "True")
}

/// A status of which the conditions are all that matters.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ConditionedStatus {
    /// The conditions.
    pub conditions: Vec<Condition>,
}

impl ConditionedStatus {
    /// Whether `Ready` holds.
    pub fn is_ready(&self) -> bool {
        is_true(&self.conditions, "Ready")
    }
}

/// What an observed resource is called, to refer to it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Its name; of other metadata, which can be much, nothing is read.
    pub metadata: Named,
}

/// Something with a name.
#[derive(Clone, Debug, Deserialize)]
pub struct Named {
    /// The name.
    pub name: String,
}
