//! Our own operators: their composers are carried over the objects in memory, as the runtime carries them in a cluster.

mod outside;
mod source;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use provider_composer::{Answer, Ask, Failure, Operator, ResourceKind, Retention, World, refused};

use crate::Error;
use crate::manifest::Manifest;
use crate::placeholder;
use crate::settle::Reconciler;
use crate::store::{Key, MANAGEMENT, Store};
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
                self.carry(operator.as_ref(), &subject, store)?;
            }
        }
        Ok(())
    }
}

impl Carrier<'_> {
    /// Secrets that were looked up or made, whether there are any.
    pub fn secrets(&self) -> BTreeSet<Key> {
        let looked_up = self.carried.iter().flat_map(|(subject, carried)| {
            let asks = carried.asks.iter();
            asks.filter_map(|ask| match ask {
                Ask::Object(key) => Some(source::key(&subject.cluster, key)),
                Ask::Objects { .. } | Ask::Outside(_) => None,
            })
        });
        let made = self.carried.values().flat_map(|carried| &carried.steps);
        let keys = looked_up.chain(made.flatten().cloned());
        keys.filter(|key| key.kind == "Secret" && key.api_version == "v1")
            .collect()
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
        });
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
    /// Takes note of what is wanted now, as one more step where something is new.
    fn add(&mut self, wanted: impl Iterator<Item = Key>) {
        let known: BTreeSet<&Key> = self.steps.iter().flatten().collect();
        let step: Vec<Key> = wanted.filter(|key| !known.contains(key)).collect();
        if !step.is_empty() {
            self.steps.push(step);
        }
    }
}

/// Whether a key is of a kind.
fn is_of(key: &Key, kind: ResourceKind) -> bool {
    key.kind == kind.kind && key.api_version == kind.api_version()
}
