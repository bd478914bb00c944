//! Names of composed objects, where claims and pools have the longest names that they may have.

use std::collections::BTreeMap;

use function_c5c3_fixtures::{Call, Outcome, examples, text, well};
use rstest::rstest;
use serde_json::{Value, json};

use crate::properties::world;

/// The longest name that the API server or the operator of a kind takes.
fn longest(kind: &str) -> usize {
    match kind {
        // Rook has a volume rook-ceph-rgw-<name>-mime-types.
        "CephObjectStore" => 38,
        // Rook has a volume rook-ceph-mds-<name>-a-keyring.
        "CephFilesystem" => 39,
        "StatefulSet" | "CronJob" => 52,
        "HypervisorShare" => 56,
        "ControlPlane" | "Job" | "Namespace" | "Service" => 63,
        _ => 253,
    }
}

/// The objects that others apply, by the name of the composed resource.
fn manifests(outcome: &Outcome) -> BTreeMap<&str, &Value> {
    let desired = outcome.desired.iter();
    let manifests = desired.map(|(name, object)| {
        let manifest = object.pointer("/spec/forProvider/manifest");
        (name.as_str(), manifest.unwrap_or(object))
    });
    manifests.collect()
}

fn assert_fit(outcome: &Outcome) {
    assert_eq!(outcome.fatal, None);
    for (resource, manifest) in manifests(outcome) {
        let (kind, name) = (text(manifest, "/kind"), text(manifest, "/metadata/name"));
        let most = longest(&kind);
        assert!(
            name.len() <= most,
            "{resource}: {kind} {name} has more than {most} characters"
        );
        let labels = manifest["metadata"]["labels"].as_object();
        for (label, value) in labels.into_iter().flatten() {
            let length = value.as_str().unwrap_or_default().len();
            assert!(length <= 63, "{resource}: {label} has {length} characters");
        }
    }
}

/// A claim with a name of 53 characters.
fn claim() -> Value {
    let pool = |length: usize, number: u8| "a".repeat(length - 1) + &number.to_string();
    json!({
        "apiVersion": "c5c3.io/v1alpha1", "kind": "OpenStackCluster",
        "metadata": {"name": "a".repeat(53), "namespace": "tenant"},
        "spec": {
            "region": "eu-de-1", "size": "medium",
            "hypervisorClusters": [pool(63, 1), pool(63, 2)],
            "storageClusters": [pool(38, 3), pool(38, 4)],
            "services": {"nova": true, "neutron": true, "cinder": true, "glance": true, "manila": true},
            "storage": {"ceph": {"filesystem": {"enabled": true}, "objectStore": {"enabled": true}}},
        },
    })
}

fn composed(claim: &Value) -> Outcome {
    let call = Call::of(claim.clone(), "openstack-production").with(world(claim));
    call.running().1
}

#[test]
fn objects_of_claims_with_the_longest_names_are_taken() {
    let outcome = composed(&claim());
    assert_fit(&outcome);
    let kinds: Vec<String> = manifests(&outcome)
        .values()
        .map(|manifest| text(manifest, "/kind"))
        .collect();
    for kind in ["CephObjectStore", "CephFilesystem", "HypervisorShare"] {
        assert!(kinds.iter().any(|other| other == kind), "no {kind}");
    }
}

#[test]
fn object_store_of_a_claim_has_a_name_that_rook_takes_and_no_other_claim_has() {
    let name = |claim: &Value| {
        let outcome = composed(claim);
        let named = |kind: &str| {
            let manifests = manifests(&outcome);
            let mut found = manifests
                .values()
                .filter(|manifest| manifest["kind"] == kind);
            text(found.next().unwrap(), "/metadata/name")
        };
        let (store, filesystem) = (named("CephObjectStore"), named("CephFilesystem"));
        let plane = manifests(&outcome)["control-plane"].clone();
        let ceph = &plane["spec"]["storage"]["ceph"];
        assert_eq!(ceph["objectStore"]["name"], json!(store));
        assert_eq!(ceph["filesystem"]["name"], json!(filesystem));
        (store, filesystem)
    };
    let called = |name: &str| {
        let mut claim = claim();
        claim["metadata"]["name"] = json!(name);
        claim
    };
    let (store, filesystem) = name(&called("research-computing-frankfurt-1"));
    assert_eq!(store, "research-computing-frankfurt-1-objects");
    assert_eq!(filesystem, "research-computing-frankfurt-1-cephfs");

    let (one, _) = name(&called("research-computing-frankfurt-p1"));
    let (other, _) = name(&called("research-computing-frankfurt-p2"));
    assert!(one.starts_with("research-computing-frankf-"), "{one}");
    assert_eq!(one.len(), 38);
    assert_ne!(one, other);
}

/// The composed resource of an object store is called as that of another store's user, where a pool is called `user-` and the other's name.
#[test]
fn object_store_never_replaces_the_user_of_another_store() {
    let mut claim = claim();
    claim["spec"]["storageClusters"] = json!(["x", "user-x"]);
    let pools = world(&claim);
    claim["spec"]["storageClusters"] = json!(["x"]);
    let call = Call::of(claim, "openstack-production").with(pools);
    let (mut call, _) = call.running();
    call.composite["spec"]["storageClusters"] = json!(["user-x"]);
    let name = "a".repeat(53);
    let store = format!("{}-", "a".repeat(25));
    let fatal = call.run().fatal.unwrap();
    let start = format!(
        "the composed resource object-store-user-x is CephObjectStoreUser rook-ceph/{name}-swift and can't become CephObjectStore \
         rook-ceph/{store}"
    );
    assert!(fatal.starts_with(&start), "{fatal}");
}

/// Its nodes would stay in the former project, where nothing deletes them.
#[test]
fn shoot_never_moves_to_another_project() {
    let (mut call, outcome) = Call::of(examples::pool("hv-pool-a"), "hypervisor-pool").running();
    let name = text(outcome.manifest("shoot"), "/metadata/name");
    call.input.as_mut().unwrap()["gardener"]["project"] = json!("ab12");
    let start = format!(
        "the composed resource shoot is Shoot garden-c5c3/{name} and can't become Shoot garden-ab12/{name}, since"
    );
    let fatal = call.run().fatal.unwrap();
    assert!(fatal.starts_with(&start), "{fatal}");
}

/// Two composed resources have this name: the user in Ceph of the one pool, and the Usage of the other pool's.
#[test]
fn pools_whose_names_give_two_composed_resources_one_name_are_refused() {
    let mut claim = claim();
    claim["spec"]["storageClusters"] = json!(["x", "x-until-control-plane"]);
    let call = Call::of(claim.clone(), "openstack-production").with(world(&claim));
    let mut call = call.admitted();
    let refused = (0..6).find_map(|_| {
        let outcome = call.run();
        call = call.clone().applied(&outcome, well);
        outcome.fatal
    });
    let expected = "two composed resources would have the name client-cinder-x-until-control-plane: remove one of the pools or cells \
                    whose names are in it";
    assert_eq!(refused.as_deref(), Some(expected));
}

const TOO_LONG: &str =
    "has 39 characters, and at most 38 fit into the names of Cinder's pods; name another one";

#[test]
fn storage_pool_with_too_long_a_name_for_cinder_is_refused() {
    let mut claim = claim();
    claim["spec"]["storageClusters"] = json!(["s".repeat(39)]);
    let call = Call::of(claim.clone(), "openstack-production").with(world(&claim));
    let fatal = call.run().fatal.unwrap();
    assert!(fatal.ends_with(TOO_LONG), "{fatal}");

    claim["spec"]["services"]["cinder"] = json!(false);
    assert_fit(&composed(&claim));
}

#[test]
fn storage_pool_with_the_name_of_cinders_configuration_is_refused() {
    let mut claim = claim();
    claim["spec"]["storageClusters"] = json!(["cinder"]);
    let call = Call::of(claim.clone(), "openstack-production").with(world(&claim));
    let fatal = call.run().fatal.unwrap();
    assert!(
        fatal.starts_with("the storage pool cinder can't be a backend of Cinder"),
        "{fatal}"
    );
}

/// An earlier version didn't shorten the name of an object store, which Rook then refused.
#[test]
fn object_store_whose_name_is_shortened_since_is_not_another_object() {
    let mut claim = claim();
    claim["metadata"]["name"] = json!("a".repeat(31));
    let (mut call, _) = Call::of(claim.clone(), "openstack-production")
        .with(world(&claim))
        .running();
    let store = call.observed.iter_mut().find(|(name, _)| {
        name.starts_with("object-store-") && !name.starts_with("object-store-user")
    });
    let manifest = &mut store.unwrap().1["status"]["atProvider"]["manifest"];
    manifest["metadata"]["name"] = json!(format!("{}-objects", "a".repeat(31)));
    assert_eq!(call.run().fatal, None);
}

#[test]
fn claim_that_is_served_gets_no_volumes_in_a_storage_pool_with_too_long_a_name() {
    let mut claim = claim();
    claim["spec"]["storageClusters"] = json!(["s".repeat(39)]);
    claim["spec"]["services"]["cinder"] = json!(false);
    let call = Call::of(claim.clone(), "openstack-production").with(world(&claim));
    let (mut call, _) = call.running();
    call.composite["spec"]["services"]["cinder"] = json!(true);
    let fatal = call.run().fatal.unwrap();
    assert!(fatal.ends_with(TOO_LONG), "{fatal}");

    // An earlier version made volumes in such a pool.
    let volumes = format!("volumes-{}", "s".repeat(39));
    let object = json!({"apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object"});
    call.observed.insert(volumes, object);
    let fatal = call.run().fatal;
    assert!(!fatal.is_some_and(|fatal| fatal.ends_with(TOO_LONG)));
}

#[rstest]
#[case("hv-pool-a", "hypervisor-pool")]
#[case("st-pool-a", "storage-pool")]
fn objects_of_pools_with_the_longest_names_are_taken(#[case] name: &str, #[case] input: &str) {
    let mut pool = examples::pool(name);
    let name = json!("a".repeat(63));
    pool["metadata"]["name"] = name.clone();
    pool["spec"]["name"] = name;
    let (_, outcome) = Call::of(pool, input).running();
    assert_fit(&outcome);
    let shoot = manifests(&outcome)["shoot"];
    let project = text(shoot, "/metadata/namespace");
    let project = project.strip_prefix("garden-").unwrap_or(&project).len();
    assert!(project + text(shoot, "/metadata/name").len() <= 21);
}
