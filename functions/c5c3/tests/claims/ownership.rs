//! Who a claim is, and which objects in other clusters are its own.

use function_c5c3_fixtures::examples::claim;
use function_c5c3_fixtures::{Call, Outcome, UID, ready, text, well, yaml};
use rstest::rstest;
use serde_json::{Value, json};

use super::{clusters, openstack};

/// A claim as a tenant has it on Crossplane 2: all of it but the name, the namespace and the UID is the tenant's.
fn namespaced() -> Call {
    let claim = claim("customer-b-staging");
    let mut call = Call::of(claim.clone(), "openstack-production");
    call.composite = claim;
    call.composite["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    let pools = ["control-plane", "hv-pool-a", "st-pool-a"];
    call.with(pools.map(|name| ready(yaml(&format!("examples/pools/{name}.yaml")).remove(0), &[])))
}

/// What provider-kubernetes reports of an object that another controller owns.
fn owned_by(manifest: &Value, uid: Option<&str>, claim: Option<&str>) -> Value {
    let mut manifest = manifest.clone();
    manifest["metadata"]["labels"] = json!({});
    manifest["metadata"]["annotations"] = json!({});
    if let Some(uid) = uid {
        manifest["metadata"]["labels"]["c5c3.io/claim-uid"] = json!(uid);
    }
    if let Some(claim) = claim {
        manifest["metadata"]["annotations"]["c5c3.io/claim"] = json!(claim);
    }
    manifest
}

/// The next call, in which the object of one composed resource is another owner's.
fn taken(call: Call, outcome: &Outcome, resource: &str, theirs: Value) -> Call {
    let mut call = call.applied(outcome, well);
    let object = call.observed.get_mut(resource);
    if let Some(manifest) =
        object.and_then(|object| object.pointer_mut("/status/atProvider/manifest"))
    {
        *manifest = theirs;
    }
    call
}

fn policies(outcome: &Outcome, resource: &str) -> Value {
    outcome.desired[resource]["spec"]["managementPolicies"].clone()
}

fn accepted(outcome: &Outcome) -> (&str, &str, &str) {
    let (status, reason, message) = &outcome.conditions["Accepted"];
    (status, reason, message)
}

const CREATE_ONLY: [&str; 2] = ["Observe", "Create"];

#[test]
fn labels_of_a_namespaced_claim_do_not_change_who_it_is() {
    let mut call = namespaced();
    let honest = call.run();
    call.composite["metadata"]["labels"] = json!({
        "crossplane.io/claim-name": "customer-a-prod",
        "crossplane.io/claim-namespace": "tenant-customer-a",
    });
    let labelled = call.run();
    assert_eq!(labelled.desired, honest.desired);
    assert_eq!(labelled.status, honest.status);
}

#[test]
fn labels_of_a_namespaced_claim_open_no_pool() {
    let mut call = namespaced().admitted();
    for pool in &mut call.world {
        if text(pool, "/metadata/name") == "hv-pool-a" {
            pool["spec"]["sharing"] = json!({"allowedNamespaces": ["tenant-vip"]});
            pool["status"]["consumers"] = json!([]);
        }
    }
    call.composite["metadata"]["labels"] = json!({
        "crossplane.io/claim-name": "vip-prod", "crossplane.io/claim-namespace": "tenant-vip",
    });
    let outcome = call.run();
    assert_eq!(outcome.objects(), Vec::<&str>::new());
    assert_eq!(outcome.conditions["PoolsReady"].1, "PoolNotAllowed");
}

#[test]
fn an_object_is_created_only_until_it_is_seen_to_be_the_claims_own() {
    let call = openstack::call("customer-b-staging").admitted();
    let first = call.run();
    assert_eq!(first.objects(), ["namespace"]);
    assert_eq!(policies(&first, "namespace"), json!(CREATE_ONLY));
    let metadata = &first.manifest("namespace")["metadata"];
    assert_eq!(metadata["labels"]["c5c3.io/claim-uid"], UID);
    assert_eq!(
        metadata["annotations"]["c5c3.io/claim"],
        "tenant-customer-b/customer-b-staging"
    );

    let call = call.applied(&first, well);
    let second = call.run();
    assert_eq!(policies(&second, "namespace"), Value::Null);
    for name in second.objects() {
        if name != "namespace" {
            assert_eq!(policies(&second, name), json!(CREATE_ONLY), "{name}");
        }
    }
    let (mut call, mut before) = (call, second);
    loop {
        call = call.applied(&before, well);
        let next = call.run();
        let is_new = |name: &&str| !before.desired.contains_key(*name);
        for name in next.objects() {
            let allowed = match is_new(&name) {
                true => json!(CREATE_ONLY),
                false => Value::Null,
            };
            assert_eq!(policies(&next, name), allowed, "{name}");
            let labels = &next.manifest(name)["metadata"]["labels"];
            assert_eq!(labels["c5c3.io/claim-uid"], UID, "{name}");
        }
        let mut all = next.desired.keys();
        if all.all(|name| before.desired.contains_key(name)) {
            break;
        }
        before = next;
    }
    assert_eq!(call.run().composite_ready, Some(true));
}

#[rstest]
#[case::another_claims(
    Some("other-uid"),
    Some("tenant-z/customer-b-staging"),
    "Namespace openstack-customer-b-staging in cluster eu-de-1-control-plane exists and belongs to another claim; choose \
     another name, or have the platform team hand it over with the annotation c5c3.io/adopt-by: \
     0c7b21a8-6c2f-4b8e-9d3b-5f0a4c1e7d92"
)]
#[case::no_claims(
    None,
    None,
    "Namespace openstack-customer-b-staging in cluster eu-de-1-control-plane exists and belongs to no claim; choose \
     another name, or have the platform team hand it over with the annotation c5c3.io/adopt-by: \
     0c7b21a8-6c2f-4b8e-9d3b-5f0a4c1e7d92"
)]
#[case::a_namesake_that_was_deleted(
    Some("former-uid"),
    Some("tenant-customer-b/customer-b-staging"),
    "Namespace openstack-customer-b-staging in cluster eu-de-1-control-plane exists and belongs to an earlier or another \
     claim named tenant-customer-b/customer-b-staging; choose another name, or have the platform team hand it over with the \
     annotation c5c3.io/adopt-by: 0c7b21a8-6c2f-4b8e-9d3b-5f0a4c1e7d92"
)]
fn a_namespace_of_another_owner_is_not_adopted(
    #[case] uid: Option<&str>,
    #[case] owner: Option<&str>,
    #[case] message: &str,
) {
    let call = openstack::call("customer-b-staging").admitted();
    let first = call.run();
    let theirs = owned_by(first.manifest("namespace"), uid, owner);
    let outcome = taken(call, &first, "namespace", theirs).run();
    assert_eq!(outcome.objects(), ["namespace"]);
    assert_eq!(policies(&outcome, "namespace"), json!(CREATE_ONLY));
    assert_eq!(accepted(&outcome), ("False", "NameTaken", message));
    assert_eq!(outcome.status["phase"], "Failed");
    assert_eq!(outcome.status.get("cephResources"), None);
    assert_eq!(outcome.composite_ready, Some(false));
    let labels = &outcome.desired["namespace"]["metadata"]["labels"];
    assert_eq!(labels, &Value::Null, "it asks no pool");
}

#[rstest]
#[case("volumes-st-pool-a")]
#[case("client-cinder-st-pool-a")]
#[case("push-monitors-st-pool-a")]
#[case("share-hv-pool-a")]
fn a_claim_whose_objects_are_taken_gets_no_control_plane(#[case] resource: &str) {
    let call = openstack::call("customer-b-staging").admitted();
    let first = call.run();
    let call = call.applied(&first, well);
    let second = call.run();
    let theirs = owned_by(second.manifest(resource), Some("other"), Some("z/z"));
    let mut call = taken(call, &second, resource, theirs);
    call.observed.remove("control-plane");
    let outcome = call.run();
    assert_eq!(policies(&outcome, resource), json!(CREATE_ONLY));
    assert_eq!(accepted(&outcome).1, "NameTaken");
    assert!(!outcome.desired.contains_key("control-plane"));
}

/// Two control plane clusters may have claims of one name, and Rook has one user of that name, with one key.
#[test]
fn key_of_another_claims_user_in_ceph_is_not_pushed() {
    let call = openstack::call("customer-b-staging").admitted();
    let first = call.run();
    let call = call.applied(&first, well);
    let second = call.run();
    let user = "client-cinder-st-pool-a";
    let mut theirs = owned_by(second.manifest(user), Some("other"), Some("z/z"));
    theirs["status"] = json!({"phase": "Ready"});
    let outcome = taken(call, &second, user, theirs).run();
    assert_eq!(accepted(&outcome).1, "NameTaken");
    let pushed = |service: &str| {
        let resource = format!("push-{service}-st-pool-a");
        outcome.desired.contains_key(&resource)
    };
    assert!(pushed("glance"), "its own user is ready");
    assert!(!pushed("cinder"));
}

#[test]
fn a_running_claim_keeps_what_it_owns_when_a_new_pool_has_its_name() {
    let (mut call, _) = openstack::call("internal-prod").running();
    call.composite["spec"]["storageClusters"] = json!(["st-pool-a"]);
    let before = call.run();
    call.composite["spec"]["storageClusters"] = json!(["st-pool-a", "st-pool-b"]);
    let asked = call.run();
    let theirs = owned_by(asked.manifest("volumes-st-pool-b"), Some("other"), None);
    let call = taken(call, &asked, "volumes-st-pool-b", theirs);
    let outcome = call.run();
    assert_eq!(accepted(&outcome).1, "NameTaken");
    assert_eq!(outcome.status["phase"], "Degraded");
    assert_eq!(
        outcome.manifest("control-plane")["spec"]["storage"]["storageClusters"],
        json!(["st-pool-a"])
    );
    assert_eq!(
        outcome.manifest("volumes-st-pool-a"),
        before.manifest("volumes-st-pool-a")
    );
}

/// Cinder would lose its backend, and Glance its store.
#[test]
fn a_running_claim_keeps_its_storage_pool_when_a_further_pool_in_it_has_another_owner() {
    let (mut call, running) = openstack::call("internal-prod").running();
    let pool = "ephemeral-st-pool-a";
    let theirs = owned_by(running.manifest(pool), Some("other"), Some("z/z"));
    call.observed.remove(pool);
    let asked = call.run();
    let storage = |outcome: &Outcome| outcome.manifest("control-plane")["spec"]["storage"].clone();
    assert_eq!(storage(&asked)["storageClusters"][0], "st-pool-a");
    let outcome = taken(call, &asked, pool, theirs).run();
    assert_eq!(accepted(&outcome).1, "NameTaken");
    assert_eq!(storage(&outcome), storage(&asked));
}

#[test]
fn user_in_ceph_has_no_rights_in_a_pool_of_another_owner() {
    let (mut call, running) = openstack::call("internal-prod").running();
    let pool = "ephemeral-st-pool-a";
    let theirs = owned_by(running.manifest(pool), Some("other"), Some("z/z"));
    let caps = |outcome: &Outcome| {
        let user = outcome.manifest("client-nova-st-pool-a");
        user["spec"]["caps"]["osd"].as_str().unwrap().to_owned()
    };
    assert!(caps(&call.run()).contains("-ephemeral"));
    call.observed.remove(pool);
    let asked = call.run();
    let outcome = taken(call, &asked, pool, theirs).run();
    assert_eq!(accepted(&outcome).1, "NameTaken");
    assert!(!caps(&outcome).contains("-ephemeral"), "{}", caps(&outcome));
    assert!(caps(&outcome).contains("-volumes"), "{}", caps(&outcome));
}

#[test]
fn a_restored_claim_adopts_only_what_the_platform_team_hands_over() {
    let (call, running) = openstack::call("customer-b-staging").running();
    let mut call = call.applied(&running, well);
    call.composite["metadata"]["uid"] = json!("restored");
    let refused = call.run();
    assert_eq!(accepted(&refused).1, "NameTaken");
    for name in refused.objects() {
        assert_eq!(policies(&refused, name), json!(CREATE_ONLY), "{name}");
    }

    let annotation = "/status/atProvider/manifest/metadata/annotations";
    let namespace = call.observed.get_mut("namespace").unwrap();
    namespace.pointer_mut(annotation).unwrap()["c5c3.io/adopt-by"] = json!("restored");
    let adopted = call.run();
    assert_eq!(accepted(&adopted).0, "True");
    for name in adopted.objects() {
        assert_eq!(policies(&adopted, name), Value::Null, "{name}");
        let labels = &adopted.manifest(name)["metadata"]["labels"];
        assert_eq!(labels["c5c3.io/claim-uid"], "restored", "{name}");
    }

    let share = call.observed.get_mut("share-hv-pool-a").unwrap();
    share.pointer_mut(annotation).unwrap()["c5c3.io/claim"] = json!("tenant-z/z");
    let outcome = call.run();
    assert_eq!(policies(&outcome, "share-hv-pool-a"), json!(CREATE_ONLY));
    assert_eq!(accepted(&outcome).1, "NameTaken");
}

#[test]
fn clusters_of_one_name_share_nothing_whatever_their_kind() {
    let call = clusters::pool("hv-pool-a").admitted();
    let first = call.run();
    assert_eq!(first.objects(), ["shoot"]);
    assert_eq!(policies(&first, "shoot"), json!(CREATE_ONLY));
    let theirs = owned_by(
        first.manifest("shoot"),
        Some("of-a-storage-cluster"),
        Some("infrastructure/hv-pool-a"),
    );
    let outcome = taken(call, &first, "shoot", theirs).run();
    assert_eq!(outcome.objects(), ["shoot"]);
    assert_eq!(policies(&outcome, "shoot"), json!(CREATE_ONLY));
    assert_eq!(outcome.status["phase"], "Failed");
    assert_eq!(
        accepted(&outcome),
        (
            "False",
            "NameTaken",
            "Shoot hv-pool-a in cluster gardener exists and belongs to an earlier or another claim named \
             infrastructure/hv-pool-a; choose another name, or have the platform team hand it over with the annotation \
             c5c3.io/adopt-by: 0c7b21a8-6c2f-4b8e-9d3b-5f0a4c1e7d92"
        )
    );
}

#[test]
fn labels_of_a_pool_do_not_forge_its_owner() {
    let mut call = clusters::pool("hv-pool-a").admitted();
    call.composite["spec"]["labels"] = json!({"c5c3.io/claim-uid": "other"});
    let labels = call.run().manifest("shoot")["metadata"]["labels"].clone();
    assert_eq!(labels["c5c3.io/claim-uid"], UID);
}

/// Resources that any tenant may create in its namespace, annotated with the names of what claims compose. Crossplane passes
/// them on where the claim's `spec.crossplane.resourceRefs` name them.
#[rstest]
#[case::of_a_claim("c5c3.io/v1alpha1", "OpenStackCluster")]
#[case::of_a_secret("v1", "Secret")]
#[case::of_another_group("tenants.example/v1", "Object")]
#[case::of_a_tenants_provider_config("kubernetes.m.crossplane.io/v1alpha1", "ProviderConfig")]
fn what_a_tenant_refers_to_is_not_composed(#[case] api_version: &str, #[case] kind: &str) {
    let mut call = namespaced();
    for pool in &mut call.world {
        pool["spec"]["sharing"] = json!({"mode": "Dedicated", "allowedNamespaces": ["tenant-vip"]});
    }
    let names = [
        "namespace",
        "control-plane",
        "access",
        "pull-tenant-clouds",
        "push-tenant-clouds",
        "share-hv-pool-a",
        "volumes-st-pool-a",
        "client-cinder-st-pool-a",
        "hv-pool-a-until-share-hv-pool-a",
    ];
    for name in names {
        let decoy = json!({
            "apiVersion": api_version,
            "kind": kind,
            "metadata": {"name": "decoy", "namespace": "tenant-customer-b"},
            "spec": {
                "forProvider": {"manifest": {"apiVersion": "v1", "kind": "Secret"}},
                "providerConfigRef": {"name": "management"},
            },
        });
        call.observed.insert(name.to_owned(), decoy);
    }
    let outcome = call.run();
    assert_eq!(
        outcome.desired.keys().collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
    assert_eq!(outcome.conditions["PoolsReady"].1, "PoolNotAllowed");
}

/// A Usage doesn't count under the name of an Object.
#[test]
fn what_exists_counts_by_its_kind() {
    let mut call = namespaced();
    for pool in &mut call.world {
        pool["spec"]["sharing"] = json!({"allowedNamespaces": ["tenant-vip"]});
    }
    let usage = json!({"apiVersion": "protection.crossplane.io/v1beta1", "kind": "Usage", "metadata": {"name": "decoy"}});
    call.observed.insert("control-plane".to_owned(), usage);
    assert!(call.run().desired.is_empty());
}
