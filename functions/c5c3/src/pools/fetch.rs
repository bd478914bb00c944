//! Asking Crossplane for resources by name or by labels, and finding them in what it fetched.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::{Claim, Consumer, OpenStackClusterSpec};
use function_protocol::{DocumentError, Fatal, Match, Request, Required, Response, Selector};

use super::{Consumers, Pool, PoolComposite};
use crate::composite::{CLAIM_NAME, CLAIM_NAMESPACE, Scope};

/// The most pools that a claim is told to name instead of one that is missing.
const MOST_OFFERED: usize = 10;

/// A composite resource that was fetched.
pub(super) struct Fetched<'r, K: Pool> {
    /// Itself.
    pub composite: PoolComposite<K>,
    /// Who consumes it.
    pub consumers: Consumers<'r>,
}

/// A composite resource by its claim's name and namespace. The outer None: not fetched yet.
pub(super) fn fetch<'r, K: Pool>(
    scope: Scope,
    request: &'r Request,
    response: &mut Response,
    namespace: &str,
    name: &str,
) -> Result<Option<Option<Fetched<'r, K>>>, Fatal> {
    let by_name = Match::Name(name.to_owned());
    let selectors = match scope {
        Scope::Namespaced => vec![(Some(namespace.to_owned()), by_name)],
        Scope::Cluster => vec![
            (None, Match::Labels(claim_labels(namespace, name))),
            (None, by_name),
        ],
    };
    let mut read = true;
    let mut found = None;
    for (position, (namespace, by)) in selectors.into_iter().enumerate() {
        let key = match position {
            0 => format!("{}/{name}", K::KIND),
            _ => format!("{}/{name}/unclaimed", K::KIND),
        };
        let unclaimed = position > 0;
        let required = request.required(&key);
        read &= !matches!(required, Required::Unresolved);
        if found.is_none() {
            for document in required.documents() {
                let composite: PoolComposite<K> = document
                    .parse()
                    .map_err(|error| unreadable::<K>(error, name))?;
                if !unclaimed || !composite.metadata.is_claimed() {
                    found = Some(Fetched {
                        composite,
                        consumers: Consumers::of(document),
                    });
                    break;
                }
            }
        }
        response.require(key, selector::<K>(scope, namespace, by));
    }
    Ok(if found.is_none() && !read {
        None
    } else {
        Some(found)
    })
}

/// The names of the pools of a namespace that a claim may name instead of one that is missing; none until they are fetched.
pub(super) fn others<K: Pool>(
    scope: Scope,
    request: &Request,
    response: &mut Response,
    namespace: &str,
    is_offered: impl Fn(&PoolComposite<K>) -> bool,
) -> Vec<String> {
    // No pool has an empty name.
    let key = format!("{}//{namespace}", K::KIND);
    let documents = request.required(&key).documents();
    // The claim doesn't name these: one that can't be read isn't offered.
    let pools = documents.filter_map(|document| document.parse::<PoolComposite<K>>().ok());
    let names = pools.filter(is_offered);
    let names: BTreeSet<String> = names
        .map(|pool| pool.metadata.claim_name().to_owned())
        .collect();
    let (namespace, labels) = match scope {
        Scope::Namespaced => (Some(namespace.to_owned()), BTreeMap::new()),
        Scope::Cluster => {
            let label = (CLAIM_NAMESPACE.to_owned(), namespace.to_owned());
            (None, BTreeMap::from([label]))
        }
    };
    response.require(key, selector::<K>(scope, namespace, Match::Labels(labels)));
    names.into_iter().take(MOST_OFFERED).collect()
}

/// Why a pool can't be read.
pub(super) fn unreadable<K: Pool>(error: DocumentError, name: &str) -> Fatal {
    Fatal::from(error).within(&format!("{} {name}", K::NOUN))
}

/// Asks for the claim of a consumer: a composite resource, by the name and namespace that only an API server writes.
pub(super) fn claim(scope: Scope, consumer: &Consumer) -> Selector {
    let Consumer {
        name, namespace, ..
    } = consumer;
    let by_name = Match::Name(name.clone());
    let (namespace, by) = match scope {
        Scope::Namespaced => (Some(namespace.clone()), by_name),
        Scope::Cluster if namespace.is_empty() => (None, by_name),
        Scope::Cluster => (None, Match::Labels(claim_labels(namespace, name))),
    };
    selector::<OpenStackClusterSpec>(scope, namespace, by)
}

/// Selects composite resources of a kind.
pub fn selector<K: Claim>(scope: Scope, namespace: Option<String>, by: Match) -> Selector {
    Selector {
        api_version: K::api_version(),
        kind: scope.kind::<K>(),
        namespace,
        by,
    }
}

/// The labels of a composite resource that a claim made.
fn claim_labels(namespace: &str, name: &str) -> BTreeMap<String, String> {
    BTreeMap::from([
        (CLAIM_NAME.to_owned(), name.to_owned()),
        (CLAIM_NAMESPACE.to_owned(), namespace.to_owned()),
    ])
}
