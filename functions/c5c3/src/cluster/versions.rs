//! Versions such as 1.34 and 1.34.2.

use std::cmp::Ordering;

/// Compares the components that both versions have; `None` where one isn't numeric.
pub fn compare(left: &str, right: &str) -> Option<Ordering> {
    let (left, right) = (numbers(left)?, numbers(right)?);
    let common = left.len().min(right.len());
    Some(left[..common].cmp(&right[..common]))
}

/// The newer version, or the more specific one where they are equal as far as both go.
pub fn newer(wanted: &str, running: &str) -> String {
    let says_more = || running.split('.').count() > wanted.split('.').count();
    let is_newer = match compare(running, wanted) {
        Some(Ordering::Greater) => true,
        Some(Ordering::Equal) => says_more(),
        Some(Ordering::Less) | None => false,
    };
    if is_newer { running } else { wanted }.to_owned()
}

/// `wanted`, or the next minor version where `wanted` is more than one ahead.
pub fn next_step(wanted: &str, running: &str) -> String {
    match (major_minor(wanted), major_minor(running)) {
        (Some((major, goal)), Some((same, minor))) if major == same && goal > minor + 1 => {
            format!("{major}.{}", minor + 1)
        }
        _ => wanted.to_owned(),
    }
}

/// The major and the minor version.
pub fn major_minor(version: &str) -> Option<(u64, u64)> {
    match numbers(version)?[..] {
        [major, minor, ..] => Some((major, minor)),
        _ => None,
    }
}

fn numbers(version: &str) -> Option<Vec<u64>> {
    version.split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::{newer, next_step};

    #[test]
    fn version_is_never_lowered() {
        for (wanted, running, expected) in [
            ("1.33", "1.33.4", "1.33.4"),
            ("1.33.4", "1.33", "1.33.4"),
            ("1.33", "1.34.1", "1.34.1"),
            ("1.33.9", "1.33.10", "1.33.10"),
            ("1.35", "1.34.1", "1.35"),
            ("1877.3.0", "1877.0.0", "1877.3.0"),
            ("rolling", "1877.0.0", "rolling"),
            ("1.33", "rolling", "1.33"),
        ] {
            assert_eq!(newer(wanted, running), expected, "{wanted} {running}");
        }
    }

    #[test]
    fn version_is_raised_by_one_minor_at_a_time() {
        for (wanted, running, next) in [
            ("1.36", "1.33.4", "1.34"),
            ("1.36.1", "1.34.0", "1.35"),
            ("1.36.1", "1.35.7", "1.36.1"),
            ("1.36.3", "1.36.1", "1.36.3"),
            ("1.33", "1.35.7", "1.33"),
            ("2.5", "1.35.7", "2.5"),
        ] {
            assert_eq!(next_step(wanted, running), next, "{wanted} {running}");
        }
    }
}
