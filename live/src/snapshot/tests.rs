use serde_json::{Value, json};

use super::*;

fn object(api_version: &str, kind: &str, name: &str, status: Value) -> Value {
    json!({
        "apiVersion": api_version, "kind": kind,
        "metadata": { "name": name, "namespace": "openstack", "generation": 1 },
        "status": status,
    })
}

fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": type_, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

fn made(mut object: Value) -> Value {
    object["metadata"]["labels"] = json!({
        "c5c3.io/owner-kind": "ControlPlane",
        "c5c3.io/owner-namespace": "openstack",
        "c5c3.io/owner-name": "production",
    });
    object
}

/// A claim, and a control plane with a database that is ready, one that goes, and a cache that has a pod too few.
fn snapshot() -> Snapshot {
    let why = "StatefulSet openstack-memcached: 1 of 3 pods are ready";
    let ready = json!({ "conditions": [condition("Ready", "True", "Ready", "")] });
    let mut cache = object(
        "apps/v1",
        "StatefulSet",
        "openstack-memcached",
        json!({
            "observedGeneration": 1, "readyReplicas": 1,
        }),
    );
    cache["spec"] = json!({ "replicas": 3 });
    let mut leaving = made(object(
        "k8s.mariadb.com/v1alpha1",
        "Grant",
        "old",
        ready.clone(),
    ));
    leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    leaving["metadata"]["finalizers"] = json!(["mariadb.com/grant"]);
    let mut control_plane = object(
        "c5c3.io/v1alpha1",
        "ControlPlane",
        "production",
        json!({
            "endpoints": { "keystone": "https://keystone.openstack.svc.cluster.local:5000/v3" },
            "connection": { "secretName": "production-clouds" },
            "verified": { "time": "2026-01-01T01:00:00Z", "passed": 100, "failed": 0 },
            "conditions": [condition("Ready", "False", "WaitingForMemcached", why)],
        }),
    );
    let off = json!({ "enabled": false });
    control_plane["spec"] = json!({ "services": { "nova": off, "neutron": off, "cinder": off } });
    let objects = [
        object(
            "c5c3.io/v1alpha1",
            "OpenStackCluster",
            "tenant",
            json!({
                "phase": "Provisioning",
                "endpoints": { "keystone": "https://keystone.tenant.example.com" },
                "connection": { "secretName": "tenant-clouds" },
                "verified": { "time": "2026-01-01T02:00:00Z", "passed": 87, "failed": 2 },
                "conditions": [condition("Ready", "False", "Waiting", "the control plane isn't ready")],
            }),
        ),
        object(
            "c5c3.io/v1alpha1",
            "SecretAggregate",
            "all",
            json!({ "conditions": [
                condition("SourcesResolved", "False", "InvalidSecret", "Secret one has no key a"),
                condition("Ready", "False", "InvalidSecret", "Secret one has no key a"),
            ] }),
        ),
        control_plane,
        made(object(
            "k8s.mariadb.com/v1alpha1",
            "MariaDB",
            "openstack-db",
            ready,
        )),
        made(cache),
        leaving,
    ];
    let mut snapshot = Snapshot::default();
    for object in objects {
        snapshot.insert(Manifest::try_from(object).unwrap());
    }
    snapshot
}

#[test]
fn each_waiting_thing_says_what_it_waits_for_and_how_far_all_is() {
    insta::assert_snapshot!(snapshot().tree(&Selection::default(), Page::PLAIN));
    let lines = snapshot().lines(&Selection::default());
    let lines: Vec<String> = lines
        .iter()
        .map(|(title, state)| format!("{title}: {state}"))
        .collect();
    assert_eq!(
        lines,
        [
            "ControlPlane openstack/production: not ready: StatefulSet openstack-memcached: 1 of 3 pods are ready",
            "Grant openstack/old: not ready: is being deleted, held by mariadb.com/grant",
            "MariaDB openstack/openstack-db: ready",
            "OpenStackCluster openstack/tenant: not ready: the control plane isn't ready",
            "SecretAggregate openstack/all: not ready: Secret one has no key a",
            "StatefulSet openstack/openstack-memcached: not ready: 1 of 3 pods are ready",
        ]
    );
}

#[test]
fn a_name_picks_with_or_without_the_namespace() {
    let named = |name: &str| Selection {
        name: Some(name.to_owned()),
        namespace: None,
    };
    let snapshot = snapshot();
    for name in ["production", "openstack/production", "tenant"] {
        assert!(snapshot.has(&named(name)), "{name}");
    }
    let missing = named("elsewhere/production");
    assert!(!snapshot.has(&missing));
    assert_eq!(
        snapshot.tree(&missing, Page::PLAIN),
        "There is no elsewhere/production yet.\n"
    );
    let tree = snapshot.tree(&named("tenant"), Page::PLAIN);
    assert!(!tree.contains("ControlPlane openstack"), "{tree}");
}

#[test]
fn management_cluster_is_known_by_its_claims() {
    let own = listed_kinds().into_iter().filter(is_control_plane_or_claim);
    let kinds: BTreeSet<String> = own.map(|listed| listed.kind).collect();
    let expected = [
        "ControlPlane",
        "ControlPlaneCluster",
        "HypervisorCluster",
        "OpenStackCluster",
        "StorageCluster",
    ];
    assert_eq!(kinds, BTreeSet::from(expected.map(str::to_owned)));
}

#[test]
fn a_namespace_picks_what_is_in_it() {
    let inside = |namespace: &str| Selection {
        name: None,
        namespace: Some(namespace.to_owned()),
    };
    let snapshot = snapshot();
    assert_eq!(
        snapshot.lines(&inside("openstack")),
        snapshot.lines(&Selection::default())
    );
    assert_eq!(
        snapshot.tree(&inside("elsewhere"), Page::PLAIN),
        "There is nothing yet: apply a ControlPlane or a claim.\n"
    );
}

#[test]
fn programs_read_the_same_as_people() {
    let json = snapshot().json(&Selection::default());
    insta::assert_snapshot!(format!("{json:#}"));
}

#[test]
fn no_secret_is_ever_asked_for() {
    let kinds = listed_kinds();
    assert!(kinds.iter().any(|listed| listed.kind == "MariaDB"));
    assert!(kinds.iter().all(|listed| listed.kind != "Secret"));
}

/// An Object of a HypervisorShare whose nodes are drained.
fn share(api_version: &str, labels: Value) -> Value {
    let message = "0 of 2 nodes are drained; servers left: 3: node-a waits for 3 servers to be deleted or moved";
    let status = json!({ "conditions": [condition("NodesDrained", "False", "Draining", message)] });
    let mut object = object(
        api_version,
        "Object",
        "share",
        json!({ "atProvider": { "manifest": { "status": status } } }),
    );
    object["metadata"]["labels"] = labels;
    object["spec"] = json!({
        "forProvider": { "manifest": { "kind": "HypervisorShare" } }, "providerConfigRef": { "name": "hv-pool-a" },
    });
    object
}

#[test]
fn claim_that_is_deleted_shows_how_many_servers_hold_its_nodes() {
    let claim = |api_version: &str, labels: Value, deleted: bool| {
        let mut claim = object("c5c3.io/v1alpha1", "OpenStackCluster", "tenant", json!({}));
        if deleted {
            claim["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        let mut snapshot = Snapshot::default();
        for object in [claim, share(api_version, labels)] {
            snapshot.insert(Manifest::try_from(object).unwrap());
        }
        let shown = snapshot.tree(&Selection::default(), Page::PLAIN);
        let json = snapshot.json(&Selection::default());
        assert_eq!(
            json[0]["drains"].as_array().unwrap().len(),
            usize::from(shown.contains("servers left"))
        );
        shown.contains("Nodes of hv-pool-a: 0 of 2 nodes are drained; servers left: 3: ")
    };
    let of_claim = |name: &str| json!({ "crossplane.io/claim-name": name, "crossplane.io/claim-namespace": "openstack" });
    let of_composite = |name: &str| json!({ "crossplane.io/composite": name });
    let (cluster, namespaced) = (
        "kubernetes.crossplane.io/v1alpha2",
        "kubernetes.m.crossplane.io/v1alpha1",
    );
    assert!(claim(cluster, of_claim("tenant"), true));
    assert!(claim(namespaced, of_composite("tenant"), true));
    assert!(
        !claim(cluster, of_claim("tenant"), false),
        "it isn't deleted"
    );
    assert!(!claim(cluster, of_claim("other"), true));
    assert!(!claim(namespaced, of_composite("other"), true));
}

/// What a claim that is deleted shows of an Object of Rook, with these conditions.
fn shown_of_data(kind: &str, name: &str, conditions: Value, deleted: bool) -> (String, Value) {
    let mut claim = object("c5c3.io/v1alpha1", "OpenStackCluster", "tenant", json!({}));
    if deleted {
        claim["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    let status =
        json!({ "atProvider": { "manifest": { "status": { "conditions": conditions } } } });
    let mut data = object(
        "kubernetes.m.crossplane.io/v1alpha1",
        "Object",
        "data",
        status,
    );
    data["metadata"]["labels"] = json!({ "crossplane.io/composite": "tenant" });
    data["spec"] = json!({
        "forProvider": { "manifest": { "kind": kind, "metadata": { "name": name } } },
        "providerConfigRef": { "name": "st-pool-a" },
    });
    let mut snapshot = Snapshot::default();
    for object in [claim, data] {
        snapshot.insert(Manifest::try_from(object).unwrap());
    }
    let json = snapshot.json(&Selection::default());
    let tree = snapshot.tree(&Selection::default(), Page::PLAIN);
    (tree, json[0]["data"].clone())
}

#[test]
fn claim_that_is_deleted_shows_which_data_hold_it() {
    let says = "pool tenant-volumes contains images or snapshots";
    let blocked = condition("PoolDeletionIsBlocked", "True", "PoolNotEmpty", says);
    let free = condition(
        "DeletionIsBlocked",
        "False",
        "ObjectHasNoDependents",
        "none",
    );
    let conditions = json!([free, blocked]);
    let (tree, data) = shown_of_data("CephBlockPool", "tenant-volumes", conditions.clone(), true);
    let message = format!(
        "isn't empty: delete the volumes and their snapshots of all projects, and with rbd the images `volume-<id>.deleted`, which the \
         APIs don't list. The APIs answer until then. Rook reports: {says}"
    );
    let expected = json!([{
        "cluster": "st-pool-a", "kind": "CephBlockPool", "name": "tenant-volumes", "message": message,
    }]);
    assert_eq!(data, expected);
    let line = "Data in st-pool-a: CephBlockPool tenant-volumes isn't empty: delete the volumes";
    assert!(tree.contains(line), "{tree}");

    let (tree, data) = shown_of_data("CephBlockPool", "tenant-volumes", conditions.clone(), false);
    assert_eq!(data, json!([]), "it isn't deleted");
    assert!(!tree.contains("Data in"), "{tree}");
    let (_, data) = shown_of_data("CephClient", "tenant-cinder", conditions, true);
    assert_eq!(data, json!([]), "it has no data");
}

#[test]
fn data_of_which_rook_reports_nothing_are_shown_too() {
    for conditions in [
        Value::Null,
        json!([condition(
            "PoolDeletionIsBlocked",
            "False",
            "PoolEmpty",
            "empty"
        )]),
    ] {
        let (_, data) = shown_of_data("CephBlockPool", "tenant-images", conditions, true);
        assert_eq!(
            data[0]["message"],
            "is being deleted, and Rook hasn't reported that anything is in it"
        );
    }
}

#[test]
fn data_that_hold_a_claim_are_named_as_users_know_them() {
    for (kind, name, contents) in [
        ("CephBlockPool", "tenant-images", "images"),
        ("CephBlockPool", "tenant-ephemeral", "servers"),
        ("CephBlockPool", "tenant-backups", "volume backups"),
        ("CephFilesystem", "tenant-cephfs", "shares"),
        ("CephFilesystem", "a-long-name-bxtbpg6vzicd", "shares"),
        ("CephBlockPool", "a-long-name-bxtbpg6vzicd", "data"),
        ("CephObjectStore", "tenant-objects", "buckets"),
    ] {
        let conditions = json!([condition(
            "DeletionIsBlocked",
            "True",
            "ObjectHasDependents",
            "dependents"
        )]);
        let (_, data) = shown_of_data(kind, name, conditions, true);
        let message = data[0]["message"].as_str().unwrap();
        let expected = format!("isn't empty: delete the {contents} of all projects");
        assert!(message.starts_with(&expected), "{message}");
        let names_the_site = message.contains(" as an administrator those of the site. ");
        assert_eq!(names_the_site, contents == "images", "{message}");
    }
}
