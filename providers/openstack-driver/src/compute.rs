//! Nova's API as far as a node whose lease ends needs it (<https://docs.openstack.org/api-ref/compute/>), and Neutron's for the
//! node's chassis (<https://docs.openstack.org/api-ref/network/v2/#agents>).

use std::collections::BTreeMap;

use hyper::Method;
use provider_hypervisor_pool::nova::{Change, Occupants, Service};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::encoded;
use crate::error::Error;
use crate::session::{Server, Session};

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

#[derive(Deserialize)]
struct Found {
    id: String,
    host: String,
    status: String,
    state: String,
    disabled_reason: Option<String>,
}

#[derive(Deserialize)]
struct Migration {
    status: String,
}

/// The compute services, by host.
pub(crate) async fn services(session: &Session) -> Result<BTreeMap<String, Service>, Error> {
    let path = "/os-services?binary=nova-compute";
    let found: Vec<Found> = list(nova(session)?, path, "services").await?;
    let services = found.into_iter().map(|found| {
        let disabled =
            (found.status == "disabled").then(|| found.disabled_reason.unwrap_or_default());
        let service = Service {
            id: found.id,
            is_up: found.state == "up",
            disabled,
        };
        (found.host, service)
    });
    Ok(services.collect())
}

/// What is on a host, or on its way from or to it. Nova cuts both lists at its `max_limit`, which is enough to see that a host
/// isn't empty.
pub(crate) async fn occupants(session: &Session, host: &str) -> Result<Occupants, Error> {
    let (nova, host) = (nova(session)?, encoded(host));
    let path = format!("/servers?all_tenants=1&host={host}");
    let servers: Vec<Value> = list(nova, &path, "servers").await?;
    let path = format!("/os-migrations?host={host}");
    let migrations: Vec<Migration> = list(nova, &path, "migrations").await?;
    let under_way = migrations
        .iter()
        .filter(|migration| !ENDED.contains(&migration.status.as_str()));
    Ok(Occupants {
        servers: count(servers.len()),
        migrations: count(under_way.count()),
    })
}

/// Changes something. What is so already stays so.
pub(crate) async fn carry_out(
    session: &Session,
    service: &str,
    change: &Change,
) -> Result<(), Error> {
    let nova = nova(session)?;
    let path = format!("/os-services/{}", encoded(service));
    match change {
        Change::Disable { reason } => {
            let body = json!({ "status": "disabled", "disabled_reason": reason });
            let what = "the disabling of a compute service";
            nova.send(Method::PUT, &path, Some(&body), what).await?;
        }
        Change::Enable => {
            let body = json!({ "status": "enabled" });
            let what = "the enabling of a compute service";
            nova.send(Method::PUT, &path, Some(&body), what).await?;
        }
        Change::Delete { host } => {
            delete_chassis(session, host).await?;
            let what = "the deletion of a compute service";
            match nova.send(Method::DELETE, &path, None, what).await {
                Ok(_) | Err(Error::Failed { status: 404, .. }) => {}
                Err(Error::Failed { status: 409, .. }) => {
                    return Err(Error::Occupied {
                        server: nova.name(),
                        host: host.clone(),
                    });
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// Deletes a host's chassis: its ovn-controller has stopped, and leaves it to others. Neutron's ID of that agent is the chassis'
/// name, which is the host's.
async fn delete_chassis(session: &Session, host: &str) -> Result<(), Error> {
    let Some(neutron) = session.neutron() else {
        return Ok(());
    };
    let path = format!("/v2.0/agents/{}", encoded(host));
    let what = "the deletion of a chassis";
    match neutron.send(Method::DELETE, &path, None, what).await {
        Ok(_) | Err(Error::Failed { status: 404, .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

fn nova(session: &Session) -> Result<Server<'_>, Error> {
    session.nova().ok_or_else(|| Error::NoUrl {
        cloud: provider_hypervisor_pool::nova::CLOUD.to_owned(),
        field: "compute_endpoint_override",
    })
}

async fn list<T: DeserializeOwned>(
    server: Server<'_>,
    path: &str,
    field: &'static str,
) -> Result<Vec<T>, Error> {
    let mut reply = server.send(Method::GET, path, None, field).await?;
    serde_json::from_value(reply[field].take()).map_err(|_| server.strange(field))
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
