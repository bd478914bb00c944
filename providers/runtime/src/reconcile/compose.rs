//! Composes, each time with what was fetched since.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use jiff::Timestamp;
use provider_composer::{Composed, Dependency, Failure, ObservedState, Reason};
use serde_json::Value;
use tracing::{error, warn};

use super::{Controller, Moment, Round, Subject};
use crate::cache::{View, Wanted};
use crate::driver::REMEMBERED;

/// How often a reconcile composes, each time with what was fetched since. The limit stops a composer that looks up more
/// each time. After a start, the composer that needs most needs two rounds less (`providers/operators/tests/previous`).
pub(super) const ROUNDS: usize = 8;

impl Controller {
    /// Composes for a subject that is this resource, fetches what was missing, and composes again.
    pub(super) async fn compose(
        &self,
        subject: &Subject<'_>,
        resource: &Value,
        moment: &mut Moment,
    ) -> Result<Round, Failure> {
        let mut failed: BTreeMap<Wanted, String> = BTreeMap::new();
        let mut round = 1;
        loop {
            let responses = &mut moment.responses;
            let view = View::new(&self.cache, &self.external, &failed, responses);
            let known = self.cache.known_kinds(subject.namespace());
            let is_stale = self.cache.is_stale(subject.id.operator);
            let (composed, known, mut dependencies) = {
                let observed = ObservedState::new(&view, moment.now);
                // A panic leaves only a partial result, which is dropped.
                let composed = catch_unwind(AssertUnwindSafe(|| {
                    subject.operator.composed(resource, &observed)
                }));
                let known = known.without(&observed.unknown_kinds());
                (composed, known, observed.into_dependencies())
            };
            if let Ok(Ok(composed)) = &composed {
                dependencies.extend(subject.unmarked(composed));
            }
            self.cache.set_dependencies(subject.id, &dependencies);
            let wanted = view.wanted();
            let is_read = wanted.is_empty();
            if !is_read && round < ROUNDS {
                // It takes a megabyte or more, and up to eight subjects wait at once.
                drop(composed);
                failed.extend(self.fetch(wanted, &mut moment.responses).await);
                round += 1;
                continue;
            }
            if !is_read {
                warn!(kind = %subject.key.kind, place = %subject.id.place, ROUNDS, "looks up more each time");
            }
            let mut composed = composed.unwrap_or_else(|_| {
                error!(kind = %subject.key.kind, place = %subject.id.place, "the composer panicked");
                Err(Failure::new(Reason::InternalError, "the operator failed on this resource because of a defect: report it with the operator's log"))
            })?;
            if dependencies
                .iter()
                .any(|dependency| matches!(dependency, Dependency::External(_)))
            {
                let again = Timestamp::now() + REMEMBERED;
                composed.desired.requeue_at = Some(
                    composed
                        .desired
                        .requeue_at
                        .map_or(again, |wake| wake.min(again)),
                );
            }
            subject.reconcile().check_places(&composed.desired)?;
            return Ok(Round {
                composed,
                known,
                is_complete: is_read && failed.is_empty() && !is_stale,
            });
        }
    }
}

impl Subject<'_> {
    /// Returns the objects that have no reference to the subject, so that a change of them doesn't wake it: objects
    /// without an owner, and Secrets that others may have created.
    fn unmarked(&self, composed: &Composed) -> Vec<Dependency> {
        let objects = composed.desired.objects.iter();
        let lasting = objects.filter(|(_, object)| object["metadata"]["ownerReferences"].is_null());
        let lasting = lasting.map(|(key, _)| key);
        lasting
            .chain(composed.desired.generated.keys())
            .cloned()
            .map(Dependency::Object)
            .collect()
    }
}
