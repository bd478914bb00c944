//! What clouds have of the hosts of one pool, asked again and again, and that none is in two of them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::eventually::seconds;
use crate::scale::scaled;

/// How long nobody may have asked what a cloud has. Within this time no host leaves a cloud, is in another one, and comes back.
const GAP: Duration = seconds(150);

/// How long after its last report Nova counts a nova-compute as up, `service_down_time`, and how long that report may take until Nova has
/// it.
const UP: Duration = seconds(60 + 5);

/// What a cloud has, by answers that came between two moments.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct CloudState {
    /// When the first question was asked, in milliseconds since 1970.
    pub since: i64,
    /// When the last answer had come.
    pub until: i64,
    /// The resource providers of its Placement.
    pub providers: BTreeSet<String>,
    /// The hypervisors of its Nova.
    pub hypervisors: BTreeSet<String>,
    /// The hosts whose nova-compute is up.
    pub up: BTreeSet<String>,
    /// The hosts on which its Nova starts servers.
    pub ready: BTreeSet<String>,
    /// Where its active servers are, by ID.
    pub servers: BTreeMap<String, String>,
}

impl CloudState {
    /// Fine if no host was in both clouds, whose states are in order of time. A host was in a cloud at a moment if the cloud had it both
    /// before and after that, so that questions at slightly different times find no host in two clouds that was handed over between
    /// them.
    ///
    /// # Errors
    /// The first host that was in both, with what was seen.
    pub fn are_apart(one: &[Self], other: &[Self]) -> Result<()> {
        are_apart_in(one, other)?;
        are_apart_in(other, one)
    }

    /// Fine if a cloud was asked all the time. Returns the longest pause, in milliseconds.
    ///
    /// # Errors
    /// When nobody has asked for too long.
    pub fn are_complete(states: &[Self]) -> Result<i64> {
        let pauses = states.windows(2).map(|two| two[1].since - two[0].until);
        let longest = pauses.max().context("nobody has watched")?;
        ensure!(longest < gap(), "for {longest} ms nobody has watched");
        Ok(longest)
    }

    /// Whether the nova-compute of a host has reported to Nova after a moment, in milliseconds since 1970. One that is up may have reported
    /// before.
    pub fn has_report(&self, host: &str, after: i64) -> bool {
        u128::try_from(self.since - after).is_ok_and(|passed| passed > UP.as_millis())
            && self.up.contains(host)
    }

    /// The hosts that it knows.
    fn hosts(&self) -> BTreeSet<&String> {
        self.providers.union(&self.hypervisors).collect()
    }
}

/// [`GAP`] on this machine, in milliseconds. On a slow one Nova's API starts later, and hosts change hands later, too.
fn gap() -> i64 {
    i64::try_from(scaled(GAP).as_millis()).unwrap_or(i64::MAX)
}

/// Fine if no state of the other cloud has a host that this one had before and after it.
fn are_apart_in(one: &[CloudState], other: &[CloudState]) -> Result<()> {
    for state in other {
        let before = one.partition_point(|it| it.until <= state.since);
        let after = one.partition_point(|it| it.since < state.until);
        let before = before.checked_sub(1).and_then(|last| one.get(last));
        let Some((before, after)) = before.zip(one.get(after)) else {
            continue;
        };
        if after.since - before.until >= gap() {
            continue;
        }
        let (hosts, before_hosts, after_hosts) = (state.hosts(), before.hosts(), after.hosts());
        let mut both = hosts
            .into_iter()
            .filter(|host| before_hosts.contains(host) && after_hosts.contains(host));
        if let Some(host) = both.next() {
            bail!(
                "{host} is in two clouds: one has {state:?}, the other had {before:?} and has {after:?}"
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// States of one cloud, a second each: when, and which providers and hypervisors it has then.
    fn states(seen: &[(i64, &[&str], &[&str])]) -> Vec<CloudState> {
        let set = |names: &[&str]| names.iter().copied().map(str::to_owned).collect();
        let states = seen
            .iter()
            .map(|(second, providers, hypervisors)| CloudState {
                since: second * 1000,
                until: second * 1000 + 900,
                providers: set(providers),
                hypervisors: set(hypervisors),
                ..CloudState::default()
            });
        states.collect()
    }

    #[test]
    fn cloud_states_of_a_host_that_is_handed_over_and_back_are_apart() {
        let first = states(&[
            (0, &["a"], &["a"]),
            (1, &["a"], &[]),
            (2, &[], &[]),
            (80, &[], &[]),
            (81, &["a"], &["a"]),
        ]);
        let second = states(&[
            (0, &["b"], &["b"]),
            (2, &["b"], &["b"]),
            (3, &["a", "b"], &["b"]),
            (79, &["a", "b"], &["a", "b"]),
            (80, &["b"], &["b"]),
        ]);
        CloudState::are_apart(&first, &second).unwrap();
    }

    #[test]
    fn cloud_states_with_a_host_of_two_clouds_are_refused() {
        for (providers, hypervisors) in [(&["a"][..], &[][..]), (&[][..], &["a"][..])] {
            let first = states(&[(0, &["a"], &[]), (1, &["a"], &[]), (2, &["a"], &[])]);
            let second = states(&[(0, &[], &[]), (1, providers, hypervisors), (2, &[], &[])]);
            let error = CloudState::are_apart(&first, &second).unwrap_err();
            assert!(error.to_string().contains("is in two clouds"), "{error}");
            CloudState::are_apart(&second, &first).unwrap_err();
        }
    }

    #[test]
    fn cloud_states_that_begin_later_in_one_cloud_are_refused_by_the_other_cloud() {
        let first = states(&[(0, &["a"], &[]), (9, &["a"], &[])]);
        let second = states(&[(3, &["a"], &[])]);
        CloudState::are_apart(&second, &first).unwrap_err();
    }

    #[test]
    fn nova_compute_has_reported_if_it_is_up_a_minute_later() {
        let state = |second: i64, up: &[&str]| CloudState {
            since: second * 1000,
            up: up.iter().copied().map(str::to_owned).collect(),
            ..CloudState::default()
        };
        assert!(state(100, &["a"]).has_report("a", 30_000));
        assert!(!state(100, &["a"]).has_report("a", 40_000));
        assert!(!state(100, &["a"]).has_report("a", 110_000));
        assert!(!state(100, &["b"]).has_report("a", 30_000));
    }

    #[test]
    fn cloud_states_with_a_long_pause_are_incomplete() {
        let complete = states(&[(0, &[], &[]), (1, &[], &[]), (31, &[], &[])]);
        assert_eq!(CloudState::are_complete(&complete).unwrap(), 29_100);
        let late = gap() / 1000 + 2;
        for incomplete in [states(&[]), states(&[(0, &[], &[]), (late, &[], &[])])] {
            CloudState::are_complete(&incomplete).unwrap_err();
        }
    }
}
