//! OpenStackCluster: what comes out for whom, and what stays when something goes wrong.

use function_c5c3_fixtures::examples::{claim, pools};
use function_c5c3_fixtures::{Call, Outcome, composite, ready, text, well, yaml};
use rstest::rstest;
use serde_json::{Value, json};

fn call(name: &str) -> Call {
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

#[test]
fn nothing_is_made_while_a_pool_is_missing() {
    let outcome = Call::of(claim("customer-a-prod"), "openstack-production")
        .with(
            pools()
                .into_iter()
                .filter(|pool| text(pool, "/spec/name") != "hv-pool-b"),
        )
        .run();
    assert_eq!(outcome.desired.len(), 0, "{:?}", outcome.desired.keys());
    assert_eq!(outcome.status["phase"], "Pending");
    assert_eq!(outcome.composite_ready, Some(false));
    let (status, reason, message) = &outcome.conditions["PoolsReady"];
    assert_eq!((status.as_str(), reason.as_str()), ("False", "PoolMissing"));
    assert_eq!(
        message,
        "hypervisor pool hv-pool-b: it doesn't exist in namespace infrastructure; create it or name another"
    );
}

#[test]
fn nothing_that_runs_goes_when_pools_vanish_or_are_not_read() {
    let (mut call, before) = running("customer-a-prod");
    call.world.clear();
    let after = call.run();
    assert_eq!(
        after.desired.keys().collect::<Vec<_>>(),
        before.desired.keys().collect::<Vec<_>>()
    );
    for (name, object) in &before.desired {
        if name != "control-plane" && object["kind"] != "Usage" {
            assert_eq!(&after.desired[name], object, "{name} changed");
        }
    }
    assert_eq!(
        after.manifest("control-plane"),
        before.manifest("control-plane")
    );
    assert_eq!(after.status["phase"], "Degraded");
    let unread = Outcome::of(function_protocol::run(
        &function_c5c3::Claims,
        call.message(),
    ));
    assert_eq!(
        unread.desired.keys().collect::<Vec<_>>(),
        before.desired.keys().collect::<Vec<_>>()
    );
}

#[test]
fn a_pool_that_becomes_unhealthy_degrades_the_claim_and_changes_nothing() {
    let (mut call, before) = running("customer-a-prod");
    for pool in &mut call.world {
        if text(pool, "/spec/name") == "st-pool-a" {
            pool["status"]["health"] = json!("HEALTH_ERR");
        }
    }
    let after = call.run();
    assert_eq!(after.status["phase"], "Degraded");
    assert_eq!(after.desired, before.desired);
    assert_eq!(
        after.conditions["PoolsReady"].2,
        "storage pool st-pool-a: it is HEALTH_ERR"
    );
    assert_eq!(after.events, ["storage pool st-pool-a: it is HEALTH_ERR"]);
}

#[test]
fn a_pool_added_later_waits_alone() {
    let (mut call, _) = running("customer-b-staging");
    call.composite["spec"]["hypervisorClusters"] = json!(["hv-pool-a", "hv-pool-new"]);
    let outcome = call.run();
    assert!(!outcome.desired.contains_key("share-hv-pool-new"));
    assert!(outcome.desired.contains_key("share-hv-pool-a"));
    assert_eq!(
        outcome.manifest("control-plane")["spec"]["compute"]["hypervisorClusters"],
        json!(["hv-pool-a"])
    );
}

#[test]
fn a_pool_removed_from_the_claim_loses_its_share() {
    let (mut call, _) = running("customer-a-prod");
    call.composite["spec"]["hypervisorClusters"] = json!(["hv-pool-a"]);
    let outcome = call.run();
    assert!(!outcome.desired.contains_key("share-hv-pool-b"));
    assert_eq!(outcome.status["phase"], "Ready");
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
fn keys_travel_on_paths_of_their_own_namespace_and_never_through_the_function() {
    let outcome = call("customer-a-prod").run();
    let pushed = &outcome.manifest("push-cinder-st-pool-a")["spec"];
    assert_eq!(
        pushed["selector"]["secret"]["name"],
        "rook-ceph-client-customer-a-prod-cinder"
    );
    let path = &pushed["data"][0]["match"]["remoteRef"]["remoteKey"];
    assert_eq!(path, "openstack-customer-a-prod/ceph/st-pool-a/cinder");
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
fn deletion_goes_control_plane_then_data_and_shares_then_namespace() {
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
            usage(&format!("{name}-until-control-plane")),
            pair(&xr, "xr-control-plane")
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

#[test]
fn the_younger_of_two_claims_of_one_name_is_refused() {
    let mut twin = composite(claim("customer-b-staging"));
    twin["metadata"]["labels"]["crossplane.io/claim-namespace"] = json!("tenant-z");
    twin["metadata"]["creationTimestamp"] = json!("2025-01-01T00:00:00Z");
    let outcome = call("customer-b-staging").with([twin.clone()]).run();
    assert_eq!(outcome.desired.len(), 0);
    assert_eq!(outcome.status["phase"], "Failed");
    let (status, reason, message) = &outcome.conditions["Accepted"];
    assert_eq!((status.as_str(), reason.as_str()), ("False", "NameTaken"));
    assert_eq!(
        message,
        "tenant-z/customer-b-staging is older and has this name; choose another"
    );

    twin["metadata"]["creationTimestamp"] = json!("2026-06-01T00:00:00Z");
    let elder = call("customer-b-staging").with([twin]).run();
    assert_eq!(elder.conditions["Accepted"].0, "True");
    assert!(elder.desired.contains_key("control-plane"));
}

#[rstest]
#[case::dedicated_to_another(json!({"mode": "Dedicated"}), json!([{"namespace": "tenant-z", "name": "z"}]),
    "PoolDedicated", "hypervisor pool hv-pool-a: it is dedicated to tenant-z/z; name another")]
#[case::not_admitted_yet(json!({"mode": "Dedicated"}), json!([]),
    "PoolAwaitingAdmission", "hypervisor pool hv-pool-a: it is dedicated and hasn't admitted this claim yet")]
#[case::namespace_not_allowed(json!({"allowedNamespaces": ["tenant-z"]}), json!([]),
    "PoolNotAllowed", "hypervisor pool hv-pool-a: it doesn't allow claims from namespace tenant-customer-b; \
     ask its owner to add it to sharing.allowedNamespaces")]
fn a_pool_that_may_not_be_used_says_why(
    #[case] sharing: Value,
    #[case] consumers: Value,
    #[case] expected: &str,
    #[case] sentence: &str,
) {
    let mut call = call("customer-b-staging");
    for pool in &mut call.world {
        if text(pool, "/spec/name") == "hv-pool-a" {
            pool["spec"]["sharing"] = sharing.clone();
            pool["status"]["consumers"] = consumers.clone();
        }
    }
    let outcome = call.run();
    assert_eq!(outcome.desired.len(), 0);
    let (_, reason, message) = &outcome.conditions["PoolsReady"];
    assert_eq!((reason.as_str(), message.as_str()), (expected, sentence));
}

#[rstest]
#[case::size("/spec/size", json!("huge"), "spec.size: ")]
#[case::no_pools("/spec/hypervisorClusters", json!([]),
    "spec.hypervisorClusters is empty; name at least one hypervisor pool")]
#[case::pool_twice("/spec/storageClusters", json!(["st-pool-a", "infrastructure/st-pool-a"]),
    "spec.storageClusters names st-pool-a twice; name each storage pool once")]
#[case::copies("/spec/storage", json!({"ceph": {"volumePool": {"replication": 11}}}),
    "spec.storage.ceph.volumePool.replication is 11, and storage pool st-pool-a keeps each copy on a host of its own \
     and has 10; choose 1 to 10")]
#[case::pool_name("/spec/hypervisorClusters", json!(["HV_POOL"]), "spec.hypervisorClusters")]
fn a_mistake_in_the_claim_is_one_sentence(
    #[case] field: &str,
    #[case] value: Value,
    #[case] sentence: &str,
) {
    let mut call = call("customer-b-staging");
    let (parent, key) = field.rsplit_once('/').unwrap();
    call.composite.pointer_mut(parent).unwrap()[key] = value;
    let outcome = call.run();
    let fatal = outcome.fatal.unwrap();
    assert!(fatal.starts_with(sentence), "{fatal}");
    assert!(!fatal.contains('\n'));
    assert_eq!(outcome.desired.len(), 0);
    let shown = ("False".to_owned(), "Invalid".to_owned(), fatal);
    assert_eq!(
        outcome.conditions["Accepted"], shown,
        "the claim's owner sees it, too"
    );
}

#[test]
fn a_pool_of_another_region_is_a_condition() {
    let mut call = call("customer-b-staging");
    for pool in &mut call.world {
        if text(pool, "/spec/name") == "st-pool-a" {
            pool["spec"]["region"] = json!("us-east-1");
        }
    }
    let outcome = call.run();
    assert_eq!(outcome.desired.len(), 0);
    assert_eq!(
        outcome.conditions["PoolsReady"].2,
        "storage pool st-pool-a: it is in region us-east-1; name one of the claim's region"
    );
}

#[test]
fn no_quota_is_no_quota() {
    let outcome = call("customer-b-staging").run();
    assert_eq!(
        outcome.manifest("volumes-st-pool-a")["spec"].get("quotas"),
        None
    );
}

#[test]
fn a_name_whose_namespace_is_too_long_is_refused() {
    let mut call = call("customer-b-staging");
    call.composite["metadata"]["labels"]["crossplane.io/claim-name"] = json!("n".repeat(128));
    let fatal = call.run().fatal.unwrap();
    assert!(
        fatal.contains("Kubernetes allows 63; choose a name of at most 53 characters"),
        "{fatal}"
    );
}

#[rstest]
#[case::missing(
    None,
    "the Composition gives this function no input; add one of kind OpenStackPresets to the pipeline step"
)]
#[case::other_kind(Some(json!({"apiVersion": "c5c3.io/v1alpha1", "kind": "ClusterPresets"})),
    "the Composition's input is of kind \"ClusterPresets\"")]
#[case::unknown_preset(Some(json!({"apiVersion": "c5c3.io/v1alpha1", "kind": "OpenStackPresets",
    "openStackRelease": "2025.2", "secretStore": {"name": "x", "kind": "SecretStore"}, "sizes": {"huge": {}}})),
    "input: sizes")]
#[case::typo(Some(json!({"apiVersion": "c5c3.io/v1alpha1", "kind": "OpenStackPresets", "monitorin": true,
    "openStackRelease": "2025.2", "secretStore": {"name": "x", "kind": "SecretStore"}, "sizes": {}})),
    "input: monitorin: unknown field")]
#[case::size_without_preset(Some(json!({"apiVersion": "c5c3.io/v1alpha1", "kind": "OpenStackPresets",
    "openStackRelease": "2025.2", "secretStore": {"name": "x", "kind": "SecretStore"}, "sizes": {}})),
    "the Composition has no preset for size small")]
fn a_mistake_in_the_composition_is_one_sentence(
    #[case] input: Option<Value>,
    #[case] sentence: &str,
) {
    let mut call = call("customer-b-staging");
    call.input = input;
    let fatal = call.run().fatal.unwrap();
    assert!(fatal.starts_with(sentence), "{fatal}");
}

#[test]
fn a_composition_for_another_kind_is_told_which_kinds_there_are() {
    let mut call = call("customer-b-staging");
    call.composite["kind"] = json!("XSomething");
    let fatal = call.run().fatal.unwrap();
    assert!(
        fatal.ends_with(
            "not XSomething (c5c3.io/v1alpha1); correct the Composition's compositeTypeRef"
        ),
        "{fatal}"
    );
}
