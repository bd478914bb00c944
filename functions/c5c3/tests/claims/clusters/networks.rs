//! The addresses of clusters: they differ, are enough, and stay.

use function_c5c3_fixtures::{composite, examples};

use super::*;

#[test]
fn clusters_have_node_addresses_of_their_own() {
    let files = [
        "control-plane",
        "hv-pool-a",
        "hv-pool-b",
        "hv-pool-compliance",
        "st-pool-a",
        "st-pool-b",
        "st-pool-encrypted",
    ];
    let nodes = files.map(|file| text(&pool(file).run().status, "/network/nodes"));
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
    let one = |mut call: Call, nodes: &str| {
        let gardener = &mut call.input.as_mut().unwrap()["gardener"];
        gardener["networking"]["nodes"] = json!(nodes);
        call
    };
    let older = || like("hv-pool-b", "older", "2026-01-01T11:00:00Z", json!({}));
    let younger = || like("hv-pool-b", "younger", "2026-01-01T13:00:00Z", json!({}));
    assert_eq!(
        nodes(&one(beside([younger()]), "10.128.0.0/20")),
        "10.128.0.0/20"
    );
    assert_eq!(
        one(beside([older()]), "10.128.0.0/20")
            .run()
            .fatal
            .as_deref(),
        Some(
            "gardener.networking.nodes of the Composition's input, 10.128.0.0/20, has no block of 20 bits left: widen it, or name \
             addresses in spec.network.nodes"
        )
    );
    let two = "10.128.0.0/19";
    let alone = nodes(&one(beside([]), two));
    let other = match alone.as_str() {
        "10.128.0.0/20" => "10.128.16.0/20",
        _ => "10.128.0.0/20",
    };
    // The names of one of these stand for our block, for there are only two.
    let seconds = ["a", "b", "c", "d"].map(|name| {
        let older = like("hv-pool-b", name, "2026-01-01T11:00:00Z", json!({}));
        nodes(&one(beside([older]), two))
    });
    assert!(
        seconds.contains(&other.to_owned()) && seconds.contains(&alone),
        "{seconds:?}"
    );
}

#[test]
fn created_cluster_keeps_its_block_and_asks_for_no_others() {
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

    // What Gardener has counts, not what an Object that was made anew would ask for.
    let shoot = call.observed.get_mut("shoot").unwrap();
    shoot["status"]["atProvider"]["manifest"]["spec"]["networking"]["nodes"] =
        json!("10.99.0.0/16");
    assert_eq!(nodes(&call), "10.99.0.0/16");
}

#[rstest]
#[case::pods(json!({"pods": "10.0.0.0/8"}),
    "addresses of the nodes, 10.180.160.0/20, are also of the pods, 10.0.0.0/8")]
#[case::preset_pods(json!({"nodes": "100.64.0.0/16"}),
    "addresses of the nodes, 100.64.0.0/16, are also of the pods, 100.64.0.0/12")]
#[case::services(json!({"services": "100.64.0.0/20"}),
    "addresses of the pods, 100.64.0.0/12, are also of the services, 100.64.0.0/20")]
#[case::reserved(json!({"pods": "240.0.0.0/8"}),
    "addresses from 224.0.0.0 on are reserved, and 240.0.0.0/8 of the pods has some")]
fn ranges_that_gardener_refuses_are_refused(#[case] network: Value, #[case] problem: &str) {
    let mut call = pool("hv-pool-a");
    call.composite["spec"]["network"] = network;
    let outcome = call.run();
    assert_eq!(
        outcome.fatal,
        Some(format!(
            "{problem}, which can't be changed later: name others in spec.network, or in gardener.networking of the Composition's \
             input"
        ))
    );
}

#[rstest]
// 100 hypervisors, and 3 machines of the system of which one is added in an update.
#[case::nodes(json!({"nodes": "10.20.0.0/26"}), "nodes, 10.20.0.0/26, are enough for 59 nodes")]
#[case::pods(json!({"pods": "100.64.0.0/18"}), "pods, 100.64.0.0/18, are enough for 64 nodes")]
#[case::no_pods(json!({"pods": "100.64.0.0/25"}), "pods, 100.64.0.0/25, are enough for 0 nodes")]
fn cluster_without_room_for_its_machines_is_refused(#[case] network: Value, #[case] room: &str) {
    let mut call = pool("hv-pool-a");
    call.composite["spec"]["network"] = network;
    assert_eq!(
        call.run().fatal,
        Some(format!(
            "there are up to 104 machines, and the addresses of the {room}: name larger ranges in spec.network, which can't be \
             changed later, or fewer machines"
        ))
    );
}

#[test]
fn cluster_that_outgrows_its_addresses_is_told() {
    let mut call = pool("hv-pool-a");
    call.composite["spec"]["network"] = json!({"pods": "100.64.0.0/17"});
    let (mut call, before) = call.running();
    assert_eq!(before.conditions["ShootReady"].2, "");
    call.composite["spec"]["maxWorkers"] = json!(200);
    let outcome = call.run();
    assert_eq!(outcome.fatal, None);
    assert_eq!(
        outcome.conditions["ShootReady"].2,
        "there are up to 204 machines, and the addresses of the pods, 100.64.0.0/17, are enough for 128 nodes"
    );
}
