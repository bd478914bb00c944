//! What becomes of a consumer whose claim is restored from a backup, with another UID.

use std::collections::BTreeSet;

use function_c5c3::Claims;
use function_c5c3_fixtures::{Call, Outcome, composite, examples, request, text};
use rstest::rstest;
use serde_json::{Value, json};

use super::admission::{admitted, asked, asking};
use super::openstack;

/// A claim as it is after it was restored, in this pool and another.
fn restored(claim: &str, pool: &str) -> Value {
    let (namespace, name) = claim.split_once('/').unwrap_or_default();
    composite(json!({
        "apiVersion": "c5c3.io/v1alpha1", "kind": "OpenStackCluster",
        "metadata": {"name": name, "namespace": namespace, "uid": "restored"},
        "spec": {"region": "eu-de-1", "size": "small", "hypervisorClusters": [pool], "storageClusters": ["st-pool-a"]},
    }))
}

/// The pool's call after it admitted these claims, which no longer ask for it.
fn without_request(file: &str, claims: &[(&str, &str, u32)]) -> Call {
    let mut call = asking(file, claims);
    call.composite["status"] = call.run().status;
    call.world.clear();
    call
}

#[rstest]
#[case::without_a_namespace("hv-pool-compliance")]
#[case::with_its_namespace("infrastructure/hv-pool-compliance")]
fn dedicated_pool_keeps_a_restored_holder_until_it_asks_again(#[case] named: &str) {
    let call = without_request("hv-pool-compliance", &[("b/holder", "03", 1)]);
    let consumers = call.composite["status"]["consumers"].clone();
    let elder = asked(&call, "a/elder", "01", 1);
    let claim = restored("b/holder", named);
    let call = call.with([elder, claim.clone()]);
    assert_eq!(call.run().status["consumers"], consumers);

    let again = request(&claim, &call.composite, 1);
    let readopted = call.with([again]).run();
    assert_eq!(
        readopted.status["consumers"],
        json!([{"name": "holder", "namespace": "b", "uid": "restored", "minHosts": 1}])
    );
}

#[test]
fn pool_forgets_a_holder_whose_claim_is_gone_or_names_another_pool() {
    let call = without_request("hv-pool-compliance", &[("b/holder", "03", 1)]);
    let elder = asked(&call, "a/elder", "01", 1);
    let call = call.with([elder]);
    assert_eq!(admitted(&call.run()), ["a/elder"]);
    let moved = restored("b/holder", "hv-pool-a");
    assert_eq!(admitted(&call.clone().with([moved]).run()), ["a/elder"]);
    let mut withdrawn = restored("b/holder", "hv-pool-compliance");
    withdrawn["metadata"]["uid"] = json!("uid-holder");
    assert_eq!(admitted(&call.with([withdrawn]).run()), ["a/elder"]);
}

#[test]
fn pool_keeps_a_holder_while_its_claim_is_not_read() {
    let call = without_request("hv-pool-compliance", &[("b/holder", "03", 1)]);
    let elder = asked(&call, "a/elder", "01", 1);
    let mut message = call.with([elder]).settled();
    message.extra_resources.remove("claim/b/holder").unwrap();
    let outcome = Outcome::of(function_protocol::run(&Claims, message));
    assert_eq!(admitted(&outcome), ["b/holder"]);
}

/// A claim may have 1.4 MB, so a call can't look up the claims of all consumers without a request. Each is looked up in time: otherwise a
/// deleted claim would stay a consumer beside others whose claims exist and request nothing.
#[test]
fn claims_of_few_silent_consumers_are_looked_up_and_of_all_in_time() {
    let claims: Vec<(String, String)> = (0..40)
        .map(|number| match number {
            0..10 => ("evil".to_owned(), format!("claim-{number:02}")),
            _ => (format!("tenant-{number}"), "prod".to_owned()),
        })
        .collect();
    let consumers = claims.iter().map(|(namespace, name)| {
        json!({"namespace": namespace, "name": name, "uid": format!("former-{namespace}-{name}")})
    });
    let mut call = asking("hv-pool-b", &[]);
    call.composite["status"]["consumers"] = consumers.collect();
    let without_request = claims
        .iter()
        .map(|(namespace, name)| format!("{namespace}/{name}"));
    let without_request: Vec<String> = without_request.collect();
    let mut seen = BTreeSet::new();
    for version in 1..=8 {
        call.composite["metadata"]["resourceVersion"] = json!(version.to_string());
        let message = call.settled();
        let required = message.extra_resources.keys();
        let looked_up: Vec<&str> = required
            .filter_map(|key| key.strip_prefix("claim/"))
            .collect();
        let evil = looked_up.iter().filter(|claim| claim.starts_with("evil/"));
        assert_eq!((evil.count(), looked_up.len()), (4, 24));
        let outcome = Outcome::of(function_protocol::run(&Claims, message.clone()));
        let kept = without_request
            .iter()
            .filter(|claim| !looked_up.contains(&claim.as_str()));
        let kept: Vec<String> = kept.cloned().collect();
        assert_eq!(admitted(&outcome), kept);
        seen.extend(looked_up.into_iter().map(str::to_owned));
    }
    assert_eq!(seen.len(), claims.len());
}

/// The call of a pool of five nodes after it promised four of them to a claim, which no longer asks for it.
fn nearly_full() -> Call {
    let mut call = without_request("hv-pool-b", &[("b/prod", "03", 4)]);
    call.composite["spec"]["workers"] = json!(5);
    call.composite["spec"]["maxWorkers"] = json!(5);
    call.composite["spec"]["sharing"] = json!({});
    call
}

/// The Object by which an admitted claim asks, as a restore without ownerReferences leaves it.
fn without_controller(mut object: Value) -> Value {
    object["metadata"]["ownerReferences"] = json!([]);
    let spec = object["spec"].as_object_mut().unwrap();
    spec.remove("managementPolicies").unwrap();
    object
}

#[test]
fn consumer_whose_object_has_no_controller_keeps_its_nodes() {
    let call = nearly_full();
    let consumers = call.composite["status"]["consumers"].clone();
    let newcomer = asked(&call, "c/large", "01", 4);
    let object = without_controller(asked(&call, "b/prod", "03", 4));
    let call = call.with([newcomer, object]);
    assert_eq!(call.run().status["consumers"], consumers);
}

#[test]
fn object_without_a_controller_is_a_consumer_even_if_the_status_is_lost() {
    let mut call = nearly_full();
    call.composite["status"] = json!({});
    let newcomer = asked(&call, "c/large", "01", 4);
    let object = without_controller(asked(&call, "b/prod", "03", 4));
    let again = asked(&call, "b/prod", "04", 4);
    let mut call = call.with([newcomer.clone(), object]);
    let outcome = call.run();
    let consumer = json!({"name": "prod", "namespace": "b", "minHosts": 4});
    assert_eq!(outcome.status["consumers"], json!([consumer]));

    call.composite["status"] = outcome.status;
    call.world = vec![newcomer.clone(), restored("b/prod", "hv-pool-b")];
    assert_eq!(call.run().status["consumers"], json!([consumer]));
    call.world = vec![newcomer.clone(), again];
    let outcome = call.run();
    assert_eq!(outcome.status["consumers"][0]["uid"], "uid-prod");
    assert_eq!(admitted(&outcome), ["b/prod"]);
    call.world = vec![newcomer];
    assert_eq!(admitted(&call.run()), ["c/large"]);
}

#[rstest]
#[case::after_all_pools_had_admitted_its_claim(json!(["Observe", "Create"]), "b/holder")]
#[case::before(json!(["Observe"]), "a/elder")]
fn dedicated_pool_is_taken_by_an_object_without_a_controller(
    #[case] policies: Value,
    #[case] taken_by: &str,
) {
    let call = asking("hv-pool-compliance", &[("a/elder", "01", 1)]);
    let mut object = without_controller(asked(&call, "b/holder", "03", 1));
    object["spec"]["managementPolicies"] = policies;
    assert_eq!(admitted(&call.with([object]).run()), [taken_by]);
}

#[test]
fn namespaced_object_without_a_controller_is_its_namespaces_whatever_its_labels_say() {
    let mut call = Call::of(json!({}), "hypervisor-pool");
    call.composite = examples::pool("hv-pool-a");
    call.composite["metadata"]["uid"] = json!("pool");
    let mut claim = examples::claim("customer-b-staging");
    let created = "2026-01-01T00:00:00Z";
    claim["metadata"] =
        json!({"name": "prod", "namespace": "vip", "uid": "lost", "creationTimestamp": created});
    let mut object = without_controller(request(&claim, &call.composite, 1));
    object["metadata"]["labels"]["crossplane.io/composite"] = json!("prod");
    object["metadata"]["labels"]["crossplane.io/claim-namespace"] = json!("other");
    object["metadata"]["labels"]["crossplane.io/claim-name"] = json!("other");
    assert_eq!(admitted(&call.with([object]).run()), ["vip/prod"]);
}

#[test]
fn consumer_that_does_not_say_how_many_nodes_it_needs_keeps_those_that_it_was_promised() {
    let call = nearly_full();
    let consumers = call.composite["status"]["consumers"].clone();
    let mut request = asked(&call, "b/prod", "03", 4);
    request["metadata"]["annotations"] = json!({});
    let newcomer = asked(&call, "c/large", "01", 4);
    assert_eq!(
        call.with([request, newcomer]).run().status["consumers"],
        consumers
    );
}

/// Another tenant has neither the place nor the nodes of a restored consumer, whatever its claim is called.
#[test]
fn nodes_of_a_restored_consumer_stay_promised() {
    let call = nearly_full();
    let namesake = asked(&call, "evil/prod", "01", 4);
    let small = asked(&call, "c/small", "01", 1);
    let call = call.with([namesake, small, restored("b/prod", "hv-pool-b")]);
    let outcome = call.run();
    assert_eq!(admitted(&outcome), ["b/prod", "c/small"]);
    assert_eq!(outcome.status["consumers"][0]["minHosts"], 4);
}

#[test]
fn restored_claim_uses_the_pools_that_admitted_it() {
    let (mut call, _) = openstack::call("customer-b-staging").running();
    for pool in &mut call.world {
        pool["status"]["consumers"] = json!([{
            "namespace": "tenant-customer-b", "name": "customer-b-staging", "uid": "former", "minHosts": 7,
        }]);
        if text(pool, "/spec/name") == "hv-pool-a" {
            pool["spec"]["sharing"] = json!({"mode": "Dedicated"});
        }
    }
    let outcome = call.run();
    assert_eq!(outcome.conditions["PoolsReady"].0, "True");
    assert_eq!(
        outcome.manifest("share-hv-pool-a")["spec"]["minHosts"],
        json!(7)
    );
}
