//! Which share leases which node, as a pure function.
//!
//! Every share is due the part of the pool that its weight stands for, between its `minHosts` and `maxHosts`. A share that has
//! fewer nodes takes back those of its own that are being drained, then gets free ones, in turns with others. Of a share that has
//! more, the surplus is drained, first the nodes with the fewest servers; so are nodes that leave the pool. Dead nodes keep the lease
//! that they have and count for what shares are due, so that a failure drains no node; a few of them are replaced by free nodes. A share
//! may be held: then it is due at most what it has.

mod due;
mod free;
mod outage;
mod replaced;

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::hypervisor::LeasePhase;

use self::due::{Due, due, hosts};
use self::free::Free;
pub use self::outage::mark_away;
use self::replaced::replaced;

/// A node with the role of a hypervisor, or with a lease.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Who leases it.
    pub lease: Option<Lease>,
    /// What may be done with it.
    pub state: State,
    /// Its failure domain.
    pub domain: Domain,
    /// What is on it.
    pub servers: Servers,
}

/// How many servers are on a node. A share gives up first the nodes with the fewest, and last those of which it isn't known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Servers {
    /// So many.
    Known(u32),
    /// Nobody has counted them, so that there may be any number.
    #[default]
    Unknown,
}

impl Servers {
    /// The number of binary digits: a node of another zone or rack isn't given up for a few servers less.
    fn magnitude(self) -> u32 {
        match self {
            Self::Known(servers) => u32::BITS - servers.leading_zeros(),
            Self::Unknown => u32::MAX,
        }
    }
}

/// A node's lease.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lease {
    /// The control plane.
    pub control_plane: String,
    /// How far it has come.
    pub phase: LeasePhase,
}

/// What may be done with a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// It can be leased.
    Available,
    /// It isn't Ready: it gets no lease, and keeps the one that it has.
    Unready,
    /// It hasn't been Ready for longer than a restart takes: it gets no lease and keeps the one that it has, since servers may still
    /// run on it. Its share may get another node for it.
    Dead,
    /// It is dead as most of its rack, zone or pool is: its share waits for it.
    Away,
    /// It is cordoned, under maintenance, being deleted or no hypervisor any more: it gets no lease, and the one that it has
    /// ends.
    Leaving,
    /// It was leased in a way that this version doesn't know, so that it may have servers: it gets no lease.
    MayHaveServers,
}

impl State {
    /// Whether a node works, or is only restarting.
    fn works(self) -> bool {
        matches!(self, Self::Available | Self::Unready)
    }

    /// Whether a node is dead.
    pub fn is_dead(self) -> bool {
        matches!(self, Self::Dead | Self::Away)
    }

    /// Whether a node is one of those that are divided. A dead one is as long as a share keeps it.
    fn counts(self, is_leased: bool) -> bool {
        self.works() || self == Self::Away || self == Self::Dead && is_leased
    }
}

/// A failure domain: a rack in a zone. Nodes of unknown domain are in one domain.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Domain {
    /// The zone.
    pub zone: String,
    /// The rack, or whatever else fails at once within a zone.
    pub rack: String,
}

/// A share, as far as it counts for leases. Shares are ordered by age.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share {
    /// When it was created, RFC 3339.
    pub created: String,
    /// Its name.
    pub name: String,
    /// The control plane that it leases nodes for.
    pub control_plane: String,
    /// The part of the pool that it is due, against the weights of the other shares.
    pub weight: u32,
    /// The number of nodes that it is due before weights count.
    pub min_hosts: u32,
    /// The number of nodes that it never exceeds.
    pub max_hosts: Option<u32>,
    /// Whether it gets no other nodes than those that it has.
    pub is_held: bool,
}

/// How a pool is divided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Division {
    /// The nodes to lease now, with the control plane of each.
    pub granted: BTreeMap<String, String>,
    /// The leased nodes to drain from now on.
    pub drained: BTreeSet<String>,
    /// By share, the nodes of `drained` that were chosen while others that work stay.
    pub chosen: BTreeMap<String, BTreeSet<String>>,
    /// The nodes to drain no longer.
    pub resumed: BTreeSet<String>,
    /// Each share that counts, by its name. Of several shares for one control plane, the eldest counts.
    pub parts: BTreeMap<String, Part>,
}

impl Division {
    /// Leaves a share the nodes that are chosen of it, so that they can be chosen anew once more is known.
    pub fn postpone(&mut self, share: &str) {
        let chosen = self.chosen.remove(share).unwrap_or_default();
        for name in &chosen {
            self.drained.remove(name);
        }
        if let Some(part) = self.parts.get_mut(share) {
            part.hosts += chosen.len();
            part.draining = part.draining.saturating_sub(chosen.len());
        }
    }
}

/// What one share has of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The number of its nodes that are neither drained nor dead, once the division is carried out.
    pub hosts: usize,
    /// The number of its nodes that are drained then.
    pub draining: usize,
    /// The number of nodes that it is due.
    pub due: usize,
    /// The number of its dead nodes for which it gets no others.
    pub unreplaced: usize,
}

/// The nodes of one share.
#[derive(Default)]
struct Held<'a> {
    /// Those that stay.
    leased: Vec<&'a Node>,
    /// Those that are dead, and stay as they are.
    dead: Vec<&'a Node>,
    /// Those that leave the pool, and aren't drained yet.
    leaving: Vec<&'a Node>,
    /// Those that are drained and may be taken back.
    returning: Vec<&'a Node>,
    /// The number of the others.
    ending: usize,
}

impl<'a> Held<'a> {
    fn add(&mut self, node: &'a Node, phase: LeasePhase) {
        match (phase, node.state) {
            (LeasePhase::Leased, State::Leaving) => self.leaving.push(node),
            (LeasePhase::Leased, state) if state.is_dead() => self.dead.push(node),
            (LeasePhase::Leased, _) => self.leased.push(node),
            (LeasePhase::Draining, state) if state.works() => self.returning.push(node),
            _ => self.ending += 1,
        }
    }

    /// The number of nodes that the share may have.
    fn most(&self, share: &Share) -> usize {
        let most = share.max_hosts.map_or(usize::MAX, size);
        match share.is_held {
            true => most.min(self.leased.len() + self.returning.len() + self.dead.len()),
            false => most,
        }
    }

    /// How many nodes it has beyond what it is due, once it has taken its own back.
    fn beyond(&self, due: usize) -> usize {
        let leased = self.leased.len();
        let alive = leased.max(due.min(leased + self.returning.len()));
        (alive + self.dead.len()).saturating_sub(due)
    }

    /// The number of dead nodes for which the share may get others.
    fn replaceable(&self, share: &Share) -> usize {
        let dead = self.dead.iter().filter(|node| node.state == State::Dead);
        if share.is_held { 0 } else { dead.count() }
    }
}

/// Divides a pool. `reserve` nodes stay free; free ones that are dead are some of them, so that no share replaces them.
///
/// Where the shares' `minHosts` exceed the pool, elder shares get theirs first. Leased nodes that aren't Ready count, and so do dead ones: a
/// failure costs no share a node that works. For a dead node of its own, a share gets another one if it is free, within limits. It gives up
/// no node that works before it has as many as it is due, so that it has more nodes than that while dead ones are among them.
pub fn divide(nodes: &[Node], shares: &[Share], reserve: u32) -> Division {
    let mut shares: Vec<&Share> = shares.iter().collect();
    shares.sort();
    let mut seen = BTreeSet::new();
    shares.retain(|share| seen.insert(share.control_plane.as_str()));

    let spare = nodes
        .iter()
        .filter(|node| node.lease.is_none() && node.state == State::Dead);
    let reserve = size(reserve).saturating_sub(spare.count());
    let mut held: BTreeMap<&str, Held<'_>> =
        seen.iter().map(|plane| (*plane, Held::default())).collect();
    // Those that stay in the pool, and that no share keeps.
    let mut divisible = 0;
    for node in nodes {
        let holder = node
            .lease
            .as_ref()
            .map(|lease| (held.get_mut(lease.control_plane.as_str()), lease.phase));
        let counts = match holder {
            None => true,
            Some((None, _)) => false,
            Some((Some(held), phase)) => {
                held.add(node, phase);
                phase != LeasePhase::Leased
            }
        };
        divisible += usize::from(counts && node.state.counts(node.lease.is_some()));
    }
    let held = shares.iter().filter_map(|share| {
        let mut held = held.remove(share.control_plane.as_str())?;
        if share.max_hosts == Some(0) {
            // A share that is deleted waits for its dead nodes too, and says so.
            held.leased.append(&mut held.dead);
        }
        Some(held)
    });
    let held: Vec<Held<'_>> = held.collect();
    let mut counts: Vec<usize> = held.iter().map(|held| held.leased.len()).collect();
    let dead: usize = held.iter().map(|held| held.dead.len()).sum();
    let capacity = (counts.iter().sum::<usize>() + dead + divisible).saturating_sub(reserve);
    let most = shares.iter().zip(&held);
    let most: Vec<usize> = most.map(|(share, held)| held.most(share)).collect();
    let due = due(&shares, &most, &counts, capacity);
    let replaceable = shares.iter().zip(&held);
    let replaceable = replaceable.map(|(share, held)| held.replaceable(share));
    let replaceable: Vec<usize> = replaceable.collect();
    let beyond = held.iter().zip(&due);
    let beyond = beyond.map(|(held, due)| held.beyond(due.count));
    let beyond: Vec<usize> = beyond.collect();
    let replaced = replaced(&replaceable, &beyond, &due, nodes.len());
    let unreplaced = held.iter().zip(replaced);
    let unreplaced: Vec<usize> = unreplaced
        .map(|(held, replaced)| held.dead.len() - replaced)
        .collect();

    let mut division = Division::default();
    let mut staying = Vec::new();
    for (index, held) in held.iter().enumerate() {
        let (most, leased) = (due[index].count, held.leased.len());
        let kept = kept(&held.leased, most);
        let (mut stay, surplus): (Vec<&Node>, Vec<&Node>) = held
            .leased
            .iter()
            .partition(|node| kept.contains(node.name.as_str()));
        if is_choice(&surplus, &stay) {
            let names = surplus.iter().map(|node| node.name.clone());
            let share = shares[index].name.clone();
            division.chosen.insert(share, names.collect());
        }
        let drained = surplus.iter().chain(&held.leaving);
        division
            .drained
            .extend(drained.map(|node| node.name.clone()));
        let missing = most.saturating_sub(leased);
        let resumed = Free::of(held.returning.iter().copied()).take(missing, &stay);
        division
            .resumed
            .extend(resumed.into_iter().map(str::to_owned));
        let returning = held.returning.iter();
        stay.extend(returning.filter(|node| division.resumed.contains(&node.name)));
        counts[index] = stay.len();
        staying.push(stay);
    }

    let free = nodes
        .iter()
        .filter(|node| node.lease.is_none() && node.state == State::Available);
    let mut free = Free::of(free);
    let grantable = free.count.saturating_sub(reserve);
    let wanted = due.iter().zip(&unreplaced);
    let wanted: Vec<Due> = wanted.map(|(due, waits)| due.without(*waits)).collect();
    let hosts = hosts(&shares, &counts, &wanted, grantable);
    let missing = hosts.iter().zip(&counts).map(|(due, has)| due - has);
    let granted = free.divide(missing.zip(staying.iter().map(Vec::as_slice)));
    for (index, (share, held)) in shares.iter().zip(&held).enumerate() {
        let names = granted[index].iter();
        let lease = || share.control_plane.clone();
        division
            .granted
            .extend(names.map(|name| ((*name).to_owned(), lease())));
        let all = held.leased.len() + held.leaving.len() + held.returning.len() + held.ending;
        let part = Part {
            hosts: hosts[index],
            draining: all - counts[index],
            due: due[index].count,
            unreplaced: unreplaced[index],
        };
        division.parts.insert(share.name.clone(), part);
    }
    division
}

/// Whether other nodes of a share could be given up as well.
fn is_choice(surplus: &[&Node], stay: &[&Node]) -> bool {
    !surplus.is_empty() && stay.iter().any(|node| node.state == State::Available)
}

/// Returns those nodes of a share that stay when it may keep `count` of them: first those that can't be drained because they
/// aren't Ready, then those with the most servers, and of those with about as many the most evenly spread ones.
fn kept<'a>(leased: &[&'a Node], count: usize) -> BTreeSet<&'a str> {
    let (mut stay, ready): (Vec<&Node>, Vec<&Node>) =
        leased.iter().partition(|node| node.state == State::Unready);
    stay.sort();
    stay.truncate(count);
    let mut by_servers: BTreeMap<u32, Vec<&Node>> = BTreeMap::new();
    for node in ready {
        let nodes = by_servers.entry(node.servers.magnitude()).or_default();
        nodes.push(node);
    }
    let mut kept = BTreeSet::new();
    for nodes in by_servers.into_values().rev() {
        let left = count - stay.len();
        if nodes.len() > left {
            kept.extend(Free::of(nodes).take(left, &stay));
            break;
        }
        stay.extend(nodes);
    }
    kept.extend(stay.iter().map(|node| node.name.as_str()));
    kept
}

/// Takes nodes as evenly over failure domains as possible.
pub fn spread<'a>(nodes: impl IntoIterator<Item = &'a Node>, count: usize) -> Vec<&'a str> {
    Free::of(nodes).take(count, &[])
}

pub(crate) fn size(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn wide(count: usize) -> u128 {
    u128::try_from(count).unwrap_or(u128::MAX)
}
