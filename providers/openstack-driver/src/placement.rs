//! Placement's API as far as the resource provider of a leased node needs it (<https://docs.openstack.org/api-ref/placement/>).

use std::collections::{BTreeMap, BTreeSet};

use hyper::Method;
use provider_hypervisor_pool::nova::{Leftover, ProviderTraits, hosts_of};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::hypervisors::has_hypervisor;
use crate::lists::list;
use crate::session::{Server, Session};
use crate::url::encoded;

/// The field of a list of resource providers.
const PROVIDERS: &str = "resource_providers";

#[derive(Deserialize)]
struct Provider {
    uuid: String,
    name: String,
    parent_provider_uuid: Option<String>,
}

/// What is allocated of a resource provider.
#[derive(Deserialize)]
struct Allocations {
    allocations: Map<String, Value>,
}

/// The aggregates that a resource provider is in.
#[derive(Deserialize)]
struct Aggregates {
    aggregates: BTreeSet<String>,
    resource_provider_generation: u64,
}

/// The traits of a resource provider.
#[derive(Deserialize)]
struct Traits {
    traits: BTreeSet<String>,
    resource_provider_generation: u64,
}

/// The resource providers in an aggregate: by ID, the name. None if it isn't known where Placement is.
pub(crate) async fn members(
    session: &Session,
    aggregate: &str,
) -> Result<Option<BTreeMap<String, String>>, Error> {
    let Some(placement) = session.placement() else {
        return Ok(None);
    };
    let path = format!("/resource_providers?member_of={}", encoded(aggregate));
    let members: Vec<Provider> = list(placement, &path, PROVIDERS).await?;
    let members = members.into_iter();
    Ok(Some(
        members.map(|member| (member.uuid, member.name)).collect(),
    ))
}

/// Makes the resource provider of a host a member of an aggregate, as `nova-manage placement sync_aggregates` does. It stays in others.
/// One that has changed since it was read is tried again.
pub(crate) async fn join(
    session: &Session,
    aggregate: &str,
    provider: &str,
    host: &str,
) -> Result<(), Error> {
    let placement = placement(session)?;
    let path = format!("/resource_providers/{}/aggregates", encoded(provider));
    let what = "the aggregates of a resource provider";
    let found: Option<Aggregates> = read(placement, &path, what).await?;
    let mut found = found.ok_or_else(|| Error::NoProvider {
        server: placement.name(),
        host: host.to_owned(),
    })?;
    if !found.aggregates.insert(aggregate.to_owned()) {
        return Ok(());
    }
    let body = json!({
        "aggregates": found.aggregates,
        "resource_provider_generation": found.resource_provider_generation,
    });
    let what = "the change of a resource provider's aggregates";
    let sent = placement.send(Method::PUT, &path, Some(&body), what);
    sent.await.map(drop)
}

/// The resource providers with some of these custom traits, by ID. None if it isn't known where Placement is. Placement refuses to look for a
/// trait that it doesn't have with the status of any other request that it doesn't take, so only those that it lists are sought.
pub(crate) async fn with_traits(
    session: &Session,
    traits: &BTreeSet<String>,
) -> Result<Option<BTreeMap<String, ProviderTraits>>, Error> {
    let Some(placement) = session.placement() else {
        return Ok(None);
    };
    let existing: Vec<String> =
        list(placement, "/traits?name=startswith:CUSTOM_", "traits").await?;
    let existing = existing.iter().filter(|name| traits.contains(*name));
    let mut found: BTreeMap<String, ProviderTraits> = BTreeMap::new();
    for name in existing {
        let path = format!("/resource_providers?required={}", encoded(name));
        let providers: Vec<Provider> = list(placement, &path, PROVIDERS).await?;
        for provider in providers {
            let of_provider = found.entry(provider.uuid);
            let of_provider = of_provider.or_insert_with(|| ProviderTraits {
                name: provider.name,
                traits: BTreeSet::new(),
            });
            of_provider.traits.insert(name.clone());
        }
    }
    Ok(Some(found))
}

/// Removes traits from a resource provider, which keeps others. One that has changed since it was read is tried again.
pub(crate) async fn remove_traits(
    session: &Session,
    provider: &str,
    traits: &BTreeSet<String>,
) -> Result<(), Error> {
    let placement = placement(session)?;
    let path = format!("/resource_providers/{}/traits", encoded(provider));
    let what = "the traits of a resource provider";
    let found: Option<Traits> = read(placement, &path, what).await?;
    let Some(found) = found.filter(|found| !found.traits.is_disjoint(traits)) else {
        return Ok(());
    };
    let others: BTreeSet<&String> = found.traits.difference(traits).collect();
    let body = json!({
        "traits": others,
        "resource_provider_generation": found.resource_provider_generation,
    });
    let what = "the change of a resource provider's traits";
    let sent = placement.send(Method::PUT, &path, Some(&body), what);
    sent.await.map(drop)
}

/// The resource providers that are left of hosts whose compute service doesn't exist any more, by ID. None if it isn't known where
/// Placement is. All providers of compute nodes are read at once, since they are found by a whole name alone. Others may have a similar
/// name, as those of shared storage; since Ussuri Nova gives compute nodes a trait
/// (<https://docs.openstack.org/releasenotes/nova/ussuri.html>).
pub(crate) async fn leftovers(
    session: &Session,
    hosts: &BTreeSet<String>,
) -> Result<Option<BTreeMap<String, Leftover>>, Error> {
    let Some(placement) = session.placement() else {
        return Ok(None);
    };
    let path = "/resource_providers?required=COMPUTE_NODE";
    let all: Vec<Provider> = list(placement, path, PROVIDERS).await?;
    let roots = all
        .into_iter()
        .filter(|provider| provider.parent_provider_uuid.is_none());
    let mut left = BTreeMap::new();
    for provider in roots {
        let Some(host) = hosts_of(&provider.name).find(|host| hosts.contains(*host)) else {
            continue;
        };
        // Another host may have this name with a domain.
        if !has_hypervisor(session, &provider.uuid).await? {
            let leftover = Leftover {
                host: host.to_owned(),
                is_allocated: is_allocated(placement, &provider.uuid).await?,
            };
            left.insert(provider.uuid, leftover);
        }
    }
    Ok(Some(left))
}

/// Whether something is allocated of a resource provider, or of one in its tree.
async fn is_allocated(placement: Server<'_>, id: &str) -> Result<bool, Error> {
    for provider in tree(placement, id).await? {
        let id = encoded(&provider.uuid);
        let path = format!("/resource_providers/{id}/allocations");
        let what = "the allocations of a resource provider";
        let found: Option<Allocations> = read(placement, &path, what).await?;
        if found.is_some_and(|found| !found.allocations.is_empty()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The resource providers in the tree of one.
async fn tree(placement: Server<'_>, id: &str) -> Result<Vec<Provider>, Error> {
    let path = format!("/resource_providers?in_tree={}", encoded(id));
    list(placement, &path, PROVIDERS).await
}

/// Deletes the resource provider of a host with those below it, unless something is allocated there.
pub(crate) async fn delete(session: &Session, id: &str, host: &str) -> Result<(), Error> {
    let placement = placement(session)?;
    let tree = tree(placement, id).await?;
    for id in bottom_up(&tree, id) {
        let path = format!("/resource_providers/{}", encoded(id));
        let what = "the deletion of a resource provider";
        match placement.send(Method::DELETE, &path, None, what).await {
            Ok(_) | Err(Error::Failed { status: 404, .. }) => {}
            Err(Error::Failed { status: 409, .. }) => {
                return Err(Error::Allocated {
                    server: placement.name(),
                    host: host.to_owned(),
                    id: id.to_owned(),
                });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// What Placement says of a resource provider under this path. None if there is no such provider.
async fn read<T: DeserializeOwned>(
    placement: Server<'_>,
    path: &str,
    what: &'static str,
) -> Result<Option<T>, Error> {
    match placement.send(Method::GET, path, None, what).await {
        Ok(reply) => {
            let found = serde_json::from_value(reply);
            found.map(Some).map_err(|_| placement.strange(what))
        }
        Err(Error::Failed { status: 404, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn placement(session: &Session) -> Result<Server<'_>, Error> {
    session.placement().ok_or_else(|| Error::NoUrl {
        cloud: provider_hypervisor_pool::nova::CLOUD.to_owned(),
        field: "placement_endpoint_override",
    })
}

/// The providers of a tree below one, each before the one above it. Placement deletes none that has others below it.
fn bottom_up<'a>(tree: &'a [Provider], root: &'a str) -> Vec<&'a str> {
    let (mut order, mut next) = (Vec::new(), vec![root]);
    while let Some(above) = next.pop() {
        if order.contains(&above) {
            continue;
        }
        order.push(above);
        let below = tree
            .iter()
            .filter(|provider| provider.parent_provider_uuid.as_deref() == Some(above));
        next.extend(below.map(|provider| provider.uuid.as_str()));
    }
    order.reverse();
    order
}
