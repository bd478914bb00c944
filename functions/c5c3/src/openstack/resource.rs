//! Names of composed resources that several parts of the recipe look at.

/// The namespace in the control plane cluster, which holds everything else there.
pub const NAMESPACE: &str = "namespace";

/// The ControlPlane; while it exists, the claim has been served before.
pub const CONTROL_PLANE: &str = "control-plane";

/// What the names of shares begin with; the name of the hypervisor pool follows.
pub const SHARE: &str = "share-";

/// The share of a hypervisor pool.
pub fn share(pool: &str) -> String {
    format!("{SHARE}{pool}")
}
