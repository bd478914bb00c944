//! What stays of a control plane that runs when the claim's size, or what the Composition's input means by it, changes.

use c5c3_api::Reason;
use c5c3_api::control_plane::Infrastructure;
use c5c3_api::parts::Kept;
use function_protocol::{Fatal, Request, Response};
use serde::Deserialize;

use super::Recipe;
use super::site::CONTROL_PLANE;
use crate::observed::last_composed;
use crate::transitions;

/// Whether the control plane has the claim's size. It isn't set before it has been False.
const SIZE_ACCEPTED: &str = "SizeAccepted";

/// A ControlPlane as it was last composed.
#[derive(Deserialize)]
struct Composed {
    spec: Option<Spec>,
}

#[derive(Deserialize)]
struct Spec {
    infrastructure: Option<Infrastructure>,
}

/// The infrastructure of a size over the one that the ControlPlane was last composed with, which may run. What the ControlPlane
/// says, what its namespace may have and what its pods may do all follow from this one.
///
/// # Errors
/// The observed ControlPlane isn't one.
pub fn infrastructure(
    wanted: &Infrastructure,
    request: &Request,
) -> Result<Kept<Infrastructure>, Fatal> {
    let wanted = wanted.clone();
    let composed: Option<Composed> = last_composed(request, CONTROL_PLANE)?;
    let running = composed.and_then(|composed| composed.spec?.infrastructure);
    Ok(match running {
        Some(running) => wanted.kept(&running),
        None => Kept::nothing(wanted),
    })
}

impl Recipe<'_> {
    /// Says what the control plane keeps of its former size, and what to do.
    pub fn size_accepted(&self, response: &mut Response) {
        let kept = &self.infrastructure.fields;
        if !kept.is_empty() {
            let message = format!(
                "{}: while a control plane runs, volumes don't shrink and keep their StorageClass, RabbitMQ loses no members, a \
                 MariaDB of one member doesn't become a Galera cluster or the reverse, and MaxScale stays; everything else follows \
                 the size. Choose the former size, or restore a backup into a new claim",
                kept.join("; ")
            );
            transitions::set(response, SIZE_ACCEPTED, false, Reason::Unsupported, message);
        } else if response.had_condition(SIZE_ACCEPTED) {
            let reason = Reason::SizeAccepted;
            transitions::set(response, SIZE_ACCEPTED, true, reason, String::new());
        }
    }
}
