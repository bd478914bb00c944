//! Which subjects a change concerns.

use std::collections::BTreeSet;

use provider_composer::reconcile::may_own;
use provider_composer::{Key, ResourceKind};

use super::objects::{Change, State};
use super::{Cache, DEFINITION, Id, Place, locked};
use crate::head::Head;

impl Cache {
    /// Whether a watch is broken of a kind that an operator uses. Nothing is decided or reported meanwhile, since what seems to be missing
    /// may be there. A watch that is back wakes no subject: a reconcile is repeated until then.
    pub(crate) fn is_stale(&self, operator: usize) -> bool {
        self.interests.get(operator).is_some_and(|interest| {
            let kinds = interest.kinds.iter();
            let mut all = kinds.flat_map(|kind| self.kinds.get(kind).into_iter().flatten());
            all.any(|(_, objects)| matches!(locked(objects).state, State::Stale(_)))
        })
    }

    /// Wakes every subject of the operators of a name.
    pub(crate) fn wake_operator(&self, name: &str) {
        for (operator, manager) in self.managers.iter().enumerate() {
            if *manager == name {
                self.wake_all(operator);
            }
        }
    }

    /// Wakes every subject of an operator.
    fn wake_all(&self, operator: usize) {
        let Some(interest) = self.interests.get(operator) else {
            return;
        };
        let all = self.kinds.get(&interest.subject).into_iter().flatten();
        let places =
            all.flat_map(|(_, objects)| locked(objects).places().cloned().collect::<Vec<Place>>());
        for place in places {
            self.queue.wake(&Id { operator, place });
        }
    }

    /// Wakes every subject of every operator that uses a kind.
    pub(super) fn wake_users(&self, kind: ResourceKind) {
        for (operator, interest) in self.interests.iter().enumerate() {
            if interest.kinds.contains(&kind) {
                self.wake_all(operator);
            }
        }
    }

    /// Wakes the subjects that a change concerns: the object's owner, its dependents, and itself.
    pub(super) fn changed(&self, kind: ResourceKind, place: &Place, change: &Change) {
        if kind == DEFINITION {
            self.definitions.notify_waiters();
        }
        let heads = change.before.iter().chain(&change.now);
        let heads: Vec<&Head> = heads.map(|head| &**head).collect();
        let mut ids: BTreeSet<Id> = BTreeSet::new();
        ids.extend(
            self.dependencies()
                .dependents(kind, place, &heads)
                .into_iter()
                .cloned(),
        );
        let is_other = match (&change.before, &change.now) {
            (Some(before), Some(now)) => now.differs(before),
            _ => true,
        };
        for (operator, interest) in self.interests.iter().enumerate() {
            if interest.subject == kind && is_other {
                ids.insert(Id {
                    operator,
                    place: place.clone(),
                });
            }
            let owners = heads.iter().filter_map(|head| head.controller());
            let owners = owners.filter(|owner| owner.kind == interest.subject.kind);
            let namespace = place.namespace();
            let owners = owners.map(|owner| Key::new(interest.subject, namespace, &owner.name));
            let owners = owners.filter(|owner| may_own(interest.prefix, owner, namespace));
            ids.extend(owners.map(|owner| Id {
                operator,
                place: Place::of(&owner),
            }));
        }
        for id in &ids {
            self.queue.wake(id);
        }
    }
}
