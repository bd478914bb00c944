//! Cells that are added, changed and removed.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use provider_openstack_fixtures::Cluster;
use serde_json::{Value, json};

use crate::{NOVA, add_cell2, change, job, jobs, mappings, running};

#[test]
fn cell_is_added_while_nova_runs() {
    let mut cluster = running();
    add_cell2(&mut cluster);
    cluster.compose(&NOVA, "nova").unwrap();
    let (_, _, message) = cluster.condition(&NOVA, "nova", "CellsReady");
    assert!(
        message.starts_with("cell1: Ready; cell2: waits for"),
        "{message}"
    );
    assert_eq!(cluster.condition(&NOVA, "nova", "APIReady").0, "True");
    assert_eq!(mappings(&cluster), ["cell0", "cell1"]);

    let answer = cluster.settle(&NOVA, "nova");
    assert_eq!(cluster.condition(&NOVA, "nova", "CellsReady").0, "True");
    assert_eq!(mappings(&cluster), ["cell0", "cell1", "cell2"]);
    assert_eq!(
        answer.status["cells"],
        json!([{ "name": "cell1", "status": "Ready" }, { "name": "cell2", "status": "Ready" }])
    );
}

#[test]
fn broken_cell_leaves_the_others_alone() {
    let mut cluster = running();
    change(&mut cluster, |spec| {
        spec["cells"] = json!([{ "name": "cell1" }, { "name": "cell2" }]);
    });
    cluster.settle(&NOVA, "nova");
    assert_eq!(
        cluster.condition(&NOVA, "nova", "CellsReady"),
        (
            "False".to_owned(),
            "WaitingForSecret".to_owned(),
            "cell1: Ready; cell2: waits for Secret nova-cell2-db-credentials with user and password of the database".to_owned()
        )
    );
    for condition in [
        "APIReady",
        "SchedulerReady",
        "ConductorReady",
        "MetadataReady",
    ] {
        assert_eq!(
            cluster.condition(&NOVA, "nova", condition).0,
            "True",
            "{condition}"
        );
    }
}

#[test]
fn passwords_of_an_added_cell_are_generated_in_this_clusters_servers() {
    let mut cluster = running();
    change(&mut cluster, |spec| {
        spec["database"] = json!({ "clusterRef": { "name": "openstack-db" } });
        spec["cells"] = json!([{ "name": "cell1" }, { "name": "cell2" }]);
    });
    cluster.compose(&NOVA, "nova").unwrap();
    assert_eq!(
        cluster
            .value("nova-cell2-db-credentials", "username")
            .as_deref(),
        Some("nova_cell2")
    );
}

#[test]
fn cell_with_hosts_stays_until_it_has_none() {
    let mut cluster = running();
    add_cell2(&mut cluster);
    cluster.settle(&NOVA, "nova");
    change(&mut cluster, |spec| {
        spec["cells"] = json!([{ "name": "cell1" }])
    });
    cluster.compose(&NOVA, "nova").unwrap();
    let delete = job(&cluster, "cell-delete");
    cluster.finish_job(&delete, "Failed");
    cluster.settle(&NOVA, "nova");
    let (status, reason, message) = cluster.condition(&NOVA, "nova", "CellsReady");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "JobFailed"));
    assert!(
        message.starts_with("cell1: Ready; cell2: Job nova-cell-delete-")
            && message.contains(
                "often cell cell2 still has hosts or servers: delete its servers, then its hosts by `openstack compute service \
                 delete`, or put the cell back into cells"
            ),
        "{message}"
    );
    assert!(cluster.get::<Deployment>("nova-cell2-conductor").is_some());
    assert!(cluster.get::<Secret>("nova-cell2-compute").is_some());

    // The next attempt succeeds.
    cluster.wait(jiff::SignedDuration::from_mins(11));
    cluster.settle(&NOVA, "nova");
    assert_eq!(cluster.condition(&NOVA, "nova", "Ready").0, "True");
    assert!(cluster.get::<Deployment>("nova-cell2-conductor").is_none());
    assert!(cluster.get::<Secret>("nova-cell2-compute").is_none());
    assert_eq!(mappings(&cluster), ["cell0", "cell1"]);
}

#[test]
fn changed_password_of_a_cell_changes_its_mapping_and_the_pods_that_read_it() {
    let mut cluster = running();
    let before = (job(&cluster, "cell-map"), jobs(&cluster));
    cluster.secret(
        "nova-cell1-rabbitmq-credentials",
        &[("password", "new-s3cret"), ("host", "bus.example.com")],
    );
    let revision = |cluster: &Cluster| cluster.get::<Deployment>("nova").unwrap()["spec"].clone();
    let api = revision(&cluster);
    cluster.compose(&NOVA, "nova").unwrap();
    assert_eq!(revision(&cluster), api, "the API waits for the mapping");
    cluster.settle(&NOVA, "nova");
    assert_ne!((job(&cluster, "cell-map"), jobs(&cluster)), before);
    assert_ne!(revision(&cluster), api);
    assert_eq!(cluster.condition(&NOVA, "nova", "Ready").0, "True");
}

#[test]
fn archive_schedule_that_is_never_due_is_refused() {
    let mut cluster = running();
    change(&mut cluster, |spec| {
        spec["deletedRows"] = json!({ "schedule": "0 2 31 2 *" });
    });
    let refused = cluster.compose(&NOVA, "nova").err().unwrap();
    assert_eq!(refused.reason().name(), "Invalid");
    let says = "deletedRows.schedule \"0 2 31 2 *\" is never due: write";
    assert!(refused.to_string().starts_with(says), "{refused}");
}

#[rstest::rstest]
#[case(json!([{ "name": "cell0" }]), "cells has cell0, which Nova has in any case: remove it from cells")]
#[case(
    json!([{ "name": "cell1" }, { "name": "cell1" }]),
    "two cells have the name cell1: give each cell a name of its own"
)]
#[case(
    json!([{ "name": "cell2" }, { "name": "cell1" }]),
    "the first cell is cell2, and was cell1, whose servers are in the database of the first cell: put cell1 first again"
)]
#[case(
    json!([{ "name": "cell1" }, { "name": "cell2", "database": { "database": "nova" } }]),
    "cell1 and cell2 have one database, openstack-db.openstack.svc:3306/nova: give each a database of its own"
)]
#[case(
    json!([{ "name": "cell1" }, { "name": "cell2", "database": { "database": "nova_cell0" } }]),
    "cell0 and cell2 have one database, openstack-db.openstack.svc:3306/nova_cell0: give each a database of its own"
)]
fn cells_that_exclude_each_other_are_refused(#[case] cells: Value, #[case] message: &str) {
    let mut cluster = running();
    cluster.secret("nova-cell2-db-credentials", &[("password", "db2-s3cret")]);
    change(&mut cluster, |spec| spec["cells"] = cells);
    let refused = (0..3).find_map(|_| {
        let failure = cluster.compose(&NOVA, "nova").err();
        cluster.play();
        failure
    });
    let refused = refused.unwrap();
    assert_eq!(
        (refused.reason().name(), refused.to_string().as_str()),
        ("Invalid", message)
    );
}
