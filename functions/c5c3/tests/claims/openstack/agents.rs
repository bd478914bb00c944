//! What agents on hypervisors need: on which paths it travels, and who can't reach it.

use function_c5c3_fixtures::examples::{claim, pool};
use function_c5c3_fixtures::{Call, Outcome, UID, composite, ready, text, well, yaml};
use rstest::rstest;
use serde_json::{Value, json};

use super::{call, running};

const NAMESPACE: &str = "agents-namespace-hv-pool-a";
const PULL: &str = "pull-agents-nova-cell1-compute-hv-pool-a";
const PUSH: &str = "push-agents-nova-cell1-compute";

/// The names of what is composed for agents.
fn agents(outcome: &Outcome) -> Vec<&str> {
    let objects = outcome.objects().into_iter();
    objects.filter(|name| name.contains("agents-")).collect()
}

fn remote_key(push: &Value) -> String {
    text(push, "/spec/data/0/match/remoteRef/remoteKey")
}

#[rstest]
#[case("nova-cell1-compute", json!({"c5c3.io/agents": "nova", "c5c3.io/cell": "cell1"}))]
#[case("neutron-agent", json!({"c5c3.io/agents": "neutron"}))]
#[case("ovn-chassis", json!({"c5c3.io/agents": "ovn"}))]
fn agents_secrets_travel_whole_to_each_pool_with_their_labels(
    #[case] secret: &str,
    #[case] labels: Value,
) {
    let outcome = call("customer-a-prod").run();
    let path = format!("openstack/eu-de-1-control-plane/openstack-customer-a-prod/agents/{secret}");
    let push = format!("push-agents-{secret}");
    let cluster = |name: &str| text(&outcome.desired[name], "/spec/providerConfigRef/name");
    assert_eq!(cluster(&push), "eu-de-1-control-plane");
    let push = outcome.manifest(&push);
    assert_eq!(
        [
            text(push, "/metadata/namespace"),
            text(push, "/spec/selector/secret/name")
        ],
        ["openstack-customer-a-prod", secret]
    );
    assert_eq!(push["spec"]["deletionPolicy"], "Delete");
    assert_eq!(
        push["spec"]["data"],
        json!([{"match": {"remoteRef": {"remoteKey": path}}}])
    );
    for pool in ["hv-pool-a", "hv-pool-b"] {
        let pull = format!("pull-agents-{secret}-{pool}");
        assert_eq!(cluster(&pull), pool);
        let pull = outcome.manifest(&pull);
        assert_eq!(
            text(pull, "/metadata/namespace"),
            "openstack-customer-a-prod"
        );
        let spec = &pull["spec"];
        assert_eq!(spec["dataFrom"], json!([{"extract": {"key": path}}]));
        assert_eq!(
            spec["target"],
            json!({
                "name": secret, "creationPolicy": "Orphan", "deletionPolicy": "Retain",
                "template": {"engineVersion": "v2", "metadata": {"labels": labels}},
            })
        );
        assert_eq!(spec.get("data"), None);
    }
}

#[rstest]
#[case::no_servers(json!({"nova": false, "cinder": false}), &[])]
#[case::no_network(
    json!({"nova": true, "neutron": false, "cinder": false}),
    &[NAMESPACE, PULL, PUSH]
)]
#[case::volumes(
    json!({"nova": true, "neutron": false, "cinder": true}),
    &[
        NAMESPACE,
        "pull-agents-cinder-compute-hv-pool-a",
        PULL,
        "push-agents-cinder-compute",
        PUSH,
    ]
)]
fn only_secrets_that_an_operator_writes_travel(#[case] services: Value, #[case] wanted: &[&str]) {
    let mut call = call("customer-b-staging");
    call.composite["spec"]["services"] = services;
    assert_eq!(agents(&call.run()), wanted);
}

#[test]
fn nothing_travels_within_the_control_planes_own_cluster() {
    let mut call = call("customer-b-staging");
    let mut own = pool("hv-pool-a");
    own["metadata"]["name"] = json!("eu-de-1-control-plane");
    call.world.push(ready(composite(own), &[]));
    call.composite["spec"]["hypervisorClusters"] = json!(["eu-de-1-control-plane"]);
    let outcome = call.run();
    assert!(outcome.desired.contains_key("share-eu-de-1-control-plane"));
    assert_eq!(agents(&outcome), Vec::<&str>::new());
}

#[test]
fn namespaced_claim_has_the_same_paths() {
    let mut namespaced = Call::of(claim("customer-b-staging"), "openstack-production");
    namespaced.composite = claim("customer-b-staging");
    let pools = ["control-plane", "hv-pool-a", "st-pool-a"];
    namespaced.world = pools
        .map(|name| ready(yaml(&format!("examples/pools/{name}.yaml")).remove(0), &[]))
        .into();
    let (namespaced, claimed) = (namespaced.run(), call("customer-b-staging").run());
    assert!(agents(&claimed).len() > 1);
    assert_eq!(agents(&namespaced), agents(&claimed));
    for name in agents(&claimed) {
        assert_eq!(namespaced.manifest(name), claimed.manifest(name));
        let object = &namespaced.desired[name];
        assert_eq!(object["apiVersion"], "kubernetes.m.crossplane.io/v1alpha1");
    }
}

#[test]
fn secrets_are_pulled_into_a_namespace_of_the_claims_own() {
    let call = call("customer-b-staging").admitted();
    let first = call.run();
    assert_eq!(
        agents(&first),
        Vec::<&str>::new(),
        "before the claim's namespace"
    );
    let call = call.applied(&first, well);
    let second = call.run();
    assert!(second.desired.contains_key(NAMESPACE));
    assert!(
        !second.desired.contains_key(PULL),
        "before the pool's namespace"
    );
    let (_, last) = call.running();
    for name in agents(&last) {
        let labels = &last.manifest(name)["metadata"]["labels"];
        assert_eq!(labels["c5c3.io/claim-uid"], UID, "{name}");
    }
    assert!(last.desired.contains_key(PULL));
}

/// External Secrets tries again after longer and longer pauses when there is nothing to push or to pull.
#[test]
fn secrets_are_pushed_once_they_are_written_and_pulled_once_they_are_pushed() {
    let mut call = call("customer-b-staging").admitted();
    let unwritten = |name: &str, manifest: &Value| match name {
        "control-plane" => json!({}),
        _ => well(name, manifest),
    };
    for _ in 0..4 {
        let outcome = call.run();
        assert!(!outcome.desired.contains_key(PUSH), "before Nova is Ready");
        call = call.applied(&outcome, unwritten);
    }
    let outcome = call.run();
    let unpushed = |name: &str, manifest: &Value| match name {
        PUSH => json!({}),
        _ => well(name, manifest),
    };
    call = call.applied(&outcome, unpushed);
    let outcome = call.run();
    assert!(outcome.desired.contains_key(PUSH));
    call = call.applied(&outcome, unpushed);
    let outcome = call.run();
    assert!(!outcome.desired.contains_key(PULL), "before it is pushed");
    let (_, _, message) = &outcome.conditions["HypervisorsReady"];
    assert!(
        message.contains("PushSecret nova-cell1-compute"),
        "{message}"
    );
    call = call.applied(&outcome, well);
    assert!(call.run().desired.contains_key(PULL));
}

#[rstest]
#[case::another_claims(json!({"c5c3.io/claim-uid": "other-uid"}))]
#[case::no_claims(json!({}))]
fn nothing_is_pulled_into_a_namespace_of_another_owner(#[case] labels: Value) {
    let call = call("customer-b-staging").admitted();
    let first = call.run();
    let call = call.applied(&first, well);
    let second = call.run();
    let mut call = call.applied(&second, well);
    let theirs = call.observed.get_mut(NAMESPACE).unwrap();
    theirs["status"]["atProvider"]["manifest"]["metadata"]["labels"] = labels;
    let outcome = call.run();
    let pulled: Vec<&str> = agents(&outcome);
    assert!(!pulled.contains(&PULL), "{pulled:?}");
    assert_eq!(
        outcome.desired[NAMESPACE]["spec"]["managementPolicies"],
        json!(["Observe", "Create"])
    );
    let (status, reason, message) = &outcome.conditions["Accepted"];
    assert_eq!([status, reason], ["False", "NameTaken"]);
    let object = "Namespace openstack-customer-b-staging in cluster hv-pool-a exists";
    assert!(message.starts_with(object), "{message}");
}

#[test]
fn claim_whose_name_is_taken_writes_to_no_path() {
    let call = call("customer-b-staging").admitted();
    let first = call.run();
    let mut call = call.applied(&first, well);
    let theirs = call.observed.get_mut("namespace").unwrap();
    theirs["status"]["atProvider"]["manifest"]["metadata"]["labels"] = json!({});
    let outcome = call.run();
    assert_eq!(outcome.conditions["Accepted"].1, "NameTaken");
    assert_eq!(agents(&outcome), Vec::<&str>::new());
}

#[test]
fn claims_of_one_name_in_two_control_plane_clusters_have_paths_of_their_own() {
    let one = call("customer-b-staging");
    let mut other = call("customer-b-staging");
    let mut cluster = pool("control-plane");
    cluster["metadata"]["name"] = json!("second");
    other.world.push(ready(composite(cluster), &[]));
    other.composite["spec"]["controlPlaneCluster"] = json!("second");
    let path = |call: Call| remote_key(call.run().manifest(PUSH));
    assert_ne!(path(one), path(other));
}

#[test]
fn agents_keep_their_secrets_when_nova_is_disabled() {
    let (mut call, before) = running("customer-b-staging");
    call = call.applied(&before, well);
    call.composite["spec"]["services"] = json!({"nova": false, "cinder": false});
    // They stay as long as the share, and Nova with it.
    let outcome = call.run();
    let mut kept = agents(&before);
    kept.retain(|name| !name.starts_with("push-agents-cinder"));
    assert_eq!(agents(&outcome), kept);
    let labels = &outcome.desired["share-hv-pool-a"]["metadata"]["labels"];
    assert_eq!(*labels, json!({"c5c3.io/retained": "true"}));
}

#[test]
fn secrets_of_a_dropped_pool_stay_with_its_servers() {
    let (mut call, before) = running("customer-a-prod");
    call = call.applied(&before, well);
    call.composite["spec"]["hypervisorClusters"] = json!(["hv-pool-a"]);
    let outcome = call.run();
    assert_eq!(agents(&outcome), agents(&before));
    for name in [
        "hv-pool-b-until-agents-namespace-hv-pool-b",
        "agents-namespace-hv-pool-b-until-share-hv-pool-b",
    ] {
        assert_eq!(outcome.desired.get(name), before.desired.get(name));
        assert!(before.desired.contains_key(name), "{name}");
    }
}

#[test]
fn claim_waits_for_secrets_of_agents() {
    let (call, before) = running("customer-b-staging");
    let lost = |name: &str, manifest: &Value| match name {
        PULL => json!({}),
        _ => well(name, manifest),
    };
    let outcome = call.applied(&before, lost).run();
    let (status, _, message) = &outcome.conditions["HypervisorsReady"];
    assert_eq!(status, "False");
    assert_eq!(
        message,
        "waiting for ExternalSecret nova-cell1-compute in hv-pool-a"
    );
    assert_eq!(outcome.composite_ready, Some(false));
}
