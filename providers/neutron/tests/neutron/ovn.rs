//! The connection to OVN, and its repair.

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
        "dns_servers = 192.0.2.53\n\
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
        change(&mut cluster, |neutron| {
            neutron["metadata"]["annotations"] =
                json!({ "neutron.openstack.c5c3.io/repair-ovn": value });
        });
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
