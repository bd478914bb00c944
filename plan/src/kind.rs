//! The four kinds that users write.

use c5c3_api::{
    Claim, ControlPlaneClusterSpec, HypervisorClusterSpec, OpenStackClusterSpec, StorageClusterSpec,
};

use crate::manifest::Manifest;

/// A kind that users write. Pools come first: they exist before claims consume them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClaimKind {
    /// A cluster that runs control planes.
    ControlPlaneCluster,
    /// A pool of hypervisors.
    HypervisorCluster,
    /// A pool of storage.
    StorageCluster,
    /// A control plane.
    OpenStackCluster,
}

struct Facts {
    api_version: String,
    kind: &'static str,
    noun: &'static str,
    composition: &'static str,
}

fn facts<K: Claim>(noun: &'static str) -> Facts {
    Facts {
        api_version: K::api_version(),
        kind: K::KIND,
        noun,
        composition: K::COMPOSITION,
    }
}

impl ClaimKind {
    /// All of them, pools first.
    pub const ALL: [Self; 4] = [
        Self::ControlPlaneCluster,
        Self::HypervisorCluster,
        Self::StorageCluster,
        Self::OpenStackCluster,
    ];

    /// The kind of a claim, or of the composite resource behind one.
    pub fn of(manifest: &Manifest) -> Option<Self> {
        Self::named(manifest.api_version(), manifest.kind())
    }

    /// As [`ClaimKind::of`], by API version and kind.
    pub fn named(api_version: &str, kind: &str) -> Option<Self> {
        let bare = kind.strip_prefix('X').unwrap_or(kind);
        Self::ALL
            .into_iter()
            .find(|known| known.name() == bare && known.api_version() == api_version)
    }

    /// What the claim's kind is called.
    pub fn name(self) -> &'static str {
        self.facts().kind
    }

    /// What the kind of the composite resource behind a claim is called.
    pub fn composite(self) -> String {
        format!("X{}", self.name())
    }

    /// What people call it.
    pub fn noun(self) -> &'static str {
        self.facts().noun
    }

    /// Group and version.
    pub fn api_version(self) -> String {
        self.facts().api_version
    }

    /// The Composition of a claim that chooses none.
    pub fn composition(self) -> &'static str {
        self.facts().composition
    }

    /// Whether control planes consume it.
    pub fn is_pool(self) -> bool {
        self != Self::OpenStackCluster
    }

    fn facts(self) -> Facts {
        match self {
            Self::ControlPlaneCluster => facts::<ControlPlaneClusterSpec>("control plane cluster"),
            Self::HypervisorCluster => facts::<HypervisorClusterSpec>("hypervisor pool"),
            Self::StorageCluster => facts::<StorageClusterSpec>("storage pool"),
            Self::OpenStackCluster => facts::<OpenStackClusterSpec>("control plane"),
        }
    }
}
