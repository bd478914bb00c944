//! The phases of a change of release, in their order.

use c5c3_api::control_plane::UpdatePhase;
use provider_composer::Reason;

/// Whether a change of release goes on, and doesn't return.
pub(super) fn is_under_way(phase: UpdatePhase) -> bool {
    (UpdatePhase::Validating..=UpdatePhase::Verifying).contains(&phase)
}

/// The phase after one that has nothing left to wait for.
pub(super) fn following(phase: UpdatePhase) -> UpdatePhase {
    match phase {
        UpdatePhase::Validating => UpdatePhase::UpdatingInfra,
        UpdatePhase::UpdatingInfra => UpdatePhase::UpdatingKeystone,
        UpdatePhase::UpdatingKeystone => UpdatePhase::UpdatingServices,
        UpdatePhase::UpdatingServices => UpdatePhase::Verifying,
        _ => UpdatePhase::Complete,
    }
}

/// The reason of a condition while a phase is under way.
pub(super) fn reason(phase: UpdatePhase) -> Reason {
    match phase {
        UpdatePhase::Idle | UpdatePhase::Complete => Reason::Ready,
        UpdatePhase::Validating => Reason::Validating,
        UpdatePhase::UpdatingInfra => Reason::UpdatingInfra,
        UpdatePhase::UpdatingKeystone => Reason::UpdatingKeystone,
        UpdatePhase::UpdatingServices => Reason::UpdatingServices,
        UpdatePhase::Verifying => Reason::Verifying,
        UpdatePhase::RollingBack => Reason::RollingBack,
    }
}
