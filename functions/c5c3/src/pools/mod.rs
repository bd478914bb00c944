//! Finding the clusters a claim names, and whether it may use them.

mod consumers;
mod fetch;
mod problem;
mod rbd;
mod requests;
mod restored;

use c5c3_api::storage_cluster::{Capacity, Health};
use c5c3_api::{
    Cidr, Claim, Condition, Consumer, ControlPlaneClusterSpec, HypervisorClusterSpec,
    OpenStackClusterSpec, PoolName, Ranges, Sharing, SharingMode, StorageClusterSpec,
    control_plane_cluster, hypervisor_cluster, storage_cluster,
};
use educe::Educe;
use function_protocol::{DocumentError, Fatal, Request, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::composite::{Composite, Metadata};

use consumers::{Consumers, has_uid_of};
pub use consumers::{hosts, promised};
pub use fetch::selector;
use fetch::{Fetched, fetch, others, unreadable};
pub use problem::Problem;
pub use rbd::Rbd;
pub use requests::{PoolRequest, RequestedPool, last_requests, request_pools, requests};
pub use restored::is_restored;

/// Condition of a storage pool: whether Ceph has placement groups for the pools of further claims.
pub const PLACEMENT_GROUPS: &str = "PlacementGroupsAvailable";

/// A kind of cluster that control planes consume.
pub trait Pool: Claim + DeserializeOwned {
    /// How far it can have come.
    type Phase: DeserializeOwned;
    /// What people call it.
    const NOUN: &'static str;
    /// The clusters of this kind that a claim names.
    fn named_in(claim: &OpenStackClusterSpec) -> Vec<PoolName>;
    /// Its region.
    fn region(&self) -> &str;
    /// Whether it can be consumed, and what its phase is called.
    fn phase(status: &PoolStatus<Self::Phase>) -> (bool, String);
    /// Who may consume it.
    fn sharing(&self) -> (SharingMode, &Sharing);
    /// How many nodes it can have, where claims are admitted by the nodes that they need.
    fn most_hosts(&self) -> Option<u32> {
        None
    }
}

impl Pool for ControlPlaneClusterSpec {
    type Phase = control_plane_cluster::Phase;
    const NOUN: &'static str = "control plane cluster";
    fn named_in(claim: &OpenStackClusterSpec) -> Vec<PoolName> {
        claim.control_plane_cluster().into_iter().collect()
    }
    fn region(&self) -> &str {
        &self.region
    }
    fn phase(status: &PoolStatus<Self::Phase>) -> (bool, String) {
        use control_plane_cluster::Phase;
        (status.phase == Some(Phase::Ready), phase_word(status.phase))
    }
    fn sharing(&self) -> (SharingMode, &Sharing) {
        (self.sharing.mode.unwrap_or_default(), &self.sharing)
    }
}

impl Pool for HypervisorClusterSpec {
    type Phase = hypervisor_cluster::Phase;
    const NOUN: &'static str = "hypervisor pool";
    fn named_in(claim: &OpenStackClusterSpec) -> Vec<PoolName> {
        claim.hypervisor_clusters.clone()
    }
    fn region(&self) -> &str {
        &self.region
    }
    fn phase(status: &PoolStatus<Self::Phase>) -> (bool, String) {
        use hypervisor_cluster::Phase;
        let usable = matches!(status.phase, Some(Phase::Ready | Phase::Scaling));
        (usable, phase_word(status.phase))
    }
    fn sharing(&self) -> (SharingMode, &Sharing) {
        (self.sharing_mode(), &self.sharing)
    }
    fn most_hosts(&self) -> Option<u32> {
        Some(self.max_workers)
    }
}

impl Pool for StorageClusterSpec {
    type Phase = storage_cluster::Phase;
    const NOUN: &'static str = "storage pool";
    fn named_in(claim: &OpenStackClusterSpec) -> Vec<PoolName> {
        claim.storage_clusters.clone()
    }
    fn region(&self) -> &str {
        &self.region
    }
    fn phase(status: &PoolStatus<Self::Phase>) -> (bool, String) {
        use storage_cluster::Phase;
        if status.health == Some(Health::Err) {
            return (false, "HEALTH_ERR".to_owned());
        }
        let usable = matches!(status.phase, Some(Phase::Ready | Phase::Expanding));
        (usable, phase_word(status.phase))
    }
    fn sharing(&self) -> (SharingMode, &Sharing) {
        (self.sharing_mode(), &self.sharing)
    }
}

fn phase_word<P: std::fmt::Debug>(phase: Option<P>) -> String {
    phase.map_or_else(|| "Pending".to_owned(), |phase| format!("{phase:?}"))
}

/// What a claim reads of a pool's status. Of the consumers, it reads only what [`Named`] has.
#[derive(Clone, Debug, Educe, Deserialize)]
#[educe(Default)]
#[serde(
    rename_all = "camelCase",
    default,
    bound(deserialize = "P: Deserialize<'de>")
)]
pub struct PoolStatus<P> {
    /// How far the pool has come.
    pub phase: Option<P>,
    /// Addresses of the cluster, once its own composer reports them.
    pub network: Option<Ranges>,
    /// Ceph's own judgement of its state, of a storage pool.
    pub health: Option<Health>,
    /// What Ceph can store, of a storage pool.
    pub capacity: Option<Capacity>,
    /// Zones that hold data, of a storage pool.
    pub zones: Vec<String>,
    /// What it reports of itself.
    pub conditions: Vec<Condition>,
}

/// The composite resource of a pool, as a claim reads it.
pub type PoolComposite<K> = Composite<K, PoolStatus<<K as Pool>::Phase>>;

/// A cluster that a claim names.
pub struct Named<K: Pool> {
    /// As the claim names it.
    pub name: PoolName,
    /// The composite resource, if it could be read.
    pub composite: Option<PoolComposite<K>>,
    /// The claim among its consumers, as its own composer decided.
    pub consumer: Option<Consumer>,
    /// Why it can't be consumed now.
    pub problem: Option<Problem>,
}

impl<K: Pool> Named<K> {
    /// Whether the claim may create something new in it.
    pub fn is_usable(&self) -> bool {
        self.problem.is_none()
    }

    /// Whether it has admitted the claim, even if the claim may create nothing in it now.
    pub fn is_admitted(&self) -> bool {
        self.consumer.is_some() || self.is_usable()
    }

    /// Whether the claim may request admission: only that is missing.
    pub fn is_eligible(&self) -> bool {
        matches!(
            self.problem,
            None | Some(Problem::AwaitingAdmission | Problem::Full { .. })
        )
    }

    /// The cluster in the claim's status.
    pub fn status(&self) -> String {
        match (&self.problem, &self.composite) {
            (Some(Problem::NotReady { phase }), _) => phase.clone(),
            (Some(problem), _) => problem
                .reason()
                .name()
                .trim_start_matches("Pool")
                .to_owned(),
            (None, Some(composite)) => K::phase(&composite.status).1,
            (None, None) => String::new(),
        }
    }

    /// The addresses of its nodes, where they are known.
    pub fn nodes(&self) -> Option<Cidr> {
        self.composite.as_ref()?.status.network?.nodes
    }

    /// The nodes that it has promised the claim.
    pub fn promised(&self) -> Option<u32> {
        self.consumer.as_ref()?.min_hosts
    }

    /// Refuses the pool if its nodes have addresses of a cluster looked at before, by the name that people give it.
    pub fn claim_nodes(&mut self, taken: &mut Vec<(String, Cidr)>) {
        let Some(nodes) = self.nodes() else {
            return;
        };
        let overlapping = taken.iter().find(|(_, range)| range.overlaps(nodes));
        if let Some((other, range)) = overlapping.filter(|_| self.is_eligible()) {
            self.problem = Some(Problem::NetworkTaken {
                nodes,
                other: other.clone(),
                taken: *range,
            });
        }
        taken.push((format!("{} {}", K::NOUN, self.name), nodes));
    }

    /// The problem in a sentence, with what it is about.
    pub fn explanation(&self) -> Option<String> {
        self.problem
            .as_ref()
            .map(|problem| format!("{} {}: {problem}", K::NOUN, self.name))
    }
}

/// The claim that requests pools.
pub struct Requester<'a> {
    /// The claim's composite resource.
    pub claim: &'a Metadata,
    /// What the claim wants.
    pub spec: &'a OpenStackClusterSpec,
    /// Where pools are that are named without a namespace.
    pub pool_namespace: &'a str,
}

impl Requester<'_> {
    /// Asks Crossplane for a cluster, and says what is known of it. The claim can't do without `hosts` of its nodes.
    ///
    /// # Errors
    /// The cluster's composite resource doesn't fit its kind.
    pub fn find<K: Pool>(
        &self,
        request: &Request,
        response: &mut Response,
        name: &PoolName,
        hosts: u32,
    ) -> Result<Named<K>, Fatal> {
        let namespace = name.namespace().unwrap_or(self.pool_namespace);
        let found = fetch::<K>(
            self.claim.scope(),
            request,
            response,
            namespace,
            name.name(),
        )?;
        let mut named = Named {
            name: name.clone(),
            composite: None,
            consumer: None,
            problem: None,
        };
        match found {
            None => named.problem = Some(Problem::Unread),
            Some(None) => {
                let scope = self.claim.scope();
                let is_offered = |pool: &PoolComposite<K>| self.may_name(pool);
                let others = others::<K>(scope, request, response, namespace, is_offered);
                named.problem = Some(Problem::Missing {
                    namespace: namespace.to_owned(),
                    others,
                });
            }
            Some(Some(Fetched {
                composite,
                consumers,
            })) => {
                let unreadable = |error| unreadable::<K>(error, name.name());
                named.consumer = consumers.find(self.claim).map_err(unreadable)?;
                named.problem = self
                    .problem_of(&composite, named.consumer.as_ref(), consumers, hosts)
                    .map_err(unreadable)?;
                named.composite = Some(composite);
            }
        }
        Ok(named)
    }

    /// Whether the claim may name a pool that it doesn't name.
    fn may_name<K: Pool>(&self, pool: &PoolComposite<K>) -> bool {
        let (mode, sharing) = pool.spec.sharing();
        let named = K::named_in(self.spec);
        let mut named = named.iter();
        mode == SharingMode::Shared
            && pool.metadata.deletion_timestamp.is_none()
            && pool.spec.region() == self.spec.region
            && allows(sharing, self.claim.claim_namespace())
            && !named.any(|named| named.name() == pool.metadata.claim_name())
    }

    /// Why a pool can't be consumed. `consumer` is the claim among its consumers.
    fn problem_of<K: Pool>(
        &self,
        pool: &PoolComposite<K>,
        consumer: Option<&Consumer>,
        consumers: Consumers<'_>,
        hosts: u32,
    ) -> Result<Option<Problem>, DocumentError> {
        if pool.metadata.deletion_timestamp.is_some() {
            return Ok(Some(Problem::Deleting));
        }
        let region = pool.spec.region();
        if region != self.spec.region {
            return Ok(Some(Problem::OtherRegion {
                region: region.to_owned(),
            }));
        }
        let (mode, sharing) = pool.spec.sharing();
        let namespace = self.claim.claim_namespace();
        let has_its_uid = consumer.is_some_and(|consumer| has_uid_of(consumer, self.claim));
        if !allows(sharing, namespace) && !has_its_uid {
            return Ok(Some(Problem::NotAllowed {
                namespace: namespace.to_owned(),
            }));
        }
        let is_admitted = consumer.is_some();
        if mode == SharingMode::Dedicated && !is_admitted && consumers.count()? > 0 {
            return Ok(Some(Problem::Dedicated));
        }
        if let (false, phase) = K::phase(&pool.status) {
            return Ok(Some(Problem::NotReady { phase }));
        }
        if is_admitted || self.claim.stored_uid().is_none() {
            return Ok(None);
        }
        if sharing.is_full(consumers.count()?) {
            return Ok(Some(Problem::TooManyConsumers {
                most: sharing.max_consumers(),
            }));
        }
        if let Some(most) = pool.spec.most_hosts() {
            let taken = consumers.promised()?.saturating_add(sharing.reserve);
            let free = most.saturating_sub(taken);
            if free < hosts {
                return Ok(Some(Problem::Full {
                    free,
                    needed: hosts,
                }));
            }
        }
        Ok(Some(Problem::AwaitingAdmission))
    }
}

/// Whether a pool takes claims from a namespace.
pub fn allows(sharing: &Sharing, namespace: &str) -> bool {
    sharing.allowed_namespaces.is_empty()
        || sharing
            .allowed_namespaces
            .iter()
            .any(|allowed| allowed == namespace)
}
