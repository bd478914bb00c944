//! The choice of nodes: as evenly over failure domains as possible.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{Domain, Node};

/// The racks of a zone with free nodes, in the order in which a share takes them: by the number of its nodes there, then by
/// the number of free ones.
type Racks<'a> = BTreeSet<(usize, Reverse<usize>, &'a Domain)>;

/// Nodes of which some are taken.
pub struct Free<'a> {
    /// How many are left.
    pub count: usize,
    domains: BTreeMap<&'a Domain, BTreeSet<&'a str>>,
}

impl<'a> Free<'a> {
    pub fn of(nodes: impl IntoIterator<Item = &'a Node>) -> Self {
        let mut domains: BTreeMap<&Domain, BTreeSet<&str>> = BTreeMap::new();
        let mut count = 0;
        for node in nodes {
            count += 1;
            domains.entry(&node.domain).or_default().insert(&node.name);
        }
        Self { count, domains }
    }

    /// Takes nodes for a share that holds others, each from the zone and there from the rack where the share has the fewest.
    pub fn take(&mut self, count: usize, held: &[&Node]) -> Vec<&'a str> {
        if count == 0 {
            return Vec::new();
        }
        let mut of_zone: BTreeMap<&str, usize> = BTreeMap::new();
        let mut of_domain: BTreeMap<&Domain, usize> = BTreeMap::new();
        for node in held {
            *of_zone.entry(&node.domain.zone).or_default() += 1;
            *of_domain.entry(&node.domain).or_default() += 1;
        }
        let mut zones: BTreeMap<&str, Racks<'_>> = BTreeMap::new();
        for (domain, nodes) in &self.domains {
            let has = of_domain.get(domain).copied().unwrap_or_default();
            let next = (has, Reverse(nodes.len()), *domain);
            zones.entry(&domain.zone).or_default().insert(next);
        }
        let mut taken = Vec::new();
        while taken.len() < count {
            let has = |zone: &str| of_zone.get(zone).copied().unwrap_or_default();
            let first = zones.iter().min_by_key(|(zone, racks)| {
                (has(zone), racks.first().map(|(has, free, _)| (*has, *free)))
            });
            let Some(zone) = first.map(|(zone, _)| *zone) else {
                break;
            };
            let racks = zones.entry(zone).or_default();
            if let Some((has, _, domain)) = racks.pop_first() {
                let left = self.domains.get_mut(domain);
                let left = left.and_then(|nodes| Some((nodes.pop_first()?, nodes.len())));
                taken.extend(left.map(|(node, _)| node));
                match left {
                    Some((_, count)) if count > 0 => {
                        racks.insert((has + 1, Reverse(count), domain));
                    }
                    _ => {
                        self.domains.remove(domain);
                    }
                }
            }
            if racks.is_empty() {
                zones.remove(zone);
            }
            *of_zone.entry(zone).or_default() += 1;
        }
        self.count -= taken.len();
        taken
    }
}
