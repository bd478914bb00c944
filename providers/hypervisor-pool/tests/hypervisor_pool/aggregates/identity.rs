//! Aggregates with the identity of an earlier share.

use std::collections::{BTreeMap, BTreeSet};

use provider_hypervisor_pool::nova::Aggregate;
use serde_json::{Value, json};

use super::{aggregates, refusal, set};
use crate::fixture::*;
use crate::nova::{later, started};

/// The share has another UID, and the identity of the earlier one.
#[test]
fn aggregate_of_an_earlier_share_is_that_of_the_same_identity() {
    let (mut cluster, nova) = started();
    let earlier = BTreeMap::from([("c5c3.hypervisor-share".to_owned(), "earlier".to_owned())]);
    let made = Aggregate {
        id: 1_000,
        name: "hv-pool-a".to_owned(),
        metadata: earlier,
        ..Aggregate::default()
    };
    nova.change(|state| state.aggregates.push(made.clone()));
    set(&mut cluster, "identity", json!("earlier"));
    set(&mut cluster, "aggregate", json!({ "name": "hv-pool-a" }));
    later(&mut cluster);
    let hosts = BTreeSet::from(["node-a", "node-b"].map(str::to_owned));
    assert_eq!(
        nova.change(|state| state.aggregates.clone()),
        [Aggregate { hosts, ..made }]
    );
    assert_eq!(condition(&cluster, "prod", "AggregateReady")[0], "True");
}

/// An aggregate of a share with the identity `earlier`.
fn with_identity(name: &str) -> Aggregate {
    Aggregate {
        id: 1_000,
        uuid: format!("uuid-of-{name}"),
        name: name.to_owned(),
        metadata: BTreeMap::from([("c5c3.hypervisor-share".to_owned(), "earlier".to_owned())]),
        ..Aggregate::default()
    }
}

/// As where a share was copied into another pool of the same control plane.
#[rstest::rstest]
#[case::an_aggregate_is_wanted(json!({ "name": "hv-pool-a" }), "hv-pool-a")]
#[case::none_is_wanted(json!(null), "prod")]
fn aggregate_of_the_same_identity_with_another_name_is_not_taken_over(
    #[case] wanted: Value,
    #[case] name: &str,
) {
    let (mut cluster, nova) = started();
    let made = Aggregate {
        hosts: BTreeSet::from(["node-of-pool-b".to_owned()]),
        ..with_identity("hv-pool-b")
    };
    nova.change(|state| state.aggregates.push(made.clone()));
    set(&mut cluster, "identity", json!("earlier"));
    set(&mut cluster, "aggregate", wanted.clone());
    assert_eq!(
        refusal(&mut cluster, &nova),
        [
            "False".to_owned(),
            "NameTaken".to_owned(),
            format!(
                "Nova's aggregate hv-pool-b has this share's spec.identity earlier, and the name of this share's is {name}. Where this share \
                 is a copy of one in another pool, drain its nodes first, because agents of another identity don't start on nodes with files \
                 of this one; then set another aggregate.name and remove spec.identity. Where that one is the copy, drain and delete it there. \
                 Where the aggregate is of this share, rename it by `openstack aggregate set --name {name} hv-pool-b`"
            )
        ]
    );
    assert_eq!(nova.change(|state| state.aggregates.clone()), [made]);

    set(&mut cluster, "identity", json!(null));
    later(&mut cluster);
    assert_eq!(condition(&cluster, "prod", "AggregateReady")[0], "True");
    let own = usize::from(wanted != json!(null));
    assert_eq!(nova.change(|state| state.aggregates.len()), 1 + own);
}

/// As it was named before the share was created again.
#[test]
fn aggregate_of_the_same_identity_is_taken_over_once_it_is_renamed() {
    let (mut cluster, nova) = started();
    nova.change(|state| state.aggregates.push(with_identity("former")));
    set(&mut cluster, "identity", json!("earlier"));
    set(&mut cluster, "aggregate", json!({ "name": "hv-pool-a" }));
    assert_eq!(refusal(&mut cluster, &nova)[1], "NameTaken");
    nova.change(|state| state.aggregates[0].name = "hv-pool-a".to_owned());
    later(&mut cluster);
    assert_eq!(aggregates(&nova)[0][3], json!(["node-a", "node-b"]));
    assert_eq!(condition(&cluster, "prod", "AggregateReady")[0], "True");
}
