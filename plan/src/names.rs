//! Names as Crossplane generates them, but the same every time.

use sha2::{Digest, Sha256};

/// The letters and digits of names that Kubernetes generates (k8s.io/apimachinery, pkg/util/rand).
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// The longest prefix of a name that Kubernetes generates (k8s.io/apiserver, pkg/storage/names).
const LONGEST_BASE: usize = 58;

/// A name as Kubernetes generates it: `<base>-` and five letters or digits, which here follow from the seed.
pub fn generated(base: &str, seed: &str) -> String {
    let hash = Sha256::digest(seed.as_bytes());
    let suffix = hash.iter().take(5).map(|byte| {
        let letter = LETTERS.get(usize::from(*byte) % LETTERS.len());
        char::from(letter.copied().unwrap_or(b'b'))
    });
    let base: String = format!("{base}-").chars().take(LONGEST_BASE).collect();
    base.chars().chain(suffix).collect()
}

/// A name as Crossplane 2 makes it up: `<parent>-` and twelve hexadecimal digits (crossplane, internal/names). There they
/// follow from the parent's UID; here from its path.
pub fn child(parent: &str, parent_path: &str, resource: &str) -> String {
    const DIGITS: usize = 12;
    const LONGEST: usize = 63;
    let hash = Sha256::digest(format!("{parent_path}{resource}").as_bytes());
    let hex: String = hash
        .iter()
        .take(DIGITS / 2)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let parent: String = parent.chars().take(LONGEST - DIGITS - 1).collect();
    format!("{parent}-{hex}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_name_is_as_kubernetes_would_have_it() {
        let name = generated("customer-a-prod", "tenant/customer-a-prod");
        let suffix = name.strip_prefix("customer-a-prod-").unwrap();
        assert_eq!(suffix.len(), 5);
        assert!(
            suffix.bytes().all(|byte| LETTERS.contains(&byte)),
            "{suffix}"
        );
        assert_eq!(name, generated("customer-a-prod", "tenant/customer-a-prod"));
        assert_ne!(name, generated("customer-a-prod", "other/customer-a-prod"));
    }

    #[test]
    fn a_long_name_is_cut_to_what_kubernetes_allows() {
        let long = "a".repeat(80);
        assert_eq!(generated(&long, "seed").len(), 63);
        assert_eq!(child(&long, "a/b", "c").len(), 63);
        assert_eq!(child("short", "a/short", "c").len(), "short-".len() + 12);
    }
}
