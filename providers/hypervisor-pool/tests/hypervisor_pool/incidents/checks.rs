//! What holds in every history.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::Value;

use super::world::{Labels, World};
use crate::fixture::*;

/// The phases between which a lease changes. The first is that of a lease that doesn't end.
const STEPS: [(&str, &str); 5] = [
    ("", "Draining"),
    ("Draining", ""),
    ("Draining", "Releasing"),
    ("Releasing", "Draining"),
    ("Releasing", "Wiping"),
];

impl World {
    /// Since when the pool asks a share for its servers.
    fn surplus_since(&self, plane: &str) -> Option<&str> {
        let pool = self.cluster.get(&pool_key())?;
        let mut parts = pool["status"]["shares"].as_array()?.iter();
        parts.find(|part| part["name"] == plane)?["surplusSince"].as_str()
    }

    /// Whether a share has counted its servers since the pool asked for them.
    pub fn has_counted(&self, plane: &str) -> bool {
        let share = self.cluster.get(&share_key(plane));
        let counted = share.and_then(|share| share.pointer("/status/surplusCounted")?.as_str());
        counted.is_some() && counted == self.surplus_since(plane)
    }

    /// Whether the pool may choose what a share gives up: the share has counted, or was asked an hour ago.
    pub fn may_choose(&self, plane: &str) -> bool {
        let since: Option<Timestamp> = self
            .surplus_since(plane)
            .map(|since| since.parse().unwrap());
        let is_late =
            |since: Timestamp| since + SignedDuration::from_hours(1) <= self.cluster.now();
        self.has_counted(plane) || since.is_some_and(is_late)
    }

    /// The nodes of a share that work: those that it keeps, and those that it gives up now.
    fn choice<'a>(
        &self,
        plane: &str,
        before: &'a BTreeMap<String, Labels>,
    ) -> (Vec<&'a String>, Vec<&'a String>) {
        let own = before.iter().filter(|(name, labels)| {
            let is_leased = labels.lease.as_deref() == Some(plane) && labels.phase.is_none();
            is_leased && self.is_ready(name) && !self.is_cordoned(name)
        });
        own.map(|(name, _)| name)
            .partition(|name| self.labels_of(name).phase.is_none())
    }

    /// Checks that a share gives up no node that works while it keeps another one.
    pub fn check_keeps_working_nodes(
        &self,
        plane: &str,
        before: &BTreeMap<String, Labels>,
    ) -> Result<(), TestCaseError> {
        let (kept, chosen) = self.choice(plane, before);
        let is_unchosen = kept.is_empty() || chosen.is_empty();
        prop_assert!(
            is_unchosen,
            "{plane} gives up {chosen:?} and keeps {kept:?}"
        );
        Ok(())
    }

    /// Checks that no node which a share gives up has far more servers than one that it keeps, by what the share has counted.
    pub fn check_gives_up_the_emptiest(
        &self,
        plane: &str,
        before: &BTreeMap<String, Labels>,
    ) -> Result<(), TestCaseError> {
        let (kept, chosen) = self.choice(plane, before);
        let counted = self.counted(plane);
        let magnitude = |name: &&String| match counted.get(name.as_str()) {
            Some(Some(servers)) => u64::BITS - servers.leading_zeros(),
            _ => u32::MAX,
        };
        let most = chosen.iter().map(magnitude).max();
        let least = kept.iter().map(magnitude).min();
        prop_assert!(
            most.is_none() || least.is_none() || most <= least,
            "{plane} gives up {chosen:?} and keeps {kept:?} of {counted:?}"
        );
        Ok(())
    }

    /// What a share reports of the servers on its leased nodes.
    fn counted(&self, plane: &str) -> BTreeMap<&str, Option<u64>> {
        let share = self.cluster.get(&share_key(plane));
        let hosts = share.and_then(|share| share.pointer("/status/hosts")?.as_array());
        let hosts = hosts.into_iter().flatten();
        let leased = hosts.filter(|host| host["phase"] == "Leased");
        let counted = leased.map(|host| {
            let servers = host.get("instances").and_then(Value::as_u64);
            (host["name"].as_str().unwrap(), servers)
        });
        counted.collect()
    }

    /// Checks that a share which has just counted reports what its Nova has.
    pub fn check_counted(&self, plane: &str) -> Result<(), TestCaseError> {
        let counted = self.counted(plane);
        let has = self.novas[plane].change(|state| {
            let servers = |name: &str| match state.services.contains_key(name) {
                true => state.occupants.get(name).map_or(0, |found| found.servers),
                false => 0,
            };
            let has = counted
                .keys()
                .map(|name| (*name, Some(u64::from(servers(name)))));
            has.collect::<BTreeMap<_, _>>()
        });
        prop_assert_eq!(counted, has);
        Ok(())
    }

    pub fn check_change(
        &self,
        name: &str,
        before: &Labels,
        after: &Labels,
    ) -> Result<(), TestCaseError> {
        let (machine, records) = (&self.machines[name], self.records(name));
        let is_irregular = self.irregular.contains(name);
        let is_empty = machine.domains == 0 && machine.files.is_none() && machine.runs.is_none();
        let what = format!("{name}: {before:?} to {after:?}, {machine:?}, in {records:?}");
        match (&before.lease, &after.lease) {
            (None, Some(_)) => {
                prop_assert!(self.is_ready(name), "{what}");
                prop_assert!(before.since.is_none(), "it may have servers: {what}");
                prop_assert!(
                    is_irregular || (is_empty && records.is_empty()),
                    "it isn't empty: {what}"
                );
                prop_assert!(after.phase.is_none() && after.since.is_some(), "{what}");
                let reported = self.reported(name, after.lease.as_deref());
                prop_assert!(after.since > reported, "{reported:?} is reported: {what}");
            }
            (Some(_), None) => {
                prop_assert_eq!(before.phase.as_deref(), Some("Wiping"));
                prop_assert!(self.is_ready(name) && is_empty, "{what}");
                prop_assert!(is_irregular || records.is_empty(), "{what}");
                prop_assert!(*after == Labels::default(), "{what}");
            }
            (Some(one), Some(other)) => {
                prop_assert_eq!(one, other, "it changes hands: {}", what);
                self.check_phase(name, one, before, after)?;
            }
            (None, None) => return Err(TestCaseError::fail(what)),
        }
        Ok(())
    }

    /// The date of a node's lease in the status of the share that leases it now.
    fn reported(&self, name: &str, lease: Option<&str>) -> Option<String> {
        let share = self.cluster.get(&share_key(lease?))?;
        let hosts = share.pointer("/status/hosts")?.as_array()?.iter();
        let hosts = hosts.filter(|host| host["name"] == name);
        let dates = hosts.filter_map(|host| host["since"].as_str());
        dates.max().map(str::to_owned)
    }

    fn check_phase(
        &self,
        name: &str,
        lease: &str,
        before: &Labels,
        after: &Labels,
    ) -> Result<(), TestCaseError> {
        let machine = &self.machines[name];
        let what = format!("{name}: {before:?} to {after:?}, {machine:?}");
        prop_assert!(after.since.is_some(), "{what}");
        let [from, to] = [before, after].map(|labels| labels.phase.as_deref().unwrap_or_default());
        if from == to {
            // A lease without a date gets one.
            prop_assert!(before.since.is_none(), "{what}");
            return Ok(());
        }
        prop_assert!(STEPS.contains(&(from, to)), "{what}");
        // However the clock jumps.
        let is_dated = match to {
            "" | "Draining" => before.since < after.since,
            _ => before.since == after.since,
        };
        prop_assert!(is_dated, "{what}");
        if matches!(to, "Releasing" | "Wiping") {
            prop_assert!(self.is_ready(name), "{what}");
        }
        if to == "Wiping" {
            prop_assert!(!self.records(name).contains(&lease), "{what}");
            // The wipe itself finds servers of another control plane.
            let is_others = machine.has_files_of_other(lease);
            let is_empty = machine.domains == 0 && machine.runs.is_none();
            prop_assert!(is_others || is_empty, "{what}");
        }
        Ok(())
    }

    /// Checks what the pool says that it can lose.
    pub fn check_removable(&self) -> Result<(), TestCaseError> {
        let pool = self.cluster.get(&pool_key()).unwrap();
        let removable = pool["status"]["removable"].as_array();
        for name in removable.into_iter().flatten() {
            let name = name.as_str().unwrap_or_default();
            let (machine, labels) = (&self.machines[name], self.labels_of(name));
            let what = format!("{name} is removable: {labels:?}, {machine:?}");
            prop_assert!(labels.lease.is_none() && labels.since.is_none(), "{what}");
            let is_empty = machine.domains == 0 && machine.files.is_none();
            prop_assert!(is_empty || self.irregular.contains(name), "{what}");
            prop_assert!(!self.has_known_servers(name), "{what}");
        }
        Ok(())
    }

    /// Checks that two control planes never have the same host in their Novas and Placements.
    pub fn check_clouds(&self) -> Result<(), TestCaseError> {
        let mut hosts = BTreeSet::new();
        for nova in self.novas.values() {
            hosts.extend(nova.change(|state| state.hosts()));
        }
        for host in hosts.difference(&self.irregular) {
            let records = self.records(host);
            prop_assert!(records.len() <= 1, "{host} is in {records:?}");
        }
        Ok(())
    }
}
