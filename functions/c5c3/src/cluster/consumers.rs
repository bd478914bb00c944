//! Who consumes a pool. The pool's own composer admits claims, alone, so two claims never both believe that they were first.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::{Consumer, SharingMode};
use function_protocol::{Fatal, Request, Response};

use super::Cluster;
use crate::names::draw;
use crate::pools::{Pool, PoolRequest, allows, hosts, is_restored, requests};

/// How many claims of one namespace a call looks up, and how many in all. A claim may have 1.4 MB, and a call 64 MiB.
const LOOKUPS_PER_NAMESPACE: usize = 4;
const LOOKUPS: usize = 24;

impl Cluster<'_> {
    /// The claims that this pool has admitted, first come first. While requests can't be read, those of last time.
    ///
    /// Whoever was admitted stays as long as it asks, and gets more nodes where they fit. It stays, too, when the pool becomes dedicated or
    /// no longer allows its namespace, since its servers run there, but is promised no more nodes. A claim that was restored from a backup asks
    /// only once what it composed is handed over to it, and stays until then. A consumer whose Object has no controller stays, too, even if
    /// the status has lost it. Others follow by age, where the nodes that they can't do without fit into what the pool can have; a dedicated
    /// pool admits one.
    pub fn consumers<K: Pool>(
        &self,
        spec: &K,
        last: &[Consumer],
        request: &Request,
        response: &mut Response,
    ) -> Result<Vec<Consumer>, Fatal> {
        let Some(requests) = requests(self.metadata, request, response)? else {
            return Ok(last.to_vec());
        };
        let has_uid = |request: &PoolRequest| request.consumer.uid.is_some();
        let (mut requests, unowned): (Vec<_>, Vec<_>) = requests.into_iter().partition(has_uid);
        let unowned: Vec<Consumer> = unowned.into_iter().map(|one| one.consumer).collect();
        let (mode, sharing) = spec.sharing();
        let recorded = recorded(last, &unowned);
        let silent = self.silent::<K>(&recorded, &requests, &unowned, request, response);
        let last = Last::of(&recorded);
        let is_allowed = |consumer: &Consumer| allows(sharing, &consumer.namespace);
        requests
            .retain(|request| is_allowed(&request.consumer) || last.has_uid_of(&request.consumer));
        requests.extend(silent);
        requests.sort_by_cached_key(|request| seniority(request, &last));
        requests.dedup_by(|one, other| {
            one.consumer.uid.is_some() && one.consumer.uid == other.consumer.uid
        });

        let most = spec.most_hosts().unwrap_or(u32::MAX);
        let held = requests
            .iter()
            .filter_map(|request| Some(hosts(last.get(&request.consumer)?)));
        let mut promised = held.fold(sharing.reserve, u32::saturating_add);
        let mut admitted: Vec<Consumer> = Vec::new();
        for PoolRequest { mut consumer, .. } in requests {
            let before = last.get(&consumer);
            // Where it can't be read how many nodes a consumer needs, those that it was promised may be in use.
            consumer.min_hosts = consumer
                .min_hosts
                .or(before.and_then(|before| before.min_hosts));
            let is_taken = mode == SharingMode::Dedicated && !admitted.is_empty();
            if before.is_none() && (is_taken || sharing.is_full(admitted.len())) {
                break;
            }
            let had = before.map_or(0, hosts);
            let others = promised.saturating_sub(had);
            let after = others.saturating_add(hosts(&consumer));
            let is_met = hosts(&consumer) <= had;
            match before {
                // Whoever needs no more nodes fits, even into a pool that promised more than it can have by now.
                _ if is_met || after <= most && is_allowed(&consumer) && !is_taken => {
                    promised = after
                }
                // It keeps what it was promised, and waits for more.
                Some(before) => consumer.min_hosts = before.min_hosts.min(consumer.min_hosts),
                None => continue,
            }
            admitted.push(consumer);
        }
        Ok(admitted)
    }

    /// Returns the consumers of last time that request nothing and stay: those of Objects without a controller, those whose claims were
    /// restored from a backup, and those whose claims this call doesn't look up. Each write of the pool changes which claims are looked up.
    /// With a fixed order, claims that never request anything would keep all later ones from being looked up, and their owner could delete
    /// claims that then stay consumers.
    fn silent<K: Pool>(
        &self,
        last: &[Consumer],
        requests: &[PoolRequest],
        unowned: &[Consumer],
        request: &Request,
        response: &mut Response,
    ) -> Vec<PoolRequest> {
        let asking: BTreeSet<_> = requests.iter().map(|asked| path(&asked.consumer)).collect();
        let unowned: BTreeSet<_> = unowned.iter().map(path).collect();
        let pools = &self.presets.pool_namespace;
        let mut lookups: BTreeMap<&str, usize> = BTreeMap::new();
        let mut left = LOOKUPS;
        let mut kept = Vec::new();
        let mut without_request: Vec<&Consumer> = last
            .iter()
            .filter(|consumer| !asking.contains(&path(consumer)))
            .collect();
        without_request.sort_by_cached_key(|consumer| {
            let name = consumer.uid.as_deref().unwrap_or(&consumer.name);
            draw(&self.metadata.resource_version, name)
        });
        for consumer in without_request {
            let of_namespace = lookups.entry(&consumer.namespace).or_default();
            let is_looked_up = !unowned.contains(&path(consumer))
                && left > 0
                && *of_namespace < LOOKUPS_PER_NAMESPACE;
            if is_looked_up {
                *of_namespace += 1;
                left -= 1;
            }
            if !is_looked_up || is_restored::<K>(consumer, self.metadata, pools, request, response)
            {
                kept.push(PoolRequest {
                    consumer: consumer.clone(),
                    created: String::new(),
                });
            }
        }
        kept
    }
}

/// The consumers of last time, and those of Objects without a controller, which a lost status doesn't name.
fn recorded(last: &[Consumer], unowned: &[Consumer]) -> Vec<Consumer> {
    let mut paths: BTreeSet<_> = last.iter().map(path).collect();
    let mut recorded = last.to_vec();
    for consumer in unowned {
        if paths.insert(path(consumer)) {
            recorded.push(consumer.clone());
        }
    }
    recorded
}

/// Which claim a consumer is, whatever its UID.
fn path(consumer: &Consumer) -> (&str, &str) {
    (&consumer.namespace, &consumer.name)
}

/// Those admitted before in their order, then the others by age.
fn seniority(request: &PoolRequest, last: &Last<'_>) -> (usize, String, String, String) {
    let consumer = &request.consumer;
    (
        last.position(consumer).unwrap_or(usize::MAX),
        request.created.clone(),
        consumer.namespace.clone(),
        consumer.name.clone(),
    )
}

/// The consumers of last time, by UID and by name: a claim that is restored from a backup has another UID.
struct Last<'a> {
    consumers: &'a [Consumer],
    by_uid: BTreeMap<&'a str, usize>,
    by_path: BTreeMap<(&'a str, &'a str), usize>,
}

impl<'a> Last<'a> {
    fn of(consumers: &'a [Consumer]) -> Self {
        let uids = consumers.iter().zip(0..);
        let uids = uids.filter_map(|(consumer, at)| Some((consumer.uid.as_deref()?, at)));
        Last {
            consumers,
            by_uid: uids.collect(),
            by_path: consumers.iter().map(path).zip(0..).collect(),
        }
    }

    /// Whether a consumer is one of last time, by its UID: whoever has the name of one that is gone isn't.
    fn has_uid_of(&self, consumer: &Consumer) -> bool {
        let uid = consumer.uid.as_deref();
        uid.is_some_and(|uid| self.by_uid.contains_key(uid))
    }

    /// Where a consumer stood.
    fn position(&self, consumer: &Consumer) -> Option<usize> {
        let uid = consumer.uid.as_deref();
        let by_uid = uid.and_then(|uid| self.by_uid.get(uid));
        by_uid
            .or_else(|| self.by_path.get(&path(consumer)))
            .copied()
    }

    /// A consumer as it was promised nodes.
    fn get(&self, consumer: &Consumer) -> Option<&'a Consumer> {
        self.consumers.get(self.position(consumer)?)
    }
}
