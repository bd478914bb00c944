//! Finding the clusters a claim names, and whether it may use them.

mod fetch;
mod problem;
mod requests;
mod restored;

use c5c3_api::{
    Cidr, Consumer, ControlPlaneClusterSpec, HypervisorClusterSpec, Kind, OpenStackClusterSpec,
    PoolName, Sharing, SharingMode, StorageClusterSpec, control_plane_cluster, hypervisor_cluster,
    storage_cluster,
};
use function_protocol::{Fatal, Request, Response};
use serde::de::DeserializeOwned;

use crate::composite::{Composite, Metadata};

use fetch::fetch;
pub use fetch::kind;
pub use problem::Problem;
pub use requests::{Asked, PoolRequest, ask, asked, requests};
pub use restored::is_restored;

/// A kind of cluster that control planes consume.
pub trait Pool: Kind<Status: DeserializeOwned + Default> + DeserializeOwned {
    /// What people call it.
    const NOUN: &'static str;
    /// The clusters of this kind that a claim names.
    fn named_in(claim: &OpenStackClusterSpec) -> Vec<PoolName>;
    /// Its region.
    fn region(&self) -> &str;
    /// Whether it can be consumed, and what its phase is called.
    fn phase(status: &Self::Status) -> (bool, String);
    /// The addresses of its nodes, once its own composer reports them.
    fn nodes(status: &Self::Status) -> Option<Cidr>;
    /// Who may consume it.
    fn sharing(&self) -> (SharingMode, &Sharing);
    /// Who consumes it, as its own composer decided.
    fn consumers(status: &Self::Status) -> &[Consumer];
    /// How many nodes it can have, where claims are admitted by the nodes that they need.
    fn most_hosts(&self) -> Option<u32> {
        None
    }
}

impl Pool for ControlPlaneClusterSpec {
    const NOUN: &'static str = "control plane cluster";
    fn named_in(claim: &OpenStackClusterSpec) -> Vec<PoolName> {
        claim.control_plane_cluster().into_iter().collect()
    }
    fn nodes(status: &Self::Status) -> Option<Cidr> {
        status.network?.nodes
    }
    fn region(&self) -> &str {
        &self.region
    }
    fn phase(status: &Self::Status) -> (bool, String) {
        use control_plane_cluster::Phase;
        (status.phase == Some(Phase::Ready), phase_word(status.phase))
    }
    fn sharing(&self) -> (SharingMode, &Sharing) {
        (self.sharing.mode.unwrap_or_default(), &self.sharing)
    }
    fn consumers(status: &Self::Status) -> &[Consumer] {
        &status.consumers
    }
}

impl Pool for HypervisorClusterSpec {
    const NOUN: &'static str = "hypervisor pool";
    fn named_in(claim: &OpenStackClusterSpec) -> Vec<PoolName> {
        claim.hypervisor_clusters.clone()
    }
    fn nodes(status: &Self::Status) -> Option<Cidr> {
        status.network?.nodes
    }
    fn region(&self) -> &str {
        &self.region
    }
    fn phase(status: &Self::Status) -> (bool, String) {
        use hypervisor_cluster::Phase;
        let usable = matches!(status.phase, Some(Phase::Ready | Phase::Scaling));
        (usable, phase_word(status.phase))
    }
    fn sharing(&self) -> (SharingMode, &Sharing) {
        (self.sharing_mode(), &self.sharing)
    }
    fn consumers(status: &Self::Status) -> &[Consumer] {
        &status.consumers
    }
    fn most_hosts(&self) -> Option<u32> {
        Some(self.max_workers)
    }
}

impl Pool for StorageClusterSpec {
    const NOUN: &'static str = "storage pool";
    fn named_in(claim: &OpenStackClusterSpec) -> Vec<PoolName> {
        claim.storage_clusters.clone()
    }
    fn nodes(status: &Self::Status) -> Option<Cidr> {
        status.network?.nodes
    }
    fn region(&self) -> &str {
        &self.region
    }
    fn phase(status: &Self::Status) -> (bool, String) {
        use storage_cluster::{Health, Phase};
        if status.health == Some(Health::Err) {
            return (false, "HEALTH_ERR".to_owned());
        }
        let usable = matches!(status.phase, Some(Phase::Ready | Phase::Expanding));
        (usable, phase_word(status.phase))
    }
    fn sharing(&self) -> (SharingMode, &Sharing) {
        (self.sharing_mode(), &self.sharing)
    }
    fn consumers(status: &Self::Status) -> &[Consumer] {
        &status.consumers
    }
}

fn phase_word<P: std::fmt::Debug>(phase: Option<P>) -> String {
    phase.map_or_else(|| "Pending".to_owned(), |phase| format!("{phase:?}"))
}

/// A pool's own composite resource.
pub type PoolComposite<K> = Composite<K, <K as Kind>::Status>;

/// A cluster that a claim names.
pub struct Named<K: Pool> {
    /// As the claim names it.
    pub name: PoolName,
    /// The composite resource, if it could be read.
    pub composite: Option<PoolComposite<K>>,
    /// Why it can't be consumed now.
    pub problem: Option<Problem>,
}

impl<K: Pool> Named<K> {
    /// Whether the claim may create something new in it.
    pub fn is_usable(&self) -> bool {
        self.problem.is_none()
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
        K::nodes(&self.composite.as_ref()?.status)
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
pub struct Asker<'a> {
    /// The claim's composite resource.
    pub claim: &'a Metadata,
    /// The claim's region.
    pub region: &'a str,
    /// Where pools are that are named without a namespace.
    pub pool_namespace: &'a str,
}

impl Asker<'_> {
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
        let (composite, problem) = match found {
            None => (None, Some(Problem::Unread)),
            Some(None) => (
                None,
                Some(Problem::Missing {
                    namespace: namespace.to_owned(),
                }),
            ),
            Some(Some(pool)) => {
                let problem = self.judge::<K>(&pool, hosts);
                (Some(pool), problem)
            }
        };
        Ok(Named {
            name: name.clone(),
            composite,
            problem,
        })
    }

    fn judge<K: Pool>(&self, pool: &PoolComposite<K>, hosts: u32) -> Option<Problem> {
        if pool.metadata.deletion_timestamp.is_some() {
            return Some(Problem::Deleting);
        }
        let region = pool.spec.region();
        if region != self.region {
            return Some(Problem::OtherRegion {
                region: region.to_owned(),
            });
        }
        let (mode, sharing) = pool.spec.sharing();
        let namespace = self.claim.claim_namespace();
        let consumers = K::consumers(&pool.status);
        let is_consumer = consumers
            .iter()
            .any(|consumer| has_uid_of(consumer, self.claim));
        if !allows(sharing, namespace) && !is_consumer {
            return Some(Problem::NotAllowed {
                namespace: namespace.to_owned(),
            });
        }
        let is_admitted = consumers
            .iter()
            .any(|consumer| is_claim(consumer, self.claim));
        if mode == SharingMode::Dedicated && !is_admitted && !consumers.is_empty() {
            return Some(Problem::Dedicated);
        }
        if let (false, phase) = K::phase(&pool.status) {
            return Some(Problem::NotReady { phase });
        }
        if is_admitted || self.claim.stored_uid().is_none() {
            return None;
        }
        if sharing.is_full(consumers.len()) {
            return Some(Problem::TooManyConsumers {
                most: sharing.max_consumers(),
            });
        }
        let free = pool
            .spec
            .most_hosts()
            .map(|most| most.saturating_sub(promised(consumers).saturating_add(sharing.reserve)));
        match free.filter(|free| *free < hosts) {
            Some(free) => Some(Problem::Full {
                free,
                needed: hosts,
            }),
            None => Some(Problem::AwaitingAdmission),
        }
    }
}

/// Whether a consumer is a claim: by UID, or by name and namespace, since a claim that is restored from a backup has another UID.
pub fn is_claim(consumer: &Consumer, claim: &Metadata) -> bool {
    has_uid_of(consumer, claim)
        || consumer.namespace == claim.claim_namespace() && consumer.name == claim.claim_name()
}

/// Whether a consumer has the UID of a claim, which no tenant can choose.
fn has_uid_of(consumer: &Consumer, claim: &Metadata) -> bool {
    consumer.uid.is_some() && consumer.uid.as_deref() == claim.stored_uid()
}

/// The nodes that all consumers together are promised.
pub fn promised(consumers: &[Consumer]) -> u32 {
    consumers.iter().map(hosts).fold(0, u32::saturating_add)
}

/// The nodes that a consumer is promised; one where that isn't said.
pub fn hosts(consumer: &Consumer) -> u32 {
    consumer.min_hosts.unwrap_or(1)
}

/// Whether a pool takes claims from a namespace.
pub fn allows(sharing: &Sharing, namespace: &str) -> bool {
    sharing.allowed_namespaces.is_empty()
        || sharing
            .allowed_namespaces
            .iter()
            .any(|allowed| allowed == namespace)
}
