//! The three kinds of clusters that a platform team claims: each a Gardener Shoot, the way to reach it, and what runs in
//! it for everybody.

mod access;
mod consumers;
pub mod control_plane;
pub mod hypervisor;
mod marked;
mod shoot;
pub mod storage;
mod versions;

use c5c3_api::Reason;
use function_protocol::{Fatal, Request, Response};

use crate::composed::{Composed, Creation};
use crate::composite::Metadata;
use crate::input::{self, ClusterPresets};
use crate::observed;
use crate::ownership::Owner;
use crate::transitions;
use shoot::{Running, SHOOT};

/// One claimed cluster, whatever its kind.
struct Cluster<'a> {
    metadata: &'a Metadata,
    presets: ClusterPresets,
    owner: Owner,
    running: Running,
}

impl<'a> Cluster<'a> {
    /// Reads the Composition's input, and who owns the Shoot of the cluster's name.
    ///
    /// # Errors
    /// The Composition's input can't be used, or it names a provider configuration like the cluster.
    fn read(metadata: &'a Metadata, request: &Request) -> Result<Self, Fatal> {
        let presets: ClusterPresets = input::read(request)?;
        let of_the_site = [
            &presets.gardener.provider_config,
            &presets.access.management_provider_config,
        ];
        let name = metadata.claim_name();
        if of_the_site.into_iter().any(|config| config == name) {
            return Err(Fatal::new(format!(
                "the name {name} is that of a provider configuration of the site; choose another name"
            )));
        }
        let owner = Owner::of(metadata, observed::record(request, SHOOT).as_ref());
        let running = Running::of(&owner, request)?;
        Ok(Cluster {
            metadata,
            presets,
            owner,
            running,
        })
    }

    /// What the cluster composes, nothing yet.
    fn composed<'c>(&self, request: &'c Request, response: &'c mut Response) -> Composed<'c> {
        Composed::new(request, response, self.metadata.scope(), self.owner.clone())
    }

    /// Name of the cluster, its provider configuration and its kubeconfig's Secret.
    fn name(&self) -> &'a str {
        self.metadata.claim_name()
    }

    /// Whether what belongs to the Shoot may be created: once the Shoot is this claim's, so that two clusters of one name,
    /// of whatever kind, never share a provider configuration or a kubeconfig.
    fn creation(&self) -> Creation {
        Creation::from(self.owner.owns_root())
    }
}

/// Pools are named in other claims, so the name in the spec has to be the claim's own.
///
/// # Errors
/// It isn't.
fn check_name(metadata: &Metadata, name: &str) -> Result<(), Fatal> {
    if metadata.claim_name() == name {
        return Ok(());
    }
    Err(Fatal::new(format!(
        "spec.name is {name}, and the resource is called {}; make them the same",
        metadata.claim_name()
    )))
}

/// Says whether a pool gets the size that its spec asks for, with a hint; or why not.
fn size_accepted(size: Result<String, String>, response: &mut Response) {
    let (accepted, reason, message) = match size {
        Ok(hint) => (true, Reason::SizeAccepted, hint),
        Err(refusal) => (false, Reason::TooFewWorkers, refusal),
    };
    transitions::set(response, "SizeAccepted", accepted, reason, message);
}
