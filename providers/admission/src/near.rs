//! What a misspelt name may have meant.

/// How alike two names must be at least: 1 is the same, 0 nothing in common.
const ALIKE: f64 = 0.6;

/// Returns the name that is most like a given one, if any is like it at all. Of equals the first.
pub fn near<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let mut nearest = (None, ALIKE);
    for candidate in names {
        let alike = strsim::normalized_damerau_levenshtein(name, candidate);
        if alike > nearest.1 {
            nearest = (Some(candidate), alike);
        }
    }
    nearest.0
}
