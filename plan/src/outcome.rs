//! The result of a plan, for each claim.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::Condition;
use serde::Deserialize;
use serde_json::Value;

use crate::composite::CLAIM_NAME;
use crate::controller::{Controller, Listing};
use crate::crossplane::required::Wanted;
use crate::crossplane::{Composite, Crossplane, Event};
use crate::graph::Graph;
use crate::kind::ClaimKind;
use crate::manifest::Manifest;
use crate::operated::{Operated, PlannedObject, State};
use crate::secret_path::SecretPath;
use crate::store::{Key, MANAGEMENT, Store};
use crate::{operators, provider};

/// The result for claims and pools.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Claims first, then pools, by namespace and name.
    pub planned: Vec<Planned>,
    /// Resources that were given without a claim.
    pub resources: Vec<Operated>,
    /// Everything that is applied in clusters but the management cluster, in the order of cluster, kind and name.
    pub applied: Vec<Applied>,
    /// Every object that operators looked up or composed, whether it exists or not.
    pub looked_up: BTreeSet<Key>,
    /// Every list of objects that our operators looked up.
    pub listed: BTreeSet<Listing>,
    /// Whether everything composed was taken to become ready.
    pub assume_ready: bool,
    /// Clusters that are named, but weren't given.
    pub missing: Vec<Wanted>,
    /// Clusters that weren't given and are assumed, by namespace and name.
    pub assumed: Vec<Wanted>,
    /// Secrets that users create, that weren't given and are assumed.
    pub assumed_secrets: Vec<Key>,
    /// Shoots that were given, and that no cluster has.
    pub unused_shoots: Vec<Key>,
}

/// An object that is applied in a cluster.
#[derive(Clone, Debug)]
pub struct Applied {
    /// Which object.
    pub key: Key,
    /// The object, without a status.
    pub manifest: Manifest,
    /// The field manager that applies it: one of this project's operators; none for any other.
    pub operator: Option<&'static str>,
}

/// The result for one claim or pool.
#[derive(Clone, Debug)]
pub struct Planned {
    /// What it is.
    pub kind: ClaimKind,
    /// The claim, with its status.
    pub claim: Manifest,
    /// Whether it is assumed to become ready.
    pub assumed: bool,
    /// The conditions that its owner sees.
    pub conditions: Vec<Condition>,
    /// The events that its owner sees, as they come.
    pub events: Vec<Event>,
    /// Why nothing can be composed, in the function's words.
    pub fatal: Option<String>,
    /// What Crossplane applies, by kind and the function's name for it.
    pub composed: Vec<Manifest>,
    /// What is composed in each cluster.
    pub clusters: BTreeMap<String, Vec<PlannedObject>>,
    /// The order of deletion: a step is deleted when all steps before it are.
    pub deletion: Vec<Vec<PlannedObject>>,
    /// Pools that aren't deleted before what the claim has in them.
    pub holds: Vec<String>,
    /// The paths on which secrets travel between clusters.
    pub secret_paths: Vec<SecretPath>,
}

impl Plan {
    /// The result, from everything in the store.
    pub fn of(
        store: &Store,
        crossplane: &Crossplane<'_>,
        controller: &Controller<'_>,
        assumed: &BTreeSet<Key>,
        missing: Vec<Wanted>,
        assume_ready: bool,
    ) -> Self {
        let composites = crossplane.composites.iter();
        let given = composites
            .clone()
            .filter(|(_, composite)| !assumed.contains(&composite.claim));
        let mut planned: Vec<Planned> = given
            .filter_map(|(_, composite)| Planned::of(store, controller, composite))
            .collect();
        planned.sort_by(|one, other| {
            let order =
                |planned: &Planned| (planned.kind.is_pool(), planned.kind, planned.claim.path());
            order(one).cmp(&order(other))
        });
        let assumed = composites
            .filter(|(_, composite)| assumed.contains(&composite.claim))
            .map(|(_, composite)| Wanted {
                kind: composite.kind,
                namespace: composite.claim.namespace.clone(),
                name: composite.claim.name.clone(),
            });
        let mut assumed: Vec<Wanted> = assumed.collect();
        assumed.sort();
        let given = controller
            .reconciled
            .keys()
            .filter(|key| store.origin(key) == *key);
        Self {
            planned,
            resources: given
                .filter_map(|key| Operated::of(store, controller, key))
                .collect(),
            applied: applied(store, controller),
            looked_up: controller.looked_up(),
            listed: controller.listed(),
            assume_ready,
            missing,
            assumed,
            assumed_secrets: Vec::new(),
            unused_shoots: Vec::new(),
        }
    }

    /// Whether a claim can't be composed as it is written.
    pub fn has_failed(&self) -> bool {
        let mut operated = self.operated().into_iter();
        self.planned.iter().any(|planned| planned.fatal.is_some())
            || operated.any(|operated| operated.failure.is_some())
    }

    /// The dependency graph of each ControlPlane.
    pub fn graphs(&self) -> impl Iterator<Item = &Graph> {
        let operated = self.operated().into_iter();
        operated.filter_map(|operated| operated.graph.as_ref())
    }

    /// Every resource of this project's operators, including those that another one composed.
    pub fn operated(&self) -> Vec<&Operated> {
        self.given().flat_map(Operated::all).collect()
    }

    /// Every resource of this project's operators but those that another one composed.
    pub(crate) fn given(&self) -> impl Iterator<Item = &Operated> {
        let planned = self.planned.iter();
        let objects = planned.flat_map(|planned| planned.clusters.values().flatten());
        let composed = objects.filter_map(|object| object.operated.as_deref());
        composed.chain(&self.resources)
    }
}

impl Planned {
    /// The phase that the claim's owner sees.
    pub fn phase(&self) -> &str {
        match self.claim.text("/status/phase") {
            "" => "Unknown",
            phase => phase,
        }
    }

    /// Whether the claim is ready.
    pub fn is_ready(&self) -> bool {
        let mut conditions = self.conditions.iter();
        conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
    }

    fn of(store: &Store, controller: &Controller<'_>, composite: &Composite) -> Option<Self> {
        let claim = store.get(&composite.claim)?.clone();
        let mut clusters: BTreeMap<String, Vec<PlannedObject>> = BTreeMap::new();
        let mut objects = BTreeMap::new();
        let mut usages = Vec::new();
        let mut composed = Vec::new();
        let mut targets = Vec::new();
        for (key, ready) in composite.composed.values() {
            let Some(manifest) = store.get(key) else {
                continue;
            };
            composed.push(manifest.clone().with_status(Value::Null).without_owners());
            if is_usage(manifest) {
                usages.push(manifest);
                continue;
            }
            let (cluster, applied, target) = target(store, key, manifest);
            targets.push((cluster, target));
            let operated = Operated::of(store, controller, applied);
            let responsible = match &operated {
                Some(operated) => Some(operated.operator),
                None => operators::responsible(target),
            };
            let object = PlannedObject {
                group: target.group().to_owned(),
                namespace: target.namespace().to_owned(),
                kind: target.kind().to_owned(),
                name: target.name().to_owned(),
                state: match ready {
                    true => State::Ready,
                    false => State::Waiting(responsible),
                },
                says: String::new(),
                operated: None,
            };
            objects.insert((manifest.kind(), manifest.name()), object.clone());
            let object = PlannedObject {
                operated: operated.map(Box::new),
                ..object
            };
            clusters.entry(cluster.to_owned()).or_default().push(object);
        }
        for objects in clusters.values_mut() {
            objects.sort_by(PlannedObject::order);
        }
        composed.sort_by(|one: &Manifest, other| one.kind().cmp(other.kind()));
        let conditions = Vec::deserialize(&claim.status()["conditions"]).unwrap_or_default();
        let (deletion, holds) = deletion(store, &usages, &objects);
        Some(Self {
            kind: composite.kind,
            claim,
            assumed: composite.assumed,
            conditions,
            events: composite.events.clone(),
            fatal: composite.fatal.clone(),
            composed,
            clusters,
            deletion,
            holds,
            secret_paths: SecretPath::of(targets.into_iter()),
        })
    }
}

/// The object that a composed resource stands for, its key, and its cluster.
fn target<'a>(
    store: &'a Store,
    key: &'a Key,
    composed: &'a Manifest,
) -> (&'a str, &'a Key, &'a Manifest) {
    if !provider::is_object(composed) {
        return (MANAGEMENT, key, composed);
    }
    let (key, target) = store.made_by(key).next().unwrap_or((key, composed));
    (provider::cluster(composed), key, target)
}

/// Everything that Crossplane or one of our operators applies in a cluster, and what was given for one.
fn applied(store: &Store, controller: &Controller<'_>) -> Vec<Applied> {
    let objects = store.iter().filter(|(key, _)| key.cluster != MANAGEMENT);
    objects
        .filter_map(|(key, manifest)| {
            let operator = match store.maker(key) {
                Some(maker) if maker.cluster == MANAGEMENT => None,
                Some(maker) => Some(controller.reconciled.get(maker)?.operator),
                None => controller.reconciled.contains_key(key).then_some(None)?,
            };
            Some(Applied {
                key: key.clone(),
                manifest: manifest.clone().with_status(Value::Null),
                operator,
            })
        })
        .collect()
}

fn is_usage(manifest: &Manifest) -> bool {
    ["apiextensions.crossplane.io", "protection.crossplane.io"].contains(&manifest.group())
}

/// A composed resource by kind and name.
type Name<'a> = (&'a str, &'a str);

/// The steps of a deletion, and the pools that outlast it, as the Usages have it.
fn deletion(
    store: &Store,
    usages: &[&Manifest],
    objects: &BTreeMap<Name<'_>, PlannedObject>,
) -> (Vec<Vec<PlannedObject>>, Vec<String>) {
    let mut users: BTreeMap<Name<'_>, BTreeSet<Name<'_>>> = BTreeMap::new();
    let mut holds = BTreeSet::new();
    for usage in usages {
        let of = (
            usage.text("/spec/of/kind"),
            usage.text("/spec/of/resourceRef/name"),
        );
        let by = (
            usage.text("/spec/by/kind"),
            usage.text("/spec/by/resourceRef/name"),
        );
        if objects.contains_key(&of) {
            users.entry(of).or_default().insert(by);
            users.entry(by).or_default();
        } else {
            holds.insert(pool(store, usage));
        }
    }
    let mut steps = Vec::new();
    let mut gone = BTreeSet::new();
    while gone.len() < users.len() {
        let step: Vec<Name<'_>> = users
            .iter()
            .filter(|(name, users)| !gone.contains(*name) && users.is_subset(&gone))
            .map(|(name, _)| *name)
            .collect();
        if step.is_empty() {
            break;
        }
        let mut deleted: Vec<PlannedObject> = step
            .iter()
            .filter_map(|name| objects.get(name).cloned())
            .collect();
        deleted.sort_by(PlannedObject::order);
        steps.push(deleted);
        gone.extend(step);
    }
    (steps, holds.into_iter().collect())
}

/// The name that the user of a pool gave it.
fn pool(store: &Store, usage: &Manifest) -> String {
    let name = usage.text("/spec/of/resourceRef/name");
    let (api_version, kind) = (
        usage.text("/spec/of/apiVersion"),
        usage.text("/spec/of/kind"),
    );
    let composite = store
        .of_kind(MANAGEMENT, api_version, kind, None)
        .find(|(key, _)| key.name == name);
    match composite.map_or("", |(_, composite)| composite.label(CLAIM_NAME)) {
        "" => name.to_owned(),
        claim => claim.to_owned(),
    }
}
