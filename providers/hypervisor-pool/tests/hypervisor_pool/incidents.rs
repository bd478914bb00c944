//! Random histories of a pool and its shares, in which people and machines do what nobody plans: cells are down, compute services, Nodes
//! and labels are deleted or changed by hand, machines return by the same or another name, there are two pools, and clocks jump.
//!
//! The pool knows of a node what its labels say. Where a person changes these, or deletes the Node with them, it may lease a machine that
//! has servers of another control plane. Then agents refuse the machine, and it is neither wiped nor freed before its servers are gone.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use provider_hypervisor_pool::{HypervisorPool, HypervisorShare};

use crate::drain::cordon;
use crate::fixture::*;
use crate::world::{Labels, PLANES, World, second_pool};

/// The phases between which a lease changes. The first is that of a lease that doesn't end.
const STEPS: [(&str, &str); 5] = [
    ("", "Draining"),
    ("Draining", ""),
    ("Draining", "Releasing"),
    ("Releasing", "Draining"),
    ("Releasing", "Wiping"),
];

#[derive(Clone, Debug)]
enum Event {
    Joins(u8),
    NodeDeleted(Index),
    /// The machine of a deleted Node is back, with its labels or without them.
    NodeReturns(Index, bool),
    Renamed(Index),
    Ready(Index, bool),
    Cordoned(Index, bool),
    /// A control plane's share: its weight, `minHosts`, and whether it is held.
    Shared(&'static str, u32, u32, bool),
    Unshared(&'static str),
    SecondPool(bool),
    ClockJumps(i64),
    /// A person sets or removes the label of a lease.
    Labelled(Index, Option<&'static str>),
    CellDown(&'static str, bool),
    ServicesDeleted(Index),
    Boots(Index),
    ServerEnds(Index),
    Kubelet(Index),
    /// The operator reconciles, and is killed after so many writes and calls.
    PoolReconciles(usize),
    ShareReconciles(&'static str, usize),
    /// Everyone does what there is to do.
    TimePasses,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let at = any::<Index>;
    let plane = || select(vec!["one", "two"]);
    let label = select(vec![None, Some("one"), Some("two"), Some("unknown")]);
    let writes = || prop_oneof![3 => Just(usize::MAX), 1 => 1..4_usize];
    let often = || prop::bool::weighted(0.7);
    let rarely = || prop::bool::weighted(0.3);
    let share = (plane(), 0..4_u32, 0..3_u32, prop::bool::weighted(0.15));
    let event = prop_oneof![
        1 => (4..6_u8).prop_map(Event::Joins),
        1 => at().prop_map(Event::NodeDeleted),
        2 => (at(), any::<bool>()).prop_map(|(index, labels)| Event::NodeReturns(index, labels)),
        1 => at().prop_map(Event::Renamed),
        2 => (at(), often()).prop_map(|(index, ready)| Event::Ready(index, ready)),
        3 => (at(), any::<bool>()).prop_map(|(index, cordoned)| Event::Cordoned(index, cordoned)),
        3 => share.prop_map(|(plane, weight, min, held)| Event::Shared(plane, weight, min, held)),
        1 => plane().prop_map(Event::Unshared),
        1 => rarely().prop_map(Event::SecondPool),
        1 => (-2_000..2_000_i64).prop_map(Event::ClockJumps),
        1 => (at(), label).prop_map(|(index, label)| Event::Labelled(index, label)),
        1 => (plane(), rarely()).prop_map(|(plane, down)| Event::CellDown(plane, down)),
        1 => at().prop_map(Event::ServicesDeleted),
        3 => at().prop_map(Event::Boots),
        3 => at().prop_map(Event::ServerEnds),
        4 => at().prop_map(Event::Kubelet),
        4 => writes().prop_map(Event::PoolReconciles),
        4 => (plane(), writes()).prop_map(|(plane, writes)| Event::ShareReconciles(plane, writes)),
        8 => Just(Event::TimePasses),
    ];
    prop::collection::vec(event, 1..50)
}

impl World {
    fn happens(&mut self, event: Event) -> Result<(), TestCaseError> {
        self.wait(3);
        match event {
            Event::Joins(number) => self.join(number),
            Event::NodeReturns(index, with_labels) => self.register_again(&index, with_labels),
            Event::Shared(plane, weight, min_hosts, is_held) => {
                self.share(plane, weight, min_hosts, is_held);
            }
            Event::Unshared(plane) => self.cluster.delete(&share_key(plane)),
            Event::SecondPool(exists) => self.set_second_pool(exists),
            Event::ClockJumps(seconds) => self.wait(seconds),
            Event::CellDown(plane, is_down) => self.set_cell(plane, is_down),
            Event::PoolReconciles(writes) => self.reconcile_pool(writes)?,
            Event::ShareReconciles(plane, writes) => self.reconcile_share(plane, writes)?,
            Event::TimePasses => self.pass()?,
            Event::NodeDeleted(index)
            | Event::Renamed(index)
            | Event::Ready(index, _)
            | Event::Cordoned(index, _)
            | Event::Labelled(index, _)
            | Event::ServicesDeleted(index)
            | Event::Boots(index)
            | Event::ServerEnds(index)
            | Event::Kubelet(index) => {
                if let Some(name) = self.name(&index) {
                    self.happens_to(&name, &event);
                }
            }
        }
        self.check_clouds()
    }

    fn happens_to(&mut self, name: &str, event: &Event) {
        match event {
            Event::NodeDeleted(_) => self.delete_node(name),
            Event::Renamed(_) => self.rename(name),
            Event::Ready(_, is_ready) => self.set_ready(name, *is_ready),
            Event::Cordoned(_, is_cordoned) => cordon(&mut self.cluster, name, *is_cordoned),
            Event::Labelled(_, lease) => self.label(name, *lease),
            Event::ServicesDeleted(_) => self.delete_services(name),
            Event::Boots(_) => self.boot(name),
            Event::ServerEnds(_) => self.end_server(name),
            Event::Kubelet(_) => self.kubelet(name),
            _ => {}
        }
    }

    /// Everyone acts once.
    fn pass(&mut self) -> Result<(), TestCaseError> {
        self.wait(11);
        self.reconcile_pool(usize::MAX)?;
        for name in self.names() {
            self.kubelet(&name);
        }
        for (plane, _) in PLANES {
            self.reconcile_share(plane, usize::MAX)?;
        }
        self.check_clouds()
    }

    /// Lets the operator of a share reconcile, which changes no lease.
    fn reconcile_share(&mut self, plane: &str, writes: usize) -> Result<(), TestCaseError> {
        let before = self.labels();
        // A failure is in the status, and the shares have what they are due in the end.
        let _ = self
            .cluster
            .reconcile_until(&HypervisorShare, &share_key(plane), writes);
        prop_assert_eq!(self.labels(), before);
        Ok(())
    }

    /// Lets the operator of the pool reconcile, and checks each change of a lease.
    fn reconcile_pool(&mut self, writes: usize) -> Result<(), TestCaseError> {
        let before = self.labels();
        let is_one = self.cluster.get(&second_pool()).is_none();
        let choices = PLANES.map(|(plane, _)| (plane, self.may_choose(plane)));
        for key in [pool_key(), second_pool()] {
            // As above.
            let _ = self.cluster.reconcile_until(&HypervisorPool, &key, writes);
        }
        for (name, before) in &before {
            let after = self.labels_of(name);
            if *before != after {
                prop_assert!(is_one, "two pools change {name}");
                self.check_change(name, before, &after)?;
            }
        }
        if is_one && writes == usize::MAX {
            self.check_removable()?;
            for (plane, _) in choices.into_iter().filter(|(_, may_choose)| !may_choose) {
                self.check_nothing_chosen(plane, &before)?;
            }
        }
        Ok(())
    }

    /// Whether the pool may choose what a share gives up: it has been asked for its servers, and has counted them or five minutes have
    /// passed.
    fn may_choose(&self, plane: &str) -> bool {
        let pool = self.cluster.get(&pool_key());
        let parts = pool.and_then(|pool| pool["status"]["shares"].as_array());
        let mut parts = parts.into_iter().flatten();
        let part = parts.find(|part| part["name"] == plane);
        let Some(since) = part.and_then(|part| part["surplusSince"].as_str()) else {
            return false;
        };
        let share = self.cluster.get(&share_key(plane));
        let counted = share.and_then(|share| share.pointer("/status/surplusCounted")?.as_str());
        let asked: Timestamp = since.parse().unwrap();
        counted == Some(since) || asked + SignedDuration::from_mins(5) <= self.cluster.now()
    }

    /// Checks that a share gives up no node that works while it keeps another one.
    fn check_nothing_chosen(
        &self,
        plane: &str,
        before: &BTreeMap<String, Labels>,
    ) -> Result<(), TestCaseError> {
        let own = before.iter().filter(|(name, labels)| {
            let is_leased = labels.lease.as_deref() == Some(plane) && labels.phase.is_none();
            is_leased && self.is_ready(name) && !self.is_cordoned(name)
        });
        let (kept, chosen): (Vec<&String>, Vec<&String>) = own
            .map(|(name, _)| name)
            .partition(|name| self.labels_of(name).phase.is_none());
        let is_unchosen = kept.is_empty() || chosen.is_empty();
        prop_assert!(
            is_unchosen,
            "{plane} gives up {chosen:?} and keeps {kept:?}"
        );
        Ok(())
    }

    fn check_change(
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
                let reported = self.reported(name);
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

    /// The latest date of a node's lease in the status of a share.
    fn reported(&self, name: &str) -> Option<String> {
        let shares = PLANES
            .iter()
            .filter_map(|(plane, _)| self.cluster.get(&share_key(plane)));
        let hosts = shares.filter_map(|share| share.pointer("/status/hosts")?.as_array());
        let hosts = hosts.flatten().filter(|host| host["name"] == name);
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
            let is_others = machine
                .files
                .as_ref()
                .is_some_and(|files| files.plane != lease);
            let is_empty = machine.domains == 0 && machine.runs.is_none();
            prop_assert!(is_others || is_empty, "{what}");
        }
        Ok(())
    }

    /// Checks what the pool says that it can lose.
    fn check_removable(&self) -> Result<(), TestCaseError> {
        let Some(pool) = self.cluster.get(&pool_key()) else {
            return Ok(());
        };
        let removable = pool["status"]["removable"].as_array();
        for name in removable.into_iter().flatten() {
            let name = name.as_str().unwrap_or_default();
            let (machine, labels) = (&self.machines[name], self.labels_of(name));
            let what = format!("{name} is removable: {labels:?}, {machine:?}");
            prop_assert!(labels.lease.is_none() && labels.since.is_none(), "{what}");
            let is_empty = machine.domains == 0 && machine.files.is_none();
            prop_assert!(is_empty || self.irregular.contains(name), "{what}");
        }
        Ok(())
    }

    /// Checks that nova-compute of each host reports to one Nova, and that no other has the host.
    fn check_clouds(&self) -> Result<(), TestCaseError> {
        let mut hosts: Vec<(String, bool)> = Vec::new();
        for nova in self.novas.values() {
            nova.change(|state| {
                let services = state.services.iter();
                hosts.extend(services.map(|(host, service)| (host.clone(), service.is_up)));
            });
        }
        for (host, _) in &hosts {
            let of_host = || hosts.iter().filter(|(other, _)| other == host);
            let up = of_host().filter(|(_, is_up)| *is_up).count();
            prop_assert!(up <= 1, "{host} is in two clouds");
            let is_known = of_host().count() <= 1 || self.irregular.contains(host);
            prop_assert!(is_known, "{host} is left in another cloud");
        }
        Ok(())
    }

    /// Checks that everything comes to rest, and that every share has what it is due then.
    fn check_rest(&mut self) -> Result<(), TestCaseError> {
        self.repair();
        let (mut rounds, mut quiet) = (0, 0);
        while quiet < 2 {
            let before = self.cluster.writes();
            self.pass()?;
            quiet = match self.cluster.writes() == before {
                true => quiet + 1,
                false => 0,
            };
            rounds += 1;
            prop_assert!(rounds < 80, "it never settles");
        }
        for (plane, _) in PLANES {
            let share = self.cluster.get(&share_key(plane));
            let deleted = share.and_then(|share| share.pointer("/metadata/deletionTimestamp"));
            prop_assert!(deleted.is_none(), "the share of {plane} isn't deleted");
        }
        let parts = self.cluster.get(&pool_key());
        let parts = parts.and_then(|pool| pool["status"]["shares"].as_array());
        for part in parts.into_iter().flatten() {
            prop_assert_eq!(&part["hosts"], &part["due"], "{}", part);
            let draining = part["draining"].as_u64().unwrap_or_default();
            prop_assert_eq!(draining, 0, "{}", part);
        }
        for (name, machine) in &self.machines {
            let (labels, records) = (self.labels_of(name), self.records(name));
            let what = format!("{name}: {labels:?}, {machine:?}, in {records:?}");
            let is_irregular = self.irregular.contains(name);
            let Some(plane) = &labels.lease else {
                let is_free = labels == Labels::default() && machine.files.is_none();
                prop_assert!(is_free, "{what}");
                prop_assert!(is_irregular || records.is_empty(), "{what}");
                continue;
            };
            prop_assert!(self.has_share(plane) && labels.phase.is_none(), "{what}");
            prop_assert_eq!(machine.runs.as_ref(), Some(plane), "{}", what);
            prop_assert!(is_irregular || records.len() == 1, "{what}");
            let is_enabled = self.novas[plane].change(|state| {
                let service = state.services.get(name);
                service.is_some_and(|service| service.is_up && service.disabled.is_none())
            });
            prop_assert!(is_enabled, "{what}");
        }
        Ok(())
    }
}

/// Runs a history of a pool that is new, or whose nodes are leased and have servers.
fn run(events: Vec<Event>, has_servers: bool) -> Result<(), TestCaseError> {
    let mut world = World::new();
    for (plane, _) in PLANES {
        world.share(plane, 1, 0, false);
    }
    if has_servers {
        // Hosts with servers join no aggregate.
        for _ in 0..3 {
            world.pass()?;
        }
        for name in world.names() {
            world.boot(&name);
        }
    }
    for event in events {
        world.happens(event)?;
    }
    world.check_rest()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn new_pool_loses_no_server_and_puts_no_host_in_two_clouds(events in events()) {
        run(events, false)?;
    }

    #[test]
    fn pool_with_servers_loses_none_and_puts_no_host_in_two_clouds(events in events()) {
        run(events, true)?;
    }
}
