//! What stays of a control plane that runs when the claim's size, or what the Composition's input means by it, changes.

use std::collections::BTreeMap;

use c5c3_api::Reason;
use c5c3_api::control_plane::{ControlPlaneStatus, Infrastructure};
use c5c3_api::parts::Kept;
use function_protocol::{Fatal, Request, Response};
use serde::Deserialize;

use super::Recipe;
use super::control_plane::ENFORCED;
use super::existing::Existing;
use super::pool_quota::KeptQuota;
use super::resource::NAMESPACE;
use crate::observed::{condition, last_composed};
use crate::transitions;

/// Whether the control plane and the quotas of its pools have the claim's size. It isn't set before it has been False.
const SIZE_ACCEPTED: &str = "SizeAccepted";

/// What a control plane runs with, as far as the quota and the Pod Security of its namespace follow from it.
pub struct Running {
    /// The infrastructure of the claim's size over what runs.
    pub infrastructure: Kept<Infrastructure>,
    /// Whether the namespace keeps Pod Security `baseline`, since the ControlPlane doesn't say yet what runs in it.
    pub is_baseline: bool,
}

/// A Namespace as it was last composed.
#[derive(Deserialize)]
struct Composed {
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct Metadata {
    labels: Option<BTreeMap<String, String>>,
}

impl Running {
    /// The infrastructure of a size over what runs, as the ControlPlane's status says. The ControlPlane itself gets the size that is
    /// wanted, and its operator keeps what can't be changed: what the namespace may have and what its pods may do follow from this one.
    ///
    /// # Errors
    /// The observed Namespace isn't one.
    pub fn of(
        wanted: &Infrastructure,
        existing: &Existing,
        request: &Request,
    ) -> Result<Self, Fatal> {
        let wanted = wanted.clone();
        if let Some(running) = &existing.status.infrastructure {
            return Ok(Self {
                infrastructure: wanted.kept(running),
                is_baseline: false,
            });
        }
        let namespace: Option<Composed> = last_composed(request, NAMESPACE)?;
        let labels = namespace.and_then(|namespace| namespace.metadata?.labels);
        let enforced = labels.and_then(|labels| labels.get(ENFORCED).cloned());
        Ok(Self {
            infrastructure: Kept::nothing(wanted),
            is_baseline: enforced.as_deref() == Some("baseline"),
        })
    }
}

impl Recipe<'_> {
    /// Says what the control plane keeps of its former size, which pools keep their quotas, and what to do.
    pub fn size_accepted(
        &self,
        control_plane: &ControlPlaneStatus,
        quotas: &[KeptQuota],
        response: &mut Response,
    ) {
        let kept = &self.running.infrastructure.fields;
        let said = condition(&control_plane.conditions, SIZE_ACCEPTED)
            .filter(|said| said.status != "True");
        let mut sentences = Vec::new();
        if !kept.is_empty() {
            sentences.push(format!(
                "{}: while a control plane runs, volumes don't shrink and keep their StorageClass, RabbitMQ loses no members, a \
                 MariaDB of one member doesn't become a Galera cluster or the reverse, and MaxScale stays; everything else follows \
                 the size. Choose the former size, or ask the platform team to recreate MariaDB from a backup",
                kept.join("; ")
            ));
        } else if let Some(said) = said {
            // Only the c5c3-operator sees whether volumes can grow.
            if quotas.is_empty() {
                return transitions::repeat(response, SIZE_ACCEPTED, false, said, false);
            }
            sentences.extend(Some(said.message.clone()).filter(|message| !message.is_empty()));
        }
        if !quotas.is_empty() {
            sentences.push(self.quotas_kept(quotas));
        }
        if !sentences.is_empty() {
            let message = sentences.join(". ");
            transitions::set(response, SIZE_ACCEPTED, false, Reason::Unsupported, message);
        } else {
            let mut accepted = self.cluster.metadata.lower_quotas().into_iter();
            let message = match accepted.any(|quota| !quota.is_empty()) {
                true => {
                    "remove the annotation c5c3.io/lower-quotas: it accepts the same quotas again, whatever pools hold then"
                }
                false => "",
            };
            let reason = Reason::SizeAccepted;
            transitions::lapse(response, SIZE_ACCEPTED, Some(true), reason, message);
        }
    }
}
