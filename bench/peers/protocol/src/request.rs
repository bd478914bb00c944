//! What a composer is asked.

use std::collections::BTreeMap;

use function_protocol::Fatal;
use function_sdk_rust::proto::v1;
use serde::Deserialize;

use crate::Document;

/// One call.
pub struct Request {
    composite: Option<Document>,
    observed: BTreeMap<String, Resource>,
    input: Option<Document>,
    required: BTreeMap<String, Vec<Resource>>,
}

/// One resource.
pub struct Resource {
    /// Its manifest.
    pub resource: Option<Document>,
}

/// Resources that were asked for.
pub enum Required<'a> {
    /// Not fetched yet.
    Unresolved,
    /// What matched.
    Found(&'a [Resource]),
}

impl Request {
    pub(crate) fn of(message: v1::RunFunctionRequest) -> Self {
        let observed = message.observed.unwrap_or_default();
        let named = |(name, resource)| (name, Resource::from(resource));
        let required = message.required_resources.into_iter();
        Self {
            composite: observed
                .composite
                .and_then(|composite| Resource::from(composite).resource),
            observed: observed.resources.into_iter().map(named).collect(),
            input: message.input.map(Document::from),
            required: required
                .map(|(name, found)| (name, found.items.into_iter().map(Resource::from).collect()))
                .collect(),
        }
    }

    /// The observed composite resource, read as `T`.
    ///
    /// # Errors
    /// There is none, or it is not a `T`.
    pub fn composite<'de, T: Deserialize<'de>>(&'de self) -> Result<T, Fatal> {
        let composite = self.composite.as_ref();
        let composite =
            composite.ok_or_else(|| Fatal::new("the request has no composite resource"))?;
        Ok(composite.parse()?)
    }

    /// The observed composed resources.
    pub fn observed(&self) -> &BTreeMap<String, Resource> {
        &self.observed
    }

    /// The input, read as `T`, if there is one.
    ///
    /// # Errors
    /// It is not a `T`.
    pub fn input<'de, T: Deserialize<'de>>(&'de self) -> Result<Option<T>, Fatal> {
        let input = self.input.as_ref().map(Document::parse);
        input
            .transpose()
            .map_err(|error| Fatal::from(error).within("input"))
    }

    /// As [`Request::input`]: the SDK doesn't refuse fields that `T` doesn't know.
    ///
    /// # Errors
    /// As [`Request::input`].
    pub fn strict_input<'de, T: Deserialize<'de>>(&'de self) -> Result<Option<T>, Fatal> {
        self.input()
    }

    /// The resources asked for under this name.
    pub fn required(&self, name: &str) -> Required<'_> {
        match self.required.get(name) {
            Some(resources) => Required::Found(resources),
            None => Required::Unresolved,
        }
    }
}

impl From<v1::Resource> for Resource {
    fn from(resource: v1::Resource) -> Self {
        Self {
            resource: resource.resource.map(Document::from),
        }
    }
}
