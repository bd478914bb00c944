//! The network in the tenant's first project, in which members create networks and routers of the same name.

use provider_composer_testing::condition;
use provider_control_plane::credentials::neutron::{Answer, Network, Router, SYSTEM, Subnet};
use serde_json::Value;

use crate::bootstrap;
use crate::stage::Stage;

fn subnet(id: &str) -> Subnet {
    Subnet {
        id: id.to_owned(),
        cidr: "192.168.0.0/24".to_owned(),
        pools: Vec::new(),
    }
}

fn network(id: &str, subnets: &[&str]) -> Network {
    Network {
        id: id.to_owned(),
        physical_network: None,
        vlan: None,
        subnets: subnets.iter().map(|id| subnet(id)).collect(),
    }
}

fn router(id: &str, subnets: &[&str]) -> Router {
    Router {
        id: id.to_owned(),
        subnets: subnets.iter().map(|id| (*id).to_owned()).collect(),
    }
}

/// FirstNetworkReady, and the calls of a reconcile, where members of the first project made networks and routers `default`.
fn first(
    networks: Vec<Network>,
    routers: Vec<Router>,
    outside: bool,
) -> ([String; 3], Vec<String>) {
    let mut spec = bootstrap::networks();
    if !outside {
        spec["global"]["network"]["externalNetwork"] = Value::Null;
        spec["bootstrap"]["externalNetwork"] = Value::Null;
    }
    let stage = Stage::running(spec);
    let made = Answer { networks, routers };
    let project = "id-of-tenant".to_owned();
    stage.neutron.borrow_mut().projects.insert(project, made);
    let composed = stage.reconcile();
    let calls = composed.desired.calls.iter();
    let calls = calls.filter(|call| call.system == SYSTEM);
    let calls = calls.map(|call| call.content.clone()).collect();
    let condition = condition(&composed.status, "FirstNetworkReady");
    (condition.unwrap(), calls)
}

#[test]
fn first_network_is_ready_where_any_router_default_is_connected_to_any_network_default() {
    let networks = || {
        vec![
            network("n1", &[]),
            network("n2", &["s1", "s2"]),
            network("n3", &["s3"]),
        ]
    };
    let routers = vec![router("r1", &["s9"]), router("r2", &["s0", "s2"])];
    for (routers, outside) in [(routers, true), (Vec::new(), false)] {
        let ([status, _, message], calls) = first(networks(), routers, outside);
        assert_eq!(status, "True", "{message}");
        assert_eq!(calls, [""; 0]);
    }
}

#[test]
fn several_networks_or_routers_default_without_a_connection_are_left_alone() {
    let two = || vec![network("n1", &["s1"]), network("n2", &[])];
    let one = || vec![network("n1", &["s1"])];
    let routers = || vec![router("r1", &[]), router("r2", &[])];
    let (networks_by, routers_by) = (
        "`openstack network set --name NAME NETWORK-ID`",
        "`openstack router set --name NAME ROUTER-ID`",
    );
    let both = format!("{networks_by} and {routers_by}");
    for (networks, routers, several, by) in [
        (two(), Vec::new(), "networks", networks_by),
        (two(), vec![router("r1", &[])], "networks", networks_by),
        (one(), routers(), "routers", routers_by),
        (Vec::new(), routers(), "routers", routers_by),
        (two(), routers(), "networks and routers", &both),
    ] {
        let ([status, reason, message], calls) = first(networks, routers, true);
        assert_eq!([status, reason], ["False", "Ambiguous"]);
        assert_eq!(
            message,
            format!(
                "project tenant has several {several} default, and no router default is connected to a subnet of a network default: \
                 rename all but one by {by}, or connect one by `openstack router add subnet ROUTER-ID SUBNET-ID`"
            )
        );
        assert_eq!(calls, [""; 0]);
    }
}

#[test]
fn several_networks_default_without_a_subnet_or_an_outside_get_none() {
    let networks = vec![network("n1", &[]), network("n2", &[])];
    let ([status, reason, message], calls) = first(networks, Vec::new(), false);
    assert_eq!([status, reason], ["False", "Ambiguous"]);
    assert_eq!(
        message,
        "project tenant has several networks default, and no network default has a subnet: rename all but one by `openstack network \
         set --name NAME NETWORK-ID`, or create one by `openstack subnet create --network NETWORK-ID --subnet-range CIDR NAME`"
    );
    assert_eq!(calls, [""; 0]);
}

/// Without an outside, routers don't matter.
#[test]
fn one_network_default_gets_what_it_lacks_whoever_made_it() {
    let routers = || vec![router("r1", &[]), router("r2", &[])];
    for (networks, routers, outside, call) in [
        (Vec::new(), routers(), false, "createNetwork"),
        (vec![network("n1", &[])], routers(), false, "createSubnet"),
        (
            vec![network("n1", &["s1"])],
            Vec::new(),
            true,
            "createRouter",
        ),
        (
            vec![network("n1", &["s1"])],
            vec![router("r1", &["s9"])],
            true,
            "connect",
        ),
    ] {
        let (_, calls) = first(networks, routers, outside);
        assert_eq!(calls.len(), 1, "{calls:?}");
        assert!(calls[0].contains(call), "{call}: {}", calls[0]);
    }
}
