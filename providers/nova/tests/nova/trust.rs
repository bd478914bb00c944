//! The database servers that Nova trusts.

use c5c3_kinds::Manifest;
use c5c3_kinds::mariadb::MariaDb;
use k8s_openapi::api::apps::v1::Deployment;
use provider_openstack::DATABASE_AUTHORITY;
use provider_openstack_fixtures::Cluster;
use serde_json::json;

use crate::{NOVA, add_cell2, change, jobs, running};

/// Pods outside cells trust the servers of all databases that Nova knows.
#[test]
fn cell_whose_database_server_is_away_replaces_no_pods_outside_it_and_maps_no_cell_anew() {
    let mut cluster = running();
    for server in ["openstack-db", "cell2-db"] {
        let bundle = format!("{server}-ca-bundle");
        cluster.secret(&bundle, &[("ca.crt", &format!("CA of {server}\n"))]);
        let spec = json!({ "spec": { "tls": { "enabled": true, "required": true } } });
        cluster.put::<Manifest<MariaDb>>(server, spec);
    }
    cluster.settle(&NOVA, "nova");
    add_cell2(&mut cluster);
    change(&mut cluster, |spec| {
        spec["cells"][1]["database"] = json!({ "clusterRef": { "name": "cell2-db" } });
    });
    cluster.settle(&NOVA, "nova");
    assert_eq!(cluster.condition(&NOVA, "nova", "Ready").0, "True");
    let files = |cluster: &Cluster, deployment: &str| {
        let pods = cluster.get::<Deployment>(deployment).unwrap()["spec"]["template"].clone();
        let volumes = pods["spec"]["volumes"].as_array().unwrap().iter();
        let mut files = volumes.filter_map(|volume| volume["secret"]["secretName"].as_str());
        let authorities = files.find_map(|files| cluster.value(files, DATABASE_AUTHORITY));
        (pods, authorities.unwrap())
    };
    let trusted = |deployment| files(&cluster, deployment).1;
    assert_eq!(trusted("nova"), "CA of openstack-db\nCA of cell2-db\n");
    assert_eq!(trusted("nova-cell1-conductor"), "CA of openstack-db\n");
    assert_eq!(trusted("nova-cell2-conductor"), "CA of cell2-db\n");

    let (pods, tasks) = (files(&cluster, "nova").0, jobs(&cluster));
    let ready = |cluster: &mut Cluster, status: &str| {
        cluster.change::<Manifest<MariaDb>>("cell2-db", |server| {
            server["status"]["conditions"] = json!([{ "type": "Ready", "status": status }]);
        });
    };
    ready(&mut cluster, "False");
    for _ in 0..3 {
        cluster.compose(&NOVA, "nova").unwrap();
        assert_eq!(files(&cluster, "nova").0, pods);
    }
    assert_eq!(cluster.condition(&NOVA, "nova", "CellsReady").0, "False");
    ready(&mut cluster, "True");
    cluster.settle(&NOVA, "nova");
    assert_eq!(cluster.condition(&NOVA, "nova", "Ready").0, "True");
    assert_eq!(files(&cluster, "nova").0, pods);
    assert_eq!(jobs(&cluster), tasks);
}
