//! The calls that are measured are those of a site where all is well.

use function_c5c3::Claims;
use function_c5c3_fixtures::{Call, Outcome, Workload, examples};
use function_protocol::run;

#[test]
fn every_measured_call_is_of_something_that_is_ready() {
    let measured = [
        Workload::claim(),
        Workload::claim_among(10),
        Workload::pool_among(10),
    ];
    for Workload { name, request } in measured {
        let outcome = Outcome::of(run(&Claims, request));
        assert_eq!(outcome.fatal, None, "{name}");
        assert_eq!(outcome.status["phase"], "Ready", "{name}");
        assert_eq!(outcome.composite_ready, Some(true), "{name}");
        assert_eq!(outcome.events, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn what_an_api_server_adds_changes_nothing() {
    let (call, before) = Call::of(examples::claim("customer-a-prod"), "openstack-production")
        .with(examples::pools())
        .running();
    // What an API server gives a share is recorded: its UID.
    let call = call.stored(&before);
    let before = call.run();
    let after = call.stored(&before).run();
    assert_eq!(after.desired, before.desired);
    assert_eq!(after.status, before.status);
}

#[test]
fn a_call_is_the_same_however_many_claims_a_site_has() {
    let bytes = |claims| Workload::site(claims, 100).bytes();
    assert!(bytes(100) == bytes(10_000), "a call grows with the site");
}

#[test]
fn a_measured_pool_lists_all_of_its_consumers() {
    let outcome = Outcome::of(run(&Claims, Workload::pool_among(100).request));
    assert_eq!(outcome.status["consumers"].as_array().unwrap().len(), 100);
}
