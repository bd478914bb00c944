//! Networks of the pools' nodes and of the claim.

use super::*;

#[rstest]
#[case(
    "hv-pool-a",
    "hypervisor pool hv-pool-a: its nodes have 10.1.0.0/20, and control plane cluster eu-de-1-control-plane \
     has 10.1.0.0/16; name another, or recreate one of them with other network.nodes"
)]
#[case(
    "st-pool-a",
    "storage pool st-pool-a: its nodes have 10.1.0.0/20, and control plane cluster eu-de-1-control-plane \
     has 10.1.0.0/16; name another, or recreate one of them with other network.nodes"
)]
fn clusters_whose_nodes_have_the_same_addresses_are_refused(
    #[case] other: &str,
    #[case] sentence: &str,
) {
    let mut call = call("customer-b-staging");
    for pool in &mut call.world {
        if text(pool, "/spec/name") == other {
            pool["status"]["network"] = json!({"nodes": "10.1.0.0/20"});
        } else if text(pool, "/kind") == "XControlPlaneCluster" {
            pool["status"]["network"] = json!({"nodes": "10.1.0.0/16"});
        } else {
            pool["status"]["network"] = json!({"nodes": "10.2.0.0/20"});
        }
    }
    call.composite["spec"]["hypervisorClusters"] = json!(["hv-pool-a"]);
    let outcome = call.run();
    assert_eq!(outcome.desired.len(), 0);
    let (_, reason, message) = &outcome.conditions["PoolsReady"];
    assert_eq!(reason, "PoolNetworkTaken");
    assert!(message.contains(sentence), "{message}");
}

/// Neutron knows the networks that the nodes of all pools reach, with the VLANs that are this claim's in each of them. Agents have
/// the settings of their pool.
#[test]
fn control_plane_has_the_physical_networks_of_its_shares() {
    let mut call = with_networks(call("customer-a-prod"));
    let wired = json!([{"name": "physnet1", "bridge": "br-ex", "vlanRange": "1000-1999"}]);
    let hypervisors = |pool: &&mut Value| text(pool, "/kind").contains("Hypervisor");
    for pool in call.world.iter_mut().filter(hypervisors) {
        pool["spec"]["network"]["physicalNetworks"] = wired.clone();
        pool["spec"]["agents"] = json!({"datapath": "netdev", "tunnelInterface": "bond0.10"});
    }
    let first = call.run();
    let networks = |outcome: &Outcome| {
        outcome.manifest("control-plane")["spec"]["global"]["network"]["physicalNetworks"].clone()
    };
    assert_eq!(networks(&first), Value::Null, "no share reports one yet");
    assert_eq!(
        first.manifest("share-hv-pool-a")["spec"]["agents"],
        json!({"datapath": "netdev", "tunnelInterface": "bond0.10", "gateway": true})
    );
    let part = |vlans: &str| json!([{"name": "physnet1", "bridge": "br-ex", "vlanRange": vlans}]);
    let reported = |name: &str, manifest: &Value| {
        let mut status = well(name, manifest);
        match name {
            "share-hv-pool-a" => status["physicalNetworks"] = part("1000-1099"),
            "share-hv-pool-b" => status["physicalNetworks"] = part("1050-1149"),
            _ => {}
        }
        status
    };
    let mut call = call.applied(&first, reported);
    let second = call.run();
    assert_eq!(networks(&second), part("1050-1099"));
    // Neutron would refuse the networks that exist.
    call = call.applied(&second, well);
    assert_eq!(
        networks(&call.run()),
        part("1050-1099"),
        "shares don't report them"
    );
}

#[test]
fn hypervisors_reach_their_control_plane_even_while_pools_are_not_read() {
    let call = with_networks(call("customer-a-prod"));
    let endpoints = json!([{
        "name": "keystone",
        "hostnames": ["keystone.openstack-customer-a-prod.svc"],
        "addresses": ["192.0.2.1"],
    }]);
    let reported = |name: &str, manifest: &Value| {
        let mut status = well(name, manifest);
        if name == "control-plane" {
            status["agentEndpoints"] = endpoints.clone();
        }
        status
    };
    let first = call.run();
    let network = &first.manifest("control-plane")["spec"]["global"]["network"];
    assert_eq!(
        network["hypervisorNetworks"],
        json!(["10.180.0.0/16", "10.181.0.0/16"])
    );
    assert_eq!(network["hypervisorAccess"], json!({}));

    let mut call = call.applied(&first, reported);
    let second = call.run();
    let share =
        |outcome: &Outcome| outcome.manifest("share-hv-pool-a")["spec"]["endpoints"].clone();
    assert_eq!(share(&second), endpoints);

    call = call.applied(&second, well);
    assert_eq!(share(&call.run()), endpoints, "the status lacks them");
    call.world.clear();
    let unread = call.run();
    let kept = &unread.manifest("control-plane")["spec"]["global"]["network"];
    assert_eq!(
        kept,
        &second.manifest("control-plane")["spec"]["global"]["network"]
    );
    assert_eq!(share(&unread), endpoints);
}

/// The proxies of a claim's consoles may connect to the networks of its hypervisors, where other claims have consoles too.
#[test]
fn nodes_of_a_pool_are_reached_once_it_has_admitted_the_claim() {
    let (mut call, outcome) = with_networks(call("customer-b-staging")).running();
    call = call.applied(&outcome, well);
    call.composite["spec"]["hypervisorClusters"] = json!(["hv-pool-a", "hv-pool-b"]);
    for pool in &mut call.world {
        if text(pool, "/spec/name") == "hv-pool-b" {
            pool["spec"]["sharing"] = json!({"allowedNamespaces": ["tenant-vip"]});
            pool["status"]["consumers"] = json!([]);
        }
    }
    let networks = |call: &Call| {
        let outcome = call.run();
        let network = &outcome.manifest("control-plane")["spec"]["global"]["network"];
        network["hypervisorNetworks"].clone()
    };
    assert_eq!(networks(&call), json!(["10.180.0.0/16"]));
    let call = call.admitted();
    let both = json!(["10.180.0.0/16", "10.181.0.0/16"]);
    assert_eq!(networks(&call), both);
}

/// Its nodes are drained through the control plane.
#[test]
fn nodes_of_a_dropped_pool_reach_their_control_plane_until_its_share_is_gone() {
    let (call, before) = with_networks(call("customer-a-prod")).running();
    let networks = |outcome: &Outcome| {
        let network = &outcome.manifest("control-plane")["spec"]["global"]["network"];
        network["hypervisorNetworks"].clone()
    };
    let both = json!(["10.180.0.0/16", "10.181.0.0/16"]);
    assert_eq!(networks(&before), both);
    let mut call = call.applied(&before, well);
    call.composite["spec"]["hypervisorClusters"] = json!(["hv-pool-a"]);
    let dropped = call.run();
    assert_eq!(networks(&dropped), both);
    let mut call = call.applied(&dropped, well);
    assert_eq!(networks(&call.run()), both, "they stay");
    call.composite["metadata"]["annotations"] =
        json!({"c5c3.io/delete-retained": "share-hv-pool-b"});
    assert_eq!(networks(&call.run()), both, "the nodes are drained");
    call.observed.remove("share-hv-pool-b");
    assert_eq!(networks(&call.run()), json!(["10.180.0.0/16"]));
}

#[test]
fn no_load_balancers_without_agents() {
    let mut call = with_networks(call("customer-a-prod"));
    call.composite["spec"]["services"] = json!({ "nova": false, "cinder": false });
    let outcome = call.run();
    let network = &outcome.manifest("control-plane")["spec"]["global"]["network"];
    assert!(network["mtu"].is_u64());
    assert_eq!(network.get("hypervisorAccess"), None);
}
