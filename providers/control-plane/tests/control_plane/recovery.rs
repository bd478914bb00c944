//! MariaDB over volumes that exist, and Galera clusters that are down.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use provider_composer::Key;
use provider_control_plane::graph::Node;
use rstest::rstest;
use serde_json::{Value, json};

use crate::growth::claim;
use crate::sizes::{running, size, with};
use crate::stage::{NAMESPACE, Stage, first};

/// A claim of a member of MariaDB.
fn member(volume: &str, number: usize) -> Key {
    let name = format!("{volume}-openstack-db-{number}");
    Key::of::<PersistentVolumeClaim>(NAMESPACE, &name)
}

/// Creates bound claims of the first members, by what their names begin with.
fn bound(stage: &mut Stage, volumes: &[&str], members: usize) -> Vec<Key> {
    let keys: Vec<Key> = (0..members)
        .flat_map(|number| volumes.iter().map(move |volume| member(volume, number)))
        .collect();
    for key in &keys {
        claim(stage, &key.name, "fast");
        bind(stage, key);
    }
    keys
}

fn bind(stage: &mut Stage, claim: &Key) {
    let status = json!({ "phase": "Bound", "capacity": { "storage": "10Gi" } });
    stage.cluster.set_status(claim, status);
}

/// Status, reason and message of InfrastructureReady while there is no MariaDB.
fn refused(stage: &Stage) -> (String, String, String) {
    assert_eq!(stage.object(Node::MariaDb), None);
    stage.condition("InfrastructureReady")
}

/// mariadb-operator would wait forever, or serve what one member of several had.
#[rstest]
#[case::of_a_single_one(
    &["storage"],
    1,
    3,
    "data of a single MariaDB, which doesn't become a Galera cluster: set infrastructure.mariadb.replicas to 1, or delete the \
     PersistentVolumeClaims of its members"
)]
#[case::of_several(
    &["storage", "galera"],
    3,
    1,
    "data of a Galera cluster, which doesn't become a single MariaDB: set infrastructure.mariadb.replicas to 3 or more, or delete the \
     PersistentVolumeClaims of its members"
)]
#[case::of_several_without_their_configuration(
    &["storage"],
    5,
    1,
    "data of a Galera cluster, which doesn't become a single MariaDB: set infrastructure.mariadb.replicas to 5 or more"
)]
fn mariadb_is_not_created_over_the_volumes_of_another_kind(
    #[case] left: &[&str],
    #[case] had: usize,
    #[case] desired: usize,
    #[case] message: &str,
) {
    let mut stage = Stage::new(with("mariadb", &json!({ "replicas": desired })));
    let volumes = bound(&mut stage, left, had);
    stage.simulate();
    let (status, reason, said) = refused(&stage);
    assert_eq!((&*status, &*reason), ("False", "Unsupported"));
    let name = "PersistentVolumeClaim storage-openstack-db-0 has ";
    assert!(said.contains(&format!("{name}{message}")), "{said}");

    // The last one is still mounted.
    for volume in &volumes[1..] {
        stage.cluster.delete(volume);
    }
    stage.cluster.hold(volumes[0].kind);
    stage.cluster.delete(&volumes[0]);
    stage.simulate();
    let (_, _, said) = refused(&stage);
    let waits = "MariaDB waits for the deletion of PersistentVolumeClaim storage-openstack-db-0";
    assert!(said.contains(waits), "{said}");

    stage.cluster.set_readable(&volumes[0], false);
    stage.simulate();
    assert_eq!(stage.object(Node::MariaDb), None);
    stage.cluster.set_readable(&volumes[0], true);
    stage.cluster.release(&volumes[0]);
    stage.simulate();
    let replicas = u64::try_from(desired).unwrap();
    assert_eq!(size(&stage, Node::MariaDb).0, replicas);
}

#[rstest]
#[case::a_single_one(1, &["storage"])]
#[case::several(3, &["storage", "galera"])]
fn mariadb_returns_over_the_volumes_of_its_own_kind(
    #[case] members: usize,
    #[case] volumes: &[&str],
) {
    let mut stage = Stage::new(with("mariadb", &json!({ "replicas": members })));
    bound(&mut stage, volumes, members);
    stage.simulate();
    let replicas = u64::try_from(members).unwrap();
    assert_eq!(size(&stage, Node::MariaDb).0, replicas);
}

/// mariadb-operator compares only the members that are desired, so that it would drop what the others committed last.
#[rstest]
#[case::with_their_configuration(&["storage", "galera"])]
#[case::without_it(&["storage"])]
fn galera_cluster_is_not_created_with_fewer_members_than_there_are_volumes(
    #[case] volumes: &[&str],
) {
    let mut stage = Stage::new(with("mariadb", &json!({ "replicas": 3 })));
    bound(&mut stage, volumes, 5);
    stage.simulate();
    let (status, reason, said) = refused(&stage);
    assert_eq!((&*status, &*reason), ("False", "Unsupported"));
    let ways = "PersistentVolumeClaim storage-openstack-db-4 may have committed more than the members that are desired: set \
                infrastructure.mariadb.replicas to 5 or more, or delete the PersistentVolumeClaim if that member was removed before";
    assert!(said.contains(ways), "{said}");

    stage.cluster.delete(&member("storage", 4));
    stage.simulate();
    let (_, _, said) = refused(&stage);
    assert!(said.contains("storage-openstack-db-3 may have"), "{said}");
    let five = json!({ "mariadb": { "replicas": 5 } });
    stage.want(|spec| spec["infrastructure"] = five);
    stage.simulate();
    assert_eq!(size(&stage, Node::MariaDb).0, 5);
}

/// It would wait forever for a claim that no pod uses, where volumes are bound for the first pod.
#[test]
fn galera_cluster_is_not_created_over_claims_that_are_not_bound() {
    let mut stage = Stage::new(with("mariadb", &json!({ "replicas": 3 })));
    let first = member("storage", 0);
    claim(&mut stage, &first.name, "fast");
    stage.settle();
    let (status, reason, said) = refused(&stage);
    let waits = ("False", "WaitingForPersistentVolumeClaim");
    assert_eq!((&*status, &*reason), waits);
    let why = "PersistentVolumeClaim storage-openstack-db-0 isn't bound, and mariadb-operator waits for it: delete it if";
    assert!(said.contains(why), "{said}");

    stage.cluster.delete(&first);
    stage.settle();
    assert_eq!(size(&stage, Node::MariaDb).0, 3);
}

#[test]
fn single_mariadb_is_created_over_claims_that_are_not_bound() {
    let mut stage = Stage::new(with("mariadb", &json!({ "replicas": 1 })));
    for number in 0..2 {
        claim(&mut stage, &member("storage", number).name, "fast");
    }
    stage.settle();
    assert_eq!(size(&stage, Node::MariaDb).0, 1);
}

/// No pod starts with a claim whose volume was deleted, and it was bound before.
#[rstest]
#[case::of_a_single_one(1, "storage", 0, "and restore a backup afterwards")]
#[case::of_a_member(
    3,
    "storage",
    1,
    "and let the member join the others, or restore a backup if no other has data"
)]
#[case::with_the_configuration_of_a_member(
    3,
    "galera",
    2,
    "and let the member join the others, or restore a backup if no other has data"
)]
fn mariadb_is_not_created_over_a_claim_that_has_lost_its_volume(
    #[case] members: usize,
    #[case] volume: &str,
    #[case] number: usize,
    #[case] then: &str,
) {
    let mut stage = Stage::new(with("mariadb", &json!({ "replicas": members })));
    let volumes: &[&str] = match members {
        1 => &["storage"],
        _ => &["storage", "galera"],
    };
    bound(&mut stage, volumes, members);
    let claim = member(volume, number);
    stage.cluster.set_status(&claim, json!({ "phase": "Lost" }));
    stage.settle();
    let (status, reason, said) = refused(&stage);
    let waits = ("False", "WaitingForPersistentVolumeClaim");
    assert_eq!((&*status, &*reason), waits);
    let why = format!(
        "{claim} is Lost, since its PersistentVolume was deleted: create that again if its storage still has the data, or delete the \
         PersistentVolumeClaim, {then}"
    );
    assert!(said.contains(&why), "{said}");

    stage.cluster.delete(&claim);
    stage.settle();
    let replicas = u64::try_from(members).unwrap();
    assert_eq!(size(&stage, Node::MariaDb).0, replicas);
}

/// An earlier MariaDB may have had a size in bytes.
#[test]
fn mariadb_is_created_over_volumes_of_a_size_in_bytes() {
    let mut stage = Stage::new(with("mariadb", &json!({ "replicas": 1 })));
    let first = member("storage", 0);
    let requests = json!({ "requests": { "storage": "10737418240" } });
    let spec = json!({ "resources": requests, "storageClassName": "fast" });
    stage.cluster.put(&first, &json!({ "spec": spec }));
    bind(&mut stage, &first);
    stage.simulate();
    assert_eq!(size(&stage, Node::MariaDb).0, 1);
}

/// What is said of a MariaDB of three members that isn't Ready.
fn down(galera: &str, recovery: &Value) -> String {
    let mut stage = running(with("mariadb", &json!({ "replicas": 3 })));
    let mariadb = first(Node::MariaDb);
    let condition = |type_: &str, status: &str| {
        let message = "Galera not ready";
        json!({ "type": type_, "status": status, "reason": "GaleraNotReady", "message": message })
    };
    let conditions = [
        condition("Ready", "False"),
        condition("GaleraReady", galera),
    ];
    let status = json!({ "conditions": conditions, "galeraRecovery": recovery });
    stage.cluster.set_status(&mariadb, status);
    stage.settle();
    assert_eq!(stage.condition("Ready").0, "False");
    let (status, _, message) = stage.condition("InfrastructureReady");
    assert_eq!(status, "False");
    let begins = "MariaDB openstack-db isn't Ready: Galera not ready";
    assert!(message.contains(begins), "{message}");
    message
}

const DELETES: &str = "delete the PersistentVolumeClaims and the pod of that member";

#[test]
fn galera_cluster_that_is_down_says_which_members_it_waits_for_and_what_to_decide() {
    let crashed = json!({ "uuid": "6ea235ec", "seqno": -1, "safeToBootstrap": false });
    let state = json!({ "openstack-db-0": crashed, "openstack-db-1": crashed });
    let recovered = json!({ "openstack-db-0": { "uuid": "6ea235ec", "seqno": 7 } });
    let left = json!({ "openstack-db-1": { "uuid": "6ea235ec", "seqno": 5 } });
    for (recovery, waits) in [
        (
            Value::Null,
            "openstack-db-0, openstack-db-1, openstack-db-2",
        ),
        (
            json!({ "state": state }),
            "openstack-db-0, openstack-db-1, openstack-db-2",
        ),
        (
            json!({ "state": left, "recovered": recovered }),
            "openstack-db-2",
        ),
    ] {
        let said = down("False", &recovery);
        assert!(said.contains("No member serves: "), "{said}");
        assert!(said.contains(&format!("waits for {waits}. If")), "{said}");
        assert!(said.contains(DELETES), "{said}");
        let restarts = "status.galeraRecovery of the MariaDB to null afterwards, and restart";
        assert!(said.contains(restarts), "{said}");
    }
}

/// Its condition stays False while the first member serves and the others copy its data.
#[test]
fn galera_cluster_that_is_started_says_from_which_member_and_that_it_may_serve() {
    let recovery = json!({ "bootstrap": { "pod": "openstack-db-1" } });
    let said = down("False", &recovery);
    assert!(said.contains("starts openstack-db-1 first"), "{said}");
    let serves = "openstack-db-1 may serve already: restore no backup, and name no other member";
    assert!(said.contains(serves), "{said}");
    assert!(!said.contains(DELETES), "{said}");
    assert!(!said.contains("No member serves"), "{said}");
    let said = down("True", &recovery);
    assert!(!said.contains("mariadb-operator"), "{said}");
}

/// A member with a UUID and no number has data, so that mariadb-operator chooses none. Without a UUID it may be a single MariaDB's.
#[rstest]
#[case::of_which_data_is_not_known(
    "6ea235ec-0000-11f0-8d3c-2a1f5c0e7b44",
    "starts none, since it can't read how much openstack-db-0, openstack-db-1, openstack-db-2 committed: compare"
)]
#[case::without_data(
    "00000000-0000-0000-0000-000000000000",
    "chooses the member that has committed most. If MariaDB isn't started within half an hour, compare"
)]
fn galera_cluster_without_a_member_to_start_says_how_to_name_one(
    #[case] uuid: &str,
    #[case] why: &str,
) {
    let position = json!({ "uuid": uuid, "seqno": -1 });
    let recovered = json!({
        "openstack-db-0": position, "openstack-db-1": position, "openstack-db-2": position,
    });
    let said = down("False", &json!({ "recovered": recovered }));
    for part in [
        "No member serves: ",
        why,
        "name a member in spec.galera.recovery.forceClusterBootstrapInPod, and restart mariadb-operator",
        "restore a backup only if no member has data",
        "openstack-db-0 may have the data of a single MariaDB: keep its volume",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert!(!said.contains(DELETES), "{said}");
}
