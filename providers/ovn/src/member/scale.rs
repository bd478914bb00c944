//! How members are added and removed.

use std::collections::BTreeSet;

/// How many members there are and should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    /// Pods.
    pub(super) replicas: u32,
    /// Members that stay; a pod with a higher ordinal leaves the cluster.
    pub(super) announced: u32,
}

impl Scale {
    /// The next step from what there is to what is wanted. Members are added at once, and removed one at a time: the last
    /// one is asked to leave, and its pod is removed when it has left. While another one is missing no member is asked, since
    /// the majority might be lost.
    pub(super) fn next(current: Option<Self>, wanted: u32, ready: &BTreeSet<u32>) -> Self {
        let stay = Self {
            replicas: wanted,
            announced: wanted,
        };
        let Some(current) = current.filter(|current| current.replicas > wanted) else {
            return stay;
        };
        let last = current.replicas - 1;
        let leaves = current.announced <= last;
        match (0..last).all(|ordinal| ready.contains(&ordinal)) {
            false => current,
            true if leaves && !ready.contains(&last) => Self {
                replicas: last,
                announced: last,
            },
            true => Self {
                announced: last,
                ..current
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn next(replicas: u32, announced: u32, wanted: u32, ready: &[u32]) -> (u32, u32) {
        let current = Scale {
            replicas,
            announced,
        };
        let next = Scale::next(Some(current), wanted, &ready.iter().copied().collect());
        (next.replicas, next.announced)
    }

    #[test]
    fn members_are_added_at_once_and_removed_one_at_a_time() {
        let all = BTreeMap::from([
            ("added", next(1, 1, 3, &[0])),
            (
                "the last one is asked to leave",
                next(5, 5, 3, &[0, 1, 2, 3, 4]),
            ),
            ("it hasn't left yet", next(5, 4, 3, &[0, 1, 2, 3, 4])),
            ("it has left", next(5, 4, 3, &[0, 1, 2, 3])),
            ("then the next one is asked", next(4, 4, 3, &[0, 1, 2, 3])),
            ("it has left too", next(4, 3, 3, &[0, 1, 2])),
            ("another one is missing", next(5, 5, 3, &[0, 1, 3, 4])),
            ("another one is lost meanwhile", next(5, 4, 3, &[0, 1, 3])),
            ("the last one was never ready", next(3, 3, 1, &[0, 1])),
            ("wanted again", next(3, 2, 3, &[0, 1])),
        ]);
        let expected = BTreeMap::from([
            ("added", (3, 3)),
            ("the last one is asked to leave", (5, 4)),
            ("it hasn't left yet", (5, 4)),
            ("it has left", (4, 4)),
            ("then the next one is asked", (4, 3)),
            ("it has left too", (3, 3)),
            ("another one is missing", (5, 5)),
            ("another one is lost meanwhile", (5, 4)),
            ("the last one was never ready", (3, 2)),
            ("wanted again", (3, 3)),
        ]);
        assert_eq!(all, expected);
    }
}
