//! What hypervisors run, and which options reach them.

use c5c3_api::neutron::NeutronSpec;
use c5c3_api::nova::NovaSpec;
use c5c3_api::placement::PlacementSpec;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{Custom, Reason, Resource};
use provider_openstack_fixtures::Cluster;
use serde_json::{Value, json};

use crate::{NOVA, add_cell2, change, given, running};

/// The Secret with the SSH key of the first cell.
const MIGRATION: &str = "nova-cell1-migration";

/// The SSH key that hypervisors of the first cell get.
fn ssh_key(cluster: &Cluster) -> Option<String> {
    cluster.value("nova-cell1-compute", "migration.key")
}

/// The Secret of a cell gets the URL of a service's API under this name, and the authority of its certificate.
fn learns_where<T: Resource>(service: &str, spec: &Value, name: &str) {
    let mut cluster = running();
    let clouds = |cluster: &Cluster| {
        let text = cluster.value("nova-cell1-compute", "clouds.yaml").unwrap();
        let clouds: Value = serde_json::from_str(&text).unwrap();
        clouds["clouds"]["nova"][name].clone()
    };
    assert_eq!(clouds(&cluster), Value::Null);
    let url = json!(format!("https://{service}.openstack.svc.cluster.local"));
    cluster.put::<T>(
        service,
        json!({ "spec": spec, "status": { "endpoint": url } }),
    );
    let before = cluster.value("nova-cell1-compute", "cacert").unwrap();
    cluster.secret(
        &format!("{service}-tls"),
        &[("ca.crt", "another authority")],
    );
    cluster.settle(&NOVA, "nova");
    assert_eq!(clouds(&cluster), url);
    let after = cluster.value("nova-cell1-compute", "cacert").unwrap();
    assert_eq!(after, format!("another authority\n{before}"));
}

/// A node's chassis is deleted through Neutron, whose certificate may be of another authority.
#[test]
fn hypervisor_pool_operator_learns_where_neutron_is() {
    let spec = json!({ "release": "2025.2", "ovn": {}, "tls": { "issuerRef": { "name": "ca" } } });
    learns_where::<Custom<NeutronSpec>>("neutron", &spec, "network_endpoint_override");
}

/// Nova adds a host to an aggregate that Placement refuses, and deletes one whose resource provider stays.
#[test]
fn hypervisor_pool_operator_learns_where_placement_is() {
    let spec = json!({ "release": "2025.2", "tls": { "issuerRef": { "name": "ca" } } });
    learns_where::<Custom<PlacementSpec>>("placement", &spec, "placement_endpoint_override");
}

/// A HypervisorShare finds the Secret of its cell by the label.
#[test]
fn hypervisors_of_each_cell_have_its_message_bus() {
    let mut cluster = running();
    add_cell2(&mut cluster);
    cluster.settle(&NOVA, "nova");
    for (cell, bus) in [("cell1", "bus.example.com"), ("cell2", "bus2.example.com")] {
        let name = format!("nova-{cell}-compute");
        let secret = cluster.get::<Secret>(&name).unwrap();
        let labels = &secret["metadata"]["labels"];
        assert_eq!(labels["c5c3.io/agents"], "nova");
        assert_eq!(labels["c5c3.io/cell"], cell);
        let config = cluster.value(&name, "nova.conf").unwrap();
        let mut lines = config.lines();
        let url = lines.find_map(|line| line.strip_prefix("transport_url = "));
        let url = url.unwrap();
        assert!(url.contains(&format!("@{bus}:")), "{cell}: {url}");
    }
}

/// Nova may choose a host of another pool of the cell, and none of another cell.
#[test]
fn hypervisors_of_a_cell_have_one_ssh_key_which_no_other_cell_has() {
    let mut cluster = running();
    add_cell2(&mut cluster);
    cluster.settle(&NOVA, "nova");
    let [one, other] = ["cell1", "cell2"].map(|cell| {
        let key = cluster.value(&format!("nova-{cell}-compute"), "migration.key");
        let generated = cluster.value(&format!("nova-{cell}-migration"), "ssh-privatekey");
        assert_eq!(key, generated);
        key.unwrap()
    });
    assert_ne!(one, other);
}

/// A share that found none in it would generate a key of its own.
#[test]
fn first_secret_of_hypervisors_waits_for_the_ssh_key() {
    let mut cluster = given();
    for _ in 0..20 {
        cluster.delete::<Secret>(MIGRATION);
        cluster.compose(&NOVA, "nova").unwrap();
        cluster.simulate();
    }
    assert_eq!(cluster.condition(&NOVA, "nova", "CellsReady").0, "True");
    assert!(cluster.get::<Secret>("nova-cell1-compute").is_none());
    cluster.settle(&NOVA, "nova");
    assert!(ssh_key(&cluster).is_some());
}

/// Credentials of nova-compute rotate, and hosts have the key.
#[test]
fn hypervisors_get_changes_and_keep_their_ssh_key_while_its_secret_is_lost_or_invalid() {
    let mut cluster = running();
    let key = ssh_key(&cluster).unwrap();
    let ratio = |cluster: &mut Cluster, ratio: &str| {
        change(cluster, |spec| {
            spec["extraConfig"] = json!({ "DEFAULT": { "cpu_allocation_ratio": ratio } });
        });
    };
    let has = |cluster: &Cluster, ratio: &str| {
        let config = cluster.value("nova-cell1-compute", "nova.conf").unwrap();
        config.contains(&format!("cpu_allocation_ratio = {ratio}\n"))
    };
    ratio(&mut cluster, "4.0");
    for _ in 0..20 {
        cluster.delete::<Secret>(MIGRATION);
        cluster.compose(&NOVA, "nova").unwrap();
        cluster.simulate();
    }
    assert!(has(&cluster, "4.0"));
    assert_eq!(ssh_key(&cluster).as_ref(), Some(&key));

    ratio(&mut cluster, "8.0");
    cluster.secret(MIGRATION, &[("other", "text")]);
    cluster.settle(&NOVA, "nova");
    assert!(has(&cluster, "8.0"));
    assert_eq!(ssh_key(&cluster).as_ref(), Some(&key));

    cluster.delete::<Secret>(MIGRATION);
    cluster.settle(&NOVA, "nova");
    let next = ssh_key(&cluster).unwrap();
    assert_ne!(next, key);
    assert_eq!(cluster.value(MIGRATION, "ssh-privatekey"), Some(next));
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
        "hw_disk_discard = unmap",
        "rbd_user = prod-nova",
        &format!("rbd_secret_uuid = {uuid}"),
        "ensure_libvirt_rbd_instance_dir_cleanup = true",
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
#[case("workarounds", "ensure_libvirt_rbd_instance_dir_cleanup", "false")]
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
            "DEFAULT": {
                "cpu_allocation_ratio": "4.0", "default_availability_zone": "here", "enable_new_services": "false",
            },
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
        "enable_new_services",
        "max_limit",
        "api_servers",
        "insecure",
        "evil",
    ] {
        assert!(!file.contains(left), "{left}");
    }
}
