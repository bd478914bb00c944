//! Members of Cinder complete the work that they have begun before they are replaced, which may take longer than a phase of a change of
//! release otherwise may.

use c5c3_api::condition::Condition;
use jiff::{SignedDuration, Timestamp};
use provider_composer::Reason;
use provider_openstack::{CINDER, CINDER_BACKUP, CINDER_SCHEDULER, CINDER_VOLUME};
use serde::Deserialize;

use crate::survey::Sight;

/// The components of Cinder that are replaced one after another.
const REPLACED: [&str; 4] = [
    CINDER_SCHEDULER.condition,
    CINDER_VOLUME.condition,
    CINDER_BACKUP.condition,
    CINDER.api.condition,
];

/// Returns when the timeout of a phase that began at `since` starts. It is `now` while components of Cinder wait for others whose pods are
/// replaced, and the others are well; then the last change. It is never later than `since` plus the time in which each member may complete
/// its work.
pub fn counts_from(
    cinder: Option<&Sight>,
    release: &str,
    since: Timestamp,
    now: Timestamp,
) -> Timestamp {
    let Some(cinder) = cinder.filter(|cinder| is_changing(cinder, release)) else {
        return since;
    };
    let conditions = cinder.value("/status/conditions");
    let conditions: Vec<Condition> = conditions
        .and_then(|conditions| Vec::deserialize(conditions).ok())
        .unwrap_or_default();
    let replaced = conditions
        .iter()
        .filter(|condition| REPLACED.contains(&condition.type_.as_str()));
    let waits = Reason::WaitingFor("Component").to_string();
    let (waiting, others): (Vec<&Condition>, Vec<&Condition>) =
        replaced.partition(|condition| condition.reason == waits);
    let is_well = others.iter().all(|condition| condition.status == "True");
    let from = match !waiting.is_empty() && is_well {
        true => Some(now),
        false => others.into_iter().filter_map(changed).max(),
    };
    let latest = since.checked_add(work(cinder)).unwrap_or(since);
    from.map_or(since, |from| from.clamp(since, latest))
}

/// Whether Cinder is to have a release, and doesn't run it everywhere yet.
fn is_changing(cinder: &Sight, release: &str) -> bool {
    cinder.text("/spec/release") == Some(release) && cinder.text("/status/release") != Some(release)
}

fn changed(condition: &Condition) -> Option<Timestamp> {
    condition.last_transition_time.as_ref()?.parse().ok()
}

/// How long all members together may complete work. Those of all backends do so at once.
fn work(cinder: &Sight) -> SignedDuration {
    let members = [("volume", CINDER_VOLUME), ("backup", CINDER_BACKUP)].into_iter();
    let each = members.filter_map(|(field, component)| {
        let field = cinder.value(&format!("/spec/{field}"))?;
        let replicas = field.get("replicas").and_then(serde_json::Value::as_i64);
        let seconds = i64::from(component.shutdown()?);
        Some(seconds.saturating_mul(replicas.unwrap_or(1)))
    });
    SignedDuration::from_secs(each.fold(0, i64::saturating_add).max(0))
}
