//! Periodic checks of pools: whether their users reach them, and how much capacity is left.

use c5c3_api::Condition;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use provider_composer::{Conditions, DesiredState, Live, Progress, Reason, second};
use serde::{Deserialize, Serialize};

use super::{Pool, reached};
use crate::jobs::{Jobs, ObservedCronJob, Schedule, TASK};
use crate::pod::{Program, Source};
use crate::prerequisite::{Prerequisite, sum};
use crate::service::{NAME, Service};

/// The program that checks pools. Its parameters are environment variables.
const SCRIPT: &str = include_str!("checks.py");
/// The suffix of the CronJob's name.
const POOLS: &str = "pools";
/// How long a check may take, in seconds, with those that are tried again.
const DEADLINE: i64 = 300;
/// How long after the last check nothing is known.
const OLD: SignedDuration = SignedDuration::from_mins(30);
/// How full a pool may be, in percent: from here on Ceph calls an OSD nearly full, too.
const FULL: u64 = 85;
const GIB: u64 = 1 << 30;
/// The length of a time in messages.
const SECOND: usize = "2026-01-01T00:00:00Z".len();

/// The condition of whether pools are reached.
const CONNECTED: &str = "CephConnected";
/// The condition of whether pools have capacity.
const CAPACITY: &str = "CapacityAvailable";

/// A pool that is checked.
#[derive(Serialize)]
struct Wanted<'p> {
    id: String,
    pool: &'p str,
    user: &'p str,
}

/// What a check found of a pool.
#[derive(Deserialize)]
struct Found {
    id: String,
    error: Option<String>,
    /// Bytes of the users' data.
    stored: Option<u64>,
    /// Bytes that Ceph can store besides.
    free: Option<u64>,
    /// The most bytes that the pool may have; 0 where it has no quota.
    quota: Option<u64>,
    /// How full the OSDs are that the pool shares with others, in percent.
    osds: Option<u64>,
}

/// A check that has ended.
struct Check {
    finished: Timestamp,
    pools: Vec<Found>,
}

/// How `CephConnected` is set until a Job has reached each pool: by [`Conditions::set`] where Ready waits for it.
type Report = fn(&mut Conditions, &str, &Progress);

/// Checks pools, each with the name that messages have for it, and reports both conditions. A Job checks a new pool, user or key at once;
/// a CronJob checks all again every ten minutes. Returns whether each pool is reached, as far as it is known.
pub fn check_pools(
    pools: &[(String, Prerequisite<Pool>)],
    before: &[Condition],
    jobs: &Jobs<'_>,
    report: Report,
    desired: &mut DesiredState,
) -> Vec<Progress> {
    if pools.is_empty() {
        return Vec::new();
    }
    let first = reached(pools.iter().map(|(_, pool)| pool), jobs, desired);
    let known: Vec<&Pool> = pools
        .iter()
        .filter_map(|(_, pool)| pool.as_ref().ok())
        .collect();
    let is_unread = |pool: &Prerequisite<Pool>| pool.as_ref().is_err_and(Progress::is_unknown);
    if pools.iter().any(|(_, pool)| is_unread(pool)) {
        jobs.keep_schedule(POOLS, desired);
    } else if !known.is_empty() {
        on_schedule(&known, jobs, desired);
    }
    let last = Check::last(jobs, desired);
    let before = before.iter().find(|one| one.type_ == CONNECTED);
    let each = pools.iter().zip(&first);
    let each = each.map(|((_, pool), first)| match (pool, first) {
        (Ok(pool), Progress::Ready) => seen(pool, &last, before),
        _ => {
            let message = first.message().to_owned();
            (first.clone(), Progress::Unknown { message })
        }
    });
    let (again, capacity): (Vec<Progress>, Vec<Progress>) = each.unzip();
    let named = |each: &[Progress]| {
        let names = pools.iter().map(|(name, _)| name.clone());
        let each: Vec<(String, Progress)> = names.zip(each.iter().cloned()).collect();
        summed(&each)
    };
    match first.iter().all(Progress::is_ready) {
        true => desired.conditions.note_result(CONNECTED, &named(&again)),
        false => report(&mut desired.conditions, CONNECTED, &named(&first)),
    }
    desired.conditions.note_result(CAPACITY, &named(&capacity));
    let each = again.into_iter().zip(first);
    let each = each.map(|(again, first)| match again.is_unknown() {
        true => first,
        false => again,
    });
    each.collect()
}

/// The progress of all pools. One that is known to be wrong counts more than one of which nothing is known.
fn summed(each: &[(String, Progress)]) -> Progress {
    if let [(_, one)] = each {
        return one.clone();
    }
    let all = sum(each);
    let mut each = each.iter().map(|(_, one)| one);
    match each.find(|one| one.is_failed()) {
        Some(wrong) => wrong.clone().explained(|_| all.message().to_owned()),
        None => all,
    }
}

/// When a service checks its pools, so that not all of a cluster do at once.
fn when(service: &Service<'_>) -> String {
    let bytes = service.namespace.bytes().chain(service.name.bytes());
    let minute = bytes.map(u32::from).sum::<u32>() % 10;
    format!("{minute}-59/10 * * * *")
}

fn on_schedule(pools: &[&Pool], jobs: &Jobs<'_>, desired: &mut DesiredState) {
    let wanted = pools.iter().map(|pool| Wanted {
        id: pool.id(),
        pool: &pool.pool,
        user: &pool.user,
    });
    let wanted: Vec<Wanted<'_>> = wanted.collect();
    let wanted = desired.json("the pools", &wanted).to_string();
    let program = Program::default()
        .command(["timeout", "120", "python3", "-c", SCRIPT].map(str::to_owned))
        .variable("CEPH_POOLS", wanted);
    let pools = pools.iter().enumerate();
    let program = pools.fold(program, |program, (number, pool)| {
        program.mount(
            format!("ceph-{number}"),
            format!("/etc/ceph/{number}"),
            Source::Secret(pool.secret.clone()),
        )
    });
    let schedule = Schedule {
        name: POOLS,
        when: when(jobs.service()),
        program,
        deadline: Some(DEADLINE),
        suspended: false,
    };
    jobs.on_schedule(&schedule, desired);
}

/// Whether a pool is reached, and whether it has capacity, by the last check. `before` is the condition that says whether all are reached.
fn seen(
    pool: &Pool,
    last: &Result<Option<Check>, String>,
    before: Option<&Condition>,
) -> (Progress, Progress) {
    let waits = || {
        let message = format!("waits for a check of pool {}", pool.pool);
        Progress::waiting(Reason::WaitingFor("Job"), message)
    };
    let (id, user, name) = (pool.id(), &pool.user, &pool.pool);
    let unreached = format!("user {user} doesn't reach pool {name} of Ceph since ");
    let since = before.and_then(|condition| condition.message.split_once(&unreached));
    let since = since.and_then(|(_, since)| since.get(..SECOND));
    let found = match last {
        Ok(last) => last
            .as_ref()
            .and_then(|check| Some((check, check.pools.iter().find(|found| found.id == id)?))),
        Err(message) => return (Progress::unknown(message), Progress::unknown(message)),
    };
    // The Job of a new pool, user or key has just checked it. What the last check found holds although its pod is deleted.
    let Some((check, found)) = found else {
        let reached = match (last, since, before) {
            (Ok(None), Some(since), _) => Progress::failing(
                Reason::CephUnreachable,
                format!("{unreached}{since}; it is checked again within ten minutes"),
            ),
            (Ok(None), None, Some(before)) if before.status == "Unknown" => waits(),
            _ => Progress::Ready,
        };
        return (reached, waits());
    };
    let Some(error) = &found.error else {
        return (Progress::Ready, found.capacity(pool));
    };
    let since = since.map_or_else(|| second(check.finished), str::to_owned);
    let message = format!(
        "{unreached}{since}: {error}; see `ceph status` and `ceph auth get client.{user}`, and whether pods reach the monitors and OSDs"
    );
    (
        Progress::failing(Reason::CephUnreachable, &message),
        Progress::unknown(message),
    )
}

impl Found {
    /// Whether the pool has capacity.
    fn capacity(&self, pool: &Pool) -> Progress {
        let name = &pool.pool;
        let (Some(stored), Some(free)) = (self.stored, self.free) else {
            return Progress::Unknown {
                message: format!(
                    "Ceph doesn't tell user {} how full pool {name} is: give it the capability mon 'profile rbd'",
                    pool.user
                ),
            };
        };
        let capacity = stored.saturating_add(free);
        let quota = self.quota.filter(|quota| *quota > 0 && *quota <= capacity);
        let all = quota.unwrap_or(capacity);
        let percent = match all {
            0 => 100,
            all => stored.saturating_mul(100) / all,
        };
        if percent < FULL {
            // A small pool's own part says little of OSDs that others fill.
            return match self.osds.filter(|percent| *percent >= FULL) {
                None => Progress::Ready,
                Some(percent) => Progress::failing(
                    Reason::NearlyFull,
                    format!(
                        "the OSDs of pool {name} of Ceph are {percent} % full with all their pools: add OSDs to the storage cluster, or \
                         delete what isn't needed"
                    ),
                ),
            };
        }
        let fix = match quota {
            Some(_) => format!(
                "raise its quota, of a claim by quotaGB of the pool or its size, elsewhere by `ceph osd pool set-quota {name} max_bytes BYTES`"
            ),
            None => "add OSDs to the storage cluster".to_owned(),
        };
        let message = format!(
            "pool {name} of Ceph has used {percent} % of its {}Gi: {fix}, or delete what isn't needed",
            all / GIB
        );
        Progress::failing(Reason::NearlyFull, message)
    }
}

impl Check {
    /// The last check; none before the first, or where its pod is deleted, as with its node.
    ///
    /// # Errors
    /// It is too long ago.
    fn last(jobs: &Jobs<'_>, desired: &mut DesiredState) -> Result<Option<Self>, String> {
        let service = jobs.service();
        let (namespace, name) = (service.namespace, service.named(POOLS));
        let of = service.definition.name;
        let Some(job) = service.get::<ObservedCronJob>(&name).known()? else {
            return Ok(None);
        };
        let pods = service.list::<Pod>(&[(NAME, of), (TASK, POOLS)]);
        let pods = pods.known()?.unwrap_or_default();
        // Another service of this kind has other names.
        let own = format!("{name}-");
        let own = pods
            .iter()
            .filter(|pod| pod.metadata.name.starts_with(&own));
        let check = own.filter_map(Self::of).max_by_key(|check| check.finished);
        let created = job.metadata.creation_timestamp;
        let times = [
            check.as_ref().map(|check| check.finished),
            job.body.last_success(),
            created.and_then(|created| created.parse().ok()),
        ];
        let Some(last) = times.into_iter().flatten().max() else {
            return Ok(check);
        };
        let old = last.checked_add(OLD).unwrap_or(Timestamp::MAX);
        if old <= service.observed.now() {
            return Err(format!(
                "no Job of CronJob {name} has checked the pools since {}: `kubectl logs -n {namespace} -l {NAME}={of},{TASK}={POOLS}` and \
                 `kubectl describe jobs -n {namespace}` show why",
                second(last)
            ));
        }
        desired.requeue_at(old);
        Ok(check)
    }

    /// What a pod reports, if it has checked the pools.
    fn of(pod: &Live<Pod>) -> Option<Self> {
        let status = pod.body.status.as_ref()?;
        let mut containers = status.container_statuses.iter().flatten();
        let end = containers.find_map(|container| container.state.as_ref()?.terminated.as_ref())?;
        Some(Self {
            finished: end.finished_at.as_ref()?.0,
            pools: serde_json::from_str(end.message.as_deref()?).ok()?,
        })
    }
}
