//! How long Crossplane may reuse a response.

use std::collections::BTreeMap;
use std::mem::take;

use function_c5c3::Claims;
use function_c5c3_fixtures::examples::claim;
use function_c5c3_fixtures::{Call, Outcome};
use function_protocol::run;
use function_protocol::v1::{Capability, RunFunctionRequest, RunFunctionResponse};
use rstest::rstest;
use serde_json::{Value, json};

use crate::openstack::call;

const NAME: &str = "customer-b-staging";

/// The last call of a reconcile, by Crossplane 2.2 or newer, with what the function requires.
fn advertised(call: &Call) -> RunFunctionRequest {
    let mut message = call.settled();
    let meta = message.meta.get_or_insert_default();
    meta.push_capabilities(Capability::Capabilities);
    meta.push_capabilities(Capability::RequiredResources);
    message.required_resources = take(&mut message.extra_resources);
    message
}

fn seconds(response: RunFunctionResponse) -> i64 {
    let ttl = response.meta.and_then(|meta| meta.ttl);
    ttl.map_or(0, |ttl| ttl.seconds)
}

/// Seconds on Crossplane 1.20, on one that fetches pools in each reconcile, and on one that watches them.
fn ttl(call: &Call) -> [i64; 3] {
    let first = RunFunctionRequest {
        required_resources: BTreeMap::new(),
        ..advertised(call)
    };
    let fetched = RunFunctionRequest {
        context: run(&Claims, first).context,
        ..advertised(call)
    };
    [call.settled(), fetched, advertised(call)].map(|message| seconds(run(&Claims, message)))
}

#[test]
fn ready_claim_is_composed_again_within_seconds_only_where_pools_are_not_watched() {
    let (call, ready) = call(NAME).running();
    assert_eq!(ready.status["phase"], "Ready");
    assert_eq!(ttl(&call), [30, 30, 4 * 60 * 60]);
}

#[test]
fn waiting_claim_is_composed_again_within_minutes_even_where_pools_are_watched() {
    let waiting = Call::of(claim(NAME), "openstack-production");
    assert_eq!(ttl(&waiting), [15, 15, 5 * 60]);
}

#[test]
fn ready_claim_is_composed_again_within_seconds_while_crossplane_drops_changes() {
    let (mut call, ready) = call(NAME).running();
    assert_eq!(ready.status["phase"], "Ready");
    for (status, seconds) in [("True", 4 * 60 * 60), ("False", 30)] {
        call.composite["status"]["conditions"] = json!([{"type": "Responsive", "status": status}]);
        assert_eq!(ttl(&call), [30, 30, seconds], "Responsive is {status}");
    }
}

/// Counts what Crossplane 2.4 calls for claims at rest: once when it has given all that the function requires
/// (internal/xfn/required_resources.go), and again after the TTL, which it shortens by a tenth at most
/// (internal/controller/apiextensions/composite/reconciler.go).
#[rstest]
#[case("customer-a-prod")]
#[case("customer-b-staging")]
#[case("internal-prod")]
fn ten_thousand_ready_claims_take_at_most_one_call_a_second(#[case] name: &str) {
    let (call, ready) = call(name).running();
    assert_eq!(ready.status["phase"], "Ready");
    let message = advertised(&call);
    let given = message.required_resources.clone();
    let response = run(&Claims, message);
    let required = response.requirements.as_ref().map(|all| &all.resources);
    let required = required.into_iter().flat_map(BTreeMap::keys);
    assert!(given.keys().eq(required), "a reconcile takes a second call");
    let shortest = seconds(response) * 9 / 10;
    assert!(shortest >= 10_000, "every {shortest} s at least");
}

/// External Secrets writes into each of them every 30 seconds when it last compared both sides.
#[test]
fn secrets_of_a_claim_are_watched_until_they_are_ready() {
    let (mut call, ready) = call("internal-prod").running();
    assert_eq!(ready.status["phase"], "Ready");
    let is_refreshed = |name: &&str| {
        let kind = &ready.manifest(name)["kind"];
        kind == "PushSecret" || kind == "ExternalSecret"
    };
    let watched = |outcome: &Outcome, name: &str| outcome.desired[name]["spec"]["watch"].clone();
    let (refreshed, others): (Vec<&str>, Vec<&str>) =
        ready.objects().into_iter().partition(is_refreshed);
    for name in others {
        assert_eq!(watched(&ready, name), true, "{name}");
    }
    for name in &refreshed {
        assert_eq!(watched(&ready, name), false, "{name}");
        let unready = json!([{"type": "Ready", "status": "False"}]);
        let status = &mut call.observed.get_mut(*name).unwrap()["status"];
        status["atProvider"]["manifest"]["status"]["conditions"] = unready;
    }
    let unready = call.run();
    let kinds = refreshed.iter().map(|name| &ready.manifest(name)["kind"]);
    let kinds: Vec<&str> = kinds.filter_map(Value::as_str).collect();
    assert!(kinds.contains(&"PushSecret") && kinds.contains(&"ExternalSecret"));
    for name in refreshed {
        assert_eq!(watched(&unready, name), true, "{name}");
    }
}

#[rstest]
#[case::control_planes("control-plane")]
#[case::hypervisors("hv-pool-a")]
#[case::storage("st-pool-a")]
fn ready_cluster_is_composed_again_like_a_claim(#[case] name: &str) {
    let (call, ready) = Call::of_pool(name).running();
    assert_eq!(ready.composite_ready, Some(true), "{:?}", ready.conditions);
    assert_eq!(ttl(&call), [30, 30, 4 * 60 * 60]);
}
