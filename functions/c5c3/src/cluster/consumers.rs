//! Who consumes a pool. The pool's own composer admits claims, alone, so two claims never both believe that they were first.

use c5c3_api::{Consumer, SharingMode};
use function_protocol::{Fatal, Request, Response};

use super::Cluster;
use crate::pools::{Pool, PoolRequest, allows, hosts, requests};

impl Cluster<'_> {
    /// The claims that this pool has admitted, first come first. While requests can't be read, those of last time.
    ///
    /// Whoever was admitted stays as long as it asks. Others follow by age, where the nodes that they can't do without fit
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
        requests.sort_by(|one, other| seniority(one, last).cmp(&seniority(other, last)));
        requests.dedup_by(|one, other| one.consumer.uid == other.consumer.uid);

        let most = spec.most_hosts().unwrap_or(u32::MAX);
        let mut promised = sharing.reserve;
        let mut admitted: Vec<Consumer> = Vec::new();
        for PoolRequest { consumer, .. } in requests {
            let after = promised.saturating_add(hosts(&consumer));
            let is_full = mode == SharingMode::Dedicated && !admitted.is_empty() || after > most;
            if position(&consumer, last).is_some() && mode == SharingMode::Shared || !is_full {
                promised = after;
                admitted.push(consumer);
            }
        }
        Ok(admitted)
    }
}

/// Those admitted before in their order, then the others by age.
fn seniority<'r>(
    request: &'r PoolRequest,
    last: &[Consumer],
) -> (usize, &'r str, &'r str, &'r str) {
    let consumer = &request.consumer;
    (
        position(consumer, last).unwrap_or(usize::MAX),
        &request.created,
        &consumer.namespace,
        &consumer.name,
    )
}

/// Where a consumer stood among those of last time: by UID, by name where none was recorded.
fn position(consumer: &Consumer, last: &[Consumer]) -> Option<usize> {
    last.iter().position(|other| match &other.uid {
        Some(_) => other.uid == consumer.uid,
        None => other.namespace == consumer.namespace && other.name == consumer.name,
    })
}
