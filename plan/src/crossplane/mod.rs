//! Crossplane: runs the function for each composite resource, applies what it wants, and writes the status back.

mod composed;
pub mod pipeline;
pub mod required;
mod status;

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::Generation;
use function_protocol::v1::{Capability, RequestMeta, ResourceSelector, RunFunctionRequest, State};
use function_protocol::{Document, Function};
use serde::Deserialize;
use serde_json::Value;

use crate::Error;
use crate::compositions::{Composition, Compositions};
use crate::kind::ClaimKind;
use crate::manifest::Manifest;
use crate::settle::Reconciler;
use crate::store::{Key, Store};
use required::{Wanted, missing, resource};
pub use status::{Event, Known};

/// The kind of the resources by which claims request pools.
const OBJECT: &str = "Object";

/// Crossplane, and what it has found out.
#[derive(Clone)]
pub struct Crossplane<'a> {
    /// The function.
    pub function: &'a dyn Function,
    /// Which generation of Crossplane.
    pub generation: Generation,
    /// The environment that the function gets.
    pub compositions: &'a Compositions,
    /// The Composition of OpenStackClusters that choose none, instead of the usual one.
    pub composition: Option<&'a str>,
    /// The composite resources.
    pub composites: BTreeMap<Key, Composite>,
    /// Whether who consumes pools has to wait.
    pub pools_only: bool,
}

/// A composite resource, and what is known of it.
#[derive(Clone, Debug)]
pub struct Composite {
    /// What it is.
    pub kind: ClaimKind,
    /// The claim; the composite itself where it has no claim.
    pub claim: Key,
    /// Status that is taken at its word, whatever would be composed.
    pub given_status: Value,
    /// Whether what it composes is taken to become ready.
    pub assumed: bool,
    /// What the function required last.
    pub selectors: Vec<ResourceSelector>,
    /// Conditions, Crossplane's own two first.
    pub conditions: Vec<Known>,
    /// Events, as they came.
    pub events: Vec<Event>,
    /// What is composed, by the function's name for it: its key, and whether the function calls it ready.
    pub composed: BTreeMap<String, (Key, bool)>,
    /// Why nothing can be composed.
    pub fatal: Option<String>,
    /// How many changes of the store were checked; none before it is composed.
    checked: Option<usize>,
}

impl Composite {
    /// Nothing known yet.
    pub fn new(kind: ClaimKind, claim: Key, given_status: Value, assumed: bool) -> Self {
        Self {
            kind,
            claim,
            given_status,
            assumed,
            selectors: Vec::new(),
            conditions: Vec::new(),
            events: Vec::new(),
            composed: BTreeMap::new(),
            fatal: None,
            checked: None,
        }
    }

    /// Whether something has changed of what the function gets for it. Each change is checked once.
    fn is_stale(&mut self, key: &Key, store: &Store) -> bool {
        let Some(checked) = self.checked.replace(store.moment()) else {
            return true;
        };
        store.since(checked).iter().any(|changed| {
            changed == key
                || store.maker(changed) == Some(key)
                || self
                    .composed
                    .values()
                    .any(|(composed, _)| composed == changed)
                || self.requires(changed)
        })
    }

    /// Whether a resource may be among the required ones.
    fn requires(&self, key: &Key) -> bool {
        let mut selectors = self.selectors.iter();
        selectors.any(|selector| {
            (&selector.kind, &selector.api_version) == (&key.kind, &key.api_version)
        })
    }
}

impl Reconciler for Crossplane<'_> {
    fn reconcile(&mut self, store: &mut Store) -> Result<(), Error> {
        let mut keys: Vec<(ClaimKind, Key)> = self
            .composites
            .iter()
            .filter(|(_, composite)| composite.kind.is_pool() || !self.pools_only)
            .map(|(key, composite)| (composite.kind, key.clone()))
            .collect();
        // Claims ask before pools answer.
        keys.sort_by(|one, other| (other.0, &one.1).cmp(&(one.0, &other.1)));
        for (_, key) in keys {
            let composite = self.composites.get_mut(&key);
            if composite.is_some_and(|composite| composite.is_stale(&key, store)) {
                self.compose(&key, store)?;
            }
        }
        Ok(())
    }
}

impl Crossplane<'_> {
    /// Composes claims from now on, too, and shows pools who requests them.
    pub fn compose_claims(&mut self) {
        self.pools_only = false;
        for composite in self.composites.values_mut() {
            composite.checked = None;
        }
    }

    /// Required resources that don't exist, with the region of the claim.
    pub fn missing(&self, store: &Store) -> BTreeMap<Wanted, String> {
        let mut all = BTreeMap::new();
        for (key, composite) in &self.composites {
            let region = store
                .get(key)
                .map_or("", |manifest| manifest.text("/spec/region"));
            for wanted in missing(store, composite.selectors.iter()) {
                all.entry(wanted).or_insert_with(|| region.to_owned());
            }
        }
        all
    }

    fn compose(&mut self, key: &Key, store: &mut Store) -> Result<(), Error> {
        let Some(manifest) = store.get(key).cloned() else {
            return Ok(());
        };
        let Some(mut composite) = self.composites.remove(key) else {
            return Ok(());
        };
        let title = store
            .get(&composite.claim)
            .map_or_else(String::new, Manifest::title);
        let (step, request) = self.request(key, &manifest, &composite, &title, store)?;
        // Before claims have asked, pools keep the consumers that their files list.
        let is_read = |selector: &ResourceSelector| !self.pools_only || selector.kind != OBJECT;
        let response = pipeline::call(self.function, request, store, &title, is_read)?;

        composite.fatal = pipeline::fatal(&response).map(str::to_owned);
        if let Some(requirements) = &response.requirements {
            let selectors = [&requirements.extra_resources, &requirements.resources];
            composite.selectors = selectors
                .into_iter()
                .flat_map(BTreeMap::values)
                .cloned()
                .collect();
        }
        let desired = response.desired.unwrap_or_default();
        let status = if let Some(fatal) = &composite.fatal {
            status::failed(&mut composite.conditions, &step, fatal);
            manifest.status().as_object().cloned().unwrap_or_default()
        } else {
            composite.composed = self.apply(key, &manifest, desired.resources, store)?;
            let ready = status::is_ready(desired.composite.as_ref(), &composite.composed);
            status::observe(&mut composite, ready, response.conditions, response.results);
            status::wanted(desired.composite.as_ref())?
        };
        status::write(key, &composite, status, store)?;
        self.composites.insert(key.clone(), composite);
        Ok(())
    }

    /// The request for a composite resource, and the name of the step.
    fn request(
        &self,
        key: &Key,
        manifest: &Manifest,
        composite: &Composite,
        title: &str,
        store: &Store,
    ) -> Result<(String, RunFunctionRequest), Error> {
        let composition = self.composition_of(manifest, composite.kind, title)?;
        let observed: Result<BTreeMap<_, _>, _> = store
            .made_by(key)
            .map(|(_, made)| Ok((composed::name(made).to_owned(), resource(made)?)))
            .collect();
        let request = RunFunctionRequest {
            meta: Some(RequestMeta {
                tag: String::new(),
                capabilities: capabilities(self.generation),
            }),
            observed: Some(State {
                composite: Some(resource(manifest)?),
                resources: observed.map_err(Error::Document)?,
            }),
            desired: Some(State::default()),
            input: Some(composition.input.clone()),
            context: Some(Document::default()),
            ..RunFunctionRequest::default()
        };
        Ok((composition.step.clone(), request))
    }

    /// The Composition that a resource chooses by name or by labels, or the one of its kind.
    fn composition_of(
        &self,
        manifest: &Manifest,
        kind: ClaimKind,
        title: &str,
    ) -> Result<&Composition, Error> {
        let chosen = ["/spec", "/spec/crossplane"].iter().find_map(|choice| {
            let name = manifest.text(&format!("{choice}/compositionRef/name"));
            (!name.is_empty()).then_some(name)
        });
        let selector = ["/spec", "/spec/crossplane"].iter().find_map(|choice| {
            let labels = format!("{choice}/compositionSelector/matchLabels");
            manifest.value().pointer(&labels)
        });
        let usual = self
            .composition
            .filter(|_| !kind.is_pool())
            .unwrap_or(kind.composition());
        Ok(match (chosen, selector) {
            (Some(name), _) => self.compositions.named(name, title)?,
            (None, Some(labels)) => {
                let labels = BTreeMap::deserialize(labels).unwrap_or_default();
                self.compositions.selected(kind, &labels, title)?
            }
            (None, None) => self.compositions.named(usual, title)?,
        })
    }

    /// Applies what is wanted, and deletes what isn't any more.
    fn apply(
        &self,
        key: &Key,
        manifest: &Manifest,
        desired: BTreeMap<String, function_protocol::v1::Resource>,
        store: &mut Store,
    ) -> Result<BTreeMap<String, (Key, bool)>, Error> {
        let mut composed = BTreeMap::new();
        for (name, resource) in desired {
            let ready = resource.ready() == function_protocol::v1::Ready::True;
            let wanted: Value = resource.resource.unwrap_or_default().parse()?;
            let wanted = composed::render(wanted, &name, key, manifest, self.generation, store)?;
            let cluster = key.cluster.clone();
            composed.insert(name, (store.apply(&cluster, wanted, Some(key)), ready));
        }
        let wanted: BTreeSet<&Key> = composed.values().map(|(key, _)| key).collect();
        let unwanted: Vec<Key> = store
            .made_by(key)
            .map(|(key, _)| key.clone())
            .filter(|key| !wanted.contains(key))
            .collect();
        for key in unwanted {
            store.remove(&key);
        }
        Ok(composed)
    }
}

/// The capabilities that a core of a generation advertises; none with 1.x.
fn capabilities(generation: Generation) -> Vec<i32> {
    match generation {
        Generation::V1 => Vec::new(),
        Generation::V2 => [
            Capability::Capabilities,
            Capability::RequiredResources,
            Capability::Credentials,
            Capability::Conditions,
            Capability::RequiredSchemas,
        ]
        .map(i32::from)
        .to_vec(),
    }
}
