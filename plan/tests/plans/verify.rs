//! A claim that Tempest tests.

use c5c3_api::Generation;
use c5c3_plan::{Page, Settings, tree};
use rstest::rstest;
use serde_json::json;

use crate::given::{CLAIM, assuming_ready, claim, condition, settings, written};

fn tested_claim() -> String {
    format!("{CLAIM}  verify: {{}}\n")
}

#[rstest]
fn claim_that_is_tested_becomes_ready(
    #[values(Generation::V1, Generation::V2)] generation: Generation,
) {
    let settings = Settings {
        generation,
        ..assuming_ready()
    };
    let plan = written(&tested_claim(), &settings).unwrap();
    let claim = claim(&plan, "tenant/cloud");
    assert_eq!(claim.phase(), "Ready");
    assert_eq!(condition(claim, "TestsPassed"), ("True", "Ready"));
    let verified = &claim.claim.status()["verified"];
    assert_eq!(
        *verified,
        json!({ "time": "2026-01-01T00:00:00Z", "passed": 100, "failed": 0, "skipped": 0 })
    );
    if generation == Generation::V1 {
        insta::assert_snapshot!(tree(&plan, Page::PLAIN, "c5c3 plan"));
    }
}

#[test]
fn tests_wait_for_the_control_plane() {
    let plan = written(&tested_claim(), &settings()).unwrap();
    let condition = condition(claim(&plan, "tenant/cloud"), "TestsPassed");
    assert_eq!(condition, ("Unknown", "Waiting"));
}
