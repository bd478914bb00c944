//! A change of release that can't return, because a service refuses to.

use c5c3_api::control_plane::UpdatePhase;
use jiff::SignedDuration;
use provider_control_plane::graph::Node;
use provider_control_plane::rollout::TIMEOUT;
use serde_json::json;

use super::{phase, running, wants};
use crate::stage::{Stage, first};

/// Reports that Nova's databases have begun to leave the release behind that Nova is to return to.
fn refuse_to_return(stage: &mut Stage) {
    let nova = stage.object(Node::Nova).unwrap();
    let generation = nova["metadata"]["generation"].clone();
    let condition = |type_: &str, status: &str| {
        json!({
            "type": type_, "status": status, "reason": "TooLateToGoBack", "message": "ask for the newer release again",
            "observedGeneration": generation,
        })
    };
    let status = json!({
        "release": "2025.2",
        "conditions": [condition("Ready", "False"), condition("Stalled", "True")],
    });
    stage.cluster.set_status(&first(Node::Nova), status);
    stage.settle();
}

#[test]
fn change_that_cannot_return_goes_on_once_the_spec_changes() {
    let mut stage = running("2025.2");
    wants(&mut stage, "2026.1");
    stage.settle();
    stage.held.insert(Node::Nova);
    stage.simulate();
    assert_eq!(stage.release(Node::Nova), "2026.1");
    stage.cluster.wait(TIMEOUT + SignedDuration::from_secs(1));
    stage.settle();
    assert_eq!(phase(&stage), UpdatePhase::RollingBack);
    refuse_to_return(&mut stage);
    stage.cluster.wait(TIMEOUT * 2);
    stage.settle();
    assert_eq!(phase(&stage), UpdatePhase::RollingBack);
    assert_eq!(stage.release(Node::Nova), "2025.2");

    stage.held.clear();
    stage.want(|spec| spec["global"] = json!({ "network": { "mtu": 9000 } }));
    stage.settle();
    assert_eq!(phase(&stage), UpdatePhase::UpdatingServices);
    assert_eq!(stage.release(Node::Nova), "2026.1");
    stage.simulate();
    assert_eq!(phase(&stage), UpdatePhase::Complete);
    assert_eq!(stage.condition("Ready").0, "True");
}
