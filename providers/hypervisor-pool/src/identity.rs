//! By what a share is known where it is created again.

use c5c3_api::hypervisor::HypervisorShareSpec;
use provider_composer::Subject;

/// Returns the identity of the share whose files and servers are on the nodes. It outlasts the share, which has another UID where it is
/// created again. None while the share has no UID either, as in a plan.
pub fn identity(share: &Subject<HypervisorShareSpec>) -> Option<&str> {
    let identity = share.spec.identity.as_deref();
    identity.or(share.metadata.uid.as_deref())
}
