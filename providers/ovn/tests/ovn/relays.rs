//! Relays, and the nodes that connect to them.

use k8s_openapi::api::core::v1::Secret;
use serde_json::json;

use crate::stage::{Stage, key};

/// The nodes that are told first would have no database while no relay runs.
#[test]
fn nodes_keep_their_database_until_a_relay_answers() {
    let mut stage = Stage::new(json!({}));
    stage.serve();
    let remote = |stage: &Stage| stage.field(&key::<Secret>("ovn-chassis"), "/data/remote");
    let waits = |stage: &Stage| {
        let mut conditions = stage.conditions().into_iter();
        conditions.find(|condition| condition.starts_with("AgentsConfigured"))
    };
    let members = remote(&stage);
    assert_eq!(waits(&stage), Some("AgentsConfigured Ready ".to_owned()));
    stage.change(json!({ "relay": { "replicas": 2 } }));
    stage.reconcile();
    assert_eq!(remote(&stage), members);
    let says = "AgentsConfigured WaitingForPods waits for a ready pod of the Deployment ovn-sb-relay, before nodes connect to it";
    assert_eq!(waits(&stage), Some(says.to_owned()));

    stage.is_available("ovn-sb-relay");
    stage.reconcile();
    assert_ne!(remote(&stage), members);
    assert_eq!(waits(&stage), Some("AgentsConfigured Ready ".to_owned()));
}
