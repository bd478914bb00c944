//! PushSecrets and ExternalSecrets, which transfer Secrets between clusters.

use c5c3_kinds::Spec;
use c5c3_kinds::external_secrets::{ExternalSecret, PushSecret};
use function_protocol::Fatal;
use serde::Serialize;

use super::{Composed, Creation};
use crate::manifest::Manifest;
use crate::observed::{ConditionedStatus, Observation, condition};

/// How often both sides of what OpenStack's services and agents can't work without are compared: the addresses of Ceph's monitors, keys
/// and credentials. External Secrets follows neither the Secret that a PushSecret reads nor the store, so that a change arrives within
/// two of these.
pub const REFRESH: &str = "30s";

/// Whether External Secrets writes into the status of a kind's objects when it last compared both sides, also where nothing has changed.
pub fn is_refreshed(kind: &str) -> bool {
    [PushSecret::KIND.kind, ExternalSecret::KIND.kind].contains(&kind)
}

/// How far a PushSecret or an ExternalSecret has come.
pub struct Transfer {
    /// What isn't ready, in words. None while it doesn't exist.
    pub waiting: Option<String>,
    /// Whether it is this claim's, and has transferred its Secret. Only then is what reads the Secret to be created: External
    /// Secrets tries again after longer and longer pauses when there is nothing to read, and what is there could be another claim's.
    pub done: bool,
}

impl Composed<'_> {
    /// Wants a PushSecret or an ExternalSecret in a cluster.
    ///
    /// # Errors
    /// The name is taken by an earlier step of the pipeline.
    pub fn transfer<S: Serialize + Spec>(
        &mut self,
        name: &str,
        cluster: &str,
        manifest: Manifest<S>,
        creation: Creation,
    ) -> Result<Transfer, Fatal> {
        let words = format!("{} {} in {cluster}", S::KIND, manifest.metadata.name);
        let ready = ConditionedStatus::is_ready;
        let observation: Observation<ConditionedStatus> =
            self.object(name, cluster, manifest, creation, ready)?;
        let waits = observation.exists && !(observation.synced && observation.status.is_ready());
        Ok(Transfer {
            waiting: waits.then(|| words + &why(&observation)),
            done: !waits && self.is_own(&observation),
        })
    }
}

/// Why a Secret isn't transferred, in brackets, where that is known. External Secrets' own message isn't repeated, since it may have what
/// the store answered, and a store may repeat a value that it refuses.
fn why(observation: &Observation<ConditionedStatus>) -> String {
    let ready = condition(&observation.status.conditions, "Ready");
    let failed = ready.filter(|ready| ready.status == "False" && !ready.reason.is_empty());
    match (observation.problem.as_deref(), failed) {
        (Some(problem), _) if !problem.is_empty() => format!(" ({problem})"),
        (None, Some(failed)) => format!(
            " (External Secrets reports {}, and the status there says why)",
            failed.reason
        ),
        _ => String::new(),
    }
}
