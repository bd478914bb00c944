//! Asking Crossplane for resources by name or by labels, and finding them in what it fetched.

use std::collections::BTreeMap;

use c5c3_api::{Consumer, Kind, OpenStackClusterSpec};
use function_protocol::{DocumentError, Fatal, Match, Request, Required, Response, Selector};

use super::{Consumers, Pool, PoolComposite};
use crate::composite::{CLAIM_NAME, CLAIM_NAMESPACE, Scope};

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
        match request.required(&key) {
            Required::Unresolved => read = false,
            Required::Found(resources) if found.is_none() => {
                for document in resources
                    .iter()
                    .filter_map(|resource| resource.resource.as_ref())
                {
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
            Required::Found(_) => {}
        }
        response.require(
            key,
            Selector {
                api_version: K::api_version(),
                kind: kind::<K>(scope),
                namespace,
                by,
            },
        );
    }
    Ok(if found.is_none() && !read {
        None
    } else {
        Some(found)
    })
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
    Selector {
        api_version: OpenStackClusterSpec::api_version(),
        kind: kind::<OpenStackClusterSpec>(scope),
        namespace,
        by,
    }
}

/// What the composite resources of a kind are called.
pub fn kind<K: Kind>(scope: Scope) -> String {
    match scope {
        Scope::Cluster => K::composite_kind(),
        Scope::Namespaced => K::KIND.to_owned(),
    }
}

/// The labels of a composite resource that a claim made.
fn claim_labels(namespace: &str, name: &str) -> BTreeMap<String, String> {
    BTreeMap::from([
        (CLAIM_NAME.to_owned(), name.to_owned()),
        (CLAIM_NAMESPACE.to_owned(), namespace.to_owned()),
    ])
}
