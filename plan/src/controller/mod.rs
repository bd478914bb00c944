//! The project's own operators: a plan runs their composers on the objects in memory, as the controller does in a cluster.

mod external;
mod flavors;
mod keystone;
mod neutron;
mod rabbitmq;
mod source;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use provider_composer::reconcile::{Reconcile, memory};
use provider_composer::{Dependency, DesiredState, Failure, Operator, ResourceKind, Selection};

use crate::Error;
use crate::readiness::conditions;
use crate::settle::Reconciler;
use crate::store::{Key, MANAGEMENT, Store};
pub use external::Simulated;
pub use flavors::Flavors;
pub use keystone::Keystone;
pub use neutron::Neutron;
pub use rabbitmq::RabbitMq;
use source::InCluster;
pub use source::{key, stored};

/// The project's operators, and what they have composed so far.
#[derive(Clone)]
pub struct Controller<'a> {
    /// The operators.
    pub operators: &'a [Box<dyn Operator>],
    /// The moment of the plan.
    pub now: Timestamp,
    /// External systems, by name.
    pub external: BTreeMap<&'static str, Box<dyn Simulated>>,
    /// The last reconcile of each resource.
    pub reconciled: BTreeMap<Key, Reconciled>,
}

/// The last reconcile of a resource of one of the project's operators.
#[derive(Clone, Debug, Default)]
pub struct Reconciled {
    /// The operator.
    pub operator: &'static str,
    /// What is composed for it, step by step: the objects of a step were wanted once those of the steps before it were ready.
    pub steps: Vec<Vec<Key>>,
    /// What was looked up last.
    pub dependencies: BTreeSet<Dependency>,
    /// Why it can't be composed.
    pub failure: Option<Failure>,
    /// Secrets that are generated for it where they don't exist.
    generated: BTreeSet<Key>,
    /// How many changes of the store were checked.
    checked: usize,
}

/// Some objects of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listing {
    /// The cluster, by the name of its provider configuration.
    pub cluster: String,
    /// Which of its objects.
    pub selection: Selection,
}

impl Reconciler for Controller<'_> {
    fn reconcile(&mut self, store: &mut Store) -> Result<(), Error> {
        for operator in self.operators {
            let kind = operator.subject();
            let subjects: Vec<Key> = store
                .iter()
                .filter(|(key, _)| key.cluster != MANAGEMENT && is_of(key, kind))
                .map(|(key, _)| key.clone())
                .collect();
            for subject in subjects {
                let reconciled = self.reconciled.get_mut(&subject);
                if reconciled.is_none_or(|reconciled| reconciled.is_stale(&subject, store)) {
                    self.reconcile_one(operator.as_ref(), &subject, store);
                }
            }
        }
        Ok(())
    }
}

impl Controller<'_> {
    /// Returns every object that was looked up or composed, whether it exists or not.
    pub fn looked_up(&self) -> BTreeSet<Key> {
        let looked_up = self
            .dependencies()
            .filter_map(|(subject, dependency)| match dependency {
                Dependency::Object(key) => Some(source::key(&subject.cluster, key)),
                Dependency::Objects(_) | Dependency::Keys(_) | Dependency::External(_) => None,
            });
        let made = self
            .reconciled
            .values()
            .flat_map(|reconciled| &reconciled.steps);
        looked_up.chain(made.flatten().cloned()).collect()
    }

    /// Every list of objects that was looked up.
    pub fn listed(&self) -> BTreeSet<Listing> {
        self.dependencies()
            .filter_map(|(subject, dependency)| match dependency {
                Dependency::Objects(selection) | Dependency::Keys(selection) => Some(Listing {
                    cluster: subject.cluster.clone(),
                    selection: selection.clone(),
                }),
                Dependency::Object(_) | Dependency::External(_) => None,
            })
            .collect()
    }

    /// What was looked up last for each resource.
    fn dependencies(&self) -> impl Iterator<Item = (&Key, &Dependency)> {
        self.reconciled.iter().flat_map(|(subject, reconciled)| {
            let dependencies = reconciled.dependencies.iter();
            dependencies.map(move |dependency| (subject, dependency))
        })
    }

    /// Returns the Secrets that were looked up, don't exist, and are named by a condition that isn't True: users create them.
    pub fn missing_secrets(&self, store: &Store) -> BTreeSet<Key> {
        let mut missing = BTreeSet::new();
        for (subject, reconciled) in &self.reconciled {
            let conditions = store.get(subject).map(conditions).unwrap_or_default();
            let unmet = conditions.iter().filter(|known| known.status != "True");
            let messages: Vec<&str> = unmet.map(|known| known.message.as_str()).collect();
            let is_named = |key: &Key| messages.iter().any(|message| names(message, key));
            let secrets =
                reconciled
                    .dependencies
                    .iter()
                    .filter_map(|dependency| match dependency {
                        Dependency::Object(key) if key.kind.kind == "Secret" => {
                            Some(source::key(&subject.cluster, key))
                        }
                        _ => None,
                    });
            missing.extend(secrets.filter(|key| store.get(key).is_none() && is_named(key)));
        }
        missing
    }

    /// Those of some Secrets that an operator generates: it does as soon as what it waits for is there.
    pub fn generated<'k>(&'k self, secrets: &'k [Key]) -> impl Iterator<Item = Key> + 'k {
        let is_generated = |key: &&Key| {
            let mut all = self.reconciled.values();
            all.any(|reconciled| reconciled.generated.contains(*key))
        };
        secrets.iter().filter(is_generated).cloned()
    }

    fn reconcile_one(&mut self, operator: &dyn Operator, subject: &Key, store: &mut Store) {
        let reconciled = self
            .reconciled
            .entry(subject.clone())
            .or_insert_with(|| Reconciled {
                operator: operator.name(),
                ..Reconciled::default()
            });
        reconciled.checked = store.moment();
        let mut objects = InCluster {
            store,
            cluster: &subject.cluster,
            external: &mut self.external,
            now: self.now,
            generated: &reconciled.generated,
        };
        let key =
            provider_composer::Key::new(operator.subject(), &subject.namespace, &subject.name);
        let reconcile = Reconcile {
            operator,
            subject: &key,
        };
        let Some(outcome) = memory::reconcile(&mut objects, reconcile) else {
            return;
        };
        reconciled.dependencies = outcome.dependencies;
        reconciled.failure = match outcome.result {
            Ok(composed) => {
                reconciled.add(&subject.cluster, &composed.desired, store);
                None
            }
            Err(failure) => Some(failure),
        };
    }
}

impl Reconciled {
    /// Whether something has changed that it depends on, or that was composed for it. Each change is checked once.
    fn is_stale(&mut self, subject: &Key, store: &Store) -> bool {
        let changes = store.since(self.checked);
        self.checked = store.moment();
        changes.iter().any(|changed| {
            changed == subject
                || store.maker(changed) == Some(subject)
                || self.steps.iter().any(|step| step.contains(changed))
                || (changed.cluster == subject.cluster
                    && self
                        .dependencies
                        .iter()
                        .any(|dependency| concerns(dependency, changed)))
        })
    }

    /// Records what is wanted now, as one more step where something is new.
    fn add(&mut self, cluster: &str, desired: &DesiredState, store: &Store) {
        let key = |key| source::key(cluster, key);
        self.generated.extend(desired.generated.keys().map(key));
        let wanted = desired.objects.keys().chain(desired.generated.keys());
        let wanted: BTreeSet<Key> = wanted.chain(&desired.kept).map(key).collect();
        let known: BTreeSet<&Key> = self.steps.iter().flatten().collect();
        let is_new = |key: &Key| store.get(key).is_some() && !known.contains(key);
        let step: Vec<Key> = wanted.into_iter().filter(is_new).collect();
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

/// Whether a changed object is a dependency.
fn concerns(dependency: &Dependency, changed: &Key) -> bool {
    match dependency {
        Dependency::Object(key) => {
            key.name == changed.name
                && key.namespace.as_deref().unwrap_or_default() == changed.namespace
                && is_of(changed, key.kind)
        }
        Dependency::Objects(selection) | Dependency::Keys(selection) => {
            selection.namespace == changed.namespace && is_of(changed, selection.kind)
        }
        Dependency::External(_) => false,
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
