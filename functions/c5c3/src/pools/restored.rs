//! Consumers that were restored from a backup.
//!
//! A restored claim has another UID, so what it composed is another owner's until the platform team hands it over, and until then the
//! claim requests nothing. Its servers and data are in the pool all the same.

use c5c3_api::{Consumer, OpenStackClusterSpec};
use function_protocol::{Document, Request, Required, Response};

use super::{Pool, fetch};
use crate::composite::{Composite, Metadata};
use crate::observed::IgnoredStatus;

/// A consumer's claim, of whose status nothing is read.
type Claim = Composite<OpenStackClusterSpec, IgnoredStatus>;

/// Whether a consumer that requests nothing has a claim of its name and namespace with another UID that names the pool, or may have
/// one while that can't be read. `pool_namespace` is where pools are that claims name without a namespace.
pub fn is_restored<K: Pool>(
    consumer: &Consumer,
    pool: &Metadata,
    pool_namespace: &str,
    request: &Request,
    response: &mut Response,
) -> bool {
    let key = format!("claim/{}/{}", consumer.namespace, consumer.name);
    let found = request.required(&key);
    response.require(key, fetch::claim(pool.scope(), consumer));
    let Required::Found(claims) = found else {
        return true;
    };
    let documents = claims.iter().filter_map(|claim| claim.resource.as_ref());
    let mut claims = documents.map(Document::parse::<Claim>);
    claims.any(|claim| {
        claim.map_or(true, |claim| {
            claim.metadata.stored_uid() != consumer.uid.as_deref()
                && names::<K>(&claim.spec, pool, pool_namespace)
        })
    })
}

/// Whether a claim names a pool.
fn names<K: Pool>(claim: &OpenStackClusterSpec, pool: &Metadata, pool_namespace: &str) -> bool {
    let namespace = pool.claim_namespace();
    K::named_in(claim).iter().any(|named| {
        named.name() == pool.claim_name()
            && (namespace.is_empty() || named.namespace().unwrap_or(pool_namespace) == namespace)
    })
}
