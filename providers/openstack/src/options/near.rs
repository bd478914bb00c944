//! Suggestions for misspelt names.

/// How alike two names must be at least: 1 is the same, 0 nothing in common.
const ALIKE: f64 = 0.6;

/// The most similar name, if any is similar enough. Of equally similar names the first.
pub fn near<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let mut nearest = None;
    let mut most = ALIKE;
    for candidate in names {
        let alike = strsim::normalized_damerau_levenshtein(name, candidate);
        if alike > most {
            (nearest, most) = (Some(candidate), alike);
        }
    }
    nearest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("memcach_servers", Some("memcache_servers"))]
    #[case("experation", Some("expiration"))]
    #[case("pool_size", Some("max_pool_size"))]
    #[case("backened", Some("backend"))]
    #[case("something_else", None)]
    #[case("", None)]
    fn names_alike(#[case] name: &str, #[case] meant: Option<&str>) {
        let names = ["backend", "expiration", "max_pool_size", "memcache_servers"];
        assert_eq!(near(name, names.into_iter()), meant);
    }
}
