//! The keys of one repository, and how they change: staged, promoted, retired. No secret is here, only numbers and times.
//!
//! Keystone encrypts with the key of the highest number and decrypts with all. So a key is first staged, as file 0, until
//! every replica has it; then promoted, which leaves it in file 0 too; and only when every replica has the promoted one,
//! the next is staged. At no moment is there a replica that lacks a key which another one encrypts with.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use provider_composer::second;
use provider_openstack::Cron;
use serde::{Deserialize, Serialize};

/// How long it takes at most until every replica has a changed Secret: kubelet looks once a minute, and a half more at
/// random (<https://kubernetes.io/docs/concepts/configuration/secret/#mounted-secrets-are-updated-automatically>).
pub const SETTLING: SignedDuration = SignedDuration::from_secs(120);

/// The keys of one repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Keyring {
    /// The primary key.
    primary: Key,
    /// Those before it, that still decrypt, oldest first.
    older: Vec<Key>,
    /// The one after it, if it is there yet.
    staged: Option<Key>,
}

/// A key, and since when it is what it is: primary, or staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    number: u32,
    since: Timestamp,
}

/// When and why keys change.
pub struct Rules<'a> {
    /// When a new key is to be used.
    pub schedule: &'a Cron,
    /// Most keys that are kept, the staged one among them; at least three.
    pub most: usize,
    /// When nothing is left that only an older key decrypts, if another took its place at the given time; none where that
    /// isn't known yet.
    pub spent: &'a dyn Fn(Timestamp) -> Option<Timestamp>,
}

impl Keyring {
    /// The first two keys: one to use, and one to come.
    pub fn first(now: Timestamp) -> Self {
        Self::restored(&[1, 2], now).unwrap_or(Self {
            primary: Key {
                number: 1,
                since: now,
            },
            older: Vec::new(),
            staged: None,
        })
    }

    /// Keys of which nothing is known but their numbers, in ascending order: all of them go on to decrypt, the last is yet
    /// to come. None where there are none.
    pub fn restored(numbers: &[u32], now: Timestamp) -> Option<Self> {
        let mut keys: Vec<Key> = numbers
            .iter()
            .map(|number| Key {
                number: *number,
                since: now,
            })
            .collect();
        let staged = match keys.len() {
            0 | 1 => None,
            _ => keys.pop(),
        };
        let primary = keys.pop()?;
        Some(Self {
            primary,
            older: keys,
            staged,
        })
    }

    /// Number of the key that is encrypted with.
    pub fn primary(&self) -> u32 {
        self.primary.number
    }

    /// Whether every replica has the primary key, so that no replica encrypts with an older one any more.
    pub fn is_settled(&self, now: Timestamp) -> bool {
        settled(self.primary.since) <= now
    }

    /// When the primary key became so.
    pub fn since(&self) -> Timestamp {
        self.primary.since
    }

    /// Whether an older key is kept.
    pub fn has_older(&self) -> bool {
        !self.older.is_empty()
    }

    /// Numbers of all keys, ascending.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        let keys = self.older.iter().chain([&self.primary]).chain(&self.staged);
        keys.map(|key| key.number)
    }

    /// Which key each file has.
    pub fn files(&self) -> BTreeMap<u32, u32> {
        let promoted = self.older.iter().chain([&self.primary]);
        let staged = self.staged.unwrap_or(self.primary).number;
        promoted
            .map(|key| (key.number, key.number))
            .chain([(0, staged)])
            .collect()
    }

    /// The keys as they should be now. What has to wait, waits: a rotation is put off rather than that a token fails.
    #[must_use]
    pub fn rotated(&self, rules: &Rules<'_>, now: Timestamp) -> Self {
        let mut next = self.clone();
        if self.promotion(rules).is_some_and(|due| due <= now)
            && let Some(staged) = next.staged.take()
        {
            next.older.push(next.primary);
            next.primary = Key {
                number: staged.number,
                since: now,
            };
        }
        while next.older.len() + 2 > rules.most
            && next.oldest_spent(rules).is_some_and(|spent| spent <= now)
        {
            next.older.remove(0);
        }
        if next.staged.is_none() && next.is_settled(now) && next.older.len() + 2 <= rules.most {
            next.staged = Some(Key {
                number: next.primary.number + 1,
                since: now,
            });
        }
        next
    }

    /// When to look again though nothing else changes; none where only something else can change anything.
    pub fn due(&self, rules: &Rules<'_>, now: Timestamp) -> Option<Timestamp> {
        let settled = self.staged.is_none().then(|| settled(self.primary.since));
        let moments = [self.promotion(rules), settled, self.oldest_spent(rules)];
        moments
            .into_iter()
            .flatten()
            .filter(|moment| *moment > now)
            .min()
    }

    /// When the staged key is to be used.
    fn promotion(&self, rules: &Rules<'_>) -> Option<Timestamp> {
        let staged = self.staged?;
        let due = rules.schedule.after(self.primary.since)?;
        Some(due.max(settled(staged.since)))
    }

    fn oldest_spent(&self, rules: &Rules<'_>) -> Option<Timestamp> {
        let after = self.older.iter().skip(1).chain([&self.primary]).next();
        let successor = after.filter(|_| !self.older.is_empty())?;
        (rules.spent)(successor.since)
    }
}

/// When a change has reached every replica.
pub fn settled(since: Timestamp) -> Timestamp {
    since.checked_add(SETTLING).unwrap_or(Timestamp::MAX)
}

/// A keyring as it is written: the time by number, RFC 3339.
#[derive(Serialize, Deserialize)]
struct Written {
    promoted: BTreeMap<u32, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    staged: BTreeMap<u32, String>,
}

impl From<Keyring> for Written {
    fn from(keys: Keyring) -> Self {
        let written = |key: Key| (key.number, second(key.since));
        Self {
            promoted: keys
                .older
                .iter()
                .copied()
                .chain([keys.primary])
                .map(written)
                .collect(),
            staged: keys.staged.into_iter().map(written).collect(),
        }
    }
}

impl TryFrom<Written> for Keyring {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let read = |(number, since): (u32, String)| {
            let since = since
                .parse()
                .map_err(|error| format!("{since:?} is not a valid time: {error}"))?;
            Ok(Key { number, since })
        };
        let mut older: Vec<Key> = written
            .promoted
            .into_iter()
            .map(read)
            .collect::<Result<_, String>>()?;
        let primary = older.pop().ok_or("there is no primary key")?;
        let staged = written.staged.into_iter().map(read).next().transpose()?;
        match staged.is_some_and(|staged| staged.number <= primary.number) {
            true => Err("the staged key is older than the primary one".to_owned()),
            false => Ok(Self {
                primary,
                older,
                staged,
            }),
        }
    }
}
