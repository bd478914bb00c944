//! Who consumes a pool. The pool's own composer decides, alone, so two claims never both believe that they were first.

use std::collections::BTreeMap;

use c5c3_api::{Consumer, OpenStackClusterSpec, PoolName, Sharing, SharingMode};
use function_protocol::{Fatal, Request, Response};
use serde::Deserialize;

use super::Cluster;
use crate::composite::Metadata;
use crate::pools::{allows, every, same};

/// Which list of a claim names this kind of pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// `spec.hypervisorClusters`.
    Hypervisor,
    /// `spec.storageClusters`.
    Storage,
}

/// A claim, read only as far as pools need it.
#[derive(Deserialize)]
struct Claim {
    metadata: Metadata,
    spec: ClaimSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaimSpec {
    #[serde(default)]
    hypervisor_clusters: Vec<PoolName>,
    #[serde(default)]
    storage_clusters: Vec<PoolName>,
}

impl Cluster<'_> {
    /// The claims that consume this pool, eldest first. While claims can't be read, those of last time.
    ///
    /// A dedicated pool has one: who has it keeps it, else the eldest claim that names it.
    pub fn consumers(
        &self,
        list: List,
        (mode, sharing): (SharingMode, &Sharing),
        last: &[Consumer],
        request: &Request,
        response: &mut Response,
    ) -> Result<Vec<Consumer>, Fatal> {
        let scope = self.metadata.scope();
        let claims = every::<OpenStackClusterSpec, Claim>(
            scope,
            request,
            response,
            "consumers",
            BTreeMap::new(),
        )?;
        let Some(mut claims) = claims else {
            return Ok(last.to_vec());
        };
        claims.retain(|claim| {
            allows(sharing, claim.metadata.claim_namespace()) && self.is_named_by(claim, list)
        });
        claims.sort_by(|one, other| one.metadata.seniority().cmp(&other.metadata.seniority()));
        let mut consumers: Vec<Consumer> = claims
            .iter()
            .map(|claim| claim.metadata.consumer())
            .collect();
        if mode == SharingMode::Dedicated {
            let holder = last.first();
            let keeps = |consumer: &Consumer| holder.is_some_and(|holder| same(holder, consumer));
            let first = consumers.iter().position(keeps).unwrap_or(0);
            consumers = consumers.into_iter().skip(first).take(1).collect();
        }
        Ok(consumers)
    }

    fn is_named_by(&self, claim: &Claim, list: List) -> bool {
        let names = match list {
            List::Hypervisor => &claim.spec.hypervisor_clusters,
            List::Storage => &claim.spec.storage_clusters,
        };
        names.iter().any(|name| {
            let namespace = name.namespace().unwrap_or(&self.presets.pool_namespace);
            name.name() == self.name() && namespace == self.metadata.claim_namespace()
        })
    }
}
