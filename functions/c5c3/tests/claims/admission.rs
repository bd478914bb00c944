//! Whom a pool admits, and what a claim does until it is admitted.

use function_c5c3_fixtures::examples::claim;
use function_c5c3_fixtures::{Call, Outcome, composite, request, text};
use rstest::rstest;
use serde_json::{Value, json};

use super::{clusters, openstack};

/// A pool that is stored in a cluster.
pub(crate) fn pool(file: &str) -> Call {
    clusters::pool(file).admitted()
}

/// The request of a claim for the pool of a call.
pub(crate) fn asked(pool: &Call, claim: &str, created: &str, min_hosts: u32) -> Value {
    let (namespace, name) = claim.split_once('/').unwrap_or(("", claim));
    let claim = composite(json!({
        "apiVersion": "c5c3.io/v1alpha1", "kind": "OpenStackCluster",
        "metadata": {
            "name": name, "namespace": namespace, "uid": format!("uid-{name}"),
            "creationTimestamp": format!("2026-{created}-01T00:00:00Z"),
        },
    }));
    request(&claim, &pool.composite, min_hosts)
}

/// The pool's call when these claims ask for it: claim, month of creation, nodes that it can't do without.
pub(crate) fn asking(file: &str, claims: &[(&str, &str, u32)]) -> Call {
    let call = pool(file);
    let requests: Vec<Value> = claims
        .iter()
        .map(|(claim, created, hosts)| asked(&call, claim, created, *hosts))
        .collect();
    call.with(requests)
}

pub(crate) fn admitted(outcome: &Outcome) -> Vec<String> {
    let consumers = outcome.status["consumers"].as_array().into_iter().flatten();
    consumers
        .map(|consumer| text(consumer, "/namespace") + "/" + &text(consumer, "/name"))
        .collect()
}

#[test]
fn a_pool_lists_its_consumers_eldest_first() {
    let call = asking("hv-pool-a", &[("b/young", "03", 1), ("a/old", "02", 3)]);
    assert_eq!(
        call.run().status["consumers"],
        json!([
            {"name": "old", "namespace": "a", "uid": "uid-old", "minHosts": 3},
            {"name": "young", "namespace": "b", "uid": "uid-young", "minHosts": 1},
        ])
    );
}

#[test]
fn a_request_for_another_pool_doesnt_count() {
    let mut call = asking("hv-pool-a", &[("a/one", "01", 1), ("a/other", "01", 1)]);
    let uid = text(&call.composite, "/metadata/uid");
    call.world[1]["metadata"]["labels"][format!("c5c3.io/pool-{uid}")] = json!(null);
    assert_eq!(admitted(&call.run()), ["a/one"]);
}

#[test]
fn a_namespaced_request_is_its_namespaces_whatever_its_labels_say() {
    let mut call = Call::of(json!({}), "hypervisor-pool");
    call.composite = function_c5c3_fixtures::examples::pool("hv-pool-a");
    call.composite["metadata"]["uid"] = json!("pool");
    call.composite["spec"]["sharing"] = json!({"allowedNamespaces": ["vip"]});
    let mut evil = claim("customer-b-staging");
    evil["metadata"] =
        json!({"name": "prod", "namespace": "evil", "uid": "evil", "creationTimestamp": "2026"});
    let mut object = request(&evil, &call.composite, 1);
    object["metadata"]["labels"]["crossplane.io/claim-namespace"] = json!("vip");
    let call = call.with([object.clone()]);
    assert_eq!(admitted(&call.run()), Vec::<String>::new());
    object["metadata"]["namespace"] = json!("vip");
    assert_eq!(admitted(&call.with([object]).run()), ["vip/prod"]);
}

#[test]
fn a_dedicated_pool_keeps_its_holder_and_refuses_an_elder_newcomer() {
    let mut call = asking("hv-pool-compliance", &[("b/holder", "03", 1)]);
    let outcome = call.run();
    assert_eq!(admitted(&outcome), ["b/holder"]);
    call.composite["status"] = outcome.status;
    let elder = asked(&call, "a/elder", "01", 1);
    let mut call = call.with([elder]);
    assert_eq!(admitted(&call.run()), ["b/holder"]);
    call.world.remove(0);
    assert_eq!(admitted(&call.run()), ["a/elder"]);
}

#[rstest]
#[case::namespaces(json!({"mode": "Dedicated", "allowedNamespaces": ["c"]}), &["a/old"])]
#[case::dedicated(json!({"mode": "Dedicated"}), &["a/old", "b/young"])]
fn consumers_of_a_pool_stay_when_it_allows_fewer(#[case] sharing: Value, #[case] stay: &[&str]) {
    let claims = [("a/old", "02", 1), ("b/young", "03", 1)];
    let mut call = asking("hv-pool-a", &claims[..stay.len()]);
    let outcome = call.run();
    assert_eq!(admitted(&outcome), stay);
    call.composite["status"] = outcome.status;
    call.composite["spec"]["sharing"] = sharing;
    let newcomer = asked(&call, "c/elder", "01", 1);
    assert_eq!(admitted(&call.with([newcomer]).run()), stay);
}

#[test]
fn consumer_of_a_namespace_that_is_no_longer_allowed_gets_no_more_nodes_and_its_namesake_none() {
    let mut call = asking("hv-pool-a", &[("a/old", "02", 3)]);
    call.composite["status"] = call.run().status;
    call.composite["spec"]["sharing"] = json!({"allowedNamespaces": ["c"]});
    let promised = |call: &Call| {
        let status = call.run().status;
        status["consumers"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|consumer| consumer["minHosts"].clone())
            .collect::<Vec<_>>()
    };
    for (wanted, granted) in [(5, 3), (2, 2)] {
        let mut call = call.clone();
        call.world = vec![asked(&call, "a/old", "02", wanted)];
        assert_eq!(promised(&call), [granted]);
    }
    let mut namesake = asked(&call, "a/old", "02", 3);
    namesake["metadata"]["ownerReferences"][0]["uid"] = json!("another");
    call.world = vec![namesake];
    assert_eq!(promised(&call), [0; 0]);
}

#[test]
fn a_pool_promises_no_more_nodes_than_it_can_have() {
    let claims = [
        ("a/a", "01", 5),
        ("b/b", "02", 3),
        ("c/c", "03", 1),
        ("d/d", "04", 1),
    ];
    let mut call = asking("hv-pool-b", &claims);
    call.composite["spec"]["workers"] = json!(2);
    call.composite["spec"]["maxWorkers"] = json!(8);
    call.composite["spec"]["sharing"] = json!({"reserve": 1});
    let outcome = call.run();
    assert_eq!(
        admitted(&outcome),
        ["a/a", "c/c", "d/d"],
        "b/b doesn't fit and waits"
    );
    let worker = &outcome.manifest("shoot")["spec"]["provider"]["workers"][0];
    assert_eq!(
        (&worker["minimum"], &worker["maximum"]),
        (&json!(8), &json!(8))
    );
    assert_eq!(
        outcome.conditions["SizeAccepted"].2,
        "spec.workers is 2, and the pool keeps 8: its 3 consumers were promised 7 nodes, and 1 are in reserve"
    );
}

#[test]
fn claims_without_servers_take_no_nodes_of_a_pool() {
    let claims = [
        ("a/a", "01", 2),
        ("b/b", "02", 0),
        ("c/c", "03", 1),
        ("d/d", "04", 0),
    ];
    let mut call = asking("hv-pool-b", &claims);
    call.composite["spec"]["workers"] = json!(2);
    call.composite["spec"]["maxWorkers"] = json!(3);
    call.composite["spec"]["sharing"] = json!({});
    let outcome = call.run();
    assert_eq!(admitted(&outcome), ["a/a", "b/b", "c/c", "d/d"]);
    assert_eq!(
        outcome.conditions["SizeAccepted"].2,
        "spec.workers is 2, and the pool keeps 3: its 4 consumers were promised 3 nodes, and 0 are in reserve"
    );
}

#[test]
fn a_claim_without_servers_is_admitted_by_a_pool_that_promised_more_nodes_than_it_can_have() {
    let mut call = asking("hv-pool-b", &[("a/a", "01", 3)]);
    call.composite["spec"]["workers"] = json!(2);
    call.composite["spec"]["maxWorkers"] = json!(3);
    call.composite["spec"]["sharing"] = json!({});
    call.composite["status"] = call.run().status;
    call.composite["spec"]["sharing"] = json!({"reserve": 1});
    let newcomers = [asked(&call, "b/b", "02", 1), asked(&call, "c/c", "03", 0)];
    assert_eq!(admitted(&call.with(newcomers).run()), ["a/a", "c/c"]);
}

#[test]
fn claims_that_only_ask_never_grow_a_pool() {
    let names: Vec<String> = (0..150).map(|number| format!("evil/{number}")).collect();
    let claims: Vec<(&str, &str, u32)> =
        names.iter().map(|name| (name.as_str(), "01", 1)).collect();
    let outcome = asking("hv-pool-a", &claims).run();
    let worker = &outcome.manifest("shoot")["spec"]["provider"]["workers"][0];
    assert_eq!(worker["maximum"], json!(100));
    assert_eq!(admitted(&outcome).len(), 100);
}

#[rstest]
#[case("control-plane")]
#[case("hv-pool-a")]
#[case("st-pool-a")]
fn a_pool_admits_as_many_claims_as_its_owner_says(#[case] file: &str) {
    let claims = [("a/a", "01", 1), ("b/b", "02", 1), ("c/c", "03", 1)];
    let mut call = asking(file, &claims);
    call.composite["spec"]["sharing"] = json!({"maxConsumers": 2});
    let outcome = call.run();
    assert_eq!(admitted(&outcome), ["a/a", "b/b"]);
    call.composite["status"] = outcome.status;
    call.composite["spec"]["sharing"] = json!({"maxConsumers": 1});
    assert_eq!(admitted(&call.run()), ["a/a", "b/b"], "they stay");
}

/// The list of consumers has to fit into etcd.
#[test]
fn a_pool_admits_a_thousand_claims_at_most() {
    let names: Vec<String> = (0..1001).map(|number| format!("t/{number}")).collect();
    let claims: Vec<(&str, &str, u32)> =
        names.iter().map(|name| (name.as_str(), "01", 1)).collect();
    assert_eq!(admitted(&asking("st-pool-a", &claims).run()).len(), 1000);
}

#[test]
fn a_consumer_stays_admitted_when_its_pool_is_made_smaller() {
    let mut call = asking("hv-pool-b", &[("a/a", "01", 4), ("b/b", "02", 4)]);
    call.composite["spec"]["workers"] = json!(8);
    call.composite["spec"]["maxWorkers"] = json!(8);
    call.composite["spec"]["sharing"] = json!({});
    call.composite["status"] = call.run().status;
    call.composite["spec"]["maxWorkers"] = json!(5);
    call.composite["spec"]["workers"] = json!(5);
    assert_eq!(admitted(&call.run()), ["a/a", "b/b"]);
}

#[rstest]
#[case::shared("Shared")]
#[case::dedicated("Dedicated")]
fn a_consumer_that_wants_more_nodes_than_fit_keeps_those_it_was_promised(#[case] mode: &str) {
    let mut call = asking("hv-pool-b", &[("a/a", "01", 2), ("b/b", "02", 2)]);
    call.composite["spec"]["labels"] = json!({});
    call.composite["spec"]["workers"] = json!(5);
    call.composite["spec"]["maxWorkers"] = json!(5);
    call.composite["spec"]["sharing"] = json!({"mode": mode});
    call.composite["status"] = call.run().status;
    let mut grown = asked(&call, "a/a", "01", 3);
    std::mem::swap(&mut call.world[0], &mut grown);
    assert_eq!(call.run().status["consumers"][0]["minHosts"], 3, "it fits");
    call.world[0] = asked(&call, "a/a", "01", 9);
    let outcome = call.run();
    assert_eq!(admitted(&outcome)[0], "a/a");
    assert_eq!(outcome.status["consumers"][0]["minHosts"], 2);
}

#[test]
fn a_share_has_the_nodes_that_its_pool_promised() {
    let (mut call, _) = openstack::call("customer-b-staging").running();
    call.composite["spec"]["size"] = json!("xlarge");
    for pool in &mut call.world {
        if text(pool, "/spec/name") == "hv-pool-a" {
            let consumers = pool["status"]["consumers"].as_array_mut().unwrap();
            consumers.last_mut().unwrap()["minHosts"] = json!(2);
        }
    }
    let share = call.run().manifest("share-hv-pool-a").clone();
    assert_eq!(share["spec"]["minHosts"], 2);
}

#[test]
fn a_claim_that_enables_nova_in_a_full_pool_says_that_no_node_is_guaranteed() {
    let (mut call, _) = openstack::call("customer-b-staging").running();
    let said = |call: &Call| call.run().conditions["PoolsReady"].clone();
    assert_eq!(said(&call).2, "every pool can be consumed");
    for pool in &mut call.world {
        if text(pool, "/spec/name") == "hv-pool-a" {
            let consumers = pool["status"]["consumers"].as_array_mut().unwrap();
            consumers.last_mut().unwrap()["minHosts"] = json!(0);
        }
    }
    let (status, _, message) = said(&call);
    assert_eq!(status, "True");
    assert_eq!(
        message,
        "every pool can be consumed, but hv-pool-a guarantees 0 of the 1 nodes that the claim asks for, and others by weight \
         alone: ask the pool's owner for more"
    );
    call.composite["spec"]["services"]["nova"] = json!(false);
    assert_eq!(said(&call).2, "every pool can be consumed");
}

#[test]
fn a_running_claim_does_not_ask_a_pool_that_cannot_serve_it() {
    let (mut call, before) = openstack::call("customer-b-staging").running();
    call.composite["spec"]["hypervisorClusters"] = json!(["hv-pool-a", "hv-pool-b"]);
    for pool in &mut call.world {
        if text(pool, "/spec/name") == "hv-pool-b" {
            pool["spec"]["region"] = json!("mars-1");
        }
    }
    let metadata = |outcome: &Outcome| outcome.desired["namespace"]["metadata"].clone();
    assert_eq!(metadata(&call.run()), metadata(&before));
}

#[test]
fn consumers_stay_listed_while_requests_are_not_read() {
    let mut call = pool("hv-pool-a");
    let consumers = json!([{"name": "old", "namespace": "tenant-a"}]);
    call.composite["status"] = json!({"phase": "Ready", "consumers": consumers});
    let response = function_protocol::run(&function_c5c3::Claims, call.message());
    assert_eq!(Outcome::of(response).status["consumers"], consumers);
}
