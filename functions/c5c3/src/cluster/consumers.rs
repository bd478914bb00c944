//! Who consumes a pool. The pool's own composer admits claims, alone, so two claims never both believe that they were first.

use std::collections::BTreeMap;

use c5c3_api::{Consumer, SharingMode};
use function_protocol::{Fatal, Request, Response};

use super::Cluster;
use crate::pools::{Pool, PoolRequest, allows, hosts, requests};

impl Cluster<'_> {
    /// The claims that this pool has admitted, first come first. While requests can't be read, those of last time.
    ///
    /// Whoever was admitted stays as long as it asks, and gets more nodes where they fit. Others follow by age, where the nodes that they can't do without fit
    /// into what the pool can have; a dedicated pool admits one.
    pub fn consumers<K: Pool>(
        &self,
        spec: &K,
        last: &[Consumer],
        request: &Request,
        response: &mut Response,
    ) -> Result<Vec<Consumer>, Fatal> {
        let Some(mut requests) = requests(self.metadata, request, response)? else {
            return Ok(last.to_vec());
        };
        let (mode, sharing) = spec.sharing();
        requests.retain(|request| allows(sharing, &request.consumer.namespace));
        let last = Last::of(last);
        requests.sort_by_cached_key(|request| seniority(request, &last));
        requests.dedup_by(|one, other| one.consumer.uid == other.consumer.uid);

        let most = spec.most_hosts().unwrap_or(u32::MAX);
        let held = requests
            .iter()
            .filter_map(|request| Some(hosts(last.get(&request.consumer)?)));
        let mut promised = held.fold(sharing.reserve, u32::saturating_add);
        let mut admitted: Vec<Consumer> = Vec::new();
        for PoolRequest { mut consumer, .. } in requests {
            if mode == SharingMode::Dedicated && !admitted.is_empty() {
                break;
            }
            let before = last.get(&consumer);
            let others = promised.saturating_sub(before.map_or(0, hosts));
            let after = others.saturating_add(hosts(&consumer));
            match before {
                _ if after <= most => promised = after,
                // It keeps what it was promised, and waits for more.
                Some(before) => consumer.min_hosts = before.min_hosts.min(consumer.min_hosts),
                None => continue,
            }
            admitted.push(consumer);
        }
        Ok(admitted)
    }
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

/// The consumers of last time, by UID, and by name where none was recorded.
struct Last<'a> {
    consumers: &'a [Consumer],
    positions: BTreeMap<(Option<&'a str>, &'a str, &'a str), usize>,
}

impl<'a> Last<'a> {
    fn of(consumers: &'a [Consumer]) -> Self {
        let keys = consumers.iter().map(|consumer| match &consumer.uid {
            Some(uid) => (Some(uid.as_str()), "", ""),
            None => (None, consumer.namespace.as_str(), consumer.name.as_str()),
        });
        Last {
            consumers,
            positions: keys.zip(0..).collect(),
        }
    }

    /// Where a consumer stood.
    fn position(&self, consumer: &Consumer) -> Option<usize> {
        let by_uid = (consumer.uid.as_deref(), "", "");
        let by_name = (None, consumer.namespace.as_str(), consumer.name.as_str());
        let position = self.positions.get(&by_uid);
        position.or_else(|| self.positions.get(&by_name)).copied()
    }

    /// A consumer as it was promised nodes.
    fn get(&self, consumer: &Consumer) -> Option<&'a Consumer> {
        self.consumers.get(self.position(consumer)?)
    }
}
