//! The three kinds of clusters that a platform team claims: each a Gardener Shoot, the way to reach it, and what runs in
//! it for everybody.

mod access;
mod consumers;
pub mod control_plane;
pub mod hypervisor;
mod shoot;
pub mod storage;

use c5c3_api::Kind;
use function_protocol::{Fatal, Request, Response};

use crate::composed::Creation;
use crate::composite::Metadata;
use crate::input::{self, ClusterPresets};
use crate::{pools, transitions};

/// One claimed cluster, whatever its kind.
struct Cluster<'a> {
    metadata: &'a Metadata,
    presets: ClusterPresets,
    /// Whether the name is this claim's, as far as is known.
    accepted: bool,
}

impl<'a> Cluster<'a> {
    /// Reads the input and finds out whether an elder cluster has the same name.
    ///
    /// # Errors
    /// The Composition's input can't be used.
    fn survey<K: Kind>(
        metadata: &'a Metadata,
        request: &Request,
        response: &mut Response,
    ) -> Result<Self, Fatal> {
        let presets: ClusterPresets = input::read(request)?;
        let namesakes =
            pools::namesakes::<K>(metadata.scope(), request, response, metadata.claim_name())?;
        let elder = namesakes
            .iter()
            .flatten()
            .min_by_key(|namesake| namesake.seniority());
        let elder = elder.filter(|elder| elder.seniority() < metadata.seniority());
        match elder {
            Some(elder) => transitions::set(
                response,
                "Accepted",
                false,
                "NameTaken",
                format!(
                    "{}/{} is older and has this name; choose another",
                    elder.claim_namespace(),
                    elder.claim_name()
                ),
            ),
            None => transitions::set(response, "Accepted", true, "Accepted", String::new()),
        }
        Ok(Cluster {
            metadata,
            presets,
            accepted: namesakes.is_some() && elder.is_none(),
        })
    }

    /// Name of the cluster, its provider configuration and its kubeconfig's Secret.
    fn name(&self) -> &'a str {
        self.metadata.claim_name()
    }

    fn creation(&self) -> Creation {
        Creation::from(self.accepted)
    }

    /// The version of Kubernetes asked for, or the Composition's.
    fn kubernetes_version(&self, wanted: Option<&String>) -> String {
        wanted.unwrap_or(&self.presets.kubernetes_version).clone()
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
