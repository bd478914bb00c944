//! The quotas of RBD pools: never lowered by themselves below what a pool may hold already.

use c5c3_api::parts::Quantity;
use c5c3_kinds::ceph::Quotas;
use function_protocol::Fatal;
use serde::Deserialize;
use serde_json::Value;

use super::Recipe;
use crate::composed::Composed;
use crate::pools::Rbd;

/// The quota by which a pool has none. Rook leaves the quota in Ceph as it is where a CephBlockPool states none
/// (`setCommonPoolProperties` of <https://github.com/rook/rook/blob/master/pkg/daemon/ceph/client/pool.go>).
const UNLIMITED: &str = "0";

/// A CephBlockPool, as far as its quota.
#[derive(Deserialize)]
struct Seen {
    spec: Option<SeenSpec>,
}

/// Spec of a CephBlockPool, as far as its quota.
#[derive(Deserialize)]
struct SeenSpec {
    #[serde(default)]
    quotas: Value,
}

/// The most that a pool may hold.
#[derive(Clone, Debug)]
pub struct PoolQuota {
    /// As the CephBlockPool states it; none where it states none.
    max_size: Option<String>,
    /// In bytes; infinite without a quota.
    pub bytes: f64,
}

/// A quota that a pool keeps, although a lower one is wanted.
#[derive(Clone, Debug)]
pub struct KeptQuota {
    /// Name of the composed resource.
    resource: String,
    /// What the pool keeps.
    kept: PoolQuota,
    /// What is wanted.
    wanted: String,
}

impl PoolQuota {
    /// A quota of so many gigabytes.
    fn of_gigabytes(gigabytes: Option<u64>) -> Self {
        Self {
            max_size: gigabytes.map(|gigabytes| format!("{gigabytes}G")),
            bytes: limit(gigabytes.map(|gigabytes| gigabytes as f64 * 1e9)),
        }
    }

    /// The quota in the spec of a CephBlockPool; none where it can't be read.
    fn of_spec(spec: &SeenSpec) -> Option<Self> {
        let Some(max_size) = spec.quotas.get("maxSize") else {
            return Some(Self::of_gigabytes(None));
        };
        let max_size: Quantity = max_size.as_str()?.parse().ok()?;
        Some(Self {
            max_size: Some(max_size.to_string()),
            bytes: limit(Some(max_size.amount())),
        })
    }

    /// Whether a pool may hold more with this quota than with another one.
    fn exceeds(&self, other: &Self) -> bool {
        // One amount may be two numbers that differ in their last digits, such as 1.1T and 1100G.
        self.bytes > other.bytes * (1.0 + 1e-12)
    }

    /// What a CephBlockPool states.
    pub fn stated(&self) -> Option<Quotas> {
        let max_size = self.max_size.clone();
        max_size.map(|max_size| Quotas { max_size })
    }
}

/// The most bytes by a quota. To Ceph, 0 is no quota.
fn limit(quota: Option<f64>) -> f64 {
    quota.filter(|bytes| *bytes > 0.0).unwrap_or(f64::INFINITY)
}

impl KeptQuota {
    /// What is kept, in words.
    fn words(&self) -> String {
        let kept = self.kept.max_size.as_deref();
        let kept = kept.filter(|_| self.kept.bytes.is_finite());
        let kept = kept.map_or_else(|| "no quota".to_owned(), |kept| format!("the quota {kept}"));
        format!("{} keeps {kept} instead of {}", self.resource, self.wanted)
    }

    /// By which the annotation names this quota alone, so that it lowers no later one.
    fn term(&self) -> String {
        format!("{}:{}", self.resource, self.wanted)
    }
}

impl Recipe<'_> {
    /// The quota of a pool, and the one that it keeps where that is higher than what is wanted. Ceph refuses every write to a pool
    /// that holds as much as its quota (`update_pools_status` of <https://github.com/ceph/ceph/blob/tentacle/src/mon/OSDMonitor.cc>), and
    /// Rook doesn't report what a pool holds: the quota of a pool that exists only rises, unless the claim's annotation accepts
    /// exactly the lower one. What the Object was last wanted with counts as well as what was observed, which may be older.
    ///
    /// # Errors
    /// The Composition's input lacks the claim's size.
    pub fn pool_quota(
        &self,
        purpose: Rbd,
        resource: &str,
        composed: &Composed<'_>,
    ) -> Result<(PoolQuota, Option<KeptQuota>), Fatal> {
        let mut quota = PoolQuota::of_gigabytes(self.quota_gb(purpose)?);
        let last = composed.last_wanted(resource);
        let last = last.and_then(|spec| PoolQuota::of_spec(&spec));
        let observed: Option<Seen> = composed.own_object(resource);
        let observed = observed.and_then(|pool| PoolQuota::of_spec(&pool.spec?));
        let had_quota = last.as_ref().is_some_and(|last| last.max_size.is_some());
        let most = last.into_iter().chain(observed);
        let most = most.max_by(|one, other| one.bytes.total_cmp(&other.bytes));
        let mut kept = None;
        if let Some(most) = most
            && let Some(wanted) = quota.max_size.clone()
            && most.exceeds(&quota)
        {
            let lower = KeptQuota {
                resource: resource.to_owned(),
                kept: most.clone(),
                wanted,
            };
            let accepted = self.cluster.metadata.lower_quotas();
            if !accepted.contains(lower.term().as_str()) {
                quota = most;
                kept = Some(lower);
            }
        }
        if quota.max_size.is_none() && had_quota {
            quota.max_size = Some(UNLIMITED.to_owned());
        }
        Ok((quota, kept))
    }

    /// The most that a pool may hold in GB: what the site allows, and what the claim asks for where that is less.
    fn quota_gb(&self, purpose: Rbd) -> Result<Option<u64>, Fatal> {
        let limits = &self.presets.size(self.cluster.spec.size)?.storage;
        let claim = &self.cluster.spec.storage.ceph;
        let (limit, asked) = match purpose {
            Rbd::Volumes => (limits.volumes, claim.volume_pool.quota_gb),
            Rbd::Images => (limits.images, 0),
            Rbd::Ephemeral => (limits.ephemeral, 0),
            // Where no new claim may have backups, those that are there may take as much as volumes.
            Rbd::Backups => (
                limits.backups.filter(|limit| *limit > 0).or(limits.volumes),
                claim.backup_pool.quota_gb,
            ),
        };
        // To Ceph, 0 is no quota.
        let quotas = limit.into_iter().chain([asked]);
        Ok(quotas.filter(|quota| *quota > 0).min())
    }

    /// Says which pools keep their quotas, and how to lower them.
    pub fn quotas_kept(&self, quotas: &[KeptQuota]) -> String {
        let words: Vec<String> = quotas.iter().map(KeptQuota::words).collect();
        let terms: Vec<String> = quotas.iter().map(KeptQuota::term).collect();
        let claim = &self.cluster.metadata;
        format!(
            "{}: a quota isn't lowered by itself, since Ceph refuses every write to a pool that holds as much; ask the platform \
             team what these pools hold (ceph osd pool get-quota), and where it is less: kubectl annotate --overwrite \
             openstackcluster {} -n {} c5c3.io/lower-quotas={}",
            words.join("; "),
            claim.claim_name(),
            claim.claim_namespace(),
            terms.join(",")
        )
    }
}
