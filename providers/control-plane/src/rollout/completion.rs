//! What may take longer than a phase of a change of release otherwise may: Jobs that migrate databases have a limit of their own, members of
//! Cinder complete the work that they have begun before they are replaced, nova-compute is replaced on all hosts of all hypervisor pools, and
//! services of neither release work while RabbitMQ blocks publishers.

use c5c3_api::condition::Condition;
use jiff::{SignedDuration, Timestamp};
use provider_composer::Reason;
use provider_openstack::{CINDER, CINDER_BACKUP, CINDER_SCHEDULER, CINDER_VOLUME, NOVA_CONDUCTOR};

use crate::graph::Node;
use crate::infrastructure::is_alarm;
use crate::node_state::{NodeState, NodeStates, changed};
use crate::recipe::Recipe;

/// The conditions of services that wait for Jobs which migrate databases. Nova's conductors wait for those of cells.
const MIGRATED: [&str; 2] = ["DatabaseReady", NOVA_CONDUCTOR.condition];
/// How long all migrations of a phase may take.
const MIGRATIONS: SignedDuration = SignedDuration::from_hours(24);
/// How long alarms of RabbitMQ may delay a phase.
const ALARMS: SignedDuration = SignedDuration::from_hours(24);
/// The components of Cinder that are replaced one after another.
const REPLACED: [&str; 4] = [
    CINDER_SCHEDULER.condition,
    CINDER_VOLUME.condition,
    CINDER_BACKUP.condition,
    CINDER.api.condition,
];

/// Returns when the timeout of a phase that began at `since` starts. It is `now` while something has more time, and then the last change.
pub fn counts_from(
    recipe: &Recipe<'_>,
    states: &NodeStates,
    release: &str,
    since: Timestamp,
    now: Timestamp,
) -> Timestamp {
    let [cinder, nova] = [Node::Cinder, Node::Nova].map(|node| states.get(&node));
    let members = members(cinder, release, since, now);
    let computes = computes(nova, release, since, now);
    let databases = databases(states, release, since, now);
    let alarms = alarms(recipe, states, since, now);
    members.max(computes).max(databases).max(alarms)
}

/// The same while RabbitMQ has alarms: they aren't the release's, and a return to the former one would need RabbitMQ too.
fn alarms(recipe: &Recipe<'_>, states: &NodeStates, since: Timestamp, now: Timestamp) -> Timestamp {
    let reported = recipe.reported_alarms();
    let has_alarm = states
        .get(&Node::RabbitMq)
        .is_some_and(NodeState::has_alarm);
    let from = match has_alarm || reported.is_some_and(is_alarm) {
        true => Some(now),
        false => reported.and_then(changed),
    };
    let latest = since.checked_add(ALARMS).unwrap_or(since);
    from.map_or(since, |from| from.clamp(since, latest))
}

/// The same while components of Cinder wait for others whose pods are replaced, and the others are well. It is never later than `since` plus the
/// time in which each member may complete its work.
fn members(
    cinder: Option<&NodeState>,
    release: &str,
    since: Timestamp,
    now: Timestamp,
) -> Timestamp {
    let Some(cinder) = cinder.filter(|cinder| is_changing(cinder, release)) else {
        return since;
    };
    let replaced = REPLACED
        .into_iter()
        .filter_map(|type_| cinder.condition(type_));
    let waits = Reason::WaitingFor("Component").to_string();
    let (waiting, others): (Vec<Condition>, Vec<Condition>) =
        replaced.partition(|condition| condition.reason == waits);
    let is_well = others.iter().all(|condition| condition.status == "True");
    let from = match !waiting.is_empty() && is_well {
        true => Some(now),
        false => others.iter().filter_map(changed).max(),
    };
    let latest = since.checked_add(work(cinder)).unwrap_or(since);
    from.map_or(since, |from| from.clamp(since, latest))
}

/// The same while Jobs of services that are to have the release migrate databases. A Job that fails, or can't start, has another reason.
fn databases(states: &NodeStates, release: &str, since: Timestamp, now: Timestamp) -> Timestamp {
    let migrates = Reason::WaitingFor("Job").to_string();
    let services = states.values();
    let services = services.filter(|state| state.text("/spec/release") == Some(release));
    let migrated = services.flat_map(|service| MIGRATED.map(|type_| service.condition(type_)));
    let migrated = migrated.flatten();
    let from = migrated.filter_map(|condition| match condition.reason == migrates {
        true => Some(now),
        false => changed(&condition),
    });
    let latest = since.checked_add(MIGRATIONS).unwrap_or(since);
    from.max().map_or(since, |from| from.clamp(since, latest))
}

/// The same while Nova waits for hypervisors, however long: its release can't be taken back then.
fn computes(
    nova: Option<&NodeState>,
    release: &str,
    since: Timestamp,
    now: Timestamp,
) -> Timestamp {
    let nova = nova.filter(|nova| nova.text("/spec/release") == Some(release));
    match nova.and_then(NodeState::computes) {
        None => since,
        Some(computes) if computes.status != "True" => now,
        Some(computes) => changed(&computes).map_or(since, |changed| changed.min(now).max(since)),
    }
}

/// Whether Cinder is to have a release, and doesn't run it everywhere yet.
fn is_changing(cinder: &NodeState, release: &str) -> bool {
    cinder.text("/spec/release") == Some(release) && cinder.text("/status/release") != Some(release)
}

/// How long all members together may complete work. Those of all backends do so at once.
fn work(cinder: &NodeState) -> SignedDuration {
    let members = [("volume", CINDER_VOLUME), ("backup", CINDER_BACKUP)].into_iter();
    let each = members.filter_map(|(field, component)| {
        let field = cinder.value(&format!("/spec/{field}"))?;
        let replicas = field.get("replicas").and_then(serde_json::Value::as_i64);
        let seconds = i64::from(component.shutdown()?);
        Some(seconds.saturating_mul(replicas.unwrap_or(1)))
    });
    SignedDuration::from_secs(each.fold(0, i64::saturating_add).max(0))
}
