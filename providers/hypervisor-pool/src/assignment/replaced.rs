//! How many dead nodes are replaced.
//!
//! A dead node keeps its lease, so that each replacement makes its share larger than it should be, and takes a free node from others.
//! Machines fail one by one, and many dead nodes at once most likely come back.

use super::due::Due;

/// The part of a share or of a pool that is replaced at most, and at least one node of it.
const TENTH: usize = 10;

fn limit(nodes: usize) -> usize {
    (nodes / TENTH).max(1)
}

/// Returns how many dead nodes of each share are replaced: at most a tenth of what it is due, and of all of the pool. Neither number changes
/// with a replacement, so that there is no further one. A share that has so many nodes `beyond` what it is due has replaced as many, whichever
/// share failed first; the others take turns.
pub fn replaced(dead: &[usize], beyond: &[usize], due: &[Due], pool: usize) -> Vec<usize> {
    let most = dead.iter().zip(due);
    let most: Vec<usize> = most
        .map(|(dead, due)| limit(due.count).min(*dead))
        .collect();
    let replaced = beyond.iter().zip(&most);
    let mut replaced: Vec<usize> = replaced.map(|(beyond, most)| *beyond.min(most)).collect();
    let mut left = limit(pool).saturating_sub(replaced.iter().sum());
    let mut is_open = true;
    while is_open {
        is_open = false;
        for (replaced, most) in replaced.iter_mut().zip(&most) {
            if *replaced < *most && left > 0 {
                *replaced += 1;
                left -= 1;
                is_open = true;
            }
        }
    }
    replaced
}
