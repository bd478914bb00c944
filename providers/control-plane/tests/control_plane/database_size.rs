//! Changes of the size of a MariaDB that runs.

use provider_control_plane::graph::Node;
use rstest::rstest;
use serde_json::{Value, json};

use crate::stage::Stage;

fn running(mariadb: Value) -> Stage {
    Stage::running(
        json!({ "openStackRelease": "2025.2", "infrastructure": { "mariadb": mariadb } }),
    )
}

fn size(stage: &Stage) -> (u64, bool, &str) {
    let spec = &stage.object(Node::MariaDb).unwrap()["spec"];
    let is_galera = spec["galera"]["enabled"] == true;
    (
        spec["replicas"].as_u64().unwrap(),
        is_galera,
        spec["storage"]["size"].as_str().unwrap(),
    )
}

#[rstest]
#[case::one_member_stays_one(1, "20Gi", 3, "50Gi", (1, false, "50Gi"), "replicas: 1 instead of 3")]
#[case::galera_stays_galera(3, "50Gi", 1, "50Gi", (3, true, "50Gi"), "replicas: 3 instead of 1")]
#[case::volumes_do_not_shrink(3, "50Gi", 5, "20Gi", (5, true, "50Gi"), "storageSize: 50Gi instead of 20Gi")]
fn what_mariadb_operator_cannot_change_is_kept(
    #[case] replicas: u32,
    #[case] storage: &str,
    #[case] next_replicas: u32,
    #[case] next_storage: &str,
    #[case] kept: (u64, bool, &str),
    #[case] message: &str,
) {
    let mut stage = running(json!({ "replicas": replicas, "storageSize": storage }));
    stage.want(|spec| {
        spec["infrastructure"]["mariadb"] =
            json!({ "replicas": next_replicas, "storageSize": next_storage });
    });
    stage.play();
    assert_eq!(size(&stage), kept);
    let (status, reason, said) = stage.condition("DatabaseResized");
    assert_eq!((&*status, &*reason), ("False", "Unsupported"));
    assert!(said.contains(message), "{said}");
    assert_eq!(stage.condition("Ready").0, "True");
}

#[test]
fn members_are_added_to_a_galera_cluster() {
    let mut stage = running(json!({ "replicas": 3, "storageSize": "20Gi" }));
    stage.want(|spec| {
        spec["infrastructure"]["mariadb"] = json!({ "replicas": 5, "storageSize": "50Gi" });
    });
    stage.play();
    assert_eq!(size(&stage), (5, true, "50Gi"));
    let conditions = stage.status()["conditions"].as_array().unwrap();
    assert!(
        conditions
            .iter()
            .all(|condition| condition["type"] != "DatabaseResized")
    );
}
