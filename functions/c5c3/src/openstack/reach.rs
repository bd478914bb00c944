//! Whether agents in the clusters of hypervisor pools reach their control plane: by load balancers alone, which need encryption.

use c5c3_api::Reason;
use function_protocol::Fatal;

use super::Recipe;

impl Recipe<'_> {
    /// Refuses a claim without encryption whose agents need it. A control plane that runs without is left as it is, and
    /// [`Self::unreached`] says what it lacks.
    ///
    /// # Errors
    /// The claim is new, or its agents would lose their control plane.
    pub fn check_encryption(&self) -> Result<(), Fatal> {
        match self.unencrypted() {
            Some(message) if !self.existing.is_unencrypted() => Err(Fatal::new(message)),
            _ => Ok(()),
        }
    }

    /// Why agents can't connect, and what to do; none where the claim and its site allow it.
    pub fn unreached(&self) -> Option<(Reason, String)> {
        let unencrypted = self.unencrypted();
        let unencrypted = unencrypted.map(|message| (Reason::Unsupported, message));
        unencrypted.or_else(|| {
            let pool = self.remote_pool()?;
            let message = format!(
                "the site has no load balancers by which agents of hypervisor pool {pool} reach the control plane: ask the platform team \
                 for hypervisorAccess in the Composition's input"
            );
            let is_offered = self.presets.hypervisor_access.is_some();
            (!is_offered).then_some((Reason::NotOffered, message))
        })
    }

    /// Which agents can't connect since the claim has no encryption, and what to do.
    fn unencrypted(&self) -> Option<String> {
        let pool = self.remote_pool()?;
        (!self.cluster.spec.tls.enabled).then(|| {
            // The API server refuses to switch it on, since OVN keeps its protocol.
            format!(
                "spec.tls.enabled is false, and agents of hypervisor pool {pool} reach the control plane by encrypted connections only: \
                 create another OpenStackCluster without that field, or disable nova"
            )
        })
    }

    /// The first pool whose agents are in another cluster than the control plane.
    fn remote_pool(&self) -> Option<&str> {
        let mut pools = self.site.remote_hypervisors();
        let first = pools.next().filter(|_| self.cluster.spec.services.nova)?;
        Some(first.name.name())
    }
}
