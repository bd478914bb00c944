//! Hypervisors in Nova's API (<https://docs.openstack.org/api-ref/compute/#hypervisors-os-hypervisors>).

use std::collections::BTreeMap;

use hyper::Method;
use serde::Deserialize;

use crate::error::Error;
use crate::lists::list;
use crate::session::Session;
use crate::url::encoded;

/// How many hypervisors are read at once: the details of each have several kB, and Nova looks up the compute service of each.
const HYPERVISORS: u32 = 100;
/// How many hosts with hypervisors one Nova may list, and how long their names may be: a tenant may administrate Nova.
const MOST_HYPERVISORS: usize = 10_000;
const LONGEST_HOST: usize = 255;

#[derive(Deserialize)]
struct Hypervisor {
    id: String,
    service: HypervisorService,
    running_vms: Option<u32>,
}

#[derive(Deserialize)]
struct HypervisorService {
    host: String,
}

/// What the list of all hypervisors has of a host.
#[derive(Default)]
struct Listed {
    id: String,
    servers: Option<u32>,
}

/// The ID of a host's hypervisor, if it has one. Nova finds hypervisors by a part of the name that libvirt has for a host; the list of all
/// is long, and ends early where Nova leaves out one without a compute service (nova/api/openstack/compute/hypervisors.py).
///
/// # Errors
/// The database of a cell doesn't answer: the hypervisor may be in this cell.
pub(crate) async fn hypervisor(session: &Session, host: &str) -> Result<Option<String>, Error> {
    let pattern = encoded(host);
    let path = format!("/os-hypervisors/detail?hypervisor_hostname_pattern={pattern}");
    let found: Vec<Hypervisor> = match list(session.nova()?, &path, "hypervisors").await {
        // Nova has none with such a name.
        Err(Error::Failed { status: 404, .. }) => return Ok(None),
        found => found?,
    };
    let mut found = found.into_iter();
    let found = found.find(|found| found.service.host == host);
    Ok(found.map(|found| found.id))
}

/// The IDs of all hypervisors, by the hosts of their compute services.
///
/// # Errors
/// The database of a cell doesn't answer: its hypervisors would be missing.
pub(crate) async fn ids(session: &Session) -> Result<BTreeMap<String, String>, Error> {
    let listed = listed(session).await?.into_iter();
    Ok(listed.map(|(host, listed)| (host, listed.id)).collect())
}

/// The number of servers on each host, in whatever state: nova-compute counts those that it has not removed
/// (nova/compute/resource_tracker.py, `num_instances`). Later microversions than 2.87 don't have it
/// (<https://docs.openstack.org/api-ref/compute/#list-hypervisors-details>). What is missing isn't empty.
///
/// # Errors
/// The database of a cell doesn't answer: its hypervisors would be missing.
pub(crate) async fn servers(session: &Session) -> Result<BTreeMap<String, u32>, Error> {
    let counted = listed(session).await?.into_iter();
    let counted = counted.filter_map(|(host, listed)| Some((host, listed.servers?)));
    Ok(counted.collect())
}

/// The list of all hypervisors, by host.
///
/// Nova leaves out hypervisors without a compute service or a host mapping, and links to a next page only if as many are left as it was
/// asked for (nova/api/openstack/compute/hypervisors.py). So a short page may not be the last one, and the list ends where a page has no
/// other host.
async fn listed(session: &Session) -> Result<BTreeMap<String, Listed>, Error> {
    let nova = session.nova()?;
    let first = format!("/os-hypervisors/detail?limit={HYPERVISORS}");
    let (mut path, mut hosts) = (first.clone(), BTreeMap::<String, Listed>::new());
    loop {
        let found: Vec<Hypervisor> = list(nova, &path, "hypervisors").await?;
        let Some(last) = found.last() else { break };
        path = format!("{first}&marker={}", encoded(&last.id));
        let before = hosts.len();
        let found = found.into_iter();
        for found in found.filter(|found| found.service.host.len() <= LONGEST_HOST) {
            // Of a host that was renamed and came back, an earlier hypervisor may be left, which Nova lists first.
            let listed = hosts.entry(found.service.host).or_default();
            listed.id = found.id;
            listed.servers = found.running_vms.max(listed.servers);
        }
        if hosts.len() == before {
            break;
        }
        if hosts.len() > MOST_HYPERVISORS {
            return Err(nova.strange("hypervisors"));
        }
    }
    Ok(hosts)
}

/// Whether Nova has the hypervisor of a resource provider, whose ID is the same. One whose compute service is deleted isn't there.
///
/// # Errors
/// The database of a cell doesn't answer: the hypervisor may be in this cell.
pub(crate) async fn has_hypervisor(session: &Session, id: &str) -> Result<bool, Error> {
    let path = format!("/os-hypervisors/{}", encoded(id));
    let what = "the request for a hypervisor";
    match session.nova()?.send(Method::GET, &path, None, what).await {
        Ok(_) => Ok(true),
        Err(Error::Failed { status: 404, .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
