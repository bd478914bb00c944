//! One step of a rotation: from the credentials that exist, what was remembered and the time, to what should be.

use std::time::Duration;

use c5c3_api::credential_rotation::RotationType;
use jiff::Timestamp;
use provider_composer::{Progress, Reason};
use provider_openstack::numbered;

use crate::credentials::{Credential, CredentialSet};

/// When credentials are replaced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    /// How long a credential is valid.
    pub(super) interval: Duration,
    /// How long before its end the next one is made.
    pub(super) ahead: Duration,
    /// How long the old one stays after its end.
    pub(super) grace: Duration,
    /// A credential that was made before is replaced once this time has come, and has no grace.
    pub(super) replaced: Option<Timestamp>,
}

impl Schedule {
    /// When a credential isn't good any more before its time, if ever.
    fn early_end(self, made: Timestamp) -> Option<Timestamp> {
        self.replaced.filter(|moment| made < *moment)
    }

    /// When the next one is asked for after one that was made then.
    fn due(self, made: Timestamp) -> Option<Timestamp> {
        let due = made.checked_add(self.interval.saturating_sub(self.ahead));
        due.ok().into_iter().chain(self.early_end(made)).min()
    }
}

/// What a rotation keeps in its status. Whatever of it is lost is found again in the observed state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Memory {
    /// The number of the credential that was handed out.
    pub(super) current: Option<u32>,
    /// The number of the credential that is asked for.
    pub(super) next: Option<u32>,
    /// The number of the credential that was handed out before, as long as it has to stay.
    pub(super) previous: Option<u32>,
    /// When the current one was handed out in place of another.
    pub(super) rotated: Option<Timestamp>,
}

/// What comes of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) memory: Memory,
    /// When the next credential is asked for.
    pub(super) next_rotation: Option<Timestamp>,
    /// When to look again though nothing changed.
    pub(super) wake: Option<Timestamp>,
    pub(super) progress: Stage,
}

/// How far a rotation has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// No credential was handed out yet.
    First,
    /// The credential of this number is being made.
    Making(u32),
    /// The service doesn't yet run with the credential of this number.
    TakingUp(u32),
    /// All is as it should be.
    Settled,
}

impl Stage {
    /// In words, of a user or a service.
    pub(super) fn describe(self, user: &str, type_: RotationType) -> Progress {
        let users = match type_ {
            RotationType::ApplicationCredential => return self.of_application_credentials(user),
            RotationType::UserPassword => return self.of_passwords(user),
            RotationType::DatabaseUser => "the users of its databases",
            RotationType::MessagingUser => "the users of its message buses",
        };
        match self {
            Self::First => Progress::waiting(
                Reason::WaitingFor("Credential"),
                format!(
                    "waits for {user} to create {users} in a server of this cluster; those of an external server aren't rotated"
                ),
            ),
            Self::Making(number) => Progress::waiting(
                Reason::MakingCredential,
                format!(
                    "waits for {user} to create {users} with the number {number}; the present ones stay in use, and aren't replaced where another service has them \
                     too"
                ),
            ),
            Self::TakingUp(number) => Progress::waiting(
                Reason::WaitingFor("Service"),
                format!(
                    "waits for all pods and Jobs of {user} to run with {users} that have the number {number}; older ones stay \
                     until then"
                ),
            ),
            Self::Settled => Progress::Ready,
        }
    }

    fn of_passwords(self, user: &str) -> Progress {
        match self {
            Self::First | Self::Settled => Progress::Ready,
            Self::Making(number) => Progress::waiting(
                Reason::MakingCredential,
                format!(
                    "waits for the control plane to generate password {number} of user {user}; the present one stays in use"
                ),
            ),
            Self::TakingUp(number) => Progress::waiting(
                Reason::WaitingFor("Keystone"),
                format!("waits for Keystone to have password {number} of user {user}"),
            ),
        }
    }

    fn of_application_credentials(self, user: &str) -> Progress {
        match self {
            Self::First => Progress::waiting(
                Reason::WaitingFor("Credential"),
                format!(
                    "waits for the control plane to make the first application credential of user {user}"
                ),
            ),
            Self::Making(number) => Progress::waiting(
                Reason::MakingCredential,
                format!(
                    "waits for K-ORC to make ApplicationCredential {}; the present one stays in use",
                    numbered(user, number)
                ),
            ),
            Self::TakingUp(number) => Progress::waiting(
                Reason::WaitingFor("Service"),
                format!(
                    "waits for {user} to say in status.applicationCredential that all of it runs with \
                     ApplicationCredential {}; no other credential goes before that",
                    numbered(user, number)
                ),
            ),
            Self::Settled => Progress::Ready,
        }
    }
}

/// One step. It never asks for a credential while there are two, nor lets one go that may be in use.
pub(super) fn step(
    set: &CredentialSet,
    before: &Memory,
    schedule: Schedule,
    now: Timestamp,
) -> Step {
    let Some(current) = set.current() else {
        return Step {
            memory: *before,
            next_rotation: None,
            wake: None,
            progress: before.next.map_or(Stage::First, Stage::Making),
        };
    };
    let mut memory = handed_out(set, before, current, now);
    let taken_up = set.is_taken_up(current);
    let mut wake = None;
    if let Some(previous) = memory.previous.and_then(|number| set.get(number)) {
        let end = end_of(previous, memory.rotated, schedule);
        match end {
            Some(end) if end > now => wake = Some(end),
            _ if taken_up => memory.previous = None,
            _ => {}
        }
    }
    let due = current.made.and_then(|made| schedule.due(made));
    let is_alone = set.credentials.len() == 1;
    if let Some(due) = due
        && memory.next.is_none()
        && is_alone
        && taken_up
        && !current.leaves
    {
        match due <= now {
            true => memory.next = Some(current.successor()),
            false => wake = Some(due),
        }
    }
    let progress = match memory.next {
        Some(next) => Stage::Making(next),
        None if !taken_up => Stage::TakingUp(current.number),
        None => Stage::Settled,
    };
    Step {
        memory,
        next_rotation: due.filter(|_| memory.next.is_none()),
        wake,
        progress,
    }
}

/// What is to be remembered when a credential is the one that is handed out.
fn handed_out(
    set: &CredentialSet,
    before: &Memory,
    current: &Credential,
    now: Timestamp,
) -> Memory {
    let other = |number: &u32| *number != current.number && set.get(*number).is_some();
    let mut memory = *before;
    if before.current != Some(current.number) {
        let replaced = before.current.filter(other);
        let found = || {
            let mut others = set.credentials.iter().map(|other| other.number);
            others.find(|number| *number < current.number)
        };
        memory = Memory {
            current: Some(current.number),
            next: before.next,
            previous: replaced.or_else(found),
            rotated: before.current.map(|_| now).or(before.rotated),
        };
    }
    memory.previous = memory.previous.filter(other);
    // Asked for and there, or overtaken: nothing is asked for any more.
    memory.next = memory.next.filter(|next| *next == current.successor());
    memory
}

/// Until when a credential that was replaced has to stay.
fn end_of(
    previous: &Credential,
    rotated: Option<Timestamp>,
    schedule: Schedule,
) -> Option<Timestamp> {
    let made = previous.made?;
    let end = made.checked_add(schedule.interval).ok()?;
    let end = rotated.map_or(end, |rotated| rotated.max(end));
    let end = end.checked_add(schedule.grace).ok()?;
    Some(
        schedule
            .early_end(made)
            .map_or(end, |moment| moment.min(end)),
    )
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::credentials::usable_set;

    const DAY: Duration = Duration::from_secs(86_400);
    const SCHEDULE: Schedule = Schedule {
        interval: Duration::from_secs(10 * 86_400),
        ahead: Duration::from_secs(2 * 86_400),
        grace: DAY,
        replaced: None,
    };

    /// A day, counted from the one on which the first credential was made.
    fn day(number: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * number)
    }

    /// Credentials by number, with the day on which each was made, of which one was handed out and one is used.
    fn set(days: &[(u32, i64)], sent: u32, used: u32) -> CredentialSet {
        let days = days
            .iter()
            .map(|(number, made)| (*number, Some(day(*made))));
        usable_set(days, sent, used)
    }

    fn memory(current: u32, previous: Option<u32>, rotated: i64) -> Memory {
        Memory {
            current: Some(current),
            next: None,
            previous,
            rotated: Some(day(rotated)),
        }
    }

    #[test]
    fn next_credential_is_requested_when_it_is_due_and_not_before() {
        let set = set(&[(1, 0)], 1, 1);
        let before = step(&set, &memory(1, None, 0), SCHEDULE, day(7));
        assert_eq!(before.memory.next, None);
        assert_eq!(before.wake, Some(day(8)), "nothing else would wake it");
        assert_eq!(before.next_rotation, Some(day(8)));
        let then = step(&set, &memory(1, None, 0), SCHEDULE, day(8));
        assert_eq!(then.memory.next, Some(2));
        assert_eq!(then.progress, Stage::Making(2));
        let again = step(&set, &then.memory, SCHEDULE, day(80));
        assert_eq!(again.memory, then.memory, "one at a time");
    }

    #[test]
    fn credential_that_may_have_leaked_is_replaced_once_when_it_is_due() {
        let schedule = Schedule {
            replaced: Some(day(3)),
            ..SCHEDULE
        };
        let first = set(&[(1, 0)], 1, 1);
        let early = step(&first, &memory(1, None, 0), schedule, day(2));
        assert_eq!((early.memory.next, early.wake), (None, Some(day(3))));
        let then = step(&first, &memory(1, None, 0), schedule, day(3));
        assert_eq!(then.memory.next, Some(2));

        let both = set(&[(1, 0), (2, 3)], 2, 1);
        let taking_up = step(&both, &memory(2, Some(1), 3), schedule, day(3));
        assert_eq!(
            taking_up.memory.previous,
            Some(1),
            "the service runs with it"
        );
        let both = set(&[(1, 0), (2, 3)], 2, 2);
        let taken_up = step(&both, &memory(2, Some(1), 3), schedule, day(3));
        assert_eq!(taken_up.memory.previous, None, "it has no grace");

        let second = set(&[(2, 3)], 2, 2);
        let settled = step(&second, &memory(2, None, 3), schedule, day(4));
        assert_eq!((settled.memory.next, settled.wake), (None, Some(day(11))));
    }

    #[test]
    fn no_rotation_begins_while_the_service_runs_with_something_else() {
        let set = set(&[(2, 0)], 2, 1);
        let step = step(&set, &memory(2, None, 0), SCHEDULE, day(100));
        assert_eq!(step.memory.next, None);
        assert_eq!(step.progress, Stage::TakingUp(2));
    }

    #[test]
    fn no_rotation_begins_while_there_are_two_credentials() {
        // The first isn't named any more, and K-ORC hasn't deleted it yet.
        let set = set(&[(1, 0), (2, 8)], 2, 2);
        let step = step(&set, &memory(2, None, 8), SCHEDULE, day(100));
        assert_eq!(step.memory.next, None);
    }

    #[test]
    fn no_rotation_begins_from_a_credential_that_leaves() {
        let mut set = set(&[(1, 0)], 1, 1);
        set.credentials[0].leaves = true;
        let step = step(&set, &memory(1, None, 0), SCHEDULE, day(100));
        assert_eq!(step.memory.next, None);
    }

    #[test]
    fn previous_credential_stays_until_its_grace_period_ends() {
        let set = set(&[(1, 0), (2, 8)], 2, 2);
        let within = step(&set, &memory(2, Some(1), 8), SCHEDULE, day(10));
        assert_eq!(within.memory.previous, Some(1));
        assert_eq!(within.wake, Some(day(11)));
        let after = step(&set, &memory(2, Some(1), 8), SCHEDULE, day(11));
        assert_eq!(after.memory.previous, None);
    }

    #[test]
    fn previous_credential_stays_for_its_grace_period_after_a_late_replacement() {
        let set = set(&[(1, 0), (2, 30)], 2, 2);
        let within = step(&set, &memory(2, Some(1), 30), SCHEDULE, day(30));
        assert_eq!(within.memory.previous, Some(1));
        assert_eq!(within.wake, Some(day(31)));
    }

    #[test]
    fn previous_credential_stays_while_the_service_uses_it() {
        let set = set(&[(1, 0), (2, 8)], 2, 1);
        let step = step(&set, &memory(2, Some(1), 8), SCHEDULE, day(1000));
        assert_eq!(step.memory.previous, Some(1));
        assert_eq!(step.progress, Stage::TakingUp(2));
    }

    #[test]
    fn memory_is_rebuilt_from_the_credentials_that_exist() {
        let set = set(&[(1, 0), (2, 8)], 2, 1);
        let step = step(&set, &Memory::default(), SCHEDULE, day(9));
        assert_eq!(step.memory.current, Some(2));
        assert_eq!(step.memory.previous, Some(1));
        assert_eq!(step.memory.rotated, None, "nobody knows when");
    }
}
