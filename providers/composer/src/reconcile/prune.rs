//! Which of a subject's objects are deleted, and whether any are left.

use c5c3_kinds::ResourceKind;

use super::{Existing, Reconcile};
use crate::deletion::is_workload;
use crate::desired::DesiredState;
use crate::key::Key;

impl Reconcile<'_> {
    /// Returns which of the subject's own objects are deleted now. While pods that aren't wanted any more serve, or may serve, what they
    /// may use isn't.
    ///
    /// `owned` has the objects that are known, each with what the runtime needs to delete it. `is_known` returns whether all objects of a
    /// kind are known in the subject's namespace.
    pub fn prune<T>(
        &self,
        desired: &DesiredState,
        mut owned: Vec<(Key, Existing, T)>,
        is_known: impl Fn(ResourceKind) -> bool,
    ) -> Vec<(Key, T)> {
        owned.retain(|(key, existing, _)| !desired.wants(key) && existing.is_pruned());
        // As a rule nothing is to be deleted.
        if owned.is_empty() {
            return Vec::new();
        }
        let mut serving = self.pruned_kinds();
        serving.retain(|kind| self.waits_for_pods(*kind));
        let pods_stop = serving.iter().any(|kind| !is_known(*kind))
            || owned.iter().any(|(key, _, _)| serving.contains(&key.kind));
        owned.retain(|(key, existing, _)| {
            !existing.is_deleted && (!pods_stop || is_workload(key.kind))
        });
        let pruned = owned.into_iter().map(|(key, _, with)| (key, with));
        pruned.collect()
    }

    /// Whether the subject has, or may have, objects of some kinds, except those that outlast it. `owned` has its own objects that are
    /// known, and `is_readable` returns whether all of a kind are.
    pub fn may_have(
        &self,
        is_meant: impl Fn(ResourceKind) -> bool,
        owned: impl IntoIterator<Item = (Key, Existing)>,
        is_readable: impl Fn(ResourceKind) -> bool,
    ) -> bool {
        let uses = self.operator.uses().into_iter();
        let mut kinds = uses.map(|used| used.kind).filter(|kind| is_meant(*kind));
        let mut owned = owned.into_iter();
        kinds.any(|kind| !is_readable(kind))
            || owned.any(|(key, existing)| is_meant(key.kind) && existing.is_pruned())
    }
}
