//! PushSecrets and ExternalSecrets, on which secrets travel between clusters.

use function_protocol::Fatal;
use serde::Serialize;

use super::{Composed, Creation};
use crate::manifest::{Kind, Manifest};
use crate::observed::ConditionedStatus;

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
    pub fn travel<S: Serialize + Kind>(
        &mut self,
        name: &str,
        cluster: &str,
        manifest: Manifest<S>,
        creation: Creation,
    ) -> Result<Transfer, Fatal> {
        let words = format!("{} {} in {cluster}", S::KIND, manifest.metadata.name);
        let ready = ConditionedStatus::is_ready;
        let observation = self.object(name, cluster, manifest, creation, ready)?;
        let waits = observation.exists && !(observation.synced && observation.status.is_ready());
        Ok(Transfer {
            waiting: waits.then_some(words),
            done: !waits && self.is_own(&observation),
        })
    }
}
