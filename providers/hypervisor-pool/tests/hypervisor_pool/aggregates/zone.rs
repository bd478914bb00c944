//! Availability zones of aggregates whose hosts have servers.

use provider_composer_testing::Cluster;
use serde_json::{Value, json};

use super::{aggregates, refusal, set};
use crate::fixture::*;
use crate::nova::{Nova, in_zone_a, later, service, started};

fn zone_in_use(message: &str) -> [String; 3] {
    ["False", "ZoneInUse", message].map(str::to_owned)
}

#[test]
fn aggregate_stays_in_its_zone_while_its_hosts_have_servers() {
    let (mut cluster, nova) = in_zone_a();
    nova.occupy("node-a", 2, 1);
    nova.occupy("node-b", 0, 1);
    set(&mut cluster, "availabilityZone", json!("zone-b"));
    assert_eq!(
        refusal(&mut cluster, &nova),
        zone_in_use(
            "the availability zone of the aggregate prod stays zone-a instead of zone-b, because Nova moves no host with servers: node-a has \
             3, node-b has 1 (migrations counted too); delete these servers or shelve them with --offload (`openstack server list \
             --all-projects --host node-a`), or set availabilityZone back"
        )
    );
    assert_eq!(condition(&cluster, "prod", "Ready")[1], "ZoneInUse");
    let both = json!(["node-a", "node-b"]);
    let is = |nova: &Nova, name: &str, zone: &str| {
        let aggregates = aggregates(nova);
        assert_eq!(
            [&aggregates[0][0], &aggregates[0][1], &aggregates[0][3]],
            [&json!(name), &json!(zone), &both]
        );
    };
    is(&nova, "prod", "zone-a");

    set(&mut cluster, "aggregate", json!({ "name": "renamed" }));
    assert_eq!(refusal(&mut cluster, &nova)[1], "ZoneInUse");
    is(&nova, "renamed", "zone-a");

    nova.occupy("node-a", 0, 0);
    nova.occupy("node-b", 0, 0);
    later(&mut cluster);
    is(&nova, "renamed", "zone-b");
    assert_eq!(condition(&cluster, "prod", "AggregateReady")[0], "True");
}

#[test]
fn aggregate_without_a_zone_gets_none_while_its_hosts_have_servers() {
    let (mut cluster, nova) = started();
    set(&mut cluster, "aggregate", json!({ "name": "hv-pool-a" }));
    later(&mut cluster);
    nova.occupy("node-b", 1, 0);
    set(&mut cluster, "availabilityZone", json!("zone-a"));
    let [_, reason, message] = refusal(&mut cluster, &nova);
    assert_eq!(reason, "ZoneInUse");
    assert!(
        message.starts_with("the availability zone of the aggregate hv-pool-a stays (none) instead of zone-a, because"),
        "{message}"
    );
}

#[rstest::rstest]
#[case::another_aggregate_remains(json!({ "name": "prod" }))]
#[case::none_remains(json!(null))]
fn zone_is_not_removed_from_hosts_with_servers(#[case] aggregate: Value) {
    let (mut cluster, nova) = in_zone_a();
    nova.occupy("node-b", 1, 0);
    set(&mut cluster, "aggregate", aggregate);
    set(&mut cluster, "availabilityZone", json!(null));
    let before = aggregates(&nova);
    let [_, reason, message] = refusal(&mut cluster, &nova);
    assert_eq!(reason, "ZoneInUse");
    assert!(
        message.starts_with(
            "the availability zone of the aggregate prod stays zone-a instead of (none), because"
        ),
        "{message}"
    );
    assert_eq!(aggregates(&nova)[0][3], before[0][3]);
}

/// Nova removes a zone only with its aggregate.
#[rstest::rstest]
#[case::another_aggregate_remains(json!({ "name": "prod" }))]
#[case::none_remains(json!(null))]
fn zone_is_not_removed_with_what_an_administrator_set_to_isolate_hosts(#[case] aggregate: Value) {
    let (mut cluster, nova) = in_zone_a();
    nova.change(|state| {
        let keys = ["filter_tenant_id", "trait:CUSTOM_TIER_PREMIUM"];
        let by_hand = keys.map(|key| (key.to_owned(), "required".to_owned()));
        state.aggregates[0].metadata.extend(by_hand);
    });
    set(&mut cluster, "aggregate", aggregate.clone());
    set(&mut cluster, "availabilityZone", json!(null));
    let before = aggregates(&nova);
    assert_eq!(
        refusal(&mut cluster, &nova),
        zone_in_use(
            "the aggregate prod stays, and its availability zone zone-a, because the properties that keep its hosts for projects or flavors \
             would be lost with it: filter_tenant_id, trait:CUSTOM_TIER_PREMIUM. Remove them by `openstack aggregate unset --property \
             filter_tenant_id --property trait:CUSTOM_TIER_PREMIUM prod`, and set them again where the share still has an aggregate; or set \
             availabilityZone and aggregate back"
        )
    );
    assert_eq!(aggregates(&nova), before);

    nova.change(|state| {
        let own = &mut state.aggregates[0].metadata;
        own.retain(|key, _| key == "c5c3.hypervisor-share");
    });
    later(&mut cluster);
    later(&mut cluster);
    let zones = nova.change(|state| {
        let zones = state.aggregates.iter().map(|one| one.zone.clone());
        zones.collect::<Vec<_>>()
    });
    let left: Vec<Option<String>> = match aggregate.is_null() {
        true => Vec::new(),
        false => vec![None],
    };
    assert_eq!(zones, left);
}

#[test]
fn host_with_servers_does_not_enter_a_zone_and_others_do() {
    let (mut cluster, nova) = started();
    nova.occupy("node-b", 1, 0);
    set(&mut cluster, "availabilityZone", json!("zone-a"));
    assert_eq!(
        refusal(&mut cluster, &nova),
        zone_in_use(
            "hosts with servers aren't added to the aggregate prod, because Nova moves them to no other availability zone, here zone-a: \
             node-b has 1 (migrations counted too); delete these servers or shelve them with --offload (`openstack server list \
             --all-projects --host node-b`)"
        )
    );
    assert_eq!(aggregates(&nova)[0][3], json!(["node-a"]));
    nova.occupy("node-b", 0, 0);
    later(&mut cluster);
    assert_eq!(aggregates(&nova)[0][3], json!(["node-a", "node-b"]));
    assert_eq!(condition(&cluster, "prod", "AggregateReady")[0], "True");
}

/// A Nova that doesn't say whether a host has servers may have some there.
#[test]
fn zone_stays_while_nova_does_not_say_what_is_on_a_host() {
    let (mut cluster, nova) = in_zone_a();
    nova.change(|state| state.silent.insert("node-b".to_owned()));
    set(&mut cluster, "availabilityZone", json!("zone-b"));
    assert_eq!(
        refusal(&mut cluster, &nova).join(": "),
        "Unknown: LookupFailed: Nova can't be asked what is on node-b: nova doesn't answer"
    );
    assert_eq!(aggregates(&nova)[0][1], "zone-a");
}

#[test]
fn few_hosts_of_a_large_aggregate_are_asked_about_where_they_have_servers_and_else_all() {
    let (mut cluster, nova) = in_zone_a();
    for number in 10..50 {
        let node = format!("node-{number}");
        put_node(&mut cluster, &node, "10.0.1.1");
        nova.change(|state| state.services.insert(node.clone(), service(&node, true)));
    }
    for _ in 0..3 {
        later(&mut cluster);
    }
    assert_eq!(aggregates(&nova)[0][3].as_array().unwrap().len(), 42);
    let asked = |cluster: &mut Cluster| {
        nova.change(|state| state.asked.clear());
        assert_eq!(refusal(cluster, &nova)[1], "ZoneInUse");
        nova.change(|state| state.asked.len())
    };
    nova.occupy("node-b", 1, 0);
    set(&mut cluster, "availabilityZone", json!("zone-b"));
    assert_eq!(asked(&mut cluster), 42);
    nova.occupy("node-12", 1, 0);
    assert_eq!(asked(&mut cluster), 8);
}
