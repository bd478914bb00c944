//! The addresses of clusters: they differ, are enough, and stay.

use function_c5c3_fixtures::{composite, examples};

use super::*;

#[test]
fn clusters_have_node_addresses_of_their_own() {
    let nodes = examples::POOLS.map(|file| text(&pool(file).run().status, "/network/nodes"));
    assert_eq!(
        nodes,
        [
            "10.229.192.0/20",
            "10.180.160.0/20",
            "10.153.112.0/20",
            "10.188.64.0/20",
            "10.202.144.0/20",
            "10.217.0.0/20",
            "10.216.160.0/20"
        ]
    );
}

#[rstest]
#[case("control-plane")]
#[case("hv-pool-a")]
#[case("st-pool-a")]
fn shoot_has_the_networks_of_its_claim_for_good(#[case] file: &str) {
    let network =
        json!({"nodes": "10.20.0.0/24", "pods": "10.21.0.0/16", "services": "10.22.0.0/16"});
    let mut call = pool(file);
    call.composite["spec"]["network"] = network.clone();
    let (mut call, outcome) = call.running();
    let mut networking = network.clone();
    networking["type"] = json!("calico");
    assert_eq!(outcome.manifest("shoot")["spec"]["networking"], networking);
    assert_eq!(outcome.status["network"], network);
    call.composite["spec"]["network"] = json!({});
    call.input.as_mut().unwrap()["gardener"]["networking"]["pods"] = json!("10.99.0.0/16");
    assert_eq!(
        call.run().manifest("shoot")["spec"]["networking"],
        networking
    );
}

/// A pool like another one, as Crossplane has it.
fn like(file: &str, name: &str, created: &str, status: Value) -> Value {
    let mut claim = examples::pool(file);
    claim["metadata"]["name"] = json!(name);
    claim["metadata"]["uid"] = json!(format!("uid-{name}"));
    claim["metadata"]["creationTimestamp"] = json!(created);
    claim["spec"]["name"] = json!(name);
    let mut pool = composite(claim);
    pool["status"] = status;
    pool
}

/// The first call for hv-pool-a, created at noon, beside others.
fn beside(others: impl IntoIterator<Item = Value>) -> Call {
    let mut call = pool("hv-pool-a").with(others).admitted();
    call.composite["metadata"]["creationTimestamp"] = json!("2026-01-01T12:00:00Z");
    call
}

fn nodes(call: &Call) -> String {
    text(&call.run().status, "/network/nodes")
}

#[test]
fn block_of_another_cluster_is_left_to_it() {
    let own = "10.180.160.0/20";
    assert_eq!(nodes(&beside([])), own);
    for kind in ["hv-pool-b", "st-pool-a", "control-plane"] {
        let other = like(
            kind,
            "other",
            "2026-02-01T00:00:00Z",
            json!({"network": {"nodes": own}}),
        );
        assert_eq!(nodes(&beside([other])), "10.180.176.0/20", "{kind}");
    }
    let wide = json!({"network": {"nodes": "10.180.0.0/16"}});
    let wide = like("hv-pool-b", "wide", "2026-02-01T00:00:00Z", wide);
    assert_eq!(nodes(&beside([wide])), "10.181.0.0/20");

    let mut named = like("hv-pool-b", "named", "2026-02-01T00:00:00Z", json!({}));
    named["spec"]["network"]["nodes"] = json!("10.180.160.0/24");
    assert_eq!(nodes(&beside([named])), "10.180.176.0/20");
}

#[test]
fn younger_of_two_clusters_with_one_block_gets_the_next() {
    // A range with a single block is that of both.
    let with_range = |mut call: Call, nodes: &str| {
        let gardener = &mut call.input.as_mut().unwrap()["gardener"];
        gardener["networking"]["nodes"] = json!(nodes);
        call
    };
    let at = |kind, hour: &str| {
        like(
            kind,
            "other",
            &format!("2026-01-01T{hour}:00:00Z"),
            json!({}),
        )
    };
    let with_other = |kind, hour| with_range(beside([at(kind, hour)]), "10.128.0.0/20");
    assert_eq!(nodes(&with_other("hv-pool-b", "13")), "10.128.0.0/20");
    assert_eq!(
        with_other("hv-pool-b", "11").run().fatal.as_deref(),
        Some(
            "gardener.networking.nodes of the Composition's input, 10.128.0.0/20, has no free /20 block: set a larger range there or a \
             longer prefix in gardener.nodeBlock, or set spec.network.nodes of the claim"
        )
    );
    // One of another kind may have another range.
    for kind in ["st-pool-a", "control-plane"] {
        assert_eq!(nodes(&with_other(kind, "11")), "10.128.0.0/20", "{kind}");
    }
    let two = "10.128.0.0/19";
    let alone = nodes(&with_range(beside([]), two));
    let other = match alone.as_str() {
        "10.128.0.0/20" => "10.128.16.0/20",
        _ => "10.128.0.0/20",
    };
    // The names of one of these stand for our block, for there are only two.
    for kind in ["hv-pool-b", "st-pool-a", "control-plane"] {
        let seconds = ["a", "b", "c", "d"].map(|name| {
            let older = like(kind, name, "2026-01-01T11:00:00Z", json!({}));
            nodes(&with_range(beside([older]), two))
        });
        assert!(
            seconds.contains(&other.to_owned()) && seconds.contains(&alone),
            "{kind}: {seconds:?}"
        );
    }
}

#[test]
fn created_cluster_keeps_its_block_and_requires_no_other_clusters() {
    let (mut call, before) = running("hv-pool-a");
    let own = text(&before.status, "/network/nodes");
    call = call.with([like(
        "hv-pool-b",
        "other",
        "2020-01-01T00:00:00Z",
        json!({"network": {"nodes": own}}),
    )]);
    assert_eq!(nodes(&call), own);
    let asked = call.settled().extra_resources;
    assert!(
        asked.keys().all(|key| !key.starts_with("every ")),
        "{:?}",
        asked.keys()
    );

    // The observed Shoot's range wins over that of a recreated Object.
    let shoot = call.observed.get_mut("shoot").unwrap();
    shoot["status"]["atProvider"]["manifest"]["spec"]["networking"]["nodes"] =
        json!("10.99.0.0/16");
    assert_eq!(nodes(&call), "10.99.0.0/16");
}

#[rstest]
#[case::pods(json!({"pods": "10.0.0.0/8"}),
    "the range 10.180.160.0/20 of the nodes overlaps 10.0.0.0/8 of the pods")]
#[case::preset_pods(json!({"nodes": "100.64.0.0/16"}),
    "the range 100.64.0.0/16 of the nodes overlaps 100.64.0.0/12 of the pods")]
#[case::services(json!({"services": "100.64.0.0/20"}),
    "the range 100.64.0.0/12 of the pods overlaps 100.64.0.0/20 of the services")]
fn ranges_that_gardener_refuses_are_refused(#[case] network: Value, #[case] problem: &str) {
    let mut call = pool("hv-pool-a");
    call.composite["spec"]["network"] = network;
    let outcome = call.run();
    assert_eq!(
        outcome.fatal,
        Some(format!(
            "{problem}: set others in spec.network, or in gardener.networking of the Composition's input; they can't be changed later"
        ))
    );
}

#[test]
fn reserved_range_of_the_composition_is_refused() {
    let mut call = pool("hv-pool-a");
    call.input.as_mut().unwrap()["gardener"]["networking"]["pods"] = json!("240.0.0.0/8");
    assert_eq!(
        call.run().fatal.as_deref(),
        Some(
            "the range 240.0.0.0/8 of the pods includes reserved addresses, those from 224.0.0.0 on: set others in spec.network, or in \
             gardener.networking of the Composition's input; they can't be changed later"
        )
    );
}

#[rstest]
// The API server counts maxWorkers. The function adds 3 machines of the system, and one that an update adds.
#[case::nodes(59, json!({"nodes": "10.20.0.0/26"}), "10.20.0.0/26 of the nodes is enough for 59")]
#[case::pods(64, json!({"pods": "100.64.0.0/18"}), "100.64.0.0/18 of the pods is enough for 64")]
fn cluster_with_too_few_addresses_for_its_machines_is_refused(
    #[case] most: u32,
    #[case] network: Value,
    #[case] range: &str,
) {
    let mut call = pool("hv-pool-a");
    call.composite["spec"]["maxWorkers"] = json!(most);
    call.composite["spec"]["network"] = network;
    let machines = most + 4;
    assert_eq!(
        call.run().fatal,
        Some(format!(
            "the cluster may have {machines} machines, and its range {range}: set larger ranges in spec.network, which can't be changed \
             later, or fewer machines"
        ))
    );
}

#[test]
fn cluster_that_outgrows_its_ranges_reports_it() {
    let mut call = pool("hv-pool-a");
    call.input.as_mut().unwrap()["gardener"]["networking"]["pods"] = json!("100.64.0.0/17");
    let (mut call, before) = call.running();
    assert_eq!(before.conditions["ShootReady"].2, "");
    call.composite["spec"]["maxWorkers"] = json!(200);
    let outcome = call.run();
    assert_eq!(outcome.fatal, None);
    assert_eq!(
        outcome.conditions["ShootReady"].2,
        "the cluster may have 204 machines, and its range 100.64.0.0/17 of the pods is enough for 128: lower the number of machines, or \
         create a cluster with larger ranges"
    );
}
