//! How many machines each group of a Shoot has. Gardener deletes machines of a group that becomes smaller, whatever the others get, so
//! that groups become smaller only where all of them together do.

/// The number of machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Fewest.
    pub minimum: u32,
    /// Most.
    pub maximum: u32,
}

impl Size {
    /// As many machines, no more and no fewer.
    pub fn exactly(machines: u32) -> Self {
        Size {
            minimum: machines,
            maximum: machines,
        }
    }

    /// The size of all groups together.
    pub fn sum(groups: impl Iterator<Item = Size>) -> Self {
        groups.fold(Size::default(), |sum, group| Size {
            minimum: sum.minimum.saturating_add(group.minimum),
            maximum: sum.maximum.saturating_add(group.maximum),
        })
    }
}

/// The machines that a Shoot has, over its groups of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastSize {
    /// The groups, by name.
    pub groups: Vec<(String, Size)>,
    /// All groups together.
    pub all: Size,
}

impl LastSize {
    /// The name of each group with its last size, and its size once all groups together have another.
    pub fn resized(&self, wanted: Size) -> impl Iterator<Item = (&str, Size, Size)> {
        let last: Vec<Size> = self.groups.iter().map(|(_, last)| *last).collect();
        let groups = self.groups.iter().zip(resized(&last, wanted));
        groups.map(|((name, last), size)| (name.as_str(), *last, size))
    }
}

/// The size of each group once all groups together have the size `wanted`: the smallest groups get more machines, and the largest ones
/// lose machines.
pub fn resized(last: &[Size], wanted: Size) -> Vec<Size> {
    let all = Size::sum(last.iter().copied());
    let highest = last.iter().map(|group| (group.maximum, u32::MAX));
    let highest = divided(wanted.maximum.max(all.maximum), highest.collect());
    let minima = last.iter().zip(&highest).map(|(group, highest)| {
        if wanted.minimum < all.minimum {
            (0, group.minimum)
        } else {
            (group.minimum, *highest)
        }
    });
    let minima = divided(wanted.minimum, minima.collect());
    let maxima = minima.iter().copied().zip(highest).collect();
    let maxima = divided(wanted.maximum, maxima);
    let sizes = minima.into_iter().zip(maxima);
    sizes
        .map(|(minimum, maximum)| Size { minimum, maximum })
        .collect()
}

/// Divides machines among groups, each with the fewest and the most that it may have, as equally as these allow. The first groups get
/// what is left over, as Gardener divides the machines of one group over its zones.
fn divided(machines: u32, groups: Vec<(u32, u32)>) -> Vec<u32> {
    let at = |level: u32| {
        let groups = groups.iter();
        groups.map(move |(fewest, most)| level.max(*fewest).min(*most))
    };
    let left = |level: u32| u64::from(machines).checked_sub(at(level).map(u64::from).sum());
    // The highest level that takes no more machines than there are.
    let (mut level, mut above) = (0, machines);
    while level < above {
        let middle = above - (above - level) / 2;
        match left(middle) {
            Some(_) => level = middle,
            None => above = middle - 1,
        }
    }
    let mut left = left(level).unwrap_or_default();
    let groups = at(level).zip(at(level.saturating_add(1)));
    groups
        .map(|(size, more)| {
            if more > size && left > 0 {
                left -= 1;
                more
            } else {
                size
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Size, resized};

    fn sizes<const N: usize>(groups: [[u32; 2]; N]) -> Vec<Size> {
        let size = |[minimum, maximum]: [u32; 2]| Size { minimum, maximum };
        groups.into_iter().map(size).collect()
    }

    #[test]
    fn groups_that_do_not_exist_yet_are_of_equal_size() {
        let new = [Size::default(); 3];
        for (machines, expected) in [(6, [2, 2, 2]), (7, [3, 2, 2]), (8, [3, 3, 2])] {
            let expected: Vec<Size> = expected.map(Size::exactly).into();
            assert_eq!(resized(&new, Size::exactly(machines)), expected);
        }
        assert_eq!(resized(&[], Size::exactly(3)), []);
    }

    #[test]
    fn groups_lose_machines_only_where_all_of_them_together_do() {
        let last = [5, 6, 5].map(Size::exactly);
        for (machines, expected) in [
            (14, [5, 5, 4]),
            (15, [5, 5, 5]),
            (16, [5, 6, 5]),
            (17, [6, 6, 5]),
            (18, [6, 6, 6]),
            (19, [7, 6, 6]),
        ] {
            let expected: Vec<Size> = expected.map(Size::exactly).into();
            assert_eq!(resized(&last, Size::exactly(machines)), expected);
        }
        let far = [1, 9, 2].map(Size::exactly);
        assert_eq!(
            resized(&far, Size::exactly(14)),
            [3, 9, 2].map(Size::exactly)
        );
        assert_eq!(
            resized(&far, Size::exactly(10)),
            [1, 7, 2].map(Size::exactly)
        );
    }

    #[test]
    fn group_never_has_a_minimum_above_its_maximum() {
        for (last, [minimum, maximum], expected) in [
            // More machines at least, where one group can't have more.
            ([[1, 2], [8, 20]], [14, 22], [[2, 2], [12, 20]]),
            ([[1, 2], [8, 20]], [14, 40], [[6, 20], [8, 20]]),
            // Fewer machines at most, of which each group keeps its fewest.
            ([[5, 10], [6, 10]], [11, 11], [[5, 5], [6, 6]]),
            ([[5, 10], [6, 10]], [4, 9], [[2, 5], [2, 4]]),
            (
                [[u32::MAX; 2]; 2],
                [7, u32::MAX],
                [[4, u32::MAX / 2 + 1], [3, u32::MAX / 2]],
            ),
        ] {
            let resized = resized(&sizes(last), Size { minimum, maximum });
            assert_eq!(resized, sizes(expected));
        }
    }
}
