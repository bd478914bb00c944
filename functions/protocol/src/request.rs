//! The request to a composer.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use serde::Deserialize;

use crate::response::Earlier;
use crate::seeds::Seeds;
use crate::v1::{self, Resource, Resources};
use crate::{Capabilities, Document, DocumentError, Fatal, Head, Response};

/// One call: what is asked for, and what exists. What earlier steps of the pipeline wanted is kept by the [`Response`].
#[derive(Debug, Default)]
pub struct Request {
    composite: Option<Composite>,
    observed: BTreeMap<String, Resource>,
    /// Names of the observed resources that the core didn't hand over.
    added: BTreeSet<String>,
    input: Option<Document>,
    required: BTreeMap<String, Resources>,
    extra: BTreeMap<String, Resources>,
}

/// The observed composite resource.
#[derive(Debug)]
struct Composite {
    document: Document,
    head: Result<Head, DocumentError>,
}

/// Resources that were required with [`Response::require`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Required<'a> {
    /// Not required yet, or not fetched yet: the core fetches them and calls again.
    Unresolved,
    /// What matched: nothing, one or many.
    Found(&'a [Resource]),
}

impl<'a> Required<'a> {
    /// The documents of what matched; none while it is unresolved.
    pub fn documents(self) -> impl Iterator<Item = &'a Document> {
        let found = match self {
            Self::Found(found) => found,
            Self::Unresolved => &[],
        };
        found.iter().filter_map(|found| found.resource.as_ref())
    }
}

impl Request {
    /// Takes a message apart: what the composer reads, and a response that carries on what earlier steps wanted.
    pub fn split(message: v1::RunFunctionRequest) -> (Self, Response) {
        let seeds = Seeds::of(&message);
        let capabilities = Capabilities::of(message.meta.as_ref());
        let observed = message.observed.unwrap_or_default();
        let composite = observed.composite.and_then(|composite| composite.resource);
        let mut composite = composite.map(|document| Composite {
            head: document.parse(),
            document,
        });
        let head = composite
            .as_mut()
            .and_then(|composite| composite.head.as_mut().ok());
        let conditions = head.map(|head| mem::take(&mut head.conditions));
        let request = Self {
            composite,
            observed: observed.resources,
            added: BTreeSet::new(),
            input: message.input,
            required: message.required_resources,
            extra: message.extra_resources,
        };
        let earlier = Earlier {
            tag: message.meta.unwrap_or_default().tag,
            desired: message.desired.unwrap_or_default(),
            context: message.context,
        };
        let conditions = conditions.unwrap_or_default();
        let response = Response::following(capabilities, conditions, earlier, seeds);
        (request, response)
    }

    /// The observed composite resource, read as `T`.
    ///
    /// # Errors
    /// There is none, or it is not a `T`: the message has the path of the field.
    pub fn composite<'de, T: Deserialize<'de>>(&'de self) -> Result<T, Fatal> {
        Ok(self.observed_composite()?.document.parse()?)
    }

    /// What the observed composite resource is.
    ///
    /// # Errors
    /// As [`Request::composite`].
    pub fn head(&self) -> Result<&Head, Fatal> {
        let head = &self.observed_composite()?.head;
        head.as_ref().map_err(|error| error.clone().into())
    }

    fn observed_composite(&self) -> Result<&Composite, Fatal> {
        self.composite.as_ref().ok_or_else(|| {
            Fatal::new("the request has no observed composite resource; use this function in a Composition's pipeline")
        })
    }

    /// The observed composed resources, by their names in the pipeline.
    pub fn observed(&self) -> &BTreeMap<String, Resource> {
        &self.observed
    }

    /// Leaves out observed resources by their names and documents. Crossplane hands over whatever a composite resource refers to
    /// and no other controls, and on Crossplane 2 the creator of the composite resource writes its references.
    pub fn retain_observed(&mut self, is_composed: impl Fn(&str, &Document) -> bool) {
        self.observed.retain(|name, resource| {
            let document = resource.resource.as_ref();
            document.is_some_and(|document| is_composed(name, document))
        });
    }

    /// Adds a resource to the observed ones, unless one of its name is there: one that exists, and that the core no longer hands over.
    pub fn observe(&mut self, name: String, resource: Resource) {
        if let Entry::Vacant(free) = self.observed.entry(name) {
            self.added.insert(free.key().clone());
            free.insert(resource);
        }
    }

    /// Whether [`Request::observe`] added this resource. The core creates another one if it is wanted.
    pub fn is_added(&self, name: &str) -> bool {
        self.added.contains(name)
    }

    /// The input of this step of the Composition, read as `T`, if it has one.
    ///
    /// # Errors
    /// It is not a `T`: the message begins with `input` and has the path of the field.
    pub fn input<'de, T: Deserialize<'de>>(&'de self) -> Result<Option<T>, Fatal> {
        let input = self.input.as_ref().map(Document::parse);
        input
            .transpose()
            .map_err(|error| Fatal::from(error).within("input"))
    }

    /// The input of this step of the Composition, read as `T`, if it has one. No API server has checked it, so fields that
    /// `T` doesn't know are refused.
    ///
    /// # Errors
    /// As [`Request::input`], and for a field that isn't known.
    pub fn strict_input<'de, T: Deserialize<'de>>(&'de self) -> Result<Option<T>, Fatal> {
        let input = self.input.as_ref().map(Document::parse_strictly);
        input
            .transpose()
            .map_err(|error| Fatal::from(error).within("input"))
    }

    /// The resources required under this name.
    pub fn required(&self, name: &str) -> Required<'_> {
        match self.required.get(name).or_else(|| self.extra.get(name)) {
            Some(resources) => Required::Found(&resources.items),
            None => Required::Unresolved,
        }
    }
}
