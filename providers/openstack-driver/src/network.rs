//! Neutron's API as far as the networks of a control plane need it (<https://docs.openstack.org/api-ref/network/v2/>).

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::control_plane::AddressRange;
use hyper::Method;
use provider_control_plane::credentials::neutron::{
    Answer, Change, Network, Question, Router, Subnet,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::Error;
use crate::lists::list;
use crate::session::Server;
use crate::url::encoded;

const NETWORK: &str = "the creation of a network";
const SUBNET: &str = "the creation of a subnet";
/// How many networks or routers one request names. Their IDs take 2,400 bytes of its URL, and a uWSGI without `buffer-size` accepts
/// 4,096 with the headers.
const AT_ONCE: usize = 50;
/// What is read of a subnet. A member of a project may give one so many ranges that an answer with them would be too large.
const ADDRESSES: &str = "fields=id&fields=network_id&fields=cidr";
/// What is read of a subnet of an external network.
const ADDRESSES_AND_POOLS: &str = "fields=id&fields=network_id&fields=cidr&fields=allocation_pools";

#[derive(Deserialize)]
struct FoundNetwork {
    id: String,
    #[serde(rename = "provider:network_type")]
    type_: Option<String>,
    #[serde(rename = "provider:physical_network")]
    physical_network: Option<String>,
    #[serde(rename = "provider:segmentation_id")]
    segment: Option<u32>,
}

/// Whom a network is shared with.
#[derive(Deserialize)]
struct Sharing {
    object_id: String,
    action: String,
    target_tenant: String,
}

#[derive(Deserialize)]
struct FoundSubnet {
    id: String,
    network_id: String,
    cidr: String,
    #[serde(default)]
    allocation_pools: Vec<Value>,
}

#[derive(Deserialize)]
struct FoundRouter {
    id: String,
}

#[derive(Deserialize)]
struct Port {
    device_id: String,
    fixed_ips: Vec<Address>,
}

#[derive(Deserialize)]
struct Address {
    subnet_id: String,
}

/// What is found of what is asked.
pub(crate) async fn answer(neutron: Server<'_>, question: &Question) -> Result<Answer, Error> {
    Ok(match question {
        Question::External { name } => {
            let filter = format!("router:external=true&name={}", encoded(name));
            let mut found = found_networks(neutron, &filter).await?;
            if found.iter().any(|one| one.physical_network.is_none()) {
                let for_all = networks_for_all(neutron).await?;
                found.retain(|one| one.physical_network.is_some() || for_all.contains(&one.id));
            }
            Answer {
                networks: networks(neutron, found, ADDRESSES_AND_POOLS).await?,
                routers: Vec::new(),
            }
        }
        Question::Project { project, name } => {
            let filter = format!("project_id={}&name={}", encoded(project), encoded(name));
            let found = found_networks(neutron, &filter).await?;
            Answer {
                networks: networks(neutron, found, ADDRESSES).await?,
                routers: routers(neutron, &filter).await?,
            }
        }
    })
}

async fn found_networks(neutron: Server<'_>, filter: &str) -> Result<Vec<FoundNetwork>, Error> {
    let path = format!(
        "/v2.0/networks?{filter}&fields=id&fields=provider:network_type&fields=provider:physical_network\
         &fields=provider:segmentation_id"
    );
    list(neutron, &path, "networks").await
}

/// Networks with their subnets.
async fn networks(
    neutron: Server<'_>,
    found: Vec<FoundNetwork>,
    fields: &str,
) -> Result<Vec<Network>, Error> {
    let ids = found.iter().map(|network| network.id.as_str()).collect();
    let mut subnets: BTreeMap<String, Vec<Subnet>> = BTreeMap::new();
    for subnet in of_each::<FoundSubnet>(neutron, "subnets", "network_id", ids, fields).await? {
        let ranges = subnet.allocation_pools.into_iter();
        let ranges = ranges.map(serde_json::from_value);
        let read = Subnet {
            id: subnet.id,
            cidr: subnet.cidr,
            pools: ranges.filter_map(Result::<AddressRange, _>::ok).collect(),
        };
        subnets.entry(subnet.network_id).or_default().push(read);
    }
    let networks = found.into_iter().map(|network| {
        let is_vlan = network.type_.as_deref() == Some("vlan");
        let vlan = network.segment.filter(|_| is_vlan);
        Network {
            subnets: subnets.remove(&network.id).unwrap_or_default(),
            id: network.id,
            physical_network: network.physical_network,
            vlan: vlan.and_then(|vlan| vlan.try_into().ok()),
        }
    });
    Ok(networks.collect())
}

/// The IDs of the networks that are external for every project. A member of a project may make a network of its own external, under any
/// name, by sharing it as such with some projects (neutron/db/external_net_db.py, `_process_ext_policy_create`). Only an administrator
/// shares one with every project (neutron/conf/policies/rbac.py), and Neutron does for each network that an administrator creates as
/// external. So members don't make this list longer.
async fn networks_for_all(neutron: Server<'_>) -> Result<BTreeSet<String>, Error> {
    let path = "/v2.0/rbac-policies?object_type=network&action=access_as_external&target_tenant=*";
    let found: Vec<Sharing> = list(neutron, path, "rbac_policies").await?;
    let for_all = found
        .into_iter()
        .filter(|one| one.action == "access_as_external" && one.target_tenant == "*");
    Ok(for_all.map(|one| one.object_id).collect())
}

async fn routers(neutron: Server<'_>, filter: &str) -> Result<Vec<Router>, Error> {
    let path = format!("/v2.0/routers?{filter}&fields=id");
    let found: Vec<FoundRouter> = list(neutron, &path, "routers").await?;
    let ids = found.iter().map(|router| router.id.as_str()).collect();
    let fields = "fields=device_id&fields=fixed_ips";
    let mut subnets: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for port in of_each::<Port>(neutron, "ports", "device_id", ids, fields).await? {
        let addresses = port.fixed_ips.into_iter().map(|address| address.subnet_id);
        subnets.entry(port.device_id).or_default().extend(addresses);
    }
    let routers = found.into_iter().map(|router| Router {
        subnets: subnets.remove(&router.id).unwrap_or_default(),
        id: router.id,
    });
    Ok(routers.collect())
}

/// All of a list that belongs to one of the owners.
async fn of_each<T: DeserializeOwned>(
    neutron: Server<'_>,
    kind: &'static str,
    owner: &str,
    ids: Vec<&str>,
    fields: &str,
) -> Result<Vec<T>, Error> {
    let mut found = Vec::new();
    for ids in ids.chunks(AT_ONCE) {
        let owners = ids.iter().map(|id| format!("{owner}={}&", encoded(id)));
        let owners: String = owners.collect();
        let path = format!("/v2.0/{kind}?{owners}{fields}");
        found.extend(list::<T>(neutron, &path, kind).await?);
    }
    Ok(found)
}

/// Changes something.
pub(crate) async fn carry_out(neutron: Server<'_>, change: &Change) -> Result<(), Error> {
    let (method, path, body, what) = match change {
        Change::CreateExternalNetwork { name, network } => {
            let mut body = json!({
                "name": name,
                "router:external": true,
                "shared": network.shared,
                "provider:network_type": "flat",
                "provider:physical_network": network.physical_network,
            });
            if let Some(vlan) = network.vlan {
                body["provider:network_type"] = json!("vlan");
                body["provider:segmentation_id"] = json!(vlan);
            }
            created("network", NETWORK, body)
        }
        Change::CreateExternalSubnet {
            network,
            name,
            subnet,
            dhcp,
        } => created(
            "subnet",
            SUBNET,
            json!({
                "name": name,
                "network_id": network,
                "ip_version": 4,
                "cidr": subnet.cidr,
                "gateway_ip": subnet.gateway,
                "allocation_pools": subnet.allocation_pools,
                "enable_dhcp": dhcp,
            }),
        ),
        Change::SetPools { subnet, pools } => (
            Method::PUT,
            format!("/v2.0/subnets/{}", encoded(subnet)),
            json!({ "subnet": { "allocation_pools": pools } }),
            "the change of a subnet's addresses",
        ),
        Change::CreateNetwork { project, name } => created(
            "network",
            NETWORK,
            json!({ "project_id": project, "name": name }),
        ),
        Change::CreateSubnet {
            project,
            network,
            name,
            cidr,
        } => created(
            "subnet",
            SUBNET,
            json!({
                "project_id": project,
                "name": name,
                "network_id": network,
                "ip_version": 4,
                "cidr": cidr,
            }),
        ),
        Change::CreateRouter {
            project,
            name,
            external,
        } => created(
            "router",
            "the creation of a router",
            json!({
                "project_id": project,
                "name": name,
                "external_gateway_info": { "network_id": external },
            }),
        ),
        Change::Connect { router, subnet } => (
            Method::PUT,
            format!("/v2.0/routers/{}/add_router_interface", encoded(router)),
            json!({ "subnet_id": subnet }),
            "the connection of a router",
        ),
    };
    let sent = neutron.send(method, &path, Some(&body), what).await;
    sent.map(drop)
}

/// A request that creates something.
fn created(
    kind: &'static str,
    what: &'static str,
    body: Value,
) -> (Method, String, Value, &'static str) {
    let path = format!("/v2.0/{kind}s");
    (Method::POST, path, json!({ kind: body }), what)
}
