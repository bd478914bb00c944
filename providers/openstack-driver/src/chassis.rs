//! Neutron's API as far as the chassis of a leased node needs it (<https://docs.openstack.org/api-ref/network/v2/#agents>). Neutron's ID of
//! an ovn-controller is the name of its chassis (neutron/plugins/ml2/drivers/ovn/agent/neutron_agent.py), which is the host's.

use std::collections::{BTreeMap, BTreeSet};

use hyper::Method;
use serde::Deserialize;

use crate::error::Error;
use crate::lists::list;
use crate::session::Session;
use crate::url::encoded;

#[derive(Deserialize)]
struct Agent {
    id: String,
    alive: bool,
}

/// Which of these hosts have a chassis, and whether its ovn-controller reports. None if it isn't known where Neutron is.
pub(crate) async fn of(
    session: &Session,
    hosts: &BTreeSet<String>,
) -> Result<Option<BTreeMap<String, bool>>, Error> {
    let Some(neutron) = session.neutron() else {
        return Ok(None);
    };
    let ids: Vec<String> = hosts
        .iter()
        .map(|host| format!("id={}", encoded(host)))
        .collect();
    let path = format!("/v2.0/agents?{}", ids.join("&"));
    let agents: Vec<Agent> = list(neutron, &path, "agents").await?;
    let agents = agents.into_iter();
    let agents = agents.filter(|agent| hosts.contains(&agent.id));
    Ok(Some(agents.map(|agent| (agent.id, agent.alive)).collect()))
}

/// Deletes a host's chassis: its ovn-controller has stopped, and leaves it to others.
pub(crate) async fn delete(session: &Session, host: &str) -> Result<(), Error> {
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
