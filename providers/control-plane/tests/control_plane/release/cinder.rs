//! A change of release waits for members of Cinder that complete their work.

use c5c3_api::control_plane::UpdatePhase;
use jiff::{SignedDuration, Timestamp};
use provider_control_plane::graph::Node;
use provider_control_plane::rollout::TIMEOUT;
use provider_openstack::{CINDER_BACKUP, CINDER_VOLUME};
use serde_json::json;

use super::{assert_rolls_back_after, phase, wants};
use crate::stage::{Stage, first};

/// Reports of Cinder that its API is replaced since `begun`, and of its backup the condition's reason, and since when it has its status.
fn report_cinder(stage: &mut Stage, begun: Timestamp, backup: (&str, Timestamp)) {
    let components = [
        ("APIReady", "WaitingForComponent", begun),
        ("VolumeReady", "Ready", begun),
        ("BackupReady", backup.0, backup.1),
    ];
    let each = components.into_iter().map(|(type_, reason, since)| {
        let status = if reason == "Ready" { "True" } else { "False" };
        json!({ "type": type_, "status": status, "reason": reason, "lastTransitionTime": since.to_string() })
    });
    let ready = json!({ "type": "Ready", "status": "False", "reason": "WaitingForComponent" });
    let conditions: Vec<serde_json::Value> = each.chain([ready]).collect();
    let status = json!({ "release": "2025.2", "conditions": conditions });
    stage.cluster.set_status(&first(Node::Cinder), status);
    stage.settle();
}

/// A change to 2026.1 in which Cinder's members are replaced, with backups and one member of each kind.
fn replaces_members_of_cinder() -> Stage {
    let rbd = json!({ "pool": "backups", "cephSecretRef": { "name": "ceph-backup" } });
    let mut stage = Stage::running(json!({
        "openStackRelease": "2025.2",
        "services": { "cinder": { "backup": { "rbd": rbd } } },
    }));
    wants(&mut stage, "2026.1");
    stage.settle();
    stage.held.insert(Node::Cinder);
    stage.simulate();
    let begun = stage.cluster.now();
    report_cinder(&mut stage, begun, ("Ready", begun));
    stage
}

#[test]
fn phase_waits_while_members_of_cinder_complete_their_work() {
    let mut stage = replaces_members_of_cinder();
    let begun = stage.cluster.now();
    stage.cluster.wait(TIMEOUT * 3);
    stage.settle();
    assert_eq!(phase(&stage), UpdatePhase::UpdatingServices);

    // The next pod starts, and doesn't become ready.
    let now = stage.cluster.now();
    report_cinder(&mut stage, begun, ("Starting", now));
    assert_eq!(phase(&stage), UpdatePhase::UpdatingServices);
    assert_rolls_back_after(&mut stage, TIMEOUT);
}

#[test]
fn phase_ends_once_each_member_of_cinder_may_have_completed_its_work() {
    let mut stage = replaces_members_of_cinder();
    let members = [CINDER_VOLUME, CINDER_BACKUP].into_iter();
    let seconds = members.filter_map(|member| member.shutdown()).sum::<u32>();
    let work = SignedDuration::from_secs(seconds.into());
    assert_rolls_back_after(&mut stage, work + TIMEOUT);
}
