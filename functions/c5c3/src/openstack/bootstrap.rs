//! What the tenant finds on the first day: flavors, the external network, a network in its first project.

use c5c3_api::Reason;
use c5c3_api::control_plane::{Bootstrap, Flavor};
use function_protocol::{Fatal, Response};

use super::Recipe;
use crate::composed::Composed;
use crate::transitions;

impl Recipe<'_> {
    /// What the site gives the control plane, and what the claim asks for beside it.
    ///
    /// # Errors
    /// The site gives an address to two claims.
    pub fn bootstrap(&self, composed: &Composed<'_>) -> Result<Bootstrap, Fatal> {
        let (claim, preset) = (&self.cluster.spec, &self.presets.bootstrap);
        let metadata = &self.cluster.metadata;
        let key = format!("{}/{}", metadata.claim_namespace(), metadata.claim_name());
        let name = claim.network.external_network.as_ref();
        let external = name.and_then(|name| Some((name, preset.external_networks.get(name)?)));
        let external = external.map(|(name, network)| network.of(name, &key));
        let site = preset.network.as_ref();
        let site = site.filter(|_| claim.services.neutron && self.access(composed).is_some());
        Ok(Bootstrap {
            flavors: match claim.services.nova {
                true => self.flavors(),
                false => Vec::new(),
            },
            external_network: external.transpose()?.flatten(),
            network: claim.bootstrap.network.as_ref().or(site).cloned(),
        })
    }

    /// The site's flavors, and the claim's where the site allows them. A name of the site's stays the site's.
    fn flavors(&self) -> Vec<Flavor> {
        let preset = &self.presets.bootstrap;
        let is_own = |flavor: &&Flavor| {
            let mut site = preset.flavors.iter();
            preset.allow_flavors && site.all(|other| other.name != flavor.name)
        };
        let own = self.cluster.spec.bootstrap.flavors.iter().filter(is_own);
        preset.flavors.iter().chain(own).cloned().collect()
    }

    /// Says whether the claim gets its own flavors, where it asks for any.
    pub fn flavors_allowed(&self, response: &mut Response) {
        let asked = &self.cluster.spec.bootstrap.flavors;
        let wanted = self.flavors();
        let refused = asked.iter().filter(|flavor| !wanted.contains(flavor));
        let refused: Vec<&str> = refused.map(|flavor| flavor.name.as_str()).collect();
        let (allowed, reason, message) = match refused.as_slice() {
            _ if asked.is_empty() => return,
            [] => (true, Reason::Accepted, String::new()),
            refused => (
                false,
                Reason::Unsupported,
                format!(
                    "this site has flavors of these names, or allows none of claims: remove {} from spec.bootstrap.flavors, or ask the \
                     platform team for bootstrap.allowFlavors in the Composition's input",
                    refused.join(", ")
                ),
            ),
        };
        transitions::set(response, "FlavorsAllowed", allowed, reason, message);
    }
}
