//! Names that follow from a claim's name, and names made to fit.

use std::fmt;

use c5c3_api::openstack_cluster::RESERVED_NAMES;
use function_protocol::Fatal;
use sha2::{Digest, Sha256};

/// Name of a cluster's composed provider configuration.
pub const ACCESS: &str = "access";

/// Longest name of a namespace, which is a DNS label.
const LABEL: usize = 63;

/// Longest name of an object store: Rook has a volume `rook-ceph-rgw-<name>-mime-types` in pods (rook, pkg/apis/ceph.rook.io/v1/object.go,
/// `ValidateObjectSpec`).
const OBJECT_STORE: usize = 38;

/// Longest name of a filesystem: Rook has a volume `rook-ceph-mds-<name>-a-keyring` in pods (rook, pkg/operator/ceph/config/keyring,
/// `VolumeBuilder`).
const FILESYSTEM: usize = 39;

/// What everything of one control plane is called.
#[derive(Clone, Debug)]
pub struct Names<'a> {
    claim: &'a str,
}

impl<'a> Names<'a> {
    /// The names for this claim.
    ///
    /// # Errors
    /// No namespace can be named after the claim, or one that belongs to operators would be.
    pub fn of(claim: &'a str) -> Result<Self, Fatal> {
        let names = Names { claim };
        if claim.contains('.') {
            return Err(Fatal::new(format!(
                "the namespace openstack-{claim} would have a dot in its name, which Kubernetes refuses; choose a name of \
                 lower-case letters, digits and dashes"
            )));
        }
        if RESERVED_NAMES.contains(&claim) {
            return Err(Fatal::new(format!(
                "the namespace openstack-{claim} is reserved for operators; choose another name"
            )));
        }
        let length = names.namespace().len();
        if length > LABEL {
            return Err(Fatal::new(format!(
                "the namespace openstack-{claim} would have {length} characters, and Kubernetes allows {LABEL}; \
                 choose a name of at most {} characters",
                LABEL - (length - claim.len())
            )));
        }
        Ok(names)
    }

    /// The ControlPlane.
    pub fn control_plane(&self) -> &'a str {
        self.claim
    }

    /// Namespace of the control plane.
    pub fn namespace(&self) -> String {
        format!("openstack-{}", self.claim)
    }

    /// Filesystem of Manila's shares.
    pub fn filesystem(&self) -> String {
        fitted(&self.with("cephfs"), FILESYSTEM)
    }

    /// Object store.
    pub fn object_store(&self) -> String {
        fitted(&self.with("objects"), OBJECT_STORE)
    }

    /// The claim's name and what a thing is for.
    pub fn with(&self, purpose: impl fmt::Display) -> String {
        format!("{}-{purpose}", self.claim)
    }
}

/// The name itself where it fits, else its beginning and a hash of the whole: 60 bits of SHA-256, so that nobody finds
/// another name with the same hash. What is left of `longest` is the beginning's.
pub fn fitted(name: &str, longest: usize) -> String {
    /// Base 32 without letters and digits that look alike.
    const DIGITS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    const LENGTH: usize = 12;
    if name.len() <= longest {
        return name.to_owned();
    }
    let hash = Sha256::digest(name);
    let digits = hash.iter().take(LENGTH).map(|byte| {
        let digit = DIGITS.get(usize::from(byte % 32)).copied();
        char::from(digit.unwrap_or(b'a'))
    });
    let hash: String = digits.collect();
    let beginning: String = name
        .chars()
        .take(longest.saturating_sub(LENGTH + 1))
        .collect();
    match beginning.trim_end_matches('-') {
        "" => hash,
        beginning => format!("{beginning}-{hash}"),
    }
}

/// Returns the sort key of a name in a round. Each round has another order.
pub fn draw(round: &str, name: &str) -> Vec<u8> {
    Sha256::digest(format!("{round}/{name}")).to_vec()
}

/// A number that follows from a name, FNV-1a.
pub fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fitted_keeps_a_name_that_fits() {
        assert_eq!(fitted("hv-pool-a", 17), "hv-pool-a");
    }

    #[test]
    fn fitted_cuts_a_long_name_and_keeps_it_unique() {
        let one = fitted("eu-de-1-control-plane", 17);
        let other = fitted("eu-de-1-control-place", 17);
        assert_eq!(one.len(), 17);
        assert_eq!(one, "eu-d-bxtbpg6vzicd");
        assert_ne!(one, other);
    }

    #[test]
    fn names_without_a_namespace_of_their_own_are_refused() {
        let refused = |name| Names::of(name).unwrap_err().to_string();
        assert_eq!(
            refused("a.b"),
            "the namespace openstack-a.b would have a dot in its name, which Kubernetes refuses; choose a name of lower-case \
             letters, digits and dashes"
        );
        for name in RESERVED_NAMES {
            let reserved = "is reserved for operators; choose another name";
            assert_eq!(
                refused(name),
                format!("the namespace openstack-{name} {reserved}")
            );
        }
    }

    #[test]
    fn a_claim_whose_namespace_is_too_long_is_told_how_long_it_may_be() {
        let name = "a".repeat(128);
        let error = Names::of(&name).unwrap_err().to_string();
        assert!(
            error.ends_with("choose a name of at most 53 characters"),
            "{error}"
        );
        assert!(Names::of(&"a".repeat(53)).is_ok());
    }
}
