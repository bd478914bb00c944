//! What a claim says of what it waits for, where a cluster or an operator of others is the cause.

use function_c5c3_fixtures::{Call, Outcome, text, well};
use rstest::rstest;
use serde_json::{Value, json};

use super::{call, running};

/// How provider-kubernetes begins, here in a cluster that it doesn't reach.
const UNREACHED: &str = "connect failed: Secret \"eu-de-1-control-plane-kubeconfig\" not found";

/// The call in which the provider says this of an Object, and has observed nothing.
fn unsynced(mut call: Call, name: &str, message: &str) -> Outcome {
    let synced = json!({
        "type": "Synced", "status": "False", "reason": "ReconcileError", "message": message,
    });
    call.observed.get_mut(name).unwrap()["status"] = json!({ "conditions": [synced] });
    call.run()
}

/// A claim that its pools have admitted, in whose control plane cluster the namespace has this status.
fn admitted(namespace: Value) -> Call {
    let call = call("customer-b-staging").admitted();
    let first = call.run();
    call.applied(&first, |name, manifest| match name {
        "namespace" => namespace.clone(),
        _ => well(name, manifest),
    })
}

/// A condition that is False.
fn unready(reason: &str, message: &str) -> (String, String, String) {
    ("False".to_owned(), reason.to_owned(), message.to_owned())
}

#[test]
fn claim_says_why_the_namespace_of_its_control_plane_is_not_created() {
    let outcome = unsynced(admitted(json!({})), "namespace", UNREACHED);
    let message = format!(
        "waiting for Namespace openstack-customer-b-staging in eu-de-1-control-plane ({UNREACHED}; the platform team checks the \
         cluster's kubeconfig and its rights)"
    );
    assert_eq!(outcome.conditions["PoolsReady"].0, "True");
    let said = &outcome.conditions;
    assert_eq!(said["ControlPlaneReady"], unready("NotApplied", &message));
    assert_eq!(said["StorageReady"], unready("Pending", &message));
    assert_eq!(said["HypervisorsReady"], unready("Pending", &message));
    assert_eq!(said["Reconciling"].2, message);
    assert!(outcome.warnings.contains(&message));
}

#[rstest]
#[case::nothing("")]
#[case::that_it_is_observed_alone("observe failed: external resource does not exist")]
fn namespace_that_is_being_created_is_no_news(#[case] message: &str) {
    let outcome = unsynced(admitted(json!({})), "namespace", message);
    assert_eq!(
        outcome.conditions["ControlPlaneReady"],
        unready("Pending", "it is being created")
    );
}

#[test]
fn claim_waits_for_the_end_of_a_namespace_that_is_deleted() {
    let outcome = admitted(json!({ "phase": "Terminating" })).run();
    assert_eq!(
        outcome.conditions["ControlPlaneReady"].2,
        "waiting for Namespace openstack-customer-b-staging in eu-de-1-control-plane (it is Terminating, and is created again once \
         it is gone)"
    );
}

#[test]
fn claim_says_why_the_namespace_of_agents_is_not_created() {
    let (call, outcome) = running("customer-b-staging");
    let call = call.applied(&outcome, well);
    let outcome = unsynced(
        call,
        "agents-namespace-hv-pool-a",
        "namespaces is forbidden",
    );
    assert_eq!(
        outcome.conditions["HypervisorsReady"],
        unready(
            "NotReady",
            "waiting for Namespace openstack-customer-b-staging in hv-pool-a (namespaces is forbidden; the platform team checks the \
             cluster's kubeconfig and its rights)"
        )
    );
}

/// The message of StorageReady of a claim that was Ready, once a composed resource has this status.
fn storage(resource: &str, status: &Value) -> String {
    let (call, outcome) = running("customer-b-staging");
    let call = call.applied(&outcome, |name, manifest| match name == resource {
        true => status.clone(),
        false => well(name, manifest),
    });
    call.run().conditions["StorageReady"].2.clone()
}

const KEY: &str = "pull-cinder-st-pool-a";

/// A store may answer with a value that it refuses.
#[rstest]
#[case::failed(
    json!({ "conditions": [{
        "type": "Ready", "status": "False", "reason": "SecretSyncedError", "message": "s3cret isn't valid",
    }] }),
    " (External Secrets reports SecretSyncedError, and the status there says why)"
)]
#[case::not_reported(json!({}), "")]
fn claim_says_that_external_secrets_failed_and_not_in_its_words(
    #[case] status: Value,
    #[case] why: &str,
) {
    assert_eq!(
        storage(KEY, &status),
        format!("waiting for ExternalSecret ceph-cinder-st-pool-a in eu-de-1-control-plane{why}")
    );
}

#[test]
fn claim_says_why_the_provider_cannot_create_what_transfers_a_secret() {
    let (call, outcome) = running("customer-b-staging");
    let call = call.applied(&outcome, well);
    let outcome = unsynced(call, KEY, "no matches for kind ExternalSecret");
    assert_eq!(
        outcome.conditions["StorageReady"].2,
        "waiting for ExternalSecret ceph-cinder-st-pool-a in eu-de-1-control-plane (no matches for kind ExternalSecret)"
    );
}

#[rstest]
#[case::pool(
    "volumes-st-pool-a",
    "Failure",
    "CephBlockPool customer-b-staging-volumes"
)]
#[case::user(
    "client-nova-st-pool-a",
    "ReconcileFailed",
    "CephClient customer-b-staging-nova"
)]
fn claim_says_that_rook_failed(#[case] resource: &str, #[case] phase: &str, #[case] object: &str) {
    assert_eq!(
        storage(resource, &json!({ "phase": phase })),
        format!(
            "waiting for {object} in st-pool-a: Rook reports {phase}, and its operator's log there says why"
        )
    );
    assert_eq!(
        storage(resource, &json!({ "phase": "Progressing" })),
        format!("waiting for {object} in st-pool-a")
    );
}

/// Rook's status doesn't say why a pool isn't created.
#[rstest]
#[case::pool(
    "volumes-st-pool-a",
    "CephBlockPool customer-b-staging-volumes",
    "; Ceph may have too few placement groups: the platform team sees PlacementGroupsAvailable of the StorageCluster"
)]
#[case::user("client-nova-st-pool-a", "CephClient customer-b-staging-nova", "")]
fn claim_says_that_ceph_may_have_no_room_for_the_pool_that_rook_failed_on(
    #[case] resource: &str,
    #[case] object: &str,
    #[case] why: &str,
) {
    let (mut call, outcome) = running("customer-b-staging");
    for pool in &mut call.world {
        if text(pool, "/spec/name") == "st-pool-a" {
            pool["status"]["conditions"] = json!([{
                "type": "PlacementGroupsAvailable", "status": "False", "reason": "TooFewDisks", "message": "45 OSDs are too few",
            }]);
        }
    }
    let call = call.applied(&outcome, |name, manifest| match name == resource {
        true => json!({ "phase": "Failure" }),
        false => well(name, manifest),
    });
    assert_eq!(
        call.run().conditions["StorageReady"].2,
        format!(
            "waiting for {object} in st-pool-a: Rook reports Failure, and its operator's log there says why{why}"
        )
    );
}

#[test]
fn claim_names_composed_resources_that_no_other_condition_is_about() {
    let (call, outcome) = running("customer-b-staging");
    let mut call = call.applied(&outcome, well);
    for name in ["quota", "limits"] {
        call.observed.get_mut(name).unwrap()["status"] = json!({});
    }
    let outcome = call.run();
    assert_eq!(outcome.composite_ready, Some(false));
    let (status, reason, message) = &outcome.conditions["Reconciling"];
    assert_eq!([status, reason], ["True", "Waiting"]);
    assert_eq!(
        message,
        "waiting for composed resources: limits, quota; the platform team finds these Objects by their annotation \
         crossplane.io/composition-resource-name"
    );
}
