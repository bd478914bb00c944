//! The connection to OVN, and its repair.

use c5c3_kinds::mariadb::Database;
use provider_composer::{Key, Owner};
use provider_composer_testing::killed::Scene;
use provider_openstack_fixtures::NAMESPACE;

use super::*;

#[test]
fn ovn_is_connected_by_what_the_resource_gives_before_what_its_cluster_says() {
    let mut cluster = given();
    cluster.delete::<Custom<OvnClusterSpec>>("ovn");
    change(&mut cluster, |neutron| {
        neutron["spec"]["ovn"] = json!({
            "nbConnection": "tcp:nb-1.example.com:16641,tcp:nb-2.example.com:16641",
            "sbConnection": "tcp:sb.example.com:6642",
        });
    });
    assert_eq!(condition(&cluster, "OVNConnected").0, "True");
    assert_eq!(
        sections(&cluster)["ovn"],
        "dns_servers = 192.0.2.53,::\n\
         ovn_metadata_enabled = true\n\
         ovn_nb_connection = tcp:nb-1.example.com:16641,tcp:nb-2.example.com:16641\n\
         ovn_sb_connection = tcp:sb.example.com:6642"
    );
    let worker = &cluster
        .get::<Deployment>("neutron-ovn-maintenance-worker")
        .unwrap()["spec"]["template"]["spec"];
    let env = worker["containers"][0]["env"].as_array().unwrap();
    assert!(
        env.contains(&json!({ "name": "CONNECTED_PORTS", "value": "4101" })),
        "{env:?}"
    );
}

#[rstest::rstest]
#[case::missing(|cluster: &mut Cluster| cluster.delete::<Custom<OvnClusterSpec>>("ovn"), "WaitingForOVN", "waits for OVNCluster ovn")]
#[case::endpoints(
    |cluster: &mut Cluster| cluster.change::<Custom<OvnClusterSpec>>("ovn", |ovn| ovn["status"]["endpoints"] = json!({})),
    "WaitingForOVN",
    "waits for OVNCluster ovn to have endpoints of both databases in its status"
)]
#[case::certificate(
    |cluster: &mut Cluster| cluster.delete::<Secret>("ovn-client"),
    "WaitingForSecret",
    "waits for Secret ovn-client with ca.crt, tls.crt and tls.key of a client of OVN"
)]
fn neutron_waits_for_ovn(
    #[case] take: fn(&mut Cluster),
    #[case] reason: &str,
    #[case] message: &str,
) {
    let mut cluster = given();
    take(&mut cluster);
    cluster.settle(&NEUTRON, "neutron");
    let expected = ("False".to_owned(), reason.to_owned(), message.to_owned());
    assert_eq!(condition(&cluster, "OVNConnected"), expected);
    assert!(cluster.all::<Deployment>().is_empty());
}

#[test]
fn running_neutron_reports_that_ovn_lost_its_majority_and_keeps_its_pods() {
    let mut cluster = running();
    let before = tags(&cluster);
    cluster.change::<Custom<OvnClusterSpec>>("ovn", |ovn| {
        ovn["status"]["conditions"][1] =
            json!({ "type": "SouthboundReady", "status": "False", "reason": "NoQuorum", "message": "1 of 3 members answers" });
    });
    cluster.settle(&NEUTRON, "neutron");
    assert_eq!(
        condition(&cluster, "OVNConnected"),
        (
            "False".to_owned(),
            "WaitingForOVN".to_owned(),
            "waits for OVNCluster ovn: 1 of 3 members answers".to_owned()
        )
    );
    assert_eq!(tags(&cluster), before);
}

#[test]
fn ovn_is_repaired_once_for_each_value_of_the_annotation() {
    let mut cluster = running();
    assert!(jobs(&cluster, "ovn-repair").is_empty());
    let mut ask = |value: &str| {
        ask_for_a_repair(&mut cluster, value);
        (
            jobs(&cluster, "ovn-repair"),
            condition(&cluster, "OVNRepaired").0,
        )
    };
    let command = json!([
        "neutron-ovn-db-sync-util",
        "--config-file",
        "/etc/neutron/config/neutron.conf",
        "--ovn-neutron_sync_mode",
        "repair",
    ]);
    let first = ask("1");
    assert_eq!(first, (vec![command.clone()], "True".to_owned()));
    assert_eq!(ask("1"), first);
    assert_eq!(ask("2"), (vec![command], "True".to_owned()));
}

fn ask_for_a_repair(cluster: &mut Cluster, value: &str) {
    annotate(cluster, value);
    cluster.settle(&NEUTRON, "neutron");
}

fn annotate(cluster: &mut Cluster, value: &str) {
    cluster.change::<Custom<NeutronSpec>>("neutron", |neutron| {
        neutron["metadata"]["annotations"] =
            json!({ "neutron.openstack.c5c3.io/repair-ovn": value });
    });
}

/// Another Neutron, with this connection to OVN.
fn other(ovn: &Value) -> Value {
    json!({ "spec": { "release": "2025.2", "ovn": ovn } })
}

#[rstest::rstest]
#[case::cluster(json!({}))]
#[case::member(json!({
    "nbConnection": format!("ssl:nb.example.com:6641,{NORTHBOUND}"),
    "sbConnection": "ssl:sb.example.com:6642",
}))]
#[case::service(json!({
    "nbConnection": "ssl:ovn-nb.openstack:6641",
    "sbConnection": SOUTHBOUND,
}))]
fn ovn_is_not_repaired_while_another_neutron_uses_it(#[case] ovn: Value) {
    let mut cluster = running();
    cluster.put::<Custom<NeutronSpec>>("other", other(&ovn));
    ask_for_a_repair(&mut cluster, "1");
    assert_eq!(
        condition(&cluster, "OVNRepaired"),
        (
            "False".to_owned(),
            "NorthboundShared".to_owned(),
            format!(
                "Neutron other in openstack uses the northbound database {NORTHBOUND} too, and a repair would delete its networks: \
                 give each Neutron an OVNCluster of its own; the repair starts once no other Neutron uses it"
            )
        )
    );
    assert!(jobs(&cluster, "ovn-repair").is_empty());
    assert_eq!(condition(&cluster, "Ready").0, "True");

    cluster.delete::<Custom<NeutronSpec>>("other");
    cluster.settle(&NEUTRON, "neutron");
    assert_eq!(condition(&cluster, "OVNRepaired").0, "True");
    assert_eq!(jobs(&cluster, "ovn-repair").len(), 1);

    cluster.put::<Custom<NeutronSpec>>("other", other(&ovn));
    cluster.settle(&NEUTRON, "neutron");
    assert_eq!(condition(&cluster, "OVNRepaired").0, "True", "it is done");
}

/// A Neutron whose repair has a pod, of which so many run.
fn repairing(pods: usize) -> Cluster {
    let mut cluster = running();
    annotate(&mut cluster, "1");
    assert!(cluster.compose(&NEUTRON, "neutron").is_ok());
    let job = repair_job(&cluster).unwrap_or_default();
    cluster.change::<Job>(&job, |job| {
        job["status"] = json!({ "active": 1, "ready": pods });
    });
    cluster
}

/// The name of the Job that repairs OVN.
fn repair_job(cluster: &Cluster) -> Option<String> {
    let mut all = cluster.all::<Job>().into_iter();
    let job = all.find(|(_, job)| job["metadata"]["labels"]["c5c3.io/task"] == "ovn-repair");
    job.map(|(name, _)| name.to_owned())
}

#[rstest::rstest]
#[case::running(1, "WaitingForJob")]
#[case::starting(0, "NorthboundShared")]
fn ovn_repair_goes_on_beside_another_neutron_if_its_pod_runs(
    #[case] pods: usize,
    #[case] reason: &str,
) {
    let mut cluster = repairing(pods);
    cluster.put::<Custom<NeutronSpec>>("other", other(&json!({})));
    cluster.settle(&NEUTRON, "neutron");
    assert_eq!(condition(&cluster, "OVNRepaired").1, reason);
    assert_eq!(jobs(&cluster, "ovn-repair").len(), pods);
}

#[rstest::rstest]
#[case::running(1)]
#[case::starting(0)]
fn ovn_repair_goes_on_beside_a_neutron_with_the_same_database_if_its_pod_runs(#[case] pods: usize) {
    let mut cluster = repairing(pods);
    let elder = Owner {
        kind: "Neutron".to_owned(),
        namespace: NAMESPACE.to_owned(),
        name: "elder".to_owned(),
    };
    let labels: BTreeMap<_, _> = elder.labels().into_iter().collect();
    let server = json!({ "name": "openstack-db" });
    cluster.put::<Manifest<Database>>(
        "elder",
        json!({
            "metadata": { "labels": labels },
            "spec": { "name": "neutron", "mariaDbRef": server },
        }),
    );
    cluster.settle(&NEUTRON, "neutron");
    assert_eq!(condition(&cluster, "OVNRepaired").1, "DataShared");
    assert_eq!(jobs(&cluster, "ovn-repair").len(), pods);
}

#[test]
fn ovn_repair_waits_and_keeps_its_job_while_other_neutrons_are_unknown() {
    let mut cluster = running();
    annotate(&mut cluster, "1");
    cluster.compose(&NEUTRON, "neutron").unwrap();
    let job = repair_job(&cluster).unwrap();
    cluster.put::<Custom<NeutronSpec>>("other", json!({ "spec": { "ovn": 7 } }));
    cluster.compose(&NEUTRON, "neutron").unwrap();
    assert_eq!(condition(&cluster, "OVNRepaired").0, "Unknown");
    assert_eq!(repair_job(&cluster), Some(job));
}

/// The operator may have no rights in the namespace of an OVNCluster that isn't used.
#[test]
fn ovn_with_both_connections_is_repaired_without_a_look_at_its_cluster() {
    let mut cluster = running();
    let there = Key::of::<Custom<NeutronSpec>>("network", "neutron");
    cluster.cluster().set_readable(&there, false);
    change(&mut cluster, |neutron| {
        neutron["spec"]["ovn"] = json!({
            "clusterRef": { "name": "ovn", "namespace": "network" },
            "nbConnection": NORTHBOUND,
            "sbConnection": SOUTHBOUND,
        });
    });
    ask_for_a_repair(&mut cluster, "1");
    assert_eq!(condition(&cluster, "OVNRepaired").0, "True");
}

#[test]
fn ovn_of_another_namespace_is_not_repaired_while_a_neutron_there_uses_it() {
    let mut cluster = running();
    let ovn = cluster.get::<Custom<OvnClusterSpec>>("ovn").cloned();
    let ovn = json!({ "spec": {}, "status": ovn.unwrap()["status"] });
    let there = Key::of::<Custom<OvnClusterSpec>>("network", "ovn");
    cluster.cluster().put(&there, &ovn);
    let there = Key::of::<Custom<NeutronSpec>>("network", "neutron");
    cluster.cluster().put(&there, &other(&json!({})));
    change(&mut cluster, |neutron| {
        neutron["spec"]["ovn"] = json!({ "clusterRef": { "name": "ovn", "namespace": "network" } });
    });
    ask_for_a_repair(&mut cluster, "1");
    let (status, reason, message) = condition(&cluster, "OVNRepaired");
    assert_eq!([&*status, &*reason], ["False", "NorthboundShared"]);
    assert!(
        message.starts_with("Neutron neutron in network uses"),
        "{message}"
    );
    assert!(jobs(&cluster, "ovn-repair").is_empty());
}

#[test]
fn ovn_is_repaired_beside_a_neutron_that_uses_another() {
    let mut cluster = running();
    let connections = json!({
        "nbConnection": "ssl:nb.example.com:6641,ssl:nb.openstack:6641",
        "sbConnection": SOUTHBOUND,
    });
    cluster.put::<Custom<NeutronSpec>>("other", other(&connections));
    let waiting = json!({ "clusterRef": { "name": "missing" } });
    cluster.put::<Custom<NeutronSpec>>("waiting", other(&waiting));
    ask_for_a_repair(&mut cluster, "1");
    assert_eq!(condition(&cluster, "OVNRepaired").0, "True");
    assert_eq!(jobs(&cluster, "ovn-repair").len(), 1);
}
