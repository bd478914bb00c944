//! Neutron's API as far as the networks of a control plane need it (<https://docs.openstack.org/api-ref/network/v2/>).

use c5c3_api::control_plane::AddressRange;
use hyper::Method;
use provider_control_plane::credentials::neutron::{
    Answer, Change, Network, Question, Router, Subnet,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::Error;
use crate::lists::list;
use crate::session::Server;
use crate::url::encoded;

const NETWORK: &str = "the creation of a network";
const SUBNET: &str = "the creation of a subnet";

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
    action: String,
    target_tenant: String,
}

#[derive(Deserialize)]
struct FoundSubnet {
    id: String,
    cidr: String,
    allocation_pools: Vec<Value>,
}

#[derive(Deserialize)]
struct FoundRouter {
    id: String,
}

#[derive(Deserialize)]
struct Port {
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
            let mut external = Vec::new();
            for network in networks(neutron, &filter).await? {
                if network.physical_network.is_some() || is_for_all(neutron, &network.id).await? {
                    external.push(network);
                }
            }
            Answer {
                networks: external,
                routers: Vec::new(),
            }
        }
        Question::Project { project, name } => {
            let filter = format!("project_id={}&name={}", encoded(project), encoded(name));
            Answer {
                networks: networks(neutron, &filter).await?,
                routers: routers(neutron, &filter).await?,
            }
        }
    })
}

async fn networks(neutron: Server<'_>, filter: &str) -> Result<Vec<Network>, Error> {
    let path = format!("/v2.0/networks?{filter}");
    let found: Vec<FoundNetwork> = list(neutron, &path, "networks").await?;
    let mut networks = Vec::with_capacity(found.len());
    for network in found {
        let is_vlan = network.type_.as_deref() == Some("vlan");
        let vlan = network.segment.filter(|_| is_vlan);
        networks.push(Network {
            subnets: subnets(neutron, &network.id).await?,
            id: network.id,
            physical_network: network.physical_network,
            vlan: vlan.and_then(|vlan| vlan.try_into().ok()),
        });
    }
    Ok(networks)
}

/// Whether an external network is one for every project. A member of a project may make a network of its own external, under any name, by
/// sharing it as such with some projects (neutron/db/external_net_db.py, `_process_ext_policy_create`). Only an administrator shares one
/// with every project (neutron/conf/policies/rbac.py), and Neutron does for each network that an administrator creates as external.
async fn is_for_all(neutron: Server<'_>, network: &str) -> Result<bool, Error> {
    let path = format!("/v2.0/rbac-policies?object_id={}", encoded(network));
    let found: Vec<Sharing> = list(neutron, &path, "rbac_policies").await?;
    let mut found = found.iter();
    Ok(found.any(|one| one.action == "access_as_external" && one.target_tenant == "*"))
}

async fn subnets(neutron: Server<'_>, network: &str) -> Result<Vec<Subnet>, Error> {
    let path = format!("/v2.0/subnets?network_id={}", encoded(network));
    let found: Vec<FoundSubnet> = list(neutron, &path, "subnets").await?;
    let ranges = |pools: Vec<Value>| {
        let ranges = pools.into_iter().map(serde_json::from_value);
        ranges.filter_map(Result::<AddressRange, _>::ok).collect()
    };
    let subnets = found.into_iter().map(|subnet| Subnet {
        id: subnet.id,
        cidr: subnet.cidr,
        pools: ranges(subnet.allocation_pools),
    });
    Ok(subnets.collect())
}

async fn routers(neutron: Server<'_>, filter: &str) -> Result<Vec<Router>, Error> {
    let path = format!("/v2.0/routers?{filter}");
    let found: Vec<FoundRouter> = list(neutron, &path, "routers").await?;
    let mut routers = Vec::with_capacity(found.len());
    for router in found {
        let path = format!("/v2.0/ports?device_id={}", encoded(&router.id));
        let ports: Vec<Port> = list(neutron, &path, "ports").await?;
        let addresses = ports.into_iter().flat_map(|port| port.fixed_ips);
        routers.push(Router {
            subnets: addresses.map(|address| address.subnet_id).collect(),
            id: router.id,
        });
    }
    Ok(routers)
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
