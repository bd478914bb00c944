//! Gauges of an OVNCluster.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Pod, Secret};
use provider_composer::{Gauge, ObservedState, Operator, Resource};
use provider_ovn::{OvnCluster, ovsdb};
use serde_json::json;

use crate::stage::{Southbound, Stage, key, subject};

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
fn database_without_ready_members_has_no_leader() {
    let mut stage = Stage::new(json!({
        "northbound": { "replicas": 1 }, "southbound": { "replicas": 1 },
    }));
    stage.reconcile();
    stage.ready("nb", &[0]);
    stage.ready("sb", &[0]);
    stage.reconcile();
    stage.ready("sb", &[]);
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

/// Neither C5C3OVNWithoutLeader nor C5C3OVNUnreachable is of a control plane that is being created.
#[test]
fn database_that_was_not_created_yet_exports_nothing() {
    let mut stage = Stage::new(json!({}));
    stage.reconcile();
    assert_eq!(lines(&stage), [""; 0]);
}

/// C5C3OVNWithoutLeader must not resolve because something else is missing, too.
#[test]
fn database_without_ready_members_has_no_leader_while_the_certificate_is_missing() {
    let mut stage = Stage::new(json!({}));
    stage.serve();
    stage.cluster.delete(&key::<Secret>("ovn-tls"));
    let certain = "database_member_leader OVN_Southbound ovn-sb-0 0".to_owned();
    let connected = "database_member_connected OVN_Southbound ovn-sb-0 0".to_owned();
    assert!(lines(&stage).contains(&connected));
    assert!(!lines(&stage).contains(&certain), "it can't be asked");
    stage.ready("sb", &[]);
    assert!(lines(&stage).contains(&certain));
}

/// C5C3OVNWithoutLeader is critical, and the operator alone may be cut off from a database that serves.
#[test]
fn leader_is_exported_where_it_is_known() {
    let leaders = |ready: &[usize], unreachable: &[&'static str]| {
        let mut stage = Stage::new(json!({}));
        stage.serve();
        stage.ready("sb", ready);
        let southbound = Southbound {
            unreachable: unreachable.to_vec(),
            ..stage.southbound.clone()
        };
        stage.cluster.connect(ovsdb::SYSTEM, southbound);
        southbound_leaders(&stage)
    };
    assert_eq!(leaders(&[0, 1, 2], &["ovn-sb-1", "ovn-sb-2"]), Some(1));
    assert_eq!(leaders(&[0, 1, 2], &["ovn-sb-0"]), None, "it is cut off");
    assert_eq!(leaders(&[0], &["ovn-sb-0"]), None);
    assert_eq!(leaders(&[1, 2], &[]), Some(0), "all others answer");
    assert_eq!(leaders(&[], &[]), Some(0), "none has a majority");
}

#[test]
fn leader_of_members_that_cannot_be_read_is_not_exported() {
    let mut stage = Stage::new(json!({}));
    stage.serve();
    stage.cluster.set_kind_readable(Pod::KIND, false);
    assert_eq!(southbound_leaders(&stage), None);
}

/// How many members of the southbound database lead; none where that isn't exported.
fn southbound_leaders(stage: &Stage) -> Option<i64> {
    let gauges = gauges(stage).into_iter();
    let of_leader = gauges.filter(|gauge| gauge.metric.name == "ovn_database_member_leader");
    let mut southbound = of_leader.filter(|gauge| {
        let mut values = gauge.labels.iter().map(|(_, value)| value);
        values.any(|value| value == "OVN_Southbound")
    });
    let first = southbound.next()?.value;
    Some(southbound.fold(first, |leaders, gauge| leaders + gauge.value))
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
