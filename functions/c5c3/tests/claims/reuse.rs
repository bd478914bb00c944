//! How long Crossplane may reuse a response.

use std::collections::BTreeMap;
use std::mem::take;

use function_c5c3::Claims;
use function_c5c3_fixtures::Call;
use function_c5c3_fixtures::examples::claim;
use function_protocol::run;
use function_protocol::v1::{Capability, RunFunctionRequest, RunFunctionResponse};
use rstest::rstest;

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

#[rstest]
#[case::control_planes("control-plane")]
#[case::hypervisors("hv-pool-a")]
#[case::storage("st-pool-a")]
fn ready_cluster_is_composed_again_like_a_claim(#[case] name: &str) {
    let (call, ready) = Call::of_pool(name).running();
    assert_eq!(ready.composite_ready, Some(true), "{:?}", ready.conditions);
    assert_eq!(ttl(&call), [30, 30, 4 * 60 * 60]);
}
