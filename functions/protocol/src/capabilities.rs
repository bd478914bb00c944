//! What the core can do.

use crate::v1::{Capability, RequestMeta};

/// What the calling core advertises: a small set of [`Capability`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(u32);

impl Capabilities {
    /// Those a request advertises. Numbers this version of the protocol does not know are left out.
    pub fn of(meta: Option<&RequestMeta>) -> Self {
        let advertised = meta.into_iter().flat_map(RequestMeta::capabilities);
        Self(advertised.fold(0, |bits, capability| bits | bit(capability)))
    }

    /// Whether the core advertises this capability.
    pub fn contains(self, capability: Capability) -> bool {
        self.0 & bit(capability) != 0
    }

    /// Whether the core advertises capabilities at all (2.2 and later): only then does a missing one mean anything.
    pub fn known(self) -> bool {
        self.contains(Capability::Capabilities)
    }

    /// Whether the core advertises that it can't do this.
    pub fn lacks(self, capability: Capability) -> bool {
        self.known() && !self.contains(capability)
    }
}

fn bit(capability: Capability) -> u32 {
    1 << (capability as u32)
}
