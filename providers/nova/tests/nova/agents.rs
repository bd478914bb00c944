//! Agents on hypervisors, which get the present credentials hours after Nova's pods.

use c5c3_api::credential_rotation::CredentialRotationSpec;
use c5c3_api::hypervisor::{HypervisorShareSpec, MIXED};
use c5c3_api::nova::NovaSpec;
use c5c3_kinds::{Manifest, mariadb, rabbitmq};
use provider_composer::{Custom, Resource};
use provider_openstack_fixtures::{Cluster, documents};
use serde_json::{Value, json};

use crate::cells::refuse;
use crate::{NOVA, change, configuration, replace_application_credential, running};

/// Nova with users of MariaDB and RabbitMQ that the operator creates, and a hypervisor pool whose agents have the present ones.
fn with_agents() -> Cluster {
    let mut cluster = Cluster::with_infrastructure();
    cluster.keystone(true);
    cluster.put_document::<Custom<NovaSpec>>(documents::NOVA);
    change(&mut cluster, |spec| {
        spec["cells"] = json!([{ "name": "cell1" }]);
    });
    cluster.settle(&NOVA, "nova");
    let present = configuration(&cluster, "cell1");
    report(&mut cluster, &present);
    cluster
}

/// Has the ControlPlane say what the agents of a hypervisor pool run with.
fn report(cluster: &mut Cluster, configuration: &str) {
    change(cluster, |spec| {
        spec["agents"] = json!([{ "name": "hv-pool-a", "configuration": configuration }]);
    });
    cluster.settle(&NOVA, "nova");
}

fn rotate(cluster: &mut Cluster, type_: &str) {
    ask_for_next(cluster, type_);
    cluster.settle(&NOVA, "nova");
}

fn ask_for_next(cluster: &mut Cluster, type_: &str) {
    let spec = json!({ "targetServiceUser": "nova", "rotationType": type_ });
    let status = json!({ "nextCredentialRef": { "name": "nova-2" } });
    let rotation = json!({ "spec": spec, "status": status });
    cluster.put::<Custom<CredentialRotationSpec>>("nova", rotation);
}

fn names<T: Resource>(cluster: &Cluster) -> Vec<&str> {
    cluster.all::<T>().into_keys().collect()
}

fn status<'a>(cluster: &'a Cluster, field: &str) -> &'a Value {
    &cluster.get::<Custom<NovaSpec>>("nova").unwrap()["status"][field]
}

#[test]
fn user_of_a_message_bus_stays_until_the_agents_of_all_pools_have_the_next_one() {
    let mut cluster = with_agents();
    let first = json!({ "numbers": [1], "inUse": 1 });
    assert_eq!(*status(&cluster, "messagingUsers"), first);

    rotate(&mut cluster, "messagingUser");
    for _ in 0..2 {
        assert_eq!(
            names::<Manifest<rabbitmq::User>>(&cluster),
            [
                "nova",
                "nova-cell1",
                "nova-cell1-credentials-2",
                "nova-credentials-2"
            ]
        );
        let both = json!({ "numbers": [1, 2] });
        assert_eq!(*status(&cluster, "messagingUsers"), both);
        for condition in ["MessagingUsersReplaced", "ComputesConfigured"] {
            let (status, _, message) = cluster.condition(&NOVA, "nova", condition);
            assert_eq!(status, "False", "{condition}");
            let waits = "waits for nova-compute of hv-pool-a to have the present configuration; ";
            assert!(message.starts_with(waits), "{message}");
        }
        assert_eq!(cluster.condition(&NOVA, "nova", "Ready").0, "True");
        report(&mut cluster, MIXED);
    }

    let present = configuration(&cluster, "cell1");
    report(&mut cluster, &present);
    assert_eq!(
        names::<Manifest<rabbitmq::User>>(&cluster),
        ["nova-cell1-credentials-2", "nova-credentials-2"]
    );
    let second = json!({ "numbers": [2], "inUse": 2 });
    assert_eq!(*status(&cluster, "messagingUsers"), second);
    assert_eq!(
        cluster.condition(&NOVA, "nova", "ComputesConfigured").0,
        "True"
    );
}

/// Nova's API database has the URLs of a cell, with its users, until the Job that maps the cell has succeeded.
#[test]
fn former_users_stay_until_all_cells_are_mapped_with_the_next_ones() {
    let mut cluster = with_agents();
    ask_for_next(&mut cluster, "databaseUser");
    refuse(&mut cluster, "cell1");
    let both = json!({ "numbers": [1, 2] });
    assert_eq!(*status(&cluster, "databaseUsers"), both);
    let (replaced, _, message) = cluster.condition(&NOVA, "nova", "DatabaseUsersReplaced");
    assert_eq!(replaced, "False");
    assert!(message.contains("cell-map"), "{message}");
}

#[test]
fn users_of_databases_do_not_wait_for_agents() {
    let mut cluster = with_agents();
    report(&mut cluster, MIXED);
    let only = json!({ "numbers": [1], "inUse": 1 });
    assert_eq!(
        *status(&cluster, "messagingUsers"),
        only,
        "there is no other"
    );
    rotate(&mut cluster, "databaseUser");
    assert_eq!(
        names::<Manifest<mariadb::User>>(&cluster),
        [
            "nova-api-credentials-2",
            "nova-cell0-credentials-2",
            "nova-credentials-2"
        ]
    );
}

#[test]
fn application_credential_is_in_use_once_the_agents_of_all_pools_have_it() {
    let mut cluster = with_agents();
    assert_eq!(*status(&cluster, "applicationCredential"), "1f2e");
    replace_application_credential(&mut cluster);
    cluster.settle(&NOVA, "nova");
    assert_eq!(*status(&cluster, "applicationCredential"), "1f2e");

    let present = configuration(&cluster, "cell1");
    report(&mut cluster, &present);
    assert_eq!(*status(&cluster, "applicationCredential"), "3d4c");
}

/// Those of other clusters are in the ControlPlane.
#[test]
fn shares_of_this_cluster_count_without_a_control_plane() {
    let mut cluster = running();
    let present = configuration(&cluster, "cell1");
    let share = |endpoints: Value, configuration: &str| {
        json!({
            "spec": { "controlPlane": "prod", "namespace": "openstack", "weight": 1, "endpoints": endpoints },
            "status": { "configuration": configuration },
        })
    };
    let elsewhere =
        json!([{ "name": "keystone", "hostnames": ["keystone"], "addresses": ["192.0.2.1"] }]);
    for (name, endpoints, configuration) in [
        ("here", json!([]), present.as_str()),
        ("elsewhere", elsewhere, MIXED),
    ] {
        let share = share(endpoints, configuration);
        cluster.put::<Custom<HypervisorShareSpec>>(name, share);
    }
    cluster.settle(&NOVA, "nova");
    let configured = |cluster: &Cluster| cluster.condition(&NOVA, "nova", "ComputesConfigured");
    assert_eq!(configured(&cluster).0, "True");

    cluster.put::<Custom<HypervisorShareSpec>>("here", share(json!([]), MIXED));
    cluster.settle(&NOVA, "nova");
    let (status, _, message) = configured(&cluster);
    assert_eq!(status, "False");
    assert!(message.contains("nova-compute of here"), "{message}");
}
