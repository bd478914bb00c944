//! What users and platform teams may get wrong.

use function_c5c3_fixtures::Call;
use function_c5c3_fixtures::examples::{claim, pools};
use rstest::rstest;
use serde_json::{Value, json};

use super::call;

#[rstest]
#[case::size("/spec/size", json!("huge"), "spec.size: ")]
#[case::no_pools("/spec/hypervisorClusters", json!([]),
    "spec.hypervisorClusters is empty; name at least one hypervisor pool")]
#[case::pool_twice("/spec/storageClusters", json!(["st-pool-a", "infrastructure/st-pool-a"]),
    "spec.storageClusters names st-pool-a twice; name each storage pool once")]
#[case::copies("/spec/storage", json!({"ceph": {"volumePool": {"replication": 11}}}),
    "spec.storage.ceph.volumePool.replication is 11, and storage pool st-pool-a keeps each copy on a host of its own \
     and has 10; choose 2 to 10")]
#[case::single_copy("/spec/storage", json!({"ceph": {"imagePool": {"replication": 1}}}),
    "spec.storage.ceph.imagePool.replication is 1, and storage pool st-pool-a keeps each copy on a host of its own \
     and has 10; choose 2 to 10")]
#[case::copies_of_backups("/spec/storage", json!({"ceph": {"backupPool": {"enabled": true, "replication": 11}}}),
    "spec.storage.ceph.backupPool.replication is 11, and storage pool st-pool-a keeps each copy on a host of its own \
     and has 10; choose 2 to 10")]
#[case::backups_elsewhere("/spec/storage", json!({"ceph": {"backupPool": {"enabled": true, "storageCluster": "st-pool-b"}}}),
    "spec.storage.ceph.backupPool.storageCluster is st-pool-b, which isn't in spec.storageClusters; write it as there, or")]
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
fn one_place_for_the_backups_of_all_claims_is_refused() {
    let mut call = call("customer-b-staging");
    call.composite["spec"]["storage"] = json!({"ceph": {"backupPool": {"enabled": true}}});
    let place = json!({"s3": {"endpoint": "https://s3.example.com", "bucket": "volumes", "secretRef": {"name": "s3"}}});
    call.input.as_mut().unwrap()["sizes"]["small"]["services"]["cinder"]["backup"] = place;
    let fatal = call.run().fatal.unwrap();
    assert!(
        fatal.starts_with("the Composition's input sets services.cinder.backup"),
        "{fatal}"
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

/// A service's type has others as parts, to which no field is unknown.
#[rstest]
#[case::of_several_programs("nova", json!({"noVNCProxy": {"replicas": 2}}), "nova.noVNCProxy")]
#[case::of_one_program("placement", json!({"replica": 2}), "placement.replica")]
#[case::of_what_all_services_have("glance", json!({"image": {"tags": "1"}}), "glance.image.tags")]
fn a_field_that_no_service_has_is_refused(
    #[case] service: &str,
    #[case] fields: Value,
    #[case] path: &str,
) {
    let mut call = call("customer-b-staging");
    call.input.as_mut().unwrap()["sizes"]["small"]["services"][service] = fields;
    assert_eq!(
        call.run().fatal,
        Some(format!("input: sizes.small.services.{path}: unknown field"))
    );
}

#[rstest]
#[case::unknown(json!({"server": 5}), "input: sizes.small.bootstrap.quotas.server: unknown field")]
#[case::too_low(
    json!({"servers": -2}),
    "sizes.small.bootstrap.quotas.servers of the Composition's input is -2: set -1 for no limit, or 0 or more"
)]
fn quota_that_no_control_plane_takes_is_refused(#[case] quotas: Value, #[case] sentence: &str) {
    let mut call = call("customer-b-staging");
    let size = &mut call.input.as_mut().unwrap()["sizes"]["small"];
    size["bootstrap"] = json!({ "quotas": quotas });
    assert_eq!(call.run().fatal.as_deref(), Some(sentence));
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

#[test]
fn labels_that_become_one_trait_are_both_named() {
    let labels = json!({ "tier": "a_b", "tier_a": "b" });
    let pools = pools().into_iter().map(|mut pool| {
        pool["spec"]["labels"] = labels.clone();
        pool
    });
    let call = Call::of(claim("customer-b-staging"), "openstack-production").with(pools);
    assert_eq!(
        call.run().fatal.as_deref(),
        Some(
            "the labels `tier: a_b` and `tier_a: b` of hypervisor pool hv-pool-a both become the trait CUSTOM_TIER_A_B; \
             rename one of them"
        )
    );
}

#[rstest]
#[case("pool", "hv-pool-b")]
#[case("pool-hv", "pool.b")]
fn label_that_becomes_the_trait_of_another_pool_is_refused(
    #[case] label: &str,
    #[case] value: &str,
) {
    let fatal = |named: Value| {
        let mut claim = claim("customer-b-staging");
        claim["spec"]["hypervisorClusters"] = named;
        let pools = pools().into_iter().map(|mut pool| {
            if pool["spec"]["name"] == "hv-pool-a" {
                pool["spec"]["labels"] = json!({ label: value });
            }
            pool
        });
        let call = Call::of(claim, "openstack-production").with(pools);
        call.run().fatal
    };
    // The claim has no nodes of hv-pool-b.
    assert_eq!(fatal(json!(["hv-pool-a"])), None);
    assert_eq!(
        fatal(json!(["hv-pool-a", "hv-pool-b"])),
        Some(format!(
            "the label `{label}: {value}` of hypervisor pool hv-pool-a becomes CUSTOM_POOL_HV_POOL_B, which is the trait of hypervisor \
             pool hv-pool-b; rename the label"
        ))
    );
}

#[rstest]
#[case(9_007_199, json!(9_007_199_000_000_000_u64))]
#[case(1_000_000_000, Value::Null)]
fn quota_up_to_the_largest_of_the_schema_is_composed_where_the_size_has_no_limit(
    #[case] quota: u64,
    #[case] bytes: Value,
    #[values(json!({}), json!({ "volumesGB": 0 }))] limits: Value,
) {
    let mut call = call("customer-b-staging");
    call.composite["spec"]["storage"] = json!({ "ceph": { "volumePool": { "quotaGB": quota } } });
    call.input.as_mut().unwrap()["sizes"]["small"]["storage"] = limits;
    let outcome = call.run();
    assert_eq!(outcome.fatal, None);
    let pool = outcome.manifest("volumes-st-pool-a");
    assert_eq!(pool["spec"]["quotas"]["maxSize"], format!("{quota}G"));
    assert_eq!(
        outcome.status["cephResources"]["volumePool"]["quotaBytes"],
        bytes
    );
}

#[rstest]
#[case(json!({ "services": { "octavia": true } }), "spec.services.octavia: no operator deploys Octavia")]
#[case(
    json!({ "services": { "manila": true }, "cortex": { "enabled": true } }),
    "spec.services.manila: no operator deploys Manila; spec.cortex.enabled: no operator deploys Cortex"
)]
#[case(
    json!({ "storage": { "ceph": { "filesystem": { "enabled": true } } } }),
    "spec.storage.ceph.filesystem.enabled: users of the cloud reach the filesystem by Manila only, which no operator deploys"
)]
#[case(
    json!({ "storage": { "ceph": { "objectStore": { "enabled": true } } } }),
    "spec.storage.ceph.objectStore.enabled: the object store has no users of Keystone and no entry in the catalogue"
)]
fn unsupported_requests_are_named_and_block_nothing(#[case] spec: Value, #[case] named: &str) {
    let mut call = call("customer-b-staging");
    for (field, value) in spec.as_object().unwrap() {
        call.composite["spec"][field] = value.clone();
    }
    let (_, outcome) = call.running();
    assert_eq!(
        outcome.conditions["ServicesSupported"],
        (
            "False".to_owned(),
            "Unsupported".to_owned(),
            format!(
                "this version doesn't support {named}; set each to false; everything else is deployed"
            )
        )
    );
    assert_eq!(outcome.status["phase"], "Ready");
}
