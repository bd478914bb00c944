//! The members of a database.

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use provider_ovn::OvnCluster;
use serde_json::json;

use crate::stage::{Stage, key, subject};

#[test]
fn majority_serves_while_a_member_is_missing() {
    let mut stage = Stage::new(json!({}));
    stage.serve();
    stage.ready("nb", &[0, 2]);
    stage.reconcile();
    assert_eq!(
        stage.conditions(),
        [
            "AgentsConfigured Ready ",
            "NorthboundReady Ready ",
            "SouthboundReady Ready ",
            "ControllersReady Ready ",
            "MembersReady WaitingForMembers 2 of 3 members of OVN_Northbound are connected",
            "Ready Ready ",
        ]
    );
}

#[test]
fn cluster_that_was_created_is_remembered() {
    let mut stage = Stage::new(json!({}));
    stage.reconcile();
    let created = |stage: &Stage| stage.field(&key::<ConfigMap>("ovn-nb-cluster"), "/data/created");
    assert_eq!(created(&stage), "false");
    stage.ready("nb", &[0]);
    stage.reconcile();
    assert_eq!(created(&stage), "true");
    stage.ready("nb", &[]);
    stage.reconcile();
    assert_eq!(created(&stage), "true");
}

#[test]
fn members_leave_one_at_a_time() {
    let replicas = |number: u32| json!({ "northbound": { "replicas": number } });
    let mut stage = Stage::new(replicas(5));
    stage.reconcile();
    stage.ready("nb", &[0, 1, 2, 3, 4]);
    stage.ready("sb", &[0, 1, 2]);
    stage.change(replicas(3));
    let mut seen = Vec::new();
    for ready in [
        &[0, 1, 2, 3, 4][..],
        &[0, 1, 2, 3],
        &[0, 1, 2, 3],
        &[0, 1, 2],
    ] {
        stage.ready("nb", ready);
        stage.cluster.reconcile(&OvnCluster, &subject()).unwrap();
        let (pods, members) = stage.scale();
        seen.push(format!(
            "{pods} pods, {} members",
            members.as_str().unwrap()
        ));
    }
    assert_eq!(
        seen,
        [
            "5 pods, 4 members",
            "4 pods, 4 members",
            "4 pods, 3 members",
            "3 pods, 3 members",
        ]
    );
}

#[test]
fn unreadable_pods_change_nothing() {
    let mut stage = Stage::new(json!({ "northbound": { "replicas": 5 } }));
    stage.reconcile();
    stage.ready("nb", &[0, 1, 2, 3, 4]);
    stage.reconcile();
    stage.cluster.set_readable(&key::<Pod>("ovn-nb-0"), false);
    stage.change(json!({ "northbound": { "replicas": 3 } }));
    stage.reconcile();
    assert_eq!(stage.scale(), (json!(5), json!("5")));
}
