//! Names of composed resources that several parts of the recipe look at.

/// The namespace in the control plane cluster, which holds everything else there.
pub const NAMESPACE: &str = "namespace";

/// The ControlPlane; while it exists, the claim has been served before.
pub const CONTROL_PLANE: &str = "control-plane";

/// The share of a hypervisor pool.
pub fn share(pool: &str) -> String {
    format!("share-{pool}")
}
