//! Aggregates of shares in Nova.

mod identity;
mod zone;

use std::collections::{BTreeMap, BTreeSet};

use provider_composer_testing::Cluster;
use provider_hypervisor_pool::nova::Aggregate;
use serde_json::{Value, json};

use crate::drain::pod;
use crate::fixture::*;
use crate::nova::{Nova, State, in_zone_a, later, started};

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

/// Whatever was written before.
#[rstest::rstest]
#[case::metadata("WaitingForAggregate", |state: &mut State| {
    state.aggregates[0].metadata.insert("tier".to_owned(), "basic".to_owned());
})]
#[case::zone("WaitingForAggregate", |state: &mut State| {
    state.aggregates[0].zone = Some("zone-b".to_owned());
})]
#[case::host("WaitingForAggregate", |state: &mut State| {
    state.aggregates[0].hosts.remove("node-b");
})]
#[case::host_in_placement("WaitingForPlacement", |state: &mut State| {
    state.uncopied.insert("node-b".to_owned());
})]
fn aggregate_is_ready_only_while_nova_and_placement_have_it(
    #[case] reason: &str,
    #[case] change: fn(&mut State),
) {
    let (mut cluster, nova) = in_zone_a();
    set(
        &mut cluster,
        "aggregate",
        json!({ "name": "hv-pool-a", "metadata": { "tier": "premium" } }),
    );
    later(&mut cluster);
    assert_eq!(condition(&cluster, "prod", "AggregateReady")[0], "True");
    nova.change(change);
    let status = answer(&cluster, "prod").status;
    let mut conditions = status["conditions"].as_array().unwrap().iter();
    let ready = conditions.find(|one| one["type"] == "AggregateReady");
    assert_eq!(ready.unwrap()["status"], "False");
    assert_eq!(ready.unwrap()["reason"], reason);
    later(&mut cluster);
    assert_eq!(condition(&cluster, "prod", "AggregateReady")[0], "True");
}

#[test]
fn metadata_by_which_an_administrator_isolates_hosts_stays() {
    let (mut cluster, nova) = started();
    let wanted = json!({ "name": "hv-pool-a", "metadata": { "tier": "premium" } });
    set(&mut cluster, "aggregate", wanted);
    later(&mut cluster);
    let set_by_hand = [
        "filter_tenant_id",
        "filter_tenant_id-2",
        "trait:CUSTOM_TIER_PREMIUM",
        "other",
    ];
    nova.change(|state| {
        let set = set_by_hand.map(|key| (key.to_owned(), "value".to_owned()));
        state.aggregates[0].metadata.extend(set);
    });
    later(&mut cluster);
    let metadata = nova.change(|state| state.aggregates[0].metadata.clone());
    let keys: Vec<&String> = metadata.keys().collect();
    assert_eq!(
        keys,
        [
            "c5c3.hypervisor-share",
            "filter_tenant_id",
            "filter_tenant_id-2",
            "tier",
            "trait:CUSTOM_TIER_PREMIUM"
        ]
    );
    assert_eq!(condition(&cluster, "prod", "AggregateReady")[0], "True");
}

fn metadata_keys(nova: &Nova) -> Vec<String> {
    nova.change(|state| state.aggregates[0].metadata.keys().cloned().collect())
}

#[test]
fn metadata_that_isolates_hosts_is_removed_with_the_label_that_it_came_from() {
    let (mut cluster, nova) = started();
    let label = |metadata: Value| json!({ "name": "hv-pool-a", "metadata": metadata });
    let wanted = json!({ "filter_tenant_id": "a", "trait/CUSTOM_TIER_PREMIUM": "required" });
    set(&mut cluster, "aggregate", label(wanted));
    later(&mut cluster);
    assert_eq!(
        metadata_keys(&nova),
        [
            "c5c3.from-share:filter_tenant_id",
            "c5c3.from-share:trait:CUSTOM_TIER_PREMIUM",
            "c5c3.hypervisor-share",
            "filter_tenant_id",
            "trait:CUSTOM_TIER_PREMIUM"
        ]
    );
    nova.change(|state| {
        let by_hand = ("filter_tenant_id-2".to_owned(), "b".to_owned());
        state.aggregates[0].metadata.extend([by_hand]);
    });
    set(&mut cluster, "aggregate", label(json!({})));
    later(&mut cluster);
    later(&mut cluster);
    assert_eq!(
        metadata_keys(&nova),
        ["c5c3.hypervisor-share", "filter_tenant_id-2"]
    );
    assert_eq!(condition(&cluster, "prod", "AggregateReady")[0], "True");
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
    let (mut cluster, nova) = in_zone_a();
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

/// The condition, once the operator has reconciled without a call of Nova.
fn refusal(cluster: &mut Cluster, nova: &Nova) -> [String; 3] {
    later(cluster);
    let calls = nova.change(|state| state.calls);
    later(cluster);
    assert_eq!(nova.change(|state| state.calls), calls, "nothing is called");
    condition(cluster, "prod", "AggregateReady")
}

#[test]
fn aggregate_is_not_renamed_to_a_name_that_another_has() {
    let (mut cluster, nova) = in_zone_a();
    let other = Aggregate {
        id: 1_000,
        name: "hv-pool-b".to_owned(),
        ..Aggregate::default()
    };
    nova.change(|state| state.aggregates.push(other));
    set(
        &mut cluster,
        "aggregate",
        json!({ "name": "hv-pool-b", "metadata": { "tier": "premium" } }),
    );
    let [_, reason, message] = refusal(&mut cluster, &nova);
    assert_eq!(reason, "NameTaken");
    assert!(
        message.starts_with("Nova has an aggregate hv-pool-b that isn't of this share:"),
        "{message}"
    );
    let aggregates = aggregates(&nova);
    assert_eq!(
        (&aggregates[0][0], &aggregates[0][2]["tier"]),
        (&json!("prod"), &json!("premium"))
    );
}
