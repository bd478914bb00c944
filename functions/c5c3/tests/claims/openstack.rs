//! OpenStackCluster: what comes out for whom.

mod agents;
mod backups;
mod bootstrap;
mod cells;
mod ceph;
mod exposure;
mod mistakes;
mod moves;
mod new_hosts;
mod pool_quotas;
mod pools;
mod pools_observed;
mod retained;
mod shares;
mod site;
mod size;
mod tenant;
mod verify;
mod waits;

use std::collections::BTreeSet;

use function_c5c3_fixtures::examples::{claim, pools};
use function_c5c3_fixtures::{Call, Outcome, ready, text, well, yaml};
use rstest::rstest;
use serde_json::{Value, json};

pub(crate) fn call(name: &str) -> Call {
    Call::of(claim(name), "openstack-production").with(pools())
}

/// Runs until everything is there and well.
fn running(name: &str) -> (Call, Outcome) {
    call(name).running()
}

#[rstest]
#[case("customer-a-prod")]
#[case("customer-b-staging")]
#[case("internal-prod")]
#[case("finance-prod")]
fn every_example_gives_the_whole_response_that_is_on_file(#[case] name: &str) {
    let outcome = call(name).run();
    insta::assert_yaml_snapshot!(
        format!("{name}-first"),
        json!({
            "desired": outcome.desired, "status": outcome.status, "conditions": outcome.conditions,
            "events": outcome.events, "compositeReady": outcome.composite_ready,
        })
    );
    let (_, outcome) = running(name);
    insta::assert_yaml_snapshot!(
        format!("{name}-ready"),
        json!({
            "usages": outcome.desired.iter().filter(|(_, v)| v["kind"] == "Usage").collect::<Vec<_>>(),
            "ready": outcome.ready, "status": outcome.status, "conditions": outcome.conditions,
            "events": outcome.events, "compositeReady": outcome.composite_ready,
        })
    );
}

#[test]
fn a_claim_becomes_ready_when_everything_is() {
    let (_, outcome) = running("customer-a-prod");
    assert_eq!(outcome.fatal, None);
    assert_eq!(outcome.status["phase"], "Ready");
    assert_eq!(outcome.composite_ready, Some(true));
    assert!(
        outcome.ready.values().all(|ready| *ready),
        "{:?}",
        outcome.ready
    );
    assert_eq!(
        outcome.status["endpoints"]["keystone"],
        "https://keystone.example.com"
    );
    assert_eq!(
        outcome.status["consumedPools"]["hypervisor"][0]["nodeCount"],
        2
    );
}

#[rstest]
#[case("small", 1, 1, 1)]
#[case("medium", 3, 3, 3)]
#[case("large", 3, 3, 5)]
#[case("xlarge", 5, 5, 7)]
fn sizes_are_those_of_the_contract(
    #[case] size: &str,
    #[case] mariadb: u32,
    #[case] keystone: u32,
    #[case] nova: u32,
) {
    let mut call = call("customer-a-prod");
    call.composite["spec"]["size"] = json!(size);
    let spec = call.run().manifest("control-plane")["spec"].clone();
    assert_eq!(spec["infrastructure"]["mariadb"]["replicas"], mariadb);
    assert_eq!(spec["services"]["keystone"]["replicas"], keystone);
    assert_eq!(spec["services"]["nova"]["api"]["replicas"], nova);
}

#[rstest]
#[case(json!({"replicas": 1}), "restricted")]
#[case(json!({"replicas": 3}), "baseline")]
#[case(json!({"replicas": 1, "maxScale": {}}), "baseline")]
#[case(json!({"replicas": 1, "maxScale": {"enabled": false}}), "restricted")]
#[case(json!({"replicas": 3, "external": {"host": "db.example.com"}}), "restricted")]
fn namespace_is_restricted_unless_pods_of_mariadb_can_not_be(
    #[case] mariadb: Value,
    #[case] level: &str,
) {
    let mut call = call("customer-a-prod");
    let size = text(&call.composite, "/spec/size");
    call.input.as_mut().unwrap()["sizes"][size]["infrastructure"]["mariadb"] = mariadb;
    let labels = call.run().manifest("namespace")["metadata"]["labels"].clone();
    assert_eq!(labels["pod-security.kubernetes.io/enforce"], level);
}

#[test]
fn each_storage_pool_has_volumes_and_only_the_first_has_images() {
    let outcome = call("internal-prod").run();
    assert_eq!(
        outcome.manifest("volumes-st-pool-a")["metadata"]["name"],
        "internal-prod-volumes"
    );
    assert_eq!(
        outcome.manifest("volumes-st-pool-b")["spec"]["deviceClass"],
        "hdd"
    );
    assert!(outcome.desired.contains_key("images-st-pool-a"));
    assert!(!outcome.desired.contains_key("images-st-pool-b"));
    assert!(outcome.desired.contains_key("filesystem-st-pool-a"));
    assert!(outcome.desired.contains_key("object-store-st-pool-a"));
    let quota = &outcome.manifest("volumes-st-pool-a")["spec"]["quotas"]["maxSize"];
    assert_eq!(quota, "10000G");
}

#[test]
fn each_service_has_the_least_rights() {
    let outcome = call("customer-a-prod").run();
    let caps = |service: &str| {
        outcome.manifest(&format!("client-{service}-st-pool-a"))["spec"]["caps"].clone()
    };
    assert_eq!(
        caps("cinder")["osd"],
        "profile rbd pool=customer-a-prod-volumes, profile rbd-read-only pool=customer-a-prod-images"
    );
    assert_eq!(
        caps("glance")["osd"],
        "profile rbd pool=customer-a-prod-images"
    );
    assert_eq!(
        caps("nova")["osd"],
        "profile rbd pool=customer-a-prod-volumes, profile rbd pool=customer-a-prod-ephemeral, \
         profile rbd-read-only pool=customer-a-prod-images"
    );
}

#[test]
fn manila_reaches_its_own_filesystem_alone() {
    let outcome = call("internal-prod").run();
    assert_eq!(
        outcome.manifest("client-manila-st-pool-a")["spec"]["caps"],
        json!({
            "mgr": "allow module volumes with vol_name=internal-prod-cephfs rw",
            "mon": "allow r fsname=internal-prod-cephfs",
        })
    );
}

#[rstest]
#[case(2, json!({"compression_mode": "none", "min_size": "2"}))]
#[case(3, json!({"compression_mode": "none"}))]
fn pool_is_never_written_to_a_single_copy_of_several(
    #[case] copies: u32,
    #[case] parameters: serde_json::Value,
) {
    let mut call = call("customer-b-staging");
    call.composite["spec"]["storage"] = json!({"ceph": {"ephemeralPool": {"replication": copies}}});
    let outcome = call.run();
    let spec = &outcome.manifest("ephemeral-st-pool-a")["spec"];
    assert_eq!(
        json!([spec["replicated"], spec["parameters"]]),
        json!([{"size": copies, "requireSafeReplicaSize": true}, parameters])
    );
}

#[test]
fn keys_travel_on_paths_of_their_own_namespace_and_never_through_the_function() {
    let outcome = call("customer-a-prod").run();
    let pushed = &outcome.manifest("push-cinder-st-pool-a")["spec"];
    assert_eq!(
        pushed["selector"]["secret"]["name"],
        "rook-ceph-client-customer-a-prod-cinder"
    );
    let path = &pushed["data"][0]["match"]["remoteRef"]["remoteKey"];
    assert_eq!(
        path,
        "openstack/eu-de-1-control-plane/openstack-customer-a-prod/ceph/st-pool-a/cinder"
    );
    let pulled = &outcome.manifest("pull-cinder-st-pool-a")["spec"];
    assert_eq!(pulled["data"][0]["remoteRef"]["key"], *path);
    let secrets: Vec<_> = outcome
        .objects()
        .into_iter()
        .filter(|name| outcome.manifest(name)["kind"] == "Secret")
        .collect();
    assert!(secrets.is_empty(), "{secrets:?}");
}

#[test]
fn deletion_goes_shares_and_data_then_control_plane_then_namespace() {
    let (_, outcome) = running("customer-a-prod");
    let usage = |name: &str| {
        let usage = &outcome.desired[name]["spec"];
        (
            text(usage, "/of/resourceRef/name"),
            text(usage, "/by/resourceRef/name"),
        )
    };
    let pair = |of: &str, by: &str| (of.to_owned(), by.to_owned());
    assert_eq!(
        usage("namespace-until-control-plane"),
        pair("xr-namespace", "xr-control-plane")
    );
    for name in [
        "volumes-st-pool-a",
        "images-st-pool-a",
        "ephemeral-st-pool-a",
        "share-hv-pool-a",
    ] {
        let xr = format!("xr-{name}");
        assert_eq!(
            usage(&format!("control-plane-until-{name}")),
            pair("xr-control-plane", &xr)
        );
        assert_eq!(
            usage(&format!("namespace-until-{name}")),
            pair("xr-namespace", &xr)
        );
    }
    assert_eq!(
        usage("hv-pool-a-until-share-hv-pool-a"),
        pair("hv-pool-a-abcde", "xr-share-hv-pool-a")
    );
    assert_eq!(
        usage("st-pool-a-until-volumes-st-pool-a"),
        pair("st-pool-a-abcde", "xr-volumes-st-pool-a")
    );
    assert_eq!(
        usage("eu-de-1-control-plane-until-namespace"),
        pair("eu-de-1-control-plane-abcde", "xr-namespace")
    );
}

/// What waits for what when the claim is deleted, by kind and name.
fn edges(outcome: &Outcome) -> Vec<(String, String)> {
    let usages = outcome.desired.values();
    let usages = usages.filter(|object| object["kind"] == "Usage");
    let sides = usages.map(|usage| {
        ["of", "by"].map(|side| {
            let kind = text(usage, &format!("/spec/{side}/kind"));
            let name = text(usage, &format!("/spec/{side}/resourceRef/name"));
            format!("{kind} {name}")
        })
    });
    sides.map(|[of, by]| (of, by)).collect()
}

/// Panics if the Usages have a cycle, with which the deletion of the claim never ends, or if a share isn't deleted before the
/// ControlPlane.
pub(crate) fn assert_order(outcome: &Outcome) {
    let mut edges = edges(outcome);
    assert!(!edges.is_empty());
    let shares = outcome.desired.keys();
    for share in shares.filter(|name| name.starts_with("share-") && !name.contains("-until-")) {
        let edge = (
            "Object xr-control-plane".to_owned(),
            format!("Object xr-{share}"),
        );
        assert!(edges.contains(&edge), "{share} is deleted at any time");
        assert!(
            edges.iter().all(|(of, _)| *of != edge.1),
            "{share} waits for something"
        );
    }
    while !edges.is_empty() {
        let before = edges.len();
        let waiting: BTreeSet<String> = edges.iter().map(|(of, _)| of.clone()).collect();
        edges.retain(|(_, by)| waiting.contains(by));
        assert!(
            edges.len() < before,
            "nothing of this can be deleted: {edges:?}"
        );
    }
}

#[rstest]
#[case("customer-a-prod")]
#[case("customer-b-staging")]
#[case("finance-prod")]
#[case("internal-prod")]
fn usages_have_no_cycle_and_shares_wait_for_nothing(#[case] name: &str) {
    let (_, outcome) = running(name);
    assert!(
        outcome
            .desired
            .keys()
            .any(|name| name.starts_with("share-"))
    );
    assert_order(&outcome);
}

/// Servers are deleted, and pods start, while the nodes of a deleted claim are drained.
#[test]
fn control_plane_keeps_its_keys_of_ceph_until_it_is_deleted() {
    let (_, outcome) = running("internal-prod");
    let edges = edges(&outcome);
    let keys = outcome.objects().into_iter().filter(|name| {
        let manifest = outcome.manifest(name);
        let is_in_namespace = manifest["metadata"]["namespace"] == "openstack-internal-prod";
        is_in_namespace && manifest["kind"] == "ExternalSecret" && name.contains("-st-pool-")
    });
    let keys: Vec<_> = keys.collect();
    assert!(keys.len() > 3, "{keys:?}");
    for key in keys {
        let edge = (
            format!("Object xr-{key}"),
            "Object xr-control-plane".to_owned(),
        );
        assert!(edges.contains(&edge), "{key} is deleted at any time");
    }
}

/// Rook deletes no object store that has users, and the control plane waits for the object store.
#[test]
fn user_of_an_object_store_is_deleted_before_the_control_plane() {
    let (_, outcome) = running("internal-prod");
    let edges = edges(&outcome);
    let store = (
        "Object xr-control-plane".to_owned(),
        "Object xr-object-store-st-pool-a".to_owned(),
    );
    assert!(edges.contains(&store));
    let user = "Object xr-object-store-user-st-pool-a";
    assert!(edges.iter().all(|(of, _)| of != user), "{edges:?}");
}

/// A monitor that moved, or a rotated key, keeps servers from their volumes until the services and agents know of it.
#[rstest]
#[case::ceph("/ceph/")]
#[case::agents("/agents/")]
fn secrets_of_services_and_agents_arrive_within_a_minute(#[case] path: &str) {
    let (_, outcome) = running("internal-prod");
    let mut intervals: BTreeSet<(String, String)> = BTreeSet::new();
    for name in outcome.objects() {
        let manifest = outcome.manifest(name);
        let kind = text(manifest, "/kind");
        let travels = ["PushSecret", "ExternalSecret"].contains(&kind.as_str());
        if travels && manifest["spec"].to_string().contains(path) {
            intervals.insert((kind, text(manifest, "/spec/refreshInterval")));
        }
    }
    let each = |kind: &str| (kind.to_owned(), "30s".to_owned());
    let both = [each("ExternalSecret"), each("PushSecret")];
    assert_eq!(intervals, BTreeSet::from(both));
}

#[test]
fn a_namespaced_claim_composes_namespaced_resources() {
    let mut call = Call::of(claim("customer-b-staging"), "openstack-production");
    call.composite = claim("customer-b-staging");
    call.world = ["control-plane", "hv-pool-a", "st-pool-a"]
        .iter()
        .map(|name| ready(yaml(&format!("examples/pools/{name}.yaml")).remove(0), &[]))
        .collect();
    let outcome = call.run();
    assert_eq!(
        outcome.conditions["PoolsReady"].0, "True",
        "{:?}",
        outcome.conditions
    );
    let object = &outcome.desired["control-plane"];
    assert_eq!(object["apiVersion"], "kubernetes.m.crossplane.io/v1alpha1");
    assert_eq!(
        object["spec"]["providerConfigRef"],
        json!({"kind": "ClusterProviderConfig", "name": "eu-de-1-control-plane"})
    );
    let outcome = call.applied(&outcome, well).run();
    let hold = &outcome.desired["hv-pool-a-until-share-hv-pool-a"];
    assert_eq!(hold["apiVersion"], "protection.crossplane.io/v1beta1");
    assert_eq!(
        hold["spec"]["of"]["resourceRef"],
        json!({"name": "hv-pool-a", "namespace": "infrastructure"})
    );
}
