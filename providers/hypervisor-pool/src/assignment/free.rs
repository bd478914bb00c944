//! The choice of nodes: as evenly over failure domains as possible.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::{Domain, Node};

/// A rack with its number of free nodes, in the order in which shares take from those of a zone where they have no node.
type Rack<'a> = (Reverse<usize>, &'a Domain);

/// Nodes of which some are taken.
pub struct Free<'a> {
    /// How many are left.
    pub count: usize,
    names: BTreeMap<&'a Domain, BTreeSet<&'a str>>,
    /// The numbers of free nodes of the racks, as they are once nodes are chosen. A rack without any isn't here.
    left: BTreeMap<&'a Domain, usize>,
    /// The racks of each zone.
    zones: BTreeMap<&'a str, BTreeSet<Rack<'a>>>,
}

impl<'a> Free<'a> {
    pub fn of(nodes: impl IntoIterator<Item = &'a Node>) -> Self {
        let mut names: BTreeMap<&Domain, BTreeSet<&str>> = BTreeMap::new();
        let mut count = 0;
        for node in nodes {
            count += 1;
            names.entry(&node.domain).or_default().insert(&node.name);
        }
        let left = names.iter().map(|(&domain, nodes)| (domain, nodes.len()));
        let left: BTreeMap<&Domain, usize> = left.collect();
        let mut zones: BTreeMap<&str, BTreeSet<Rack<'_>>> = BTreeMap::new();
        for (&domain, count) in &left {
            let racks = zones.entry(&domain.zone).or_default();
            racks.insert((Reverse(*count), domain));
        }
        Self {
            count,
            names,
            left,
            zones,
        }
    }

    /// Takes nodes for a share that holds others, each from the zone and there from the rack where the share has the fewest.
    pub fn take(&mut self, count: usize, held: &[&'a Node]) -> Vec<&'a str> {
        let mut taken = self.divide([(count, held)]);
        taken.pop().unwrap_or_default()
    }

    /// Takes nodes for several shares, each of which takes a number of nodes and holds others. They take turns, one node at a time, so that
    /// none takes all nodes of a zone or rack of which others need some too.
    pub fn divide<'h>(
        &mut self,
        shares: impl IntoIterator<Item = (usize, &'h [&'a Node])>,
    ) -> Vec<Vec<&'a str>>
    where
        'a: 'h,
    {
        let shares = shares.into_iter();
        let shares = shares.map(|(count, held)| Taker::of(count, held, self));
        let mut takers: Vec<Taker<'a>> = shares.collect();
        let mut is_open = true;
        while is_open {
            is_open = false;
            for taker in &mut takers {
                is_open |= taker.choose(self);
            }
        }
        let mut taken = Vec::new();
        for taker in takers {
            // The nodes of a rack are alike: elder shares get the first ones by name.
            let names = taker.chosen.into_iter();
            let names = names.filter_map(|domain| self.names.get_mut(domain)?.pop_first());
            let names: Vec<&'a str> = names.collect();
            self.count -= names.len();
            taken.push(names);
        }
        taken
    }

    /// Counts down the free nodes of a rack.
    fn count_down(&mut self, (free, domain): Rack<'a>) {
        let zone = domain.zone.as_str();
        let Some(racks) = self.zones.get_mut(zone) else {
            return;
        };
        racks.remove(&(free, domain));
        let left = free.0.saturating_sub(1);
        if left > 0 {
            racks.insert((Reverse(left), domain));
            self.left.insert(domain, left);
            return;
        }
        self.left.remove(domain);
        if racks.is_empty() {
            self.zones.remove(zone);
        }
    }
}

/// A share that takes nodes.
#[derive(Default)]
struct Taker<'a> {
    /// How many it takes yet.
    missing: usize,
    zones: BTreeMap<&'a str, Part<'a>>,
    /// The number of its nodes in each rack.
    racks: BTreeMap<&'a Domain, usize>,
    /// The racks that it takes a node from, one for each.
    chosen: Vec<&'a Domain>,
}

/// What a share has in a zone.
#[derive(Default)]
struct Part<'a> {
    nodes: usize,
    /// The share has nodes in all racks before this one. Racks only move back, because their free nodes become fewer.
    reached: Option<Rack<'a>>,
    /// Whether it has nodes in all racks with free ones.
    is_everywhere: bool,
    /// The racks where it has nodes: first those with the fewest of its nodes, then those with the most free ones. Others may have taken
    /// some of these since.
    own: BTreeSet<(usize, Rack<'a>)>,
}

impl<'a> Taker<'a> {
    fn of(missing: usize, held: &[&'a Node], free: &Free<'a>) -> Self {
        let mut taker = Self {
            missing,
            ..Self::default()
        };
        if missing == 0 {
            return taker;
        }
        for node in held {
            let domain = &node.domain;
            taker.zones.entry(&domain.zone).or_default().nodes += 1;
            *taker.racks.entry(domain).or_default() += 1;
        }
        for (&domain, has) in &taker.racks {
            if let Some(left) = free.left.get(domain) {
                let part = taker.zones.entry(&domain.zone).or_default();
                part.own.insert((*has, (Reverse(*left), domain)));
            }
        }
        taker
    }

    /// Chooses the rack of the next node, if one is free. Returns whether the share takes more.
    fn choose(&mut self, free: &mut Free<'a>) -> bool {
        if self.missing == 0 {
            return false;
        }
        let mut first = None;
        for (&zone, racks) in &free.zones {
            let part = self.zones.entry(zone).or_default();
            let Some((has, rack)) = part.next(racks, &self.racks, &free.left) else {
                continue;
            };
            let order = (part.nodes, has, rack.0);
            if first.as_ref().is_none_or(|(least, _)| order < *least) {
                first = Some((order, rack));
            }
        }
        let Some(((_, has, _), rack)) = first else {
            return false;
        };
        free.count_down(rack);
        let (_, domain) = rack;
        let part = self.zones.entry(&domain.zone).or_default();
        part.nodes += 1;
        part.own.remove(&(has, rack));
        part.own.insert((has + 1, rack));
        *self.racks.entry(domain).or_default() += 1;
        self.chosen.push(domain);
        self.missing -= 1;
        self.missing > 0
    }
}

impl<'a> Part<'a> {
    /// Returns the rack that the share takes its next node in this zone from, and how many it has there: one where it has none, or else
    /// where it has the fewest, and of these the one with the most free nodes.
    fn next(
        &mut self,
        racks: &BTreeSet<Rack<'a>>,
        counts: &BTreeMap<&'a Domain, usize>,
        left: &BTreeMap<&'a Domain, usize>,
    ) -> Option<(usize, Rack<'a>)> {
        if !self.is_everywhere {
            let from = self.reached.map_or(Bound::Unbounded, Bound::Included);
            let mut others = racks.range::<Rack<'a>, _>((from, Bound::Unbounded));
            if let Some(rack) = others.find(|(_, domain)| !counts.contains_key(domain)) {
                self.reached = Some(*rack);
                return Some((0, *rack));
            }
            self.is_everywhere = true;
        }
        while let Some((has, (free, domain))) = self.own.pop_first() {
            let now = left.get(domain).map(|left| Reverse(*left));
            if let Some(now) = now {
                self.own.insert((has, (now, domain)));
            }
            if now == Some(free) {
                return Some((has, (free, domain)));
            }
        }
        None
    }
}
