//! Compute services in Nova while nodes are drained.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::Key;
use provider_composer_testing::{Cluster, System};
use provider_hypervisor_pool::nova::{
    Access, Aggregate, Call, Change, Occupants, Query, Question, SYSTEM, Service,
};
use serde_json::{Value, json};

use crate::drain::{cordon, drained, node_key, phase, pod, report};
use crate::fixture::*;

/// What a Nova has.
#[derive(Default)]
struct State {
    services: BTreeMap<String, Service>,
    occupants: BTreeMap<String, Occupants>,
    is_unreachable: bool,
    aggregates: Vec<Aggregate>,
    access: Option<Access>,
    asked: BTreeSet<String>,
    calls: usize,
}

/// A Nova.
#[derive(Clone, Default)]
struct Nova(Arc<Mutex<State>>);

impl Nova {
    /// Adds one to a cluster in which nova-compute of both nodes has registered.
    fn connect(cluster: &mut Cluster) -> Self {
        let nova = Self::default();
        for node in ["node-a", "node-b"] {
            nova.change(|state| {
                let service = Service {
                    id: format!("id-{node}"),
                    is_up: true,
                    disabled: None,
                };
                state.services.insert(node.to_owned(), service);
            });
        }
        cluster.join(SYSTEM, nova.clone());
        put_clouds(cluster);
        nova
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.0.lock().unwrap())
    }

    fn disabled(&self, node: &str) -> Option<String> {
        self.change(|state| state.services[node].disabled.clone())
    }

    fn occupy(&self, node: &str, servers: u32, migrations: u32) {
        let occupants = Occupants {
            servers,
            migrations,
        };
        self.change(|state| state.occupants.insert(node.to_owned(), occupants));
    }
}

impl System for Nova {
    fn answer(&self, query: &str) -> Option<Value> {
        let query: Query = serde_json::from_str(query).unwrap();
        self.change(|state| {
            state.access = Some(query.access);
            if state.is_unreachable {
                return None;
            }
            Some(match query.question {
                Question::Services => json!(state.services),
                Question::Aggregates => json!(state.aggregates),
                Question::Occupants { host } => {
                    state.asked.insert(host.clone());
                    json!(state.occupants.get(&host).copied().unwrap_or_default())
                }
            })
        })
    }

    fn call(&mut self, call: &str) {
        let call: Call = serde_json::from_str(call).unwrap();
        self.change(|state| {
            state.calls += 1;
            let by_id = |id: &str, state: &State| {
                let mut services = state.services.iter();
                services
                    .find(|(_, service)| service.id == id)
                    .unwrap()
                    .0
                    .clone()
            };
            let aggregate = |id: u64, state: &mut State| -> usize {
                state
                    .aggregates
                    .iter()
                    .position(|one| one.id == id)
                    .unwrap()
            };
            match call.change {
                Change::Disable { service, reason } => {
                    let host = by_id(&service, state);
                    state.services.get_mut(&host).unwrap().disabled = Some(reason);
                }
                Change::Enable { service } => {
                    let host = by_id(&service, state);
                    state.services.get_mut(&host).unwrap().disabled = None;
                }
                Change::Delete { service, host } => {
                    assert_eq!(by_id(&service, state), host);
                    state.services.remove(&host);
                    for aggregate in &mut state.aggregates {
                        aggregate.hosts.remove(&host);
                    }
                }
                Change::CreateAggregate { name, zone } => {
                    let id = state.calls as u64;
                    state.aggregates.push(Aggregate {
                        id,
                        name,
                        zone,
                        ..Aggregate::default()
                    });
                }
                Change::UpdateAggregate { id, name, zone } => {
                    let at = aggregate(id, state);
                    (state.aggregates[at].name, state.aggregates[at].zone) = (name, zone);
                }
                Change::SetMetadata { id, metadata } => {
                    let at = aggregate(id, state);
                    for (key, value) in metadata {
                        let own = &mut state.aggregates[at].metadata;
                        match value {
                            Some(value) => own.insert(key, value),
                            None => own.remove(&key),
                        };
                    }
                }
                Change::AddHost { id, host } => {
                    let at = aggregate(id, state);
                    state.aggregates[at].hosts.insert(host);
                }
                Change::RemoveHost { id, host } => {
                    let at = aggregate(id, state);
                    state.aggregates[at].hosts.remove(&host);
                }
                Change::DeleteAggregate { id } => {
                    let at = aggregate(id, state);
                    assert!(state.aggregates[at].hosts.is_empty(), "Nova refuses it");
                    state.aggregates.remove(at);
                }
            }
        });
    }
}

fn started() -> (Cluster, Nova) {
    let mut cluster = cluster();
    let nova = Nova::connect(&mut cluster);
    settle(&mut cluster, "prod");
    (cluster, nova)
}

/// Lets both controllers run, each after the other, until Nova's answers are old.
fn later(cluster: &mut Cluster) -> [String; 3] {
    for _ in 0..3 {
        cluster.wait(SignedDuration::from_secs(15));
        reconcile(cluster, "prod");
    }
    drained(cluster)
}

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
        "1 of 2 nodes are drained, with 3 servers: node-b waits for 3 servers to be deleted or moved"
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
            "waits for its compute service to be disabled: see the condition ComputeServicesUp"
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
    for cell in ["cell1", "cell2"] {
        cluster.delete(&Key::of::<Secret>(
            "openstack-prod",
            &format!("nova-{cell}-compute"),
        ));
    }
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
    for cell in ["cell1", "cell2"] {
        cluster.delete(&Key::of::<Secret>(
            "openstack-prod",
            &format!("nova-{cell}-compute"),
        ));
    }
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
        condition(&cluster, "prod", "ComputeServicesUp"),
        [
            "False",
            "NotRegistered",
            "nova-compute doesn't report to Nova from node-a, node-b: check its pods on these nodes, and `openstack compute \
             service list`"
        ]
        .map(str::to_owned)
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
    assert_eq!(nova.change(|state| state.asked.len()), 8);
    nova.occupy("node-49", 0, 0);
    pod(&mut cluster, "drain", "node-49", Some(true));
    later(&mut cluster);
    assert_eq!(phase(&cluster, "node-49").as_deref(), Some("Releasing"));
}

fn set(cluster: &mut Cluster, field: &str, value: Value) {
    cluster.edit(&share_key("prod"), |share| share["spec"][field] = value);
}

fn aggregates(nova: &Nova) -> Value {
    nova.change(|state| {
        let all = state.aggregates.iter();
        let all = all.map(|one| json!([one.name, one.zone, one.metadata, one.hosts]));
        json!(all.collect::<Vec<_>>())
    })
}

#[test]
fn aggregate_of_a_share_has_its_nodes_zone_and_metadata() {
    let mut cluster = cluster();
    let nova = Nova::connect(&mut cluster);
    set(&mut cluster, "availabilityZone", json!("zone-a"));
    set(
        &mut cluster,
        "aggregate",
        json!({ "name": "hv-pool-a", "metadata": { "tier": "premium" } }),
    );
    settle(&mut cluster, "prod");
    later(&mut cluster);
    let uid = cluster.get(&share_key("prod")).unwrap()["metadata"]["uid"].clone();
    let marked = |metadata: Value| {
        let mut metadata = metadata;
        metadata["c5c3.hypervisor-share"] = json!(uid);
        metadata
    };
    let both = json!(["node-a", "node-b"]);
    assert_eq!(
        aggregates(&nova),
        json!([[
            "hv-pool-a",
            "zone-a",
            marked(json!({ "tier": "premium" })),
            both
        ]])
    );
    assert_eq!(condition(&cluster, "prod", "AggregateReady")[0], "True");
    let calls = nova.change(|state| state.calls);
    later(&mut cluster);
    assert_eq!(nova.change(|state| state.calls), calls, "it stays as it is");

    set(
        &mut cluster,
        "aggregate",
        json!({ "name": "renamed", "metadata": { "example.com/rack": "1", "a+b": "c" } }),
    );
    later(&mut cluster);
    assert_eq!(
        aggregates(&nova),
        json!([[
            "renamed",
            "zone-a",
            marked(json!({ "example.com:rack": "1" })),
            both
        ]])
    );
    let [status, reason, message] = condition(&cluster, "prod", "AggregateReady");
    assert_eq!([status, reason], ["False", "Invalid"]);
    assert!(message.contains("lacks the metadata a+b"), "{message}");

    let mut remove = |field: &str| {
        cluster.edit(&share_key("prod"), |share| {
            share["spec"].as_object_mut().unwrap().remove(field);
        });
        later(&mut cluster);
        later(&mut cluster);
    };
    remove("availabilityZone");
    let made = json!([[
        "renamed",
        null,
        marked(json!({ "example.com:rack": "1" })),
        both
    ]]);
    assert_eq!(
        aggregates(&nova),
        made,
        "Nova removes no zone, so it is made again"
    );
    remove("aggregate");
    assert_eq!(aggregates(&nova), json!([]));
}

#[test]
fn aggregate_that_somebody_made_is_not_changed() {
    let (mut cluster, nova) = started();
    let made = Aggregate {
        id: 1,
        name: "hv-pool-a".to_owned(),
        hosts: BTreeSet::from(["node-a".to_owned()]),
        ..Aggregate::default()
    };
    nova.change(|state| state.aggregates.push(made.clone()));
    set(&mut cluster, "aggregate", json!({ "name": "hv-pool-a" }));
    later(&mut cluster);
    assert_eq!(nova.change(|state| state.aggregates.clone()), [made]);
    let [_, reason, message] = condition(&cluster, "prod", "AggregateReady");
    assert_eq!(reason, "NameTaken");
    let uid = cluster.get(&share_key("prod")).unwrap()["metadata"]["uid"].clone();
    assert_eq!(
        message,
        format!(
            "Nova has an aggregate hv-pool-a that isn't of this share: delete it, or hand it over by `openstack aggregate set \
             --property c5c3.hypervisor-share={} hv-pool-a`",
            uid.as_str().unwrap()
        )
    );
}

#[test]
fn aggregate_goes_with_its_share_once_no_node_is_in_it() {
    let (mut cluster, nova) = started();
    set(&mut cluster, "availabilityZone", json!("zone-a"));
    later(&mut cluster);
    assert_eq!(aggregates(&nova)[0][3], json!(["node-a", "node-b"]));
    cluster.delete(&share_key("prod"));
    nova.occupy("node-a", 1, 0);
    pod(&mut cluster, "drain", "node-b", Some(true));
    later(&mut cluster);
    pod(&mut cluster, "drain", "node-b", None);
    later(&mut cluster);
    assert_eq!(
        aggregates(&nova)[0][3],
        json!(["node-a"]),
        "its server keeps its zone"
    );
    nova.occupy("node-a", 0, 0);
    pod(&mut cluster, "drain", "node-a", Some(true));
    later(&mut cluster);
    pod(&mut cluster, "drain", "node-a", None);
    later(&mut cluster);
    assert_eq!(aggregates(&nova), json!([]));
}

/// The shares of a control plane have one name in all clusters.
#[test]
fn aggregate_of_another_pool_stays_as_it_is() {
    let (mut cluster, nova) = started();
    let other = Aggregate {
        id: 1_000,
        name: "hv-pool-b".to_owned(),
        metadata: BTreeMap::from([("c5c3.hypervisor-share".to_owned(), "another UID".to_owned())]),
        ..Aggregate::default()
    };
    nova.change(|state| state.aggregates.push(other.clone()));
    set(&mut cluster, "aggregate", json!({ "name": "hv-pool-a" }));
    later(&mut cluster);
    let all = nova.change(|state| state.aggregates.clone());
    assert_eq!(all[0], other);
    assert_eq!((all.len(), all[1].name.as_str()), (2, "hv-pool-a"));
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
