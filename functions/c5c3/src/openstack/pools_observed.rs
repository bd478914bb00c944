//! Whether a claim's services reach their pools in Ceph, and whether the pools have capacity left.

use c5c3_api::Reason;
use c5c3_api::control_plane::ControlPlaneStatus;
use function_protocol::Response;

use crate::observed::condition;
use crate::transitions;

/// The conditions of the claim, and of its ControlPlane.
const TYPES: [&str; 2] = ["CephConnected", "CapacityAvailable"];

/// Repeats the conditions of the ControlPlane. The claim is Ready without.
pub fn pools_observed(control_plane: &ControlPlaneStatus, response: &mut Response) {
    for type_ in TYPES {
        if let Some(reported) = condition(&control_plane.conditions, type_) {
            let wrong = [Reason::CephUnreachable, Reason::NearlyFull];
            let is_wrong = wrong.iter().any(|reason| reported.reason == reason.name());
            transitions::note(response, type_, reported, is_wrong);
        } else {
            let message = "no service reports its pools";
            transitions::lapse(response, type_, None, Reason::Waiting, message);
        }
    }
}
