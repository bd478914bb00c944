//! A Neutron from its resource to running pods, in a small cluster in memory.

mod ovn;

use std::collections::BTreeMap;

use c5c3_api::neutron::NeutronSpec;
use c5c3_api::nova::NovaSpec;
use c5c3_api::ovn_cluster::OvnClusterSpec;
use c5c3_kinds::Manifest;
use c5c3_kinds::prometheus::ServiceMonitor;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::Custom;
use provider_neutron::Neutron;
use provider_openstack_fixtures::{Cluster, assert_recovers, documents, shown};
use serde_json::{Value, json};

const NEUTRON: Neutron = Neutron;
const NORTHBOUND: &str = "ssl:ovn-nb-0.ovn-nb.openstack.svc.cluster.local:6641";
const SOUTHBOUND: &str = "ssl:ovn-sb-0.ovn-sb.openstack.svc.cluster.local:6642";

/// Neutron with a message bus that is run externally, an OVNCluster, a Nova, and all that it waits for.
fn given() -> Cluster {
    let mut cluster = Cluster::with_infrastructure();
    cluster.keystone(true);
    cluster.secret("neutron-db-credentials", &[("password", "db-s3cret")]);
    cluster.secret(
        "neutron-rabbitmq-credentials",
        &[("password", "bus-s3cret"), ("host", "bus.example.com")],
    );
    cluster.secret(
        "neutron-keystone-credentials",
        &[
            ("application_credential_id", "1f2e"),
            ("application_credential_secret", "app-s3cret"),
        ],
    );
    let ready = |type_: &str| json!({ "type": type_, "status": "True" });
    cluster.put::<Custom<OvnClusterSpec>>(
        "ovn",
        json!({
            "spec": {},
            "status": {
                "conditions": [ready("NorthboundReady"), ready("SouthboundReady")],
                "endpoints": { "northbound": NORTHBOUND, "southbound": SOUTHBOUND },
            },
        }),
    );
    cluster.secret(
        "ovn-client",
        &[
            ("ca.crt", "ovn authority"),
            ("tls.crt", "ovn certificate"),
            ("tls.key", "ovn-s3cret"),
        ],
    );
    cluster.put::<Custom<NovaSpec>>("nova", json!({ "spec": {} }));
    cluster.secret("nova-metadata", &[("secret", "metadata-s3cret")]);
    cluster.secret(
        "nova-metadata-tls",
        &[("tls.crt", "certificate"), ("ca.crt", "nova authority")],
    );
    let neutron = json!({
        "apiVersion": "neutron.openstack.c5c3.io/v1alpha1",
        "kind": "Neutron",
        "metadata": { "name": "neutron", "namespace": "openstack", "uid": "1234" },
        "spec": {
            "release": "2025.2",
            "tls": { "issuerRef": { "name": "ca" } },
            "ovn": {},
            "ml2": {
                "tenantNetworkTypes": ["geneve", "vlan"],
                "physicalNetworks": [
                    { "name": "physnet1", "bridge": "br-ex", "vlanRange": "1000-1099" },
                    { "name": "physnet2", "bridge": "br-dc" },
                ],
                "mtu": 9000,
            },
            "dns": { "domain": "cloud.example.com.", "servers": ["192.0.2.53"] },
            "defaultAvailabilityZones": ["a", "b"],
        },
    });
    cluster.put_document::<Custom<NeutronSpec>>(&neutron.to_string());
    cluster
}

fn change(cluster: &mut Cluster, change: impl FnOnce(&mut Value)) {
    cluster.change::<Custom<NeutronSpec>>("neutron", change);
    cluster.settle(&NEUTRON, "neutron");
}

fn running() -> Cluster {
    let mut cluster = given();
    cluster.settle(&NEUTRON, "neutron");
    assert_eq!(
        condition(&cluster, "Ready"),
        ("True".to_owned(), "Ready".to_owned(), String::new())
    );
    cluster
}

fn condition(cluster: &Cluster, type_: &str) -> (String, String, String) {
    cluster.condition(&NEUTRON, "neutron", type_)
}

/// The sections of the configuration that pods see now.
fn sections(cluster: &Cluster) -> BTreeMap<String, String> {
    let deployment = cluster
        .get::<Deployment>("neutron")
        .cloned()
        .unwrap_or_default();
    let volumes = deployment["spec"]["template"]["spec"]["volumes"]
        .as_array()
        .cloned();
    let config = volumes
        .unwrap_or_default()
        .into_iter()
        .find(|volume| volume["name"] == "config");
    let secret = config.unwrap_or_default()["secret"]["secretName"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let text = cluster.value(&secret, "neutron.conf").unwrap_or_default();
    let sections = text
        .split("\n\n")
        .filter_map(|section| section.split_once('\n'));
    sections
        .map(|(name, options)| (name.trim_matches(['[', ']']).to_owned(), options.to_owned()))
        .collect()
}

/// The line with this option of a section.
fn line(cluster: &Cluster, section: &str, option: &str) -> Option<String> {
    let options = sections(cluster).remove(section)?;
    let mut lines = options.lines();
    lines.find(|line| line.contains(option)).map(str::to_owned)
}

/// The tags of images, by Deployment.
fn tags(cluster: &Cluster) -> Vec<(String, String)> {
    let all = cluster.all::<Deployment>().into_iter();
    let tag = |image: &Value| {
        image
            .as_str()
            .and_then(|image| image.rsplit(':').next().map(str::to_owned))
    };
    all.map(|(name, deployment)| {
        let image = &deployment["spec"]["template"]["spec"]["containers"][0]["image"];
        (name.to_owned(), tag(image).unwrap_or_default())
    })
    .collect()
}

/// The commands of Jobs of a task.
fn jobs(cluster: &Cluster, task: &str) -> Vec<Value> {
    let all = cluster.all::<Job>().into_values();
    let of_task = all.filter(|job| job["metadata"]["labels"]["c5c3.io/task"] == task);
    of_task
        .map(|job| job["spec"]["template"]["spec"]["containers"][0]["command"].clone())
        .collect()
}

/// With users of MariaDB and RabbitMQ that the operator creates.
#[test]
fn neutron_recovers_from_kills_of_its_operator() {
    assert_recovers(&NEUTRON, "neutron", || {
        let mut cluster = Cluster::with_infrastructure();
        cluster.keystone(true);
        cluster.ovn();
        cluster.put_document::<Custom<NeutronSpec>>(documents::NEUTRON);
        cluster
    });
}

#[test]
fn neutron_is_composed() {
    let mut cluster = given();
    insta::assert_yaml_snapshot!(shown(&cluster.settle(&NEUTRON, "neutron")));
}

#[test]
fn release_before_2026_1_names_the_types_of_projects_networks_after_tenants() {
    let mut cluster = running();
    let types = |cluster: &Cluster| line(cluster, "ml2", "_network_types");
    assert_eq!(
        types(&cluster).as_deref(),
        Some("tenant_network_types = geneve,vlan")
    );
    change(&mut cluster, |neutron| {
        neutron["spec"]["release"] = json!("2026.1")
    });
    assert_eq!(
        types(&cluster).as_deref(),
        Some("project_network_types = geneve,vlan")
    );
}

#[test]
fn mtu_of_tunnels_leaves_room_for_the_header_of_geneve_in_networks_of_vxlan() {
    let mut cluster = running();
    let mtu = |cluster: &Cluster| line(cluster, "ml2", "path_mtu");
    assert_eq!(mtu(&cluster).as_deref(), Some("path_mtu = 9000"));
    change(&mut cluster, |neutron| {
        neutron["spec"]["ml2"]["typeDrivers"] = json!(["geneve", "vlan", "vxlan"])
    });
    assert_eq!(mtu(&cluster).as_deref(), Some("path_mtu = 8992"));
}

/// Two of them would create the same row for each port, and no port could be created.
#[rstest::rstest]
#[case(json!(["port_security"]), "port_security,qos,dns")]
#[case(json!(["dns_domain_ports"]), "dns_domain_ports,qos")]
#[case(json!(["dns_domain_keywords", "qos"]), "dns_domain_keywords,qos")]
#[case(json!(["subnet_dns_publish_fixed_ip"]), "subnet_dns_publish_fixed_ip,qos")]
fn neutron_with_a_dns_driver_gets_no_second_one(#[case] given: Value, #[case] expected: &str) {
    let mut cluster = running();
    change(&mut cluster, |neutron| {
        neutron["spec"]["ml2"]["extensionDrivers"] = given
    });
    let line = line(&cluster, "ml2", "extension_drivers");
    assert_eq!(line, Some(format!("extension_drivers = {expected}")));
}

/// For a version of IP without name servers, Neutron would announce those of its own pod.
#[test]
fn subnets_without_name_servers_of_their_own_get_those_of_the_spec_alone() {
    let mut cluster = running();
    for (given, expected) in [
        (json!([]), "0.0.0.0,::"),
        (json!(["192.0.2.53"]), "192.0.2.53,::"),
        (json!(["2001:db8::53"]), "2001:db8::53,0.0.0.0"),
        (
            json!(["192.0.2.53", "2001:db8::53"]),
            "192.0.2.53,2001:db8::53",
        ),
    ] {
        change(&mut cluster, |neutron| {
            neutron["spec"]["dns"]["servers"] = given
        });
        let line = line(&cluster, "ovn", "dns_servers");
        assert_eq!(line, Some(format!("dns_servers = {expected}")));
    }
}

#[test]
fn api_of_neutron_is_scaled_and_monitored() {
    let mut cluster = running();
    change(&mut cluster, |neutron| {
        neutron["spec"]["monitoring"] = json!({ "enabled": true });
        neutron["spec"]["api"] = json!({
            "replicas": 2,
            "autoscaling": { "maxReplicas": 4 },
            "resources": { "requests": { "cpu": "100m" } },
        });
    });
    cluster.settle(&NEUTRON, "neutron");
    let monitors = cluster.all::<Manifest<ServiceMonitor>>();
    let scalers = cluster.all::<HorizontalPodAutoscaler>();
    assert_eq!(
        [
            monitors.into_keys().collect::<Vec<_>>(),
            scalers.into_keys().collect()
        ],
        [["neutron"], ["neutron"]]
    );
}

#[test]
fn rpc_server_runs_where_agents_need_one() {
    let mut cluster = running();
    let workers = |cluster: &Cluster| {
        let default = sections(cluster)["DEFAULT"].clone();
        let lines = default
            .lines()
            .filter(|line| line.starts_with("rpc_") || line.starts_with("enable_"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        workers(&cluster),
        [
            "enable_traditional_dhcp = false",
            "rpc_state_report_workers = 0",
            "rpc_workers = 0"
        ]
    );
    change(&mut cluster, |neutron| {
        neutron["spec"]["rpcServer"] = json!({ "replicas": 2 })
    });
    assert_eq!(
        workers(&cluster),
        [
            "enable_traditional_dhcp = true",
            "rpc_state_report_workers = 1",
            "rpc_workers = 1"
        ]
    );
    assert_eq!(condition(&cluster, "RPCServerReady").0, "True");
    let server = &cluster.get::<Deployment>("neutron-rpc-server").unwrap()["spec"];
    assert_eq!(server["replicas"], 2);
    let container = &server["template"]["spec"]["containers"][0];
    assert_eq!(
        container["command"],
        json!([
            "neutron-rpc-server",
            "--config-file",
            "/etc/neutron/config/neutron.conf"
        ])
    );
    assert!(
        container["env"]
            .as_array()
            .unwrap()
            .contains(&json!({ "name": "CONNECTED_PORTS", "value": "1628" }))
    );
}

#[test]
fn agents_wait_for_the_secret_that_the_nova_operator_generates() {
    let mut cluster = given();
    cluster.delete::<Secret>("nova-metadata");
    cluster.settle(&NEUTRON, "neutron");
    assert_eq!(
        condition(&cluster, "AgentsConfigured"),
        (
            "False".to_owned(),
            "WaitingForSecret".to_owned(),
            "waits for Secret nova-metadata with the secret of Nova's metadata API, which the nova-operator generates".to_owned()
        )
    );
    assert!(cluster.get::<Secret>("neutron-agent").is_none());
    // Nova itself may wait for Neutron, so that Neutron's Ready doesn't wait for Nova.
    assert_eq!(condition(&cluster, "Ready").0, "True");
}

#[test]
fn agents_get_a_new_release_after_all_of_neutron() {
    let mut cluster = running();
    cluster.change::<Custom<NeutronSpec>>("neutron", |neutron| {
        neutron["spec"]["release"] = json!("2026.1")
    });
    let release = |cluster: &Cluster| {
        cluster
            .value("neutron-agent", "release")
            .unwrap_or_default()
    };
    let mut seen = Vec::new();
    for _ in 0..12 {
        cluster.compose(&NEUTRON, "neutron").unwrap();
        let rolled = tags(&cluster).iter().all(|(_, tag)| tag == "28.0.2");
        let now = (rolled, release(&cluster));
        if seen.last() != Some(&now) {
            seen.push(now);
        }
        cluster.simulate();
    }
    assert_eq!(
        seen,
        [
            (false, "2025.2".to_owned()),
            (true, "2025.2".to_owned()),
            (true, "2026.1".to_owned()),
        ]
    );
}

/// OVN has no agents for DHCP and routers, and a node's zone is that of its HypervisorShare.
#[test]
fn zone_of_agents_that_ovn_replaces_is_refused() {
    let mut cluster = running();
    cluster.change::<Custom<NeutronSpec>>("neutron", |neutron| {
        neutron["spec"]["extraConfig"] = json!({ "agent": { "availability_zone": "eu-de-1a" } });
    });
    let refused = cluster.compose(&NEUTRON, "neutron").err().unwrap();
    assert_eq!(
        refused.to_string(),
        "extraConfig sets [agent] availability_zone, and the operator owns it: use availabilityZone of HypervisorShares, which \
         with claims is the label availability-zone of the pool, and leave it out of extraConfig"
    );
}
