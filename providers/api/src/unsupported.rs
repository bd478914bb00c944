//! What users may ask for and this version doesn't deploy.

/// Something that this version doesn't deploy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsupported {
    /// Octavia.
    Octavia,
    /// Manila.
    Manila,
    /// Cortex, by a claim.
    Cortex,
    /// A filesystem in Ceph.
    Filesystem,
    /// An object store in Ceph.
    ObjectStore,
}

impl Unsupported {
    /// Why it isn't deployed.
    pub const fn why(self) -> &'static str {
        match self {
            Self::Octavia => "no operator deploys Octavia",
            Self::Manila => "no operator deploys Manila",
            Self::Cortex => "no operator deploys Cortex",
            Self::Filesystem => {
                "users of the cloud reach the filesystem by Manila only, which no operator deploys"
            }
            Self::ObjectStore => {
                "the object store has no users of Keystone and no entry in the catalogue"
            }
        }
    }
}

/// Says which fields ask for something that isn't deployed, and what to do with each; none where no field does. Each comes with
/// whether it asks.
pub fn sentence(requests: &[(bool, &str, Unsupported)], remedy: &str) -> Option<String> {
    let unsupported = requests.iter().filter(|(requested, ..)| *requested);
    let each: Vec<String> = unsupported
        .map(|(_, field, what)| format!("{field}: {}", what.why()))
        .collect();
    (!each.is_empty()).then(|| {
        format!(
            "this version doesn't support {}; {remedy}; everything else is deployed",
            each.join("; ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentence_names_the_fields_that_ask() {
        let requests = [
            (true, "spec.a", Unsupported::Octavia),
            (false, "spec.b", Unsupported::Cortex),
            (true, "spec.c", Unsupported::Manila),
        ];
        assert_eq!(
            sentence(&requests, "remove each").unwrap(),
            "this version doesn't support spec.a: no operator deploys Octavia; spec.c: no operator deploys Manila; \
             remove each; everything else is deployed"
        );
        assert_eq!(sentence(&requests[1..2], "remove each"), None);
    }
}
