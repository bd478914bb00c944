//! Compute services in Nova while nodes are drained.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::Key;
use provider_hypervisor_pool::nova::{Change, Service};
use rstest::rstest;
use serde_json::json;

use crate::drain::{cordon, node_key, phase, pod, report};
use crate::fixture::*;
use crate::nova::{Nova, PERSON, later, service, started};

#[test]
fn node_is_drained_in_nova_and_freed() {
    let (mut cluster, nova) = started();
    assert_eq!(
        nova.change(|state| state.calls),
        0,
        "nothing changes without a drain"
    );
    nova.occupy("node-b", 2, 1);
    cordon(&mut cluster, "node-b", true);
    pod(&mut cluster, "drain", "node-b", Some(true));
    let message = later(&mut cluster)[2].clone();
    assert_eq!(
        message,
        "1 of 2 nodes are drained; servers left: 3: node-b waits for 3 servers to be deleted or moved"
    );
    assert_eq!(
        nova.disabled("node-b").as_deref(),
        Some("drained by the HypervisorShare prod since 20260201T000015Z")
    );
    assert_eq!(nova.disabled("node-a"), None);
    let hosts = answer(&cluster, "prod").status["hosts"].clone();
    assert_eq!(hosts[1]["computeService"], "Disabled");
    assert_eq!(hosts[1]["instances"], 3);

    nova.occupy("node-b", 0, 0);
    pod(&mut cluster, "nova-compute", "node-b", Some(true));
    later(&mut cluster);
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Releasing"));
    let services = || nova.change(|state| state.services.keys().cloned().collect::<Vec<_>>());
    assert_eq!(
        services(),
        ["node-a", "node-b"],
        "nova-compute would register anew"
    );

    pod(&mut cluster, "drain", "node-b", None);
    pod(&mut cluster, "nova-compute", "node-b", None);
    later(&mut cluster);
    assert_eq!(services(), ["node-a"]);
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Wiping"));
    pod(&mut cluster, "wipe", "node-b", Some(true));
    assert_eq!(later(&mut cluster)[0], "True");
    assert_eq!(lease(&cluster, "node-b"), None);
}

#[test]
fn node_that_stays_is_enabled_again_unless_an_administrator_disabled_it() {
    let (mut cluster, nova) = started();
    nova.change(|state| {
        let service = state.services.get_mut("node-a").unwrap();
        service.disabled = Some("broken fan".to_owned());
    });
    for node in ["node-a", "node-b"] {
        nova.occupy(node, 1, 0);
        cordon(&mut cluster, node, true);
    }
    later(&mut cluster);
    assert!(nova.disabled("node-b").is_some());
    for node in ["node-a", "node-b"] {
        cordon(&mut cluster, node, false);
    }
    later(&mut cluster);
    assert_eq!(phase(&cluster, "node-b"), None);
    assert_eq!(nova.disabled("node-b"), None);
    assert_eq!(nova.disabled("node-a").as_deref(), Some("broken fan"));
}

#[rstest]
#[case::enabled(None, false, true)]
#[case::new(
    Some("New compute service disabled due to config option."),
    true,
    false
)]
#[case::drained(
    Some("drained by the HypervisorShare prod since 20260201T000015Z"),
    true,
    true
)]
#[case::by_a_person(Some(PERSON), false, false)]
#[case::by_itself(Some("AUTO: Connection to libvirt lost: 1"), false, false)]
#[case::forced_down(Some("forced down"), false, false)]
fn compute_service_is_neither_enabled_nor_disabled_where_others_have_disabled_it(
    #[case] reason: Option<&str>,
    #[case] is_enabled: bool,
    #[case] is_disabled: bool,
) {
    let found = Service {
        disabled: reason.map(str::to_owned),
        ..service("node-a", true)
    };
    let services = BTreeMap::from([("node-a".to_owned(), found)]);
    for (id, is_there) in [("id-node-a", true), ("id-of-an-earlier-one", false)] {
        let (service, host) = (id.to_owned(), "node-a".to_owned());
        let enable = Change::Enable {
            service: service.clone(),
            host: host.clone(),
        };
        let disable = Change::Disable {
            service,
            host,
            reason: "drained".to_owned(),
        };
        assert_eq!(enable.is_due(&services), is_there && is_enabled);
        assert_eq!(disable.is_due(&services), is_there && is_disabled);
        assert!(!disable.is_due(&BTreeMap::new()));
    }
}

/// Nova's answers are up to ten seconds old.
#[test]
fn compute_service_that_a_person_disables_at_the_last_moment_stays_so() {
    let (mut cluster, nova) = started();
    nova.occupy("node-b", 1, 0);
    for is_drained in [true, false] {
        nova.change(|state| state.disabled_next = Some("node-b".to_owned()));
        cordon(&mut cluster, "node-b", is_drained);
        later(&mut cluster);
        assert_eq!(phase(&cluster, "node-b").is_some(), is_drained);
        assert_eq!(nova.disabled("node-b").as_deref(), Some(PERSON));

        nova.change(|state| state.services.get_mut("node-b").unwrap().disabled = None);
        later(&mut cluster);
        assert_eq!(nova.disabled("node-b").is_some(), is_drained);
    }
}

#[test]
fn nothing_is_freed_while_nova_does_not_answer_unless_a_person_says_so() {
    let (mut cluster, nova) = started();
    nova.change(|state| state.is_unreachable = true);
    cordon(&mut cluster, "node-b", true);
    pod(&mut cluster, "drain", "node-b", Some(true));
    cluster.wait(SignedDuration::from_hours(1));
    let message = later(&mut cluster)[2].clone();
    assert!(
        message.ends_with(
            "waits for its compute service to be disabled and Nova to say what is on it: see the condition ComputeServicesUp"
        ),
        "{message}"
    );
    let [status, reason, message] = condition(&cluster, "prod", "ComputeServicesUp");
    assert_eq!([status, reason], ["False", "LookupFailed"]);
    assert_eq!(
        message,
        "Nova can't be read, so that no node is freed unless spec.computeServices says what is on it: nova doesn't answer"
    );
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Draining"));
    report(&mut cluster, "node-b", "Disabled", 0);
    later(&mut cluster);
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Releasing"));
}

/// Its cell doesn't answer any more, and the compute services were listed a moment before.
#[test]
fn node_is_not_released_while_nova_does_not_say_what_is_on_it() {
    let (mut cluster, nova) = started();
    let silence = |is_silent: bool| {
        nova.change(|state| match is_silent {
            true => state.silent.insert("node-b".to_owned()),
            false => state.silent.remove("node-b"),
        });
    };
    silence(true);
    cordon(&mut cluster, "node-b", true);
    pod(&mut cluster, "drain", "node-b", Some(true));
    later(&mut cluster);
    assert!(nova.disabled("node-b").is_some());
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Draining"));
    silence(false);
    later(&mut cluster);
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Releasing"));

    silence(true);
    pod(&mut cluster, "drain", "node-b", None);
    later(&mut cluster);
    assert_eq!(nova.change(|state| state.services.len()), 2);
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Releasing"));
    silence(false);
    later(&mut cluster);
    assert_eq!(nova.change(|state| state.services.len()), 1);
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Wiping"));
}

#[test]
fn node_that_gets_a_server_at_the_last_moment_is_drained_again() {
    let (mut cluster, nova) = started();
    cordon(&mut cluster, "node-b", true);
    pod(&mut cluster, "drain", "node-b", Some(true));
    pod(&mut cluster, "nova-compute", "node-b", Some(true));
    later(&mut cluster);
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Releasing"));
    pod(&mut cluster, "drain", "node-b", None);
    nova.occupy("node-b", 1, 0);
    later(&mut cluster);
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Draining"));
    assert_eq!(nova.change(|state| state.services.len()), 2);
}

/// Its claim was deleted before its control plane had a Nova.
#[test]
fn share_whose_nodes_never_ran_nova_compute_needs_no_nova() {
    let mut cluster = cluster();
    delete_nova(&mut cluster);
    settle(&mut cluster, "prod");
    cluster.delete(&share_key("prod"));
    for component in ["drain", "wipe"] {
        for node in ["node-a", "node-b"] {
            pod(&mut cluster, component, node, Some(true));
        }
        reconcile(&mut cluster, "prod");
        reconcile(&mut cluster, "prod");
        for node in ["node-a", "node-b"] {
            pod(&mut cluster, component, node, None);
        }
        reconcile(&mut cluster, "prod");
        reconcile(&mut cluster, "prod");
    }
    assert_eq!(lease(&cluster, "node-a"), None);
    assert_eq!(cluster.get(&share_key("prod")), None);
}

/// The control plane's Secret is gone, and the agents still have theirs: servers may be there.
#[test]
fn share_whose_nodes_ran_nova_compute_needs_nova() {
    let (mut cluster, nova) = started();
    delete_nova(&mut cluster);
    nova.occupy("node-b", 1, 0);
    cordon(&mut cluster, "node-b", true);
    pod(&mut cluster, "drain", "node-b", Some(true));
    later(&mut cluster);
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Draining"));
}

#[test]
fn compute_services_that_do_not_report_are_named() {
    let (mut cluster, nova) = started();
    assert_eq!(condition(&cluster, "prod", "ComputeServicesUp")[0], "True");
    nova.change(|state| {
        state.services.remove("node-a");
        state.services.get_mut("node-b").unwrap().is_up = false;
    });
    later(&mut cluster);
    assert_eq!(
        condition(&cluster, "prod", "ComputeServicesUp").join(": "),
        "False: NotRegistered: nova-compute doesn't report to Nova from node-a, node-b: check its pods on these nodes, and `openstack compute \
         service list`"
    );
    assert_eq!(nova.change(|state| state.calls), 0);
}

#[test]
fn nova_of_another_cluster_is_reached_at_the_addresses_of_the_share() {
    let mut cluster = cluster();
    let nova = Nova::connect(&mut cluster);
    cluster.edit(&share_key("prod"), |share| {
        share["spec"]["endpoints"] = json!([
            { "name": "nova", "hostnames": ["nova.openstack-prod.svc.cluster.local"], "addresses": ["192.0.2.7"] },
        ]);
    });
    settle(&mut cluster, "prod");
    let access = nova.change(|state| state.access.clone()).unwrap();
    assert_eq!(access.ca.as_deref(), Some("CA"));
    let addresses = vec!["192.0.2.7".parse().unwrap()];
    let name = "nova.openstack-prod.svc.cluster.local".to_owned();
    assert_eq!(access.addresses, BTreeMap::from([(name, addresses)]));
    let copy = cluster
        .get(&Key::of::<Secret>("agents-prod", "nova"))
        .unwrap();
    let keys: Vec<&String> = copy["data"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["nova.conf"], "hypervisors get no further credential");
    assert!(cluster.get(&node_key("node-a")).is_some());
}

/// A slow Nova with many nodes delays others no more than one with few.
#[test]
fn nova_is_asked_about_the_nodes_that_are_nearest_to_being_free() {
    let mut cluster = cluster();
    let nova = Nova::connect(&mut cluster);
    let nodes: Vec<String> = (10..50).map(|number| format!("node-{number}")).collect();
    for node in &nodes {
        put_node(&mut cluster, node, "10.0.1.1");
        nova.occupy(node, 1, 0);
    }
    settle(&mut cluster, "prod");
    for node in &nodes {
        cordon(&mut cluster, node, true);
    }
    later(&mut cluster);
    nova.change(|state| state.asked.clear());
    cluster.wait(SignedDuration::from_secs(15));
    reconcile(&mut cluster, "prod");
    assert_eq!(nova.change(|state| state.asked.len()), 8);
    for _ in 0..60 {
        later(&mut cluster);
    }
    let asked = nova.change(|state| state.asked.clone());
    assert_eq!(
        asked,
        nodes.iter().cloned().collect(),
        "all are asked about"
    );
    nova.occupy("node-49", 0, 0);
    pod(&mut cluster, "drain", "node-49", Some(true));
    later(&mut cluster);
    assert_eq!(phase(&cluster, "node-49").as_deref(), Some("Releasing"));
}

#[test]
fn empty_node_whose_service_a_tenant_enables_is_released() {
    let (mut cluster, nova) = started();
    cordon(&mut cluster, "node-b", true);
    pod(&mut cluster, "drain", "node-b", Some(true));
    pod(&mut cluster, "nova-compute", "node-b", Some(true));
    later(&mut cluster);
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Releasing"));
    nova.change(|state| state.services.get_mut("node-b").unwrap().disabled = None);
    pod(&mut cluster, "drain", "node-b", None);
    pod(&mut cluster, "nova-compute", "node-b", None);
    later(&mut cluster);
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Wiping"));
}
