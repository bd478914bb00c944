//! A Nova from its resource to running pods, in a small cluster in memory.

use c5c3_api::neutron::NeutronSpec;
use c5c3_api::nova::NovaSpec;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{Custom, Reason};
use provider_nova::Nova;
use provider_openstack_fixtures::{Cluster, shown};
use serde_json::{Value, json};

const NOVA: Nova = Nova;

/// Nova with message buses that are run externally, and all that it waits for.
fn given() -> Cluster {
    let mut cluster = Cluster::with_infrastructure();
    cluster.keystone(true);
    for database in ["nova", "nova-api", "nova-cell0"] {
        cluster.secret(
            &format!("{database}-db-credentials"),
            &[("password", "db-s3cret")],
        );
    }
    for bus in ["nova", "nova-cell1"] {
        cluster.secret(
            &format!("{bus}-rabbitmq-credentials"),
            &[("password", "bus-s3cret"), ("host", "bus.example.com")],
        );
    }
    cluster.secret(
        "nova-keystone-credentials",
        &[
            ("application_credential_id", "1f2e"),
            ("application_credential_secret", "app-s3cret"),
        ],
    );
    let nova = json!({
        "apiVersion": "nova.openstack.c5c3.io/v1alpha1",
        "kind": "Nova",
        "metadata": { "name": "nova", "namespace": "openstack", "uid": "1234" },
        "spec": {
            "release": "2025.2",
            "tls": { "issuerRef": { "name": "ca" } },
            "cache": {},
            "cells": [{ "name": "cell1" }],
        },
    });
    cluster.put_document::<Custom<NovaSpec>>(&nova.to_string());
    cluster
}

fn change(cluster: &mut Cluster, change: impl FnOnce(&mut Value)) {
    cluster.change::<Custom<NovaSpec>>("nova", |nova| change(&mut nova["spec"]));
}

fn running() -> Cluster {
    let mut cluster = given();
    cluster.settle(&NOVA, "nova");
    assert_eq!(
        cluster.condition(&NOVA, "nova", "Ready"),
        ("True".to_owned(), "Ready".to_owned(), String::new())
    );
    cluster
}

/// A cell with servers of its own, and the Secrets that it names.
fn add_cell2(cluster: &mut Cluster) {
    cluster.secret("nova-cell2-db-credentials", &[("password", "db2-s3cret")]);
    cluster.secret(
        "nova-cell2-rabbitmq-credentials",
        &[("password", "bus2-s3cret"), ("host", "bus2.example.com")],
    );
    change(cluster, |spec| {
        spec["cells"] = json!([{ "name": "cell1" }, { "name": "cell2" }]);
    });
}

/// Jobs by their task, with the command of each.
fn jobs(cluster: &Cluster) -> Vec<(String, String)> {
    let all = cluster.all::<Job>().into_values();
    let mut jobs: Vec<(String, String)> = all
        .map(|job| {
            let task = job["metadata"]["labels"]["c5c3.io/task"].as_str();
            let command = &job["spec"]["template"]["spec"]["containers"][0]["command"];
            let words = command.as_array().into_iter().flatten();
            let words: Vec<&str> = words.filter_map(Value::as_str).collect();
            (task.unwrap_or_default().to_owned(), words.join(" "))
        })
        .collect();
    jobs.sort();
    jobs
}

fn job(cluster: &Cluster, task: &str) -> String {
    let all = cluster.all::<Job>();
    let found = all
        .iter()
        .find(|(_, job)| job["metadata"]["labels"]["c5c3.io/task"] == task);
    found
        .map(|(name, _)| (*name).to_owned())
        .unwrap_or_default()
}

/// The mappings that the API's pods were started with.
fn mappings(cluster: &Cluster) -> Vec<String> {
    let deployment = cluster.get::<Deployment>("nova");
    let volumes = deployment.map(|it| &it["spec"]["template"]["spec"]["volumes"]);
    let volumes = volumes.and_then(Value::as_array).into_iter().flatten();
    let configs = volumes.filter(|volume| volume["name"] == "config");
    let secrets = configs.filter_map(|volume| volume["secret"]["secretName"].as_str());
    let cells: String = secrets
        .filter_map(|secret| cluster.value(secret, "cells"))
        .collect();
    let names = cells.lines().filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}

#[test]
fn nova_is_composed() {
    let mut cluster = given();
    let answer = cluster.settle(&NOVA, "nova");
    assert_eq!(cluster.condition(&NOVA, "nova", "Ready").0, "True");
    insta::assert_yaml_snapshot!(shown(&answer));
}

#[test]
fn nova_migrates_databases_and_maps_cells_in_order() {
    let mut cluster = given();
    cluster.compose(&NOVA, "nova").unwrap();
    cluster.play();
    cluster.compose(&NOVA, "nova").unwrap();
    cluster.play();
    let mut steps = Vec::new();
    for _ in 0..4 {
        cluster.compose(&NOVA, "nova").unwrap();
        let tasks: Vec<String> = jobs(&cluster).into_iter().map(|(task, _)| task).collect();
        steps.push((tasks.join(" "), cluster.all::<Deployment>().len()));
        cluster.play();
    }
    insta::assert_yaml_snapshot!(steps);
}

#[test]
fn no_password_is_on_a_command_line() {
    let mut cluster = running();
    add_cell2(&mut cluster);
    cluster.settle(&NOVA, "nova");
    insta::assert_yaml_snapshot!(jobs(&cluster));
}

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

/// A node's chassis is deleted through Neutron, whose certificate may be of another authority.
#[test]
fn hypervisor_pool_operator_learns_where_neutron_is() {
    let mut cluster = running();
    let clouds = |cluster: &Cluster| {
        let text = cluster.value("nova-cell1-compute", "clouds.yaml").unwrap();
        let clouds: Value = serde_json::from_str(&text).unwrap();
        clouds["clouds"]["nova"]["network_endpoint_override"].clone()
    };
    assert_eq!(clouds(&cluster), Value::Null);
    let neutron = json!({
        "apiVersion": "neutron.openstack.c5c3.io/v1alpha1",
        "kind": "Neutron",
        "metadata": { "name": "neutron", "namespace": "openstack" },
        "spec": { "release": "2025.2", "ovn": {}, "tls": { "issuerRef": { "name": "ca" } } },
    });
    cluster.put_document::<Custom<NeutronSpec>>(&neutron.to_string());
    let url = json!("https://neutron.openstack.svc.cluster.local:9696");
    cluster.change::<Custom<NeutronSpec>>("neutron", |neutron| {
        neutron["status"]["endpoint"] = url.clone();
    });
    let before = cluster.value("nova-cell1-compute", "cacert").unwrap();
    cluster.secret("neutron-tls", &[("ca.crt", "another authority")]);
    cluster.settle(&NOVA, "nova");
    assert_eq!(clouds(&cluster), url);
    let after = cluster.value("nova-cell1-compute", "cacert").unwrap();
    assert_eq!(after, format!("another authority\n{before}"));
}

#[test]
fn upgrade_checks_first_and_rolls_conductors_then_apis_then_computes() {
    let mut cluster = running();
    let image = |cluster: &Cluster, name: &str| {
        let deployment = cluster.get::<Deployment>(name).unwrap();
        deployment["spec"]["template"]["spec"]["containers"][0]["image"].clone()
    };
    let compute = |cluster: &Cluster| cluster.value("nova-cell1-compute", "release").unwrap();
    change(&mut cluster, |spec| spec["release"] = json!("2026.1"));
    let mut steps = Vec::new();
    for _ in 0..10 {
        cluster.compose(&NOVA, "nova").unwrap();
        let tag = |image: &str| image.rsplit(':').next().unwrap_or_default().to_owned();
        let tags = [
            "nova-conductor",
            "nova-cell1-conductor",
            "nova-scheduler",
            "nova",
        ]
        .map(|name| format!("{name}={}", tag(image(&cluster, name).as_str().unwrap())));
        let tasks: Vec<String> = jobs(&cluster).into_iter().map(|(task, _)| task).collect();
        let step = format!(
            "{} compute={} | {}",
            tags.join(" "),
            compute(&cluster),
            tasks.join(" ")
        );
        if steps.last() != Some(&step) {
            steps.push(step);
        }
        cluster.play();
    }
    insta::assert_yaml_snapshot!(steps);
    assert_eq!(cluster.condition(&NOVA, "nova", "Ready").0, "True");
}

#[test]
fn upgrade_waits_while_what_runs_is_not_ready_for_it() {
    let mut cluster = running();
    let before = cluster.get::<Deployment>("nova").cloned();
    change(&mut cluster, |spec| spec["release"] = json!("2026.1"));
    cluster.compose(&NOVA, "nova").unwrap();
    let check = job(&cluster, "status-check");
    cluster.finish_job(&check, "Failed");
    cluster.settle(&NOVA, "nova");
    let (_, reason, message) = cluster.condition(&NOVA, "nova", "Ready");
    assert_eq!(reason, "JobFailed");
    assert!(
        message.contains("Nova 2025.2 isn't ready for 2026.1"),
        "{message}"
    );
    assert_eq!(cluster.get::<Deployment>("nova").cloned(), before);
    let tasks: Vec<String> = jobs(&cluster).into_iter().map(|(task, _)| task).collect();
    assert!(tasks.contains(&"status-check".to_owned()));
}

#[test]
fn external_scheduler_is_asked_by_the_fork_alone() {
    let mut cluster = given();
    change(&mut cluster, |spec| {
        spec["scheduler"] =
            json!({ "externalScheduler": { "enabled": true, "endpoint": "http://cortex:8080" } });
    });
    cluster.settle(&NOVA, "nova");
    let condition = |cluster: &Cluster, type_: &str| cluster.condition(&NOVA, "nova", type_);
    assert_eq!(
        condition(&cluster, "ExternalSchedulerReady").1,
        "NotInImage"
    );
    assert_eq!(condition(&cluster, "Ready").0, "True");
    change(&mut cluster, |spec| {
        spec["image"] = json!({ "fork": "sap" })
    });
    cluster.settle(&NOVA, "nova");
    assert_eq!(condition(&cluster, "ExternalSchedulerReady").0, "True");
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

#[test]
fn fields_without_effect_are_reported() {
    let mut cluster = running();
    add_cell2(&mut cluster);
    change(&mut cluster, |spec| {
        spec["cells"][1]["computeRef"] = json!({ "name": "hv-pool-b" });
        spec["aggregates"] =
            json!([{ "name": "hv-pool-a" }, { "name": "hv-pool-b", "availabilityZone": "az-2" }]);
        spec["serviceAuth"] = json!({
            "placementServiceUserRef": { "name": "placement" },
            "cinderServiceUserRef": { "name": "volumes" },
        });
    });
    cluster.settle(&NOVA, "nova");
    let reported = ["AggregatesReady", "CellHostsAssigned", "ServiceAuthReady"]
        .map(|type_| cluster.condition(&NOVA, "nova", type_));
    insta::assert_yaml_snapshot!(reported);
    assert_eq!(cluster.condition(&NOVA, "nova", "Ready").0, "True");
}

#[test]
fn disks_of_servers_are_in_a_pool_in_ceph() {
    let mut cluster = running();
    let before = cluster.get::<Secret>("nova-cell1-compute").cloned();
    change(&mut cluster, |spec| {
        spec["ephemeral"] =
            json!({ "pool": "prod-ephemeral", "cephSecretRef": { "name": "ceph" } });
    });
    cluster.settle(&NOVA, "nova");
    let reason = cluster.condition(&NOVA, "nova", "EphemeralStorageReady").1;
    assert_eq!(reason, "Unsupported", "servers have disks on the hosts");
    let compute = |cluster: &Cluster| cluster.get::<Secret>("nova-cell1-compute").cloned();
    assert_eq!(compute(&cluster), before);
    assert_eq!(cluster.condition(&NOVA, "nova", "Ready").0, "True");
    cluster.change::<Custom<NovaSpec>>("nova", |nova| {
        nova["status"]["disks"] = json!("Ceph");
    });
    cluster.settle(&NOVA, "nova");
    let condition = cluster.condition(&NOVA, "nova", "EphemeralStorageReady");
    assert_eq!(
        condition.2,
        "waits for Secret ceph with Ceph's configuration and key"
    );
    assert_eq!(
        cluster.get::<Secret>("nova-cell1-compute").cloned(),
        before,
        "nova-compute keeps its configuration until the pool is known"
    );
    // nova-compute is root on nodes: it loads nothing that the Secret names.
    let conf = "[global]\nmon host = [v2:192.0.2.1:3300,v1:192.0.2.1:6789]\nms_client_mode = secure\nlog_file = /etc/evil\n\
                plugin_dir = /var/lib/nova/instances\nms_mon_client_mode = secure;include /etc/shadow`\n";
    cluster.secret(
        "ceph",
        &[
            ("userID", "prod-nova"),
            (
                "keyring",
                "[client.other]\nkey = other\n[client.prod-nova]\n\tkey = AQ==\n",
            ),
            ("ceph.conf", conf),
        ],
    );
    cluster.settle(&NOVA, "nova");
    let file = |name: &str| cluster.value("nova-cell1-compute", name);
    let uuid = "4a893e2d-2b0e-8be5-b6c8-6993ad907170";
    let config = file("nova.conf").unwrap();
    for line in [
        "images_type = rbd",
        "images_rbd_pool = prod-ephemeral",
        "images_rbd_ceph_conf = /etc/nova/config/ceph.conf",
        "rbd_user = prod-nova",
        &format!("rbd_secret_uuid = {uuid}"),
    ] {
        assert!(config.lines().any(|own| own == line), "{line}: {config}");
    }
    assert_eq!(file(&format!("ceph-key-{uuid}")).as_deref(), Some("AQ=="));
    assert_eq!(
        file("ceph.keyring").as_deref(),
        Some("[client.prod-nova]\nkey = AQ==\n")
    );
    assert_eq!(
        file("ceph.conf").as_deref(),
        Some(
            "[global]\nmon_host = [v2:192.0.2.1:3300,v1:192.0.2.1:6789]\nms_client_mode = secure\n\n[client.prod-nova]\n\
             keyring = /etc/nova/config/ceph.keyring\n"
        )
    );
    assert_eq!(cluster.condition(&NOVA, "nova", "Ready").0, "True");
}

/// Whoever writes a Nova must not become root on hypervisors.
#[rstest::rstest]
#[case("nova_sys_admin", "helper_command", "sh -c evil")]
#[case("privsep_osbrick", "helper_command", "sh -c evil")]
#[case("vif_plug_ovs_privileged", "user", "root")]
#[case("privsep", "capabilities", "CAP_SYS_ADMIN")]
#[case("DEFAULT", "instances_path", "/etc")]
#[case("DEFAULT", "virt_mkfs", "default=sh -c evil")]
#[case("DEFAULT", "mkisofs_cmd", "evil")]
#[case("DEFAULT", "rootwrap_config", "/tmp/rootwrap.conf")]
#[case("DEFAULT", "compute_driver", "evil.Driver")]
#[case("DEFAULT", "resize_fs_using_block_device", "true")]
#[case("libvirt", "connection_uri", "qemu+ssh://evil/system")]
#[case("libvirt", "snapshots_directory", "/etc")]
#[case("libvirt", "rng_dev_path", "/dev/sda")]
#[case("libvirt", "inject_partition", "-1")]
#[case("libvirt", "live_migration_with_native_tls", "false")]
#[case("libvirt", "cpu_mode", "$my_ip")]
#[case("pci", "device_spec", "{\"address\": \"*\"}")]
#[case("pci", "passthrough_whitelist", "{\"address\": \"*\"}")]
#[case("os_vif_ovs", "ovsdb_connection", "tcp:192.0.2.1:6640")]
#[case("workarounds", "disable_deep_image_inspection", "true")]
#[case("DEFAULT", "reserved_host_memory_mb", "0")]
fn extra_config_refuses_what_is_dangerous_on_hypervisors(
    #[case] section: &str,
    #[case] option: &str,
    #[case] value: &str,
) {
    let mut cluster = running();
    let before = cluster.value("nova-cell1-compute", "nova.conf");
    change(&mut cluster, |spec| {
        spec["extraConfig"] = json!({ section: { option: value } })
    });
    let Err(failure) = cluster.compose(&NOVA, "nova") else {
        panic!("[{section}] {option} is accepted");
    };
    assert_eq!(failure.reason(), Reason::OwnedByOperator);
    let message = failure.to_string();
    assert!(message.contains("as root on hypervisors"), "{message}");
    assert_eq!(cluster.value("nova-cell1-compute", "nova.conf"), before);
}

#[test]
fn hypervisors_take_harmless_options_alone() {
    let mut cluster = running();
    change(&mut cluster, |spec| {
        spec["extraConfig"] = json!({
            "DEFAULT": { "cpu_allocation_ratio": "4.0", "default_availability_zone": "here" },
            "api": { "max_limit": "10" },
            "compute": { "cpu_shared_set": "0-7" },
            "glance": { "api_servers": "http://192.0.2.1", "insecure": "true", "num_retries": "5" },
            "key_manager": { "backend": "evil.Manager" },
            "libvirt": { "cpu_mode": "none", "hw_machine_type": "x86_64=pc" },
        })
    });
    cluster.settle(&NOVA, "nova");
    let file = cluster.value("nova-cell1-compute", "nova.conf").unwrap();
    let has = |text: &str| file.lines().any(|line| line == text);
    for taken in [
        "cpu_allocation_ratio = 4.0",
        "cpu_shared_set = 0-7",
        "num_retries = 5",
        "cpu_mode = none",
        "hw_machine_type = x86_64=pc",
    ] {
        assert!(has(taken), "{taken}");
    }
    for left in [
        "default_availability_zone",
        "max_limit",
        "api_servers",
        "insecure",
        "evil",
    ] {
        assert!(!file.contains(left), "{left}");
    }
}
