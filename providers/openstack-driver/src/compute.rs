//! Nova's API as far as leased nodes need it (<https://docs.openstack.org/api-ref/compute/>).

use std::collections::{BTreeMap, BTreeSet};

use hyper::Method;
use provider_hypervisor_pool::nova::{Aggregate, Change, Occupants, Service};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::chassis;
use crate::error::Error;
use crate::lists::{list, page};
use crate::placement;
use crate::session::{Server, Session};
use crate::url::encoded;

/// How many of a host's latest migrations are read.
const LATEST: u32 = 500;
/// Why a compute service counts as disabled that an administrator has forced down.
const FORCED_DOWN: &str = "forced down";
/// The states of a migration that has ended (nova.objects.migration).
const ENDED: [&str; 7] = [
    "cancelled",
    "completed",
    "confirmed",
    "done",
    "error",
    "failed",
    "reverted",
];
/// The states of a migration that hasn't ended (nova/compute, nova/conductor, nova/virt/libvirt/migration.py), each before those that
/// may follow it, so that a migration whose state changes between two requests is still found.
const UNDER_WAY: [&str; 11] = [
    "accepted",
    "queued",
    "preparing",
    "running",
    "running (post-copy)",
    "pre-migrating",
    "migrating",
    "post-migrating",
    "finished",
    "confirming",
    "reverting",
];

/// A compute service. Of a cell that doesn't answer, Nova knows the host alone.
#[derive(Deserialize)]
struct Found {
    host: String,
    status: String,
    id: Option<String>,
    state: Option<String>,
    disabled_reason: Option<String>,
    #[serde(default)]
    forced_down: bool,
}

#[derive(Deserialize)]
struct FoundAggregate {
    id: u64,
    uuid: String,
    name: String,
    availability_zone: Option<String>,
    metadata: BTreeMap<String, String>,
    hosts: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Migration {
    status: String,
}

/// The compute services, by host. One that is forced down counts as disabled, whatever the reason: the scheduler doesn't choose it, and
/// while its nova-compute is older than all others, Nova neither enables nor disables it (nova/objects/service.py, `ServiceTooOld`).
///
/// # Errors
/// A cell doesn't answer: its services would be missing.
pub(crate) async fn services(session: &Session) -> Result<BTreeMap<String, Service>, Error> {
    services_of(session, "/os-services?binary=nova-compute").await
}

/// The compute services of one host, by host, as they are now.
async fn services_on(session: &Session, host: &str) -> Result<BTreeMap<String, Service>, Error> {
    let host = encoded(host);
    let path = format!("/os-services?binary=nova-compute&host={host}");
    services_of(session, &path).await
}

async fn services_of(session: &Session, path: &str) -> Result<BTreeMap<String, Service>, Error> {
    let nova = session.nova()?;
    let found: Vec<Found> = list(nova, path, "services").await?;
    let services = found.into_iter().map(|found| {
        let (Some(id), Some(state)) = (found.id, found.state) else {
            return Err(Error::NoCell {
                server: nova.name(),
                host: found.host,
            });
        };
        let disabled =
            (found.status == "disabled").then(|| found.disabled_reason.unwrap_or_default());
        let forced_down = found.forced_down.then(|| FORCED_DOWN.to_owned());
        let service = Service {
            id,
            is_up: state == "up",
            disabled: forced_down.or(disabled),
        };
        Ok((found.host, service))
    });
    services.collect()
}

/// What is on a host, or on its way from or to it. Nova cuts the list of servers, which is enough to see that a host isn't empty. It
/// lists those that are deleted softly only where it is asked to (nova/db/main/api.py, `instance_get_all_by_filters_sort`); their disks
/// and domains stay. Both lists lack what is in a cell that doesn't answer, so its service is read after them.
pub(crate) async fn occupants(session: &Session, host: &str) -> Result<Occupants, Error> {
    let (nova, encoded) = (session.nova()?, encoded(host));
    let path = format!("/servers?all_tenants=1&soft_deleted=true&host={encoded}");
    let servers: Vec<Value> = list(nova, &path, "servers").await?;
    let mut latest = latest(nova, &encoded).await?;
    if servers.is_empty() && latest.under_way == 0 && latest.has_older {
        latest.under_way = older_under_way(nova, &encoded).await?;
    }
    services_on(session, host).await?;
    Ok(Occupants {
        servers: count(servers.len()),
        migrations: count(latest.under_way),
    })
}

/// The latest migrations of a host.
struct Latest {
    /// The number of those that haven't ended, also in a state of a later release that [`UNDER_WAY`] lacks.
    under_way: usize,
    /// Whether Nova has older ones.
    has_older: bool,
}

async fn latest(nova: Server<'_>, host: &str) -> Result<Latest, Error> {
    let path = format!("/os-migrations?host={host}&limit={LATEST}");
    let (migrations, has_older) = page::<Migration>(nova, &path, "migrations").await?;
    let under_way = migrations
        .iter()
        .filter(|migration| !ENDED.contains(&migration.status.as_str()));
    Ok(Latest {
        under_way: under_way.count(),
        has_older,
    })
}

/// 1 if a migration of a host is in one of the states of [`UNDER_WAY`], else 0: an old one may still run, or wait for the confirmation
/// of its resize. Older pages aren't read, because a member of a project can fill any number of them with resizes that fail.
async fn older_under_way(nova: Server<'_>, host: &str) -> Result<usize, Error> {
    for status in UNDER_WAY {
        let status = encoded(status);
        let path = format!("/os-migrations?host={host}&status={status}&limit=1");
        let found: Vec<Migration> = list(nova, &path, "migrations").await?;
        if !found.is_empty() {
            return Ok(found.len());
        }
    }
    Ok(0)
}

/// The aggregates.
pub(crate) async fn aggregates(session: &Session) -> Result<Vec<Aggregate>, Error> {
    let found: Vec<FoundAggregate> = list(session.nova()?, "/os-aggregates", "aggregates").await?;
    let aggregates = found.into_iter().map(|mut found| {
        found.metadata.remove("availability_zone");
        Aggregate {
            id: found.id,
            uuid: found.uuid,
            name: found.name,
            zone: found.availability_zone,
            metadata: found.metadata,
            hosts: found.hosts,
        }
    });
    Ok(aggregates.collect())
}

/// Carries out a change. What is so already stays so, and so does a compute service that a person has disabled since it was listed: the
/// operator lists compute services again after each call.
pub(crate) async fn carry_out(session: &Session, change: &Change) -> Result<(), Error> {
    let nova = session.nova()?;
    if let Change::Disable { host, .. } | Change::Enable { host, .. } = change
        && !change.is_due(&services_on(session, host).await?)
    {
        return Ok(());
    }
    let service = |id: &str| format!("/os-services/{}", encoded(id));
    let aggregate = |id: u64| format!("/os-aggregates/{id}");
    let action = |id: u64| format!("/os-aggregates/{id}/action");
    // Nova refuses a zone without a name.
    let named = |name: &str, zone: &Option<String>| match zone {
        Some(zone) => json!({ "aggregate": { "name": name, "availability_zone": zone } }),
        None => json!({ "aggregate": { "name": name } }),
    };
    let (method, path, body, what) = match change {
        Change::Disable {
            service: id,
            reason,
            ..
        } => (
            Method::PUT,
            service(id),
            Some(json!({ "status": "disabled", "disabled_reason": reason })),
            "the disabling of a compute service",
        ),
        Change::Enable { service: id, .. } => (
            Method::PUT,
            service(id),
            Some(json!({ "status": "enabled" })),
            "the enabling of a compute service",
        ),
        Change::Delete { service: id, host } => {
            chassis::delete(session, host).await?;
            let what = "the deletion of a compute service";
            (Method::DELETE, service(id), None, what)
        }
        Change::CreateAggregate { name, zone } => (
            Method::POST,
            "/os-aggregates".to_owned(),
            Some(named(name, zone)),
            "the creation of an aggregate",
        ),
        Change::UpdateAggregate { id, name, zone } => (
            Method::PUT,
            aggregate(*id),
            Some(named(name, zone)),
            "the change of an aggregate",
        ),
        Change::SetMetadata { id, metadata } => (
            Method::POST,
            action(*id),
            Some(json!({ "set_metadata": { "metadata": metadata } })),
            "the change of an aggregate's metadata",
        ),
        Change::AddHost { id, host } => (
            Method::POST,
            action(*id),
            Some(json!({ "add_host": { "host": host } })),
            "the addition of a host to an aggregate",
        ),
        Change::RemoveHost { id, host } => (
            Method::POST,
            action(*id),
            Some(json!({ "remove_host": { "host": host } })),
            "the removal of a host from an aggregate",
        ),
        Change::DeleteAggregate { id } => {
            let what = "the deletion of an aggregate";
            (Method::DELETE, aggregate(*id), None, what)
        }
        Change::JoinProvider {
            aggregate,
            provider,
            host,
        } => return placement::join(session, aggregate, provider, host).await,
        Change::DeleteProvider { id, host } => return placement::delete(session, id, host).await,
        Change::RemoveTraits { provider, traits } => {
            return placement::remove_traits(session, provider, traits).await;
        }
        Change::DeleteChassis { host } => return chassis::delete(session, host).await,
    };
    let sent = nova.send(method, &path, body.as_ref(), what).await;
    match (sent, change) {
        (
            Err(Error::Failed { status: 404, .. }),
            Change::Delete { .. } | Change::DeleteAggregate { .. } | Change::RemoveHost { .. },
        ) => Ok(()),
        (Err(Error::Failed { status: 404, .. }), Change::AddHost { host, .. }) => {
            Err(Error::Unmapped {
                server: nova.name(),
                host: host.clone(),
            })
        }
        (Err(Error::Failed { status: 409, .. }), Change::Delete { host, .. }) => {
            Err(Error::Occupied {
                server: nova.name(),
                host: host.clone(),
            })
        }
        (
            Err(Error::Failed { status: 409, .. }),
            Change::CreateAggregate { name, .. } | Change::UpdateAggregate { name, .. },
        ) => Err(Error::Taken {
            server: nova.name(),
            name: name.clone(),
        }),
        (
            Err(Error::Failed { status: 409, .. }),
            Change::AddHost { .. } | Change::RemoveHost { .. },
        )
        | (Err(Error::Failed { status: 400, .. }), Change::UpdateAggregate { .. }) => {
            Err(Error::Zone {
                server: nova.name(),
                what,
            })
        }
        (sent, _) => sent.map(drop),
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
