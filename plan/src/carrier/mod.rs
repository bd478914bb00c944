//! Our own operators: their composers are carried over the objects in memory, as the runtime carries them in a cluster.

mod keystone;
mod outside;
mod source;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use provider_composer::{Answer, Ask, Failure, Operator, ResourceKind, Retention, World, refused};

use crate::Error;
use crate::manifest::Manifest;
use crate::outcome::Listing;
use crate::placeholder;
use crate::readiness::conditions;
use crate::settle::Reconciler;
use crate::store::{Key, MANAGEMENT, Store};
pub use keystone::Keystone;
pub use outside::Simulated;
use source::InCluster;
pub use source::stored;

/// Our operators, and what they have made so far.
pub struct Carrier<'a> {
    /// The operators.
    pub operators: &'a [Box<dyn Operator>],
    /// The moment of the plan.
    pub now: Timestamp,
    /// Systems outside Kubernetes, by name.
    pub outside: BTreeMap<&'static str, Box<dyn Simulated>>,
    /// What has come of each resource.
    pub carried: BTreeMap<Key, Carried>,
}

/// What has come of a resource of one of our operators.
#[derive(Clone, Debug)]
pub struct Carried {
    /// The operator.
    pub operator: &'static str,
    /// What is made for it, step by step: what is in one step was wanted as soon as the steps before had come far enough.
    pub steps: Vec<Vec<Key>>,
    /// What was looked up last.
    pub asks: BTreeSet<Ask>,
    /// Why it can't be composed.
    pub failure: Option<Failure>,
    /// Secrets that stay, wanted or not.
    kept: BTreeSet<Key>,
    /// When it was composed last.
    composed: usize,
}

impl Reconciler for Carrier<'_> {
    fn reconcile(&mut self, store: &mut Store) -> Result<(), Error> {
        for operator in self.operators {
            let kind = operator.subject();
            let subjects: Vec<Key> = store
                .iter()
                .filter(|(key, _)| key.cluster != MANAGEMENT && is_of(key, kind))
                .map(|(key, _)| key.clone())
                .collect();
            for subject in subjects {
                let carried = self.carried.get(&subject);
                if carried.is_none_or(|carried| carried.is_stale(&subject, store)) {
                    self.carry(operator.as_ref(), &subject, store)?;
                }
            }
        }
        Ok(())
    }
}

impl Carrier<'_> {
    /// Every object that was looked up or made, whether it is there or not.
    pub fn looked_up(&self) -> BTreeSet<Key> {
        let looked_up = self.carried.iter().flat_map(|(subject, carried)| {
            let asks = carried.asks.iter();
            asks.filter_map(|ask| match ask {
                Ask::Object(key) => Some(source::key(&subject.cluster, key)),
                Ask::Objects { .. } | Ask::Outside(_) => None,
            })
        });
        let made = self.carried.values().flat_map(|carried| &carried.steps);
        looked_up.chain(made.flatten().cloned()).collect()
    }

    /// Every list of objects that was looked up.
    pub fn listed(&self) -> BTreeSet<Listing> {
        let asks = |(subject, carried): (&Key, &Carried)| -> Vec<Listing> {
            let asks = carried.asks.iter();
            let listings = asks.filter_map(|ask| match ask {
                Ask::Objects {
                    kind,
                    namespace,
                    labels,
                } => Some(Listing {
                    cluster: subject.cluster.clone(),
                    api_version: kind.api_version(),
                    kind: kind.kind.to_owned(),
                    namespace: namespace.clone(),
                    labels: labels.clone(),
                }),
                Ask::Object(_) | Ask::Outside(_) => None,
            });
            listings.collect()
        };
        self.carried.iter().flat_map(asks).collect()
    }

    /// Secrets that were looked up, aren't there, and are named by a condition that doesn't hold: users have to make them.
    pub fn missing_secrets(&self, store: &Store) -> BTreeSet<Key> {
        let mut missing = BTreeSet::new();
        for (subject, carried) in &self.carried {
            let conditions = store.get(subject).map(conditions).unwrap_or_default();
            let unmet = conditions.iter().filter(|known| known.status != "True");
            let messages: Vec<&str> = unmet.map(|known| known.message.as_str()).collect();
            let is_named = |key: &Key| messages.iter().any(|message| names(message, key));
            let secrets = carried.asks.iter().filter_map(|ask| match ask {
                Ask::Object(key) if key.kind.kind == "Secret" => {
                    Some(source::key(&subject.cluster, key))
                }
                _ => None,
            });
            missing.extend(secrets.filter(|key| store.get(key).is_none() && is_named(key)));
        }
        missing
    }

    fn carry(
        &mut self,
        operator: &dyn Operator,
        subject: &Key,
        store: &mut Store,
    ) -> Result<(), Error> {
        let Some(manifest) = store.get(subject).cloned() else {
            return Ok(());
        };
        let source = InCluster {
            store,
            cluster: &subject.cluster,
            outside: &self.outside,
        };
        let world = World::new(&source, self.now);
        let answer = operator.answer(manifest.value(), &world);
        let asks = world.into_asks();

        let mut carried = self.carried.remove(subject).unwrap_or_else(|| Carried {
            operator: operator.name(),
            steps: Vec::new(),
            asks: BTreeSet::new(),
            failure: None,
            kept: BTreeSet::new(),
            composed: 0,
        });
        carried.composed = store.moment();
        carried.asks = asks;
        carried.failure = match answer {
            Ok(answer) => {
                self.make(answer, subject, &mut carried, store)?;
                None
            }
            Err(failure) => {
                store.set_status(subject, refused(manifest.value(), &failure, self.now));
                Some(failure)
            }
        };
        self.carried.insert(subject.clone(), carried);
        Ok(())
    }

    /// Makes an answer so: applied, generated, what isn't wanted any more deleted, called, the status written.
    fn make(
        &mut self,
        answer: Answer,
        subject: &Key,
        carried: &mut Carried,
        store: &mut Store,
    ) -> Result<(), Error> {
        let cluster = &subject.cluster;
        let mut wanted = BTreeSet::new();
        for object in answer.objects.into_values() {
            let object = stored(Manifest::try_from(object)?);
            wanted.insert(store.apply(cluster, object, Some(subject)));
        }
        for (key, generated) in &answer.generated {
            let key = source::key(cluster, key);
            if store.get(&key).is_none() {
                let labels = generated.labels.iter();
                let labels = labels.map(|(label, value)| (label.as_str(), value.as_str()));
                let labels = labels.chain(answer.owner.labels()).collect();
                let secret =
                    placeholder::secret(&key.namespace, &key.name, labels, &generated.values);
                store.apply(cluster, Manifest::try_from(secret)?, Some(subject));
            }
            if generated.retention == Retention::Forever {
                carried.kept.insert(key.clone());
            }
            wanted.insert(key);
        }
        wanted.extend(answer.kept.iter().map(|key| source::key(cluster, key)));
        let unwanted: Vec<Key> = store
            .made_by(subject)
            .map(|(key, _)| key.clone())
            .filter(|key| !wanted.contains(key) && !carried.kept.contains(key))
            .collect();
        for key in unwanted {
            store.remove(&key);
        }
        carried.add(wanted.into_iter().filter(|key| store.get(key).is_some()));
        for call in &answer.calls {
            let system = self.outside.get_mut(call.system);
            if system.is_some_and(|system| system.call(&call.content)) {
                store.touch(subject);
            }
        }
        store.set_status(subject, answer.status);
        Ok(())
    }
}

impl Carried {
    /// Whether something has changed that it follows from, or that was made for it.
    fn is_stale(&self, subject: &Key, store: &Store) -> bool {
        store.since(self.composed).iter().any(|changed| {
            changed == subject
                || store.maker(changed) == Some(subject)
                || self.steps.iter().any(|step| step.contains(changed))
                || (changed.cluster == subject.cluster
                    && self.asks.iter().any(|ask| concerns(ask, changed)))
        })
    }

    /// Takes note of what is wanted now, as one more step where something is new.
    fn add(&mut self, wanted: impl Iterator<Item = Key>) {
        let known: BTreeSet<&Key> = self.steps.iter().flatten().collect();
        let step: Vec<Key> = wanted.filter(|key| !known.contains(key)).collect();
        if !step.is_empty() {
            self.steps.push(step);
        }
    }
}

/// Whether a message is about an object, called by kind and name.
fn names(message: &str, key: &Key) -> bool {
    let words: Vec<&str> = message.split_whitespace().collect();
    let mut pairs = words.windows(2);
    pairs.any(|pair| match pair {
        [kind, name] => *kind == key.kind && name.trim_end_matches([',', ':', ';']) == key.name,
        _ => false,
    })
}

/// Whether a change is one of what was asked for.
fn concerns(ask: &Ask, changed: &Key) -> bool {
    match ask {
        Ask::Object(key) => {
            key.name == changed.name
                && key.namespace.as_deref().unwrap_or_default() == changed.namespace
                && is_of(changed, key.kind)
        }
        Ask::Objects {
            kind, namespace, ..
        } => *namespace == changed.namespace && is_of(changed, *kind),
        Ask::Outside(_) => false,
    }
}

/// Whether a key is of a kind.
fn is_of(key: &Key, kind: ResourceKind) -> bool {
    key.kind == kind.kind
        && key
            .api_version
            .rsplit_once('/')
            .unwrap_or(("", &key.api_version))
            == (kind.group, kind.version)
}
