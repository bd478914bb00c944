//! The driver of Neutron.

use std::collections::BTreeMap;
use std::error::Error;

use c5c3_api::control_plane::ExternalNetwork;
use provider_control_plane::credentials::neutron::{Access, Call, Change, Query, Question};
use provider_openstack_driver::Neutron;
use provider_runtime::{Driver, DriverError};
use serde_json::{Value, json};

use crate::server::{Log, Logged, NEVER, listen, ok};
use crate::{Test, keystone_at};

/// What is read of a network.
const NETWORK: &str = "&fields=id&fields=provider:network_type&fields=provider:physical_network&fields=provider:segmentation_id";

/// A network as Neutron lists it.
fn network(id: &str, physical: Option<&str>) -> Value {
    json!({
        "id": id, "provider:network_type": "geneve", "provider:physical_network": physical,
        "provider:segmentation_id": 3,
    })
}

fn answer(request: &str) -> (u16, Value) {
    match request.replace(NETWORK, "").as_str() {
        "GET /v2.0/networks?router:external=true&name=internet" => ok(json!({ "networks": [{
            "id": "n1", "name": "internet", "provider:network_type": "vlan",
            "provider:physical_network": "physnet1", "provider:segmentation_id": 100,
        }] })),
        "GET /v2.0/networks?router:external=true&name=squatted" => {
            let squatters = (0..1000).map(|number| network(&format!("q{number}"), None));
            let networks = squatters.chain([network("n3", None), network("n4", Some("physnet2"))]);
            ok(json!({ "networks": networks.collect::<Vec<_>>() }))
        }
        // A Neutron that ignores filters.
        "GET /v2.0/rbac-policies?object_type=network&action=access_as_external&target_tenant=*" => {
            ok(json!({ "rbac_policies": [
                { "object_id": "q0", "action": "access_as_external", "target_tenant": "p2" },
                { "object_id": "q1", "action": "access_as_shared", "target_tenant": "*" },
                { "object_id": "n3", "action": "access_as_external", "target_tenant": "*" },
            ] }))
        }
        "GET /v2.0/networks?project_id=p1&name=default" => {
            ok(json!({ "networks": [network("n2", None), network("n5", None)] }))
        }
        "GET /v2.0/networks?project_id=p2&name=default" => {
            let networks = (0..120).map(|number| network(&format!("m{number}"), None));
            ok(json!({ "networks": networks.collect::<Vec<_>>() }))
        }
        "GET /v2.0/subnets?network_id=n1&fields=id&fields=network_id&fields=cidr&fields=allocation_pools" => {
            ok(json!({ "subnets": [
                { "id": "s1", "network_id": "n1", "cidr": "203.0.113.0/24", "allocation_pools": [
                    { "start": "203.0.113.10", "end": "203.0.113.19" },
                ] },
                { "id": "s6", "network_id": "n1", "cidr": "2001:db8::/64", "allocation_pools": [
                    { "start": "2001:db8::2", "end": "2001:db8::9" },
                ] },
            ] }))
        }
        "GET /v2.0/subnets?network_id=n3&network_id=n4&fields=id&fields=network_id&fields=cidr&fields=allocation_pools" => {
            ok(json!({ "subnets": [] }))
        }
        "GET /v2.0/subnets?network_id=n2&network_id=n5&fields=id&fields=network_id&fields=cidr" => {
            ok(json!({ "subnets": [
                { "id": "s2", "network_id": "n5", "cidr": "192.168.0.0/24" },
                { "id": "s3", "network_id": "n2", "cidr": "192.168.1.0/24" },
            ] }))
        }
        line if line.starts_with("GET /v2.0/subnets?network_id=m") => {
            let last = ["m49&", "m99&", "m119&"]
                .into_iter()
                .find(|id| line.contains(id));
            let last = last.unwrap_or_default().trim_end_matches('&');
            ok(json!({ "subnets": [
                { "id": format!("s-{last}"), "network_id": last, "cidr": "192.168.0.0/24" },
            ] }))
        }
        "GET /v2.0/routers?project_id=p1&name=default&fields=id" => {
            ok(json!({ "routers": [{ "id": "r1" }, { "id": "r2" }] }))
        }
        "GET /v2.0/routers?project_id=p2&name=default&fields=id" => ok(json!({ "routers": [] })),
        "GET /v2.0/ports?device_id=r1&device_id=r2&fields=device_id&fields=fixed_ips" => {
            ok(json!({ "ports": [
                { "device_id": "r2", "fixed_ips": [{ "subnet_id": "s1", "ip_address": "203.0.113.10" }] },
                { "device_id": "r1", "fixed_ips": [{ "subnet_id": "s3", "ip_address": "192.168.1.1" }] },
                { "device_id": "r2", "fixed_ips": [{ "subnet_id": "s2", "ip_address": "192.168.0.1" }] },
            ] }))
        }
        "POST /v2.0/networks" | "POST /v2.0/subnets" | "POST /v2.0/routers" => (201, json!({})),
        "PUT /v2.0/subnets/s1" | "PUT /v2.0/routers/r1/add_router_interface" => ok(json!({})),
        _ => (404, json!({})),
    }
}

/// Logs what is to be changed.
fn change(line: &str, _: &str, body: Option<BTreeMap<String, Value>>) -> Option<String> {
    let reads = line.starts_with("GET") || line.ends_with("/auth/tokens");
    (!reads).then(|| format!("{line} {}", json!(body)))
}

/// Logs what is read.
fn read(line: &str, _: &str, _: Option<BTreeMap<String, Value>>) -> Option<String> {
    line.strip_prefix("GET /v2.0/").map(str::to_owned)
}

/// A server, and how it is reached.
async fn server() -> Result<(Access, Log), Box<dyn Error>> {
    logging(change).await
}

/// A server that logs some requests.
async fn logging(logged: Logged) -> Result<(Access, Log), Box<dyn Error>> {
    let (port, log) = listen(answer, logged).await?;
    let url = format!("http://127.0.0.1:{port}");
    let keystone = keystone_at(&url);
    Ok((Access { keystone, url }, log))
}

async fn observe(access: &Access, question: Question) -> Result<Value, DriverError> {
    let access = access.clone();
    let query = json!(Query { access, question }).to_string();
    Neutron::default().observe(&query).await
}

#[tokio::test]
async fn external_networks_are_read_with_their_vlan_and_addresses() -> Test {
    let (access, _) = server().await?;
    let name = "internet".to_owned();
    assert_eq!(
        observe(&access, Question::External { name }).await?,
        json!({
            "networks": [{
                "id": "n1", "physical_network": "physnet1", "vlan": 100, "subnets": [
                    { "id": "s1", "cidr": "203.0.113.0/24", "pools": [
                        { "start": "203.0.113.10", "end": "203.0.113.19" },
                    ] },
                    { "id": "s6", "cidr": "2001:db8::/64", "pools": [] },
                ],
            }],
            "routers": [],
        })
    );
    Ok(())
}

#[tokio::test]
async fn external_networks_of_projects_members_are_left_out_however_many_there_are() -> Test {
    let (access, log) = logging(read).await?;
    let name = "squatted".to_owned();
    assert_eq!(
        observe(&access, Question::External { name }).await?,
        json!({
            "networks": [
                { "id": "n3", "physical_network": null, "vlan": null, "subnets": [] },
                { "id": "n4", "physical_network": "physnet2", "vlan": null, "subnets": [] },
            ],
            "routers": [],
        })
    );
    let log = log.lock().unwrap();
    assert_eq!(log.len(), 3, "networks, shares and subnets: {log:?}");
    Ok(())
}

#[tokio::test]
async fn networks_and_routers_of_a_project_are_read_with_one_request_for_each_kind() -> Test {
    let (access, log) = logging(read).await?;
    let (project, name) = ("p1".to_owned(), "default".to_owned());
    let subnet = |id: &str, cidr: &str| json!({ "id": id, "cidr": cidr, "pools": [] });
    assert_eq!(
        observe(&access, Question::Project { project, name }).await?,
        json!({
            "networks": [
                { "id": "n2", "physical_network": null, "vlan": null, "subnets": [subnet("s3", "192.168.1.0/24")] },
                { "id": "n5", "physical_network": null, "vlan": null, "subnets": [subnet("s2", "192.168.0.0/24")] },
            ],
            "routers": [
                { "id": "r1", "subnets": ["s3"] },
                { "id": "r2", "subnets": ["s1", "s2"] },
            ],
        })
    );
    let log = log.lock().unwrap();
    assert_eq!(
        log.len(),
        4,
        "networks, subnets, routers and ports: {log:?}"
    );
    Ok(())
}

#[tokio::test]
async fn subnets_of_many_networks_are_read_fifty_networks_at_a_time() -> Test {
    let (access, log) = logging(read).await?;
    let (project, name) = ("p2".to_owned(), "default".to_owned());
    let seen = observe(&access, Question::Project { project, name }).await?;
    let networks = seen["networks"].as_array().ok_or("no networks")?;
    assert_eq!(networks.len(), 120);
    for last in [49, 99, 119] {
        assert_eq!(networks[last]["subnets"][0]["id"], format!("s-m{last}"));
    }
    let log = log.lock().unwrap();
    let asked = log.iter().filter(|line| line.starts_with("subnets?"));
    let named: Vec<usize> = asked
        .map(|line| line.matches("network_id=m").count())
        .collect();
    assert_eq!(named, [50, 50, 20]);
    assert_eq!(log.len(), 5, "{log:?}");
    Ok(())
}

/// It works on a request for 300 seconds at most. Sent again before, the request would create a second network.
#[tokio::test]
async fn neutron_may_take_its_time_to_create_a_network() -> Test {
    let slow = |request: &str| match request {
        "POST /v2.0/networks" => (NEVER, json!({})),
        _ => answer(request),
    };
    let (port, _) = listen(slow, change).await?;
    let url = format!("http://127.0.0.1:{port}");
    let keystone = keystone_at(&url);
    let access = Access { keystone, url };
    let (project, name) = ("p1".to_owned(), "default".to_owned());
    let neutron = Neutron::default();
    let question = Question::Project {
        project: project.clone(),
        name: name.clone(),
    };
    let query = Query {
        access: access.clone(),
        question,
    };
    neutron.observe(&json!(query).to_string()).await?;

    tokio::time::pause();
    let change = Change::CreateNetwork { project, name };
    let call = json!(Call { access, change }).to_string();
    let refusal = neutron.call(&call).await;
    assert!(
        matches!(&refusal, Err(DriverError::Unavailable(why)) if why.ends_with("did not answer within 310 s")),
        "{refusal:?}"
    );
    Ok(())
}

#[tokio::test]
async fn networks_are_created_as_the_control_plane_says() -> Test {
    let (access, log) = server().await?;
    let network: ExternalNetwork = serde_json::from_value(json!({
        "physicalNetwork": "physnet1",
        "vlan": 100,
        "subnet": {
            "cidr": "203.0.113.0/24", "gateway": "203.0.113.1",
            "allocationPools": [{ "start": "203.0.113.10", "end": "203.0.113.19" }],
        },
    }))?;
    let flat = ExternalNetwork {
        vlan: None,
        ..network.clone()
    };
    let (name, project) = ("internet".to_owned(), "p1".to_owned());
    let default = "default".to_owned();
    let (subnet, pools) = (
        network.subnet.clone(),
        network.subnet.allocation_pools.clone(),
    );
    let changes = [
        Change::CreateExternalNetwork {
            name: name.clone(),
            network,
        },
        Change::CreateExternalNetwork {
            name: name.clone(),
            network: flat,
        },
        Change::CreateExternalSubnet {
            network: "n1".to_owned(),
            name,
            subnet,
            dhcp: false,
        },
        Change::SetPools {
            subnet: "s1".to_owned(),
            pools,
        },
        Change::CreateNetwork {
            project: project.clone(),
            name: default.clone(),
        },
        Change::CreateSubnet {
            project: project.clone(),
            network: "n2".to_owned(),
            name: default.clone(),
            cidr: "192.168.0.0/24".parse()?,
        },
        Change::CreateRouter {
            project,
            name: default,
            external: "n1".to_owned(),
        },
        Change::Connect {
            router: "r1".to_owned(),
            subnet: "s2".to_owned(),
        },
    ];
    for change in changes {
        let access = access.clone();
        let call = json!(Call { access, change }).to_string();
        Neutron::default().call(&call).await?;
    }
    assert_eq!(
        *log.lock().unwrap(),
        [
            r#"POST /v2.0/networks {"network":{"name":"internet","router:external":true,"shared":false,"provider:network_type":"vlan","provider:physical_network":"physnet1","provider:segmentation_id":100}}"#,
            r#"POST /v2.0/networks {"network":{"name":"internet","router:external":true,"shared":false,"provider:network_type":"flat","provider:physical_network":"physnet1"}}"#,
            r#"POST /v2.0/subnets {"subnet":{"name":"internet","network_id":"n1","ip_version":4,"cidr":"203.0.113.0/24","gateway_ip":"203.0.113.1","allocation_pools":[{"start":"203.0.113.10","end":"203.0.113.19"}],"enable_dhcp":false}}"#,
            r#"PUT /v2.0/subnets/s1 {"subnet":{"allocation_pools":[{"start":"203.0.113.10","end":"203.0.113.19"}]}}"#,
            r#"POST /v2.0/networks {"network":{"project_id":"p1","name":"default"}}"#,
            r#"POST /v2.0/subnets {"subnet":{"project_id":"p1","name":"default","network_id":"n2","ip_version":4,"cidr":"192.168.0.0/24"}}"#,
            r#"POST /v2.0/routers {"router":{"project_id":"p1","name":"default","external_gateway_info":{"network_id":"n1"}}}"#,
            r#"PUT /v2.0/routers/r1/add_router_interface {"subnet_id":"s2"}"#,
        ]
    );
    Ok(())
}
