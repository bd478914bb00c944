//! PushSecrets and ExternalSecrets, on which secrets travel between clusters.

use function_protocol::Fatal;
use serde::Serialize;

use super::{Composed, Creation};
use crate::manifest::{Kind, Manifest};
use crate::observed::ConditionedStatus;

impl Composed<'_> {
    /// Wants a PushSecret or an ExternalSecret in a cluster. Returns it in words while it isn't ready.
    ///
    /// # Errors
    /// The name is taken by an earlier step of the pipeline.
    pub fn travel<S: Serialize + Kind>(
        &mut self,
        name: &str,
        cluster: &str,
        manifest: Manifest<S>,
        creation: Creation,
    ) -> Result<Option<String>, Fatal> {
        let words = format!("{} {} in {cluster}", S::KIND, manifest.metadata.name);
        let ready = ConditionedStatus::is_ready;
        let observation = self.object(name, cluster, manifest, creation, ready)?;
        let waits = observation.exists && !(observation.synced && observation.status.is_ready());
        Ok(waits.then_some(words))
    }
}
