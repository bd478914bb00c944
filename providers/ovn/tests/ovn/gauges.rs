//! Gauges of an OVNCluster.

use std::collections::BTreeSet;

use provider_composer::{Gauge, ObservedState, Operator};
use provider_ovn::OvnCluster;
use serde_json::json;

use crate::stage::{Stage, subject};

const ALERTS: &str = include_str!("../../../../package/charts/c5c3-library/templates/_alerts.tpl");

fn gauges(stage: &Stage) -> Vec<Gauge> {
    let observed = ObservedState::new(&stage.cluster, stage.cluster.now());
    let resource = stage.cluster.get(&subject()).unwrap();
    let composed = OvnCluster.composed(resource, &observed).unwrap();
    composed.desired.gauges
}

/// The gauges as lines, without the prefix of their names.
fn lines(stage: &Stage) -> Vec<String> {
    let lines = gauges(stage).into_iter().map(|gauge| {
        let labels = gauge.labels.into_iter();
        let labels = labels.map(|(_, value)| format!(" {value}"));
        let name = gauge.metric.name.trim_start_matches("ovn_");
        format!("{name}{} {}", labels.collect::<String>(), gauge.value)
    });
    lines.collect()
}

#[test]
fn members_northd_and_nodes_are_exported() {
    let mut stage = Stage::new(json!({ "northbound": { "replicas": 1 } }));
    stage.reconcile();
    stage.ready("nb", &[0]);
    stage.ready("sb", &[0, 1]);
    stage.northd_is_available();
    stage.reconcile();
    assert_eq!(
        lines(&stage),
        [
            "database_member_connected OVN_Northbound ovn-nb-0 1",
            "database_member_leader OVN_Northbound ovn-nb-0 1",
            "database_member_lag OVN_Northbound ovn-nb-0 0",
            "database_member_connected OVN_Southbound ovn-sb-0 1",
            "database_member_leader OVN_Southbound ovn-sb-0 1",
            "database_member_lag OVN_Southbound ovn-sb-0 0",
            "database_member_connected OVN_Southbound ovn-sb-1 1",
            "database_member_leader OVN_Southbound ovn-sb-1 0",
            "database_member_lag OVN_Southbound ovn-sb-1 2",
            "database_member_connected OVN_Southbound ovn-sb-2 0",
            "database_member_leader OVN_Southbound ovn-sb-2 0",
            "chassis 1",
            "chassis_alive 1",
            "northd_lag 2",
        ]
    );
}

#[test]
fn members_of_a_database_that_cannot_be_asked_are_not_connected() {
    let mut stage = Stage::new(json!({
        "northbound": { "replicas": 1 }, "southbound": { "replicas": 1 },
    }));
    stage.reconcile();
    stage.ready("nb", &[0]);
    stage.reconcile();
    assert_eq!(
        lines(&stage),
        [
            "database_member_connected OVN_Northbound ovn-nb-0 1",
            "database_member_leader OVN_Northbound ovn-nb-0 1",
            "database_member_lag OVN_Northbound ovn-nb-0 0",
            "database_member_connected OVN_Southbound ovn-sb-0 0",
            "database_member_leader OVN_Southbound ovn-sb-0 0",
            "northd_lag 2",
        ]
    );
}

#[test]
fn gauges_that_alerts_name_exist() {
    let mut stage = Stage::new(json!({}));
    stage.serve();
    let exported: BTreeSet<&str> = gauges(&stage)
        .iter()
        .map(|gauge| gauge.metric.name)
        .collect();
    let words = ALERTS.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let named: BTreeSet<&str> = words.filter(|word| word.starts_with("ovn_")).collect();
    assert!(!named.is_empty());
    assert!(named.is_subset(&exported), "{named:?} of {exported:?}");
}
