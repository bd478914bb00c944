//! The number of nodes that each share is due, and that it gets of those that are free.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::{Share, size, wide};

/// What a share is due.
#[derive(Clone, Copy)]
pub struct Due {
    /// The part of it that comes before weights count.
    least: usize,
    pub count: usize,
}

impl Due {
    /// What is due besides so many nodes.
    pub fn without(self, nodes: usize) -> Self {
        Self {
            least: self.least.saturating_sub(nodes),
            count: self.count.saturating_sub(nodes),
        }
    }
}

/// Returns what each share is due of `capacity` nodes: its weight's part, raised to `minHosts` and lowered to its limit in `most`,
/// rounded so that no share loses a node that it may keep.
pub fn due(shares: &[&Share], most: &[usize], held: &[usize], capacity: usize) -> Vec<Due> {
    let mut rest = capacity;
    let mut least = Vec::new();
    for (share, most) in shares.iter().zip(most) {
        let count = size(share.min_hosts).min(*most).min(rest);
        rest -= count;
        least.push(count);
    }
    let (fixed, level) = fixed(shares, &least, most, capacity);
    let mut counts: Vec<usize> = Vec::new();
    let mut fractions = Vec::new();
    for (index, share) in shares.iter().enumerate() {
        match fixed[index] {
            Some(count) => counts.push(count),
            None => {
                let (count, fraction) = level.part(share.weight);
                counts.push(count);
                if fraction > 0 {
                    let keeps = held[index] > count;
                    fractions.push((Reverse(keeps), Reverse(fraction), index));
                }
            }
        }
    }
    let whole: usize = counts.iter().sum();
    fractions.sort_unstable();
    let spare = match level.weights {
        0 => 0,
        _ => capacity.saturating_sub(whole),
    };
    for (_, _, index) in fractions.into_iter().take(spare) {
        counts[index] += 1;
    }
    let counts = counts.into_iter().zip(least);
    counts.map(|(count, least)| Due { least, count }).collect()
}

/// The nodes that are divided by weight, and the sum of the weights.
#[derive(Clone, Copy)]
struct Level {
    nodes: usize,
    weights: u64,
}

impl Level {
    /// The whole nodes of a weight, and what is left of its part in `weights`ths of a node.
    fn part(self, weight: u32) -> (usize, u128) {
        let Some(weights) = Some(u128::from(self.weights)).filter(|weights| *weights > 0) else {
            return (0, 0);
        };
        let part = self.scaled(weight);
        let whole = usize::try_from(part / weights).unwrap_or(usize::MAX);
        (whole, part % weights)
    }

    /// The part of a weight, in `weights`ths of a node.
    fn scaled(self, weight: u32) -> u128 {
        wide(self.nodes) * u128::from(weight)
    }
}

/// Returns the shares whose limits decide, with their numbers, and how the rest is divided.
///
/// Limits are fixed in rounds, as CSS resolves flexible lengths (<https://www.w3.org/TR/css-flexbox-1/#resolve-flexible-lengths>):
/// where raising to the minima takes more than lowering to the maxima gives, the minima are final, and the other way round.
fn fixed(
    shares: &[&Share],
    least: &[usize],
    most: &[usize],
    capacity: usize,
) -> (Vec<Option<usize>>, Level) {
    let mut fixed: Vec<Option<usize>> = vec![None; shares.len()];
    loop {
        let open = || (0..shares.len()).filter(|index| fixed[*index].is_none());
        let taken: usize = fixed.iter().flatten().sum();
        let level = Level {
            nodes: capacity.saturating_sub(taken),
            weights: open().map(|index| u64::from(shares[index].weight)).sum(),
        };
        let scale = u128::from(level.weights);
        let (mut low, mut high) = (Vec::new(), Vec::new());
        let (mut missing, mut excess) = (0, 0);
        for index in open() {
            let part = level.scaled(shares[index].weight);
            let (floor, ceiling) = (wide(least[index]) * scale, wide(most[index]) * scale);
            if part < floor {
                missing += floor - part;
                low.push((index, least[index]));
            } else if part > ceiling {
                excess += part - ceiling;
                high.push((index, most[index]));
            }
        }
        if level.weights == 0 {
            low = open().map(|index| (index, least[index])).collect();
        }
        if low.is_empty() && high.is_empty() {
            return (fixed, level);
        }
        let final_low = if missing >= excess { low } else { Vec::new() };
        let final_high = if excess >= missing { high } else { Vec::new() };
        for (index, count) in final_low.into_iter().chain(final_high) {
            fixed[index] = Some(count);
        }
    }
}

/// Returns how many nodes each share has once `free` nodes are leased: first to elder shares up to their `minHosts`, then
/// to those with the least for their weight. A share that has more than it is due keeps them.
pub fn hosts(shares: &[&Share], held: &[usize], due: &[Due], free: usize) -> Vec<usize> {
    let mut counts = held.to_vec();
    let mut free = free;
    for (count, due) in counts.iter_mut().zip(due) {
        let urgent = due.least.saturating_sub(*count).min(free);
        *count += urgent;
        free -= urgent;
    }
    let open = (0..shares.len()).filter(|index| counts[*index] < due[*index].count);
    let mut queue: BinaryHeap<Reverse<Candidate>> = open
        .map(|index| {
            let (count, weight) = (counts[index], shares[index].weight);
            Reverse(Candidate {
                count,
                weight,
                index,
            })
        })
        .collect();
    for _ in 0..free {
        let Some(mut next) = queue.peek_mut() else {
            break;
        };
        let Reverse(candidate) = &mut *next;
        candidate.count += 1;
        counts[candidate.index] = candidate.count;
        if candidate.count == due[candidate.index].count {
            PeekMut::pop(next);
        }
    }
    counts
}

/// A share that gets another node. The one that has the least for its weight comes first.
#[derive(PartialEq, Eq)]
struct Candidate {
    count: usize,
    weight: u32,
    index: usize,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let scaled = |one: &Self, by: &Self| wide(one.count) * u128::from(by.weight);
        let parts = scaled(self, other).cmp(&scaled(other, self));
        parts.then(self.index.cmp(&other.index))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
