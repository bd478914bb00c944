//! The work queue: a subject is reconciled by one worker at a time, failed ones are retried later, and none in a hot
//! loop.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::backoff::Backoff;

/// How many reconciles a subject may have in succession before each one has to wait for [`REFILL`]. A subject that
/// keeps changing, because of its own writes or of another controller's, doesn't become a hot loop.
const BURST: u32 = 30;
const REFILL: Duration = Duration::from_secs(1);

/// How long to collect events that arrive together.
const GATHER: Duration = Duration::from_millis(10);

const RETRY: Backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(120));

/// The subjects to reconcile, and when.
pub(crate) struct Queue<Id> {
    inner: Mutex<Inner<Id>>,
    changed: Notify,
}

struct Inner<Id> {
    due: BTreeMap<Id, Instant>,
    running: BTreeSet<Id>,
    closed: bool,
    pace: BTreeMap<Id, Pace>,
}

/// The recent reconciles of a subject.
struct Pace {
    left: u32,
    since: Instant,
    failures: u32,
}

/// The order of the subjects.
enum Next<Id> {
    Now(Id),
    At(Instant),
    Unknown,
    Closed,
}

/// The outcome of a reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Done until something changes, or this much time has passed.
    Done(Option<Duration>),
    /// There may be more to do.
    Again,
    /// It failed: retried with backoff.
    Failed,
    /// The subject doesn't exist any more.
    Gone,
}

impl<Id: Ord + Clone> Queue<Id> {
    pub(crate) fn new() -> Self {
        Self {
            inner: Mutex::new(Inner {
                due: BTreeMap::new(),
                running: BTreeSet::new(),
                closed: false,
                pace: BTreeMap::new(),
            }),
            changed: Notify::new(),
        }
    }

    /// Schedules a subject as soon as possible.
    pub(crate) fn wake(&self, id: &Id) {
        self.with(|inner| inner.plan(id, Instant::now() + GATHER));
    }

    /// Waits for the next subject that is due. The caller reports its end with [`done`](Self::done). Returns none once
    /// the queue is closed.
    pub(crate) async fn next(&self) -> Option<Id> {
        loop {
            let changed = self.changed.notified();
            match self.take() {
                Next::Now(id) => return Some(id),
                Next::Closed => return None,
                Next::At(moment) => tokio::select! {
                    () = sleep_until(moment) => {}
                    () = changed => {}
                },
                Next::Unknown => changed.await,
            }
        }
    }

    /// Stops handing out subjects.
    pub(crate) fn close(&self) {
        self.with(|inner| inner.closed = true);
    }

    /// Reports the end of a reconcile.
    pub(crate) fn done(&self, id: &Id, outcome: Outcome) {
        self.with(|inner| {
            inner.running.remove(id);
            let now = Instant::now();
            let failures = match (outcome, inner.pace.get_mut(id)) {
                (Outcome::Failed, Some(pace)) => {
                    pace.failures += 1;
                    pace.failures
                }
                (_, Some(pace)) => {
                    pace.failures = 0;
                    0
                }
                (_, None) => 0,
            };
            match outcome {
                Outcome::Done(None) => {}
                Outcome::Done(Some(later)) => inner.plan(id, now + later),
                Outcome::Again => inner.plan(id, now),
                Outcome::Failed => inner.plan(id, now + RETRY.after(failures)),
                Outcome::Gone => {
                    inner.pace.remove(id);
                }
            }
        });
    }

    /// Returns how many reconciles of a subject have failed in succession.
    pub(crate) fn failures(&self, id: &Id) -> u32 {
        self.with(|inner| inner.pace.get(id).map_or(0, |pace| pace.failures))
    }

    /// Returns how many subjects are due.
    pub(crate) fn depth(&self) -> usize {
        let now = Instant::now();
        self.with(|inner| inner.due.values().filter(|due| **due <= now).count())
    }

    fn take(&self) -> Next<Id> {
        let now = Instant::now();
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.closed {
            return Next::Closed;
        }
        let free = |id: &&Id| !inner.running.contains(*id);
        let soonest = inner
            .due
            .iter()
            .filter(|(id, _)| free(id))
            .min_by_key(|(_, due)| **due);
        match soonest {
            Some((id, due)) if *due <= now => {
                let id = id.clone();
                inner.due.remove(&id);
                inner.running.insert(id.clone());
                inner
                    .pace
                    .entry(id.clone())
                    .or_insert(Pace::new(now))
                    .spend(now);
                Next::Now(id)
            }
            Some((_, due)) => Next::At(*due),
            None => Next::Unknown,
        }
    }

    fn with<T>(&self, change: impl FnOnce(&mut Inner<Id>) -> T) -> T {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut inner);
        self.changed.notify_waiters();
        result
    }
}

impl<Id: Ord + Clone> Inner<Id> {
    /// Plans a reconcile. The earliest one wins, but none is earlier than the subject's pace allows.
    fn plan(&mut self, id: &Id, when: Instant) {
        let allowed = self.pace.get_mut(id).map(|pace| pace.next(Instant::now()));
        let when = allowed.map_or(when, |allowed| allowed.max(when));
        let due = self.due.entry(id.clone()).or_insert(when);
        *due = when.min(*due);
    }
}

impl Pace {
    fn new(now: Instant) -> Self {
        Self {
            left: BURST,
            since: now,
            failures: 0,
        }
    }

    fn refill(&mut self, now: Instant) {
        let gained = now.duration_since(self.since).as_secs() / REFILL.as_secs();
        let gained = u32::try_from(gained).unwrap_or(BURST);
        self.left = self.left.saturating_add(gained).min(BURST);
        self.since = if self.left == BURST {
            now
        } else {
            self.since + REFILL * gained
        };
    }

    fn spend(&mut self, now: Instant) {
        self.refill(now);
        self.left = self.left.saturating_sub(1);
    }

    fn next(&mut self, now: Instant) -> Instant {
        self.refill(now);
        if self.left > 0 {
            now
        } else {
            self.since + REFILL
        }
    }
}
