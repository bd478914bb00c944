//! What is dropped of objects while their owner rests.

use provider_composer::ResourceKind;
use provider_composer::reconcile::Reconcile;

use super::{Cache, namespace_of};

impl Cache {
    /// Drops the bodies of a subject's objects that no composer has looked up, once everything is as wanted. Whether they still are is
    /// known without. Until then they are kept: a composer that looked them up would read each by itself.
    pub(crate) fn rest(&self, reconcile: Reconcile<'_>, uid: &str) {
        let is_subject = |kind: ResourceKind| {
            let mut interests = self.interests.iter();
            interests.any(|interest| interest.subject == kind)
        };
        for kind in reconcile.pruned_kinds() {
            if is_subject(kind) {
                continue;
            }
            let Some(mut objects) = self.objects(kind, namespace_of(reconcile.subject)) else {
                continue;
            };
            let dependencies = self.dependencies();
            let prefix = reconcile.operator.namespace_prefix();
            let owned = objects.owned(prefix, reconcile.subject, uid);
            let unread = owned.filter(|&(place, entry)| {
                entry.is_whole() && !dependencies.is_read(kind, place, &entry.head)
            });
            let unread: Vec<_> = unread.map(|(place, _)| place.clone()).collect();
            for place in &unread {
                objects.drop_body(place);
            }
        }
    }
}
