//! Cells that are added, changed and removed.

use std::collections::BTreeSet;

use c5c3_api::nova::NovaSpec;
use c5c3_kinds::cert_manager::Certificate;
use c5c3_kinds::{Manifest, mariadb, rabbitmq};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{Custom, Resource};
use provider_openstack_fixtures::Cluster;
use serde_json::{Value, json};

use crate::{NOVA, add_cell2, change, given, job, jobs, mappings, running};

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
    let cells = answer.status["cells"].as_array().unwrap().iter();
    let cells: Vec<_> = cells.map(|cell| (&cell["name"], &cell["status"])).collect();
    assert_eq!(
        json!(cells),
        json!([["cell1", "Ready"], ["cell2", "Ready"]])
    );
}

/// The Job that maps a cell and hasn't come to its end.
fn mapping(cluster: &Cluster, cell: &str) -> Option<String> {
    let all = cluster.all::<Job>();
    let found = all.iter().find(|(_, job)| {
        let command = &job["spec"]["template"]["spec"]["containers"][0]["command"];
        command[1] == "-c" && command[4] == cell && job["status"].is_null()
    });
    found.map(|(name, _)| (*name).to_owned())
}

/// Has the Job that maps a cell fail.
pub fn refuse(cluster: &mut Cluster, cell: &str) {
    let found = (0..10).find_map(|_| {
        cluster.compose(&NOVA, "nova").unwrap();
        let found = mapping(cluster, cell);
        if found.is_none() {
            cluster.simulate();
        }
        found
    });
    cluster.finish_job(&found.unwrap(), "Failed");
    cluster.settle(&NOVA, "nova");
}

/// Its database is kept, and would bring them back.
#[test]
fn added_cell_is_not_mapped_where_its_database_has_servers_of_a_former_cell() {
    let mut cluster = running();
    add_cell2(&mut cluster);
    refuse(&mut cluster, "cell2");
    let (status, reason, message) = cluster.condition(&NOVA, "nova", "CellsReady");
    assert_eq!((&*status, &*reason), ("False", "JobFailed"));
    assert!(
        message.starts_with("cell1: Ready; cell2: Job nova-cell-map-")
            && message.contains(
                "often the database of cell cell2 has servers or compute services of a former cell, and the log says how to begin anew \
                 or to continue with them; or another cell of Nova's API database"
            ),
        "{message}"
    );
    assert_eq!(mappings(&cluster), ["cell0", "cell1"]);
    assert!(cluster.get::<Secret>("nova-cell1-compute").is_some());
    assert!(
        cluster.get::<Secret>("nova-cell2-compute").is_none(),
        "hosts would register there"
    );

    // The database was emptied, or Nova's API database restored.
    cluster.wait(jiff::SignedDuration::from_mins(11));
    cluster.settle(&NOVA, "nova");
    assert_eq!(cluster.condition(&NOVA, "nova", "CellsReady").0, "True");
    assert_eq!(mappings(&cluster), ["cell0", "cell1", "cell2"]);
    assert!(cluster.get::<Secret>("nova-cell2-compute").is_some());
}

/// A backup from before the cell was added doesn't know it, and a Job that is done isn't repeated by itself.
#[test]
fn cell_that_a_restored_api_database_does_not_know_is_found_once_its_jobs_are_deleted() {
    let mut cluster = running();
    let jobs = cluster.all::<Job>();
    let done = jobs.iter();
    let done = done.filter(|(_, job)| job["metadata"]["labels"]["c5c3.io/task"] == "cell-map");
    let done: Vec<String> = done.map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(done.len(), 2);
    for name in done {
        cluster.delete::<Job>(&name);
    }
    refuse(&mut cluster, "cell1");
    let (status, reason, message) = cluster.condition(&NOVA, "nova", "CellsReady");
    assert_eq!((&*status, &*reason), ("False", "JobFailed"));
    assert!(
        message.contains("has servers or compute services of a former cell"),
        "{message}"
    );
    assert!(cluster.get::<Secret>("nova-cell1-compute").is_some());
}

/// The cell's database is kept, and Nova's API database is lost.
#[test]
fn first_installation_continues_a_former_cell_only_where_the_annotation_says_so() {
    let mut cluster = given();
    refuse(&mut cluster, "cell1");
    let (status, reason, message) = cluster.condition(&NOVA, "nova", "CellsReady");
    assert_eq!((&*status, &*reason), ("False", "JobFailed"));
    assert!(
        message.starts_with("cell1: Job nova-cell-map-")
            && message.contains("has servers or compute services of a former cell"),
        "{message}"
    );
    assert_eq!(mappings(&cluster), ["cell0"]);
    assert!(cluster.get::<Secret>("nova-cell1-compute").is_none());

    // Without a wait: it is another Job.
    cluster.change::<Custom<NovaSpec>>("nova", |nova| {
        nova["metadata"]["annotations"] =
            json!({ "nova.openstack.c5c3.io/continue-cells": "cell1" });
    });
    cluster.settle(&NOVA, "nova");
    assert_eq!(cluster.condition(&NOVA, "nova", "Ready").0, "True");
    let command = "python3 /etc/nova/config/cell.py map cell1";
    assert!(jobs(&cluster).contains(&("cell-map".to_owned(), command.to_owned())));
    assert_eq!(mappings(&cluster), ["cell0", "cell1"]);
    assert!(cluster.get::<Secret>("nova-cell1-compute").is_some());

    // What was decided once is done, as are Jobs of older versions: the command doesn't matter.
    let before = jobs(&cluster);
    cluster.change::<Custom<NovaSpec>>("nova", |nova| {
        nova["metadata"]["annotations"] = json!({});
    });
    cluster.settle(&NOVA, "nova");
    assert_eq!(jobs(&cluster), before);
    assert_eq!(cluster.condition(&NOVA, "nova", "Ready").0, "True");
}

#[test]
fn hosts_of_a_mapped_cell_get_changes_while_it_can_not_be_mapped_again() {
    let mut cluster = running();
    let set_password = |cluster: &mut Cluster, password: &str| {
        cluster.secret(
            "nova-cell1-rabbitmq-credentials",
            &[("password", password), ("host", "bus.example.com")],
        );
    };
    set_password(&mut cluster, "second");
    refuse(&mut cluster, "cell1");
    assert_eq!(cluster.condition(&NOVA, "nova", "CellsReady").0, "False");
    set_password(&mut cluster, "third");
    cluster.compose(&NOVA, "nova").unwrap();
    let config = cluster.value("nova-cell1-compute", "nova.conf").unwrap();
    assert!(config.contains(":third@bus.example.com"), "{config}");
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
        spec["messaging"] = json!({ "clusterRef": { "name": "openstack-rabbitmq" } });
        spec["cells"] = json!([{ "name": "cell1" }, { "name": "cell2" }]);
    });
    cluster.compose(&NOVA, "nova").unwrap();
    for (name, user, (label, value)) in [
        ("nova-cell2-db-credentials", "nova_cell2", mariadb::WATCH),
        (
            "nova-cell2-rabbitmq-credentials",
            "nova-cell2",
            rabbitmq::WATCH,
        ),
    ] {
        assert_eq!(cluster.value(name, "username").as_deref(), Some(user));
        let secret = cluster.get::<Secret>(name).unwrap();
        assert_eq!(secret["immutable"], true, "pods have this password");
        assert_eq!(secret["metadata"]["labels"][label], value, "{name}");
    }
}

#[test]
fn cell_with_hosts_stays_until_it_has_none() {
    let mut cluster = running();
    add_cell2(&mut cluster);
    cluster.settle(&NOVA, "nova");
    let conductor = cluster.get::<Deployment>("nova-cell2-conductor").unwrap();
    let volumes = conductor["spec"]["template"]["spec"]["volumes"].as_array();
    let mut volumes = volumes.into_iter().flatten();
    let config = volumes.find(|volume| volume["name"] == "config").unwrap();
    let config = config["secret"]["secretName"].as_str().unwrap().to_owned();
    change(&mut cluster, |spec| {
        spec["cells"] = json!([{ "name": "cell1" }])
    });
    cluster.compose(&NOVA, "nova").unwrap();
    let delete = job(&cluster, "cell-delete");
    cluster.finish_job(&delete, "Failed");
    cluster.settle(&NOVA, "nova");
    let (status, reason, message) = cluster.condition(&NOVA, "nova", "CellsReady");
    assert_eq!((&*status, &*reason), ("False", "JobFailed"));
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
    let has_certificate = |cluster: &Cluster| {
        let found = cluster.get::<Manifest<Certificate>>("nova-cell2-vnc-host");
        found.is_some()
    };
    assert!(has_certificate(&cluster));
    assert!(cluster.get::<Secret>(&config).is_some());

    // The next attempt succeeds.
    cluster.wait(jiff::SignedDuration::from_mins(11));
    cluster.settle(&NOVA, "nova");
    assert_eq!(cluster.condition(&NOVA, "nova", "Ready").0, "True");
    assert!(cluster.get::<Deployment>("nova-cell2-conductor").is_none());
    assert!(cluster.get::<Secret>("nova-cell2-compute").is_none());
    assert!(!has_certificate(&cluster));
    assert!(cluster.get::<Secret>(&config).is_none());
    assert_eq!(mappings(&cluster), ["cell0", "cell1"]);
}

#[test]
fn nothing_of_a_removed_cell_is_deleted_while_deployments_cannot_be_listed() {
    let mut cluster = running();
    add_cell2(&mut cluster);
    cluster.settle(&NOVA, "nova");
    change(&mut cluster, |spec| {
        spec["cells"] = json!([{ "name": "cell1" }])
    });
    cluster.change::<Custom<NovaSpec>>("nova", |nova| nova["status"]["cells"] = json!([]));
    // Nothing is deployed without it.
    cluster.delete::<Secret>("nova-api-db-credentials");
    cluster.set_readable(Deployment::KIND, false);
    let failure = cluster.compose(&NOVA, "nova").err().unwrap();
    assert_eq!(failure.to_string(), "deployments can't be read");
    assert!(cluster.get::<Secret>("nova-cell2-compute").is_some());
    let certificate = cluster.get::<Manifest<Certificate>>("nova-cell2-vnc-host");
    assert!(certificate.is_some());
}

#[test]
fn changed_password_of_a_cell_changes_its_mapping_and_the_pods_that_read_it() {
    let mut cluster = running();
    let mapped = |cluster: &Cluster| {
        let jobs = cluster.all::<Job>().into_iter();
        let jobs = jobs.filter(|(_, job)| job["metadata"]["labels"]["c5c3.io/task"] == "cell-map");
        jobs.map(|(name, _)| name.to_owned())
            .collect::<BTreeSet<String>>()
    };
    let before = mapped(&cluster);
    cluster.secret(
        "nova-cell1-rabbitmq-credentials",
        &[("password", "new-s3cret"), ("host", "bus.example.com")],
    );
    let revision = |cluster: &Cluster| cluster.get::<Deployment>("nova").unwrap()["spec"].clone();
    let api = revision(&cluster);
    // The second time, its status says that the cell is being mapped.
    for _ in 0..2 {
        cluster.compose(&NOVA, "nova").unwrap();
        assert_eq!(revision(&cluster), api, "the API waits for the mapping");
    }
    cluster.settle(&NOVA, "nova");
    assert_eq!(mapped(&cluster).difference(&before).count(), 1);
    assert_ne!(revision(&cluster), api);
    assert_eq!(cluster.condition(&NOVA, "nova", "Ready").0, "True");
}

/// Pods outside a cell read its mapping when they start, and it is the same once the cell's servers are back.
#[test]
fn cell_whose_message_bus_is_away_replaces_no_pods_outside_it() {
    let mut cluster = running();
    let revision = |cluster: &Cluster| cluster.get::<Deployment>("nova").unwrap()["spec"].clone();
    let api = revision(&cluster);
    let name = "nova-cell1-rabbitmq-credentials";
    cluster.delete::<Secret>(name);
    for _ in 0..3 {
        cluster.compose(&NOVA, "nova").unwrap();
        assert_eq!(revision(&cluster), api);
    }
    assert_eq!(cluster.condition(&NOVA, "nova", "CellsReady").0, "False");
    cluster.secret(
        name,
        &[("password", "bus-s3cret"), ("host", "bus.example.com")],
    );
    cluster.settle(&NOVA, "nova");
    assert_eq!(revision(&cluster), api);
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
        cluster.simulate();
        failure
    });
    let refused = refused.unwrap();
    assert_eq!(
        (refused.reason().name(), refused.to_string().as_str()),
        ("Invalid", message)
    );
}
