//! A change of release waits while RabbitMQ blocks publishers.

use std::collections::BTreeSet;

use c5c3_api::control_plane::UpdatePhase;
use provider_control_plane::credentials::rabbitmq::{AlarmResource, Answer};
use provider_control_plane::graph::Node;
use provider_control_plane::rollout::TIMEOUT;
use serde_json::json;

use super::{assert_rolls_back_after, phase, wants};
use crate::alarms::{alarm, answer, asked};

#[test]
fn phase_waits_while_rabbitmq_has_alarms() {
    let mut stage = asked(json!({}));
    wants(&mut stage, "2026.1");
    stage.held.insert(Node::Cinder);
    stage.simulate();
    assert_eq!(phase(&stage), UpdatePhase::UpdatingServices);
    let alarms = BTreeSet::from([alarm(AlarmResource::Disk, 0)]);
    answer(&mut stage, Answer::Alarms(alarms));
    stage.cluster.wait(TIMEOUT * 3);
    stage.settle();
    assert_eq!(phase(&stage), UpdatePhase::UpdatingServices);

    answer(&mut stage, Answer::default());
    assert_rolls_back_after(&mut stage, TIMEOUT);
}

#[test]
fn phase_has_its_time_again_when_rabbitmq_restarts_and_its_alarms_end() {
    let mut stage = asked(json!({}));
    wants(&mut stage, "2026.1");
    stage.held.insert(Node::Cinder);
    stage.simulate();
    let alarms = BTreeSet::from([alarm(AlarmResource::Memory, 0)]);
    answer(&mut stage, Answer::Alarms(alarms));
    stage.cluster.wait(TIMEOUT * 3);
    stage.held.insert(Node::RabbitMq);
    stage.simulate();
    assert_eq!(phase(&stage), UpdatePhase::UpdatingServices);

    stage.held.remove(&Node::RabbitMq);
    *stage.alarms.borrow_mut() = Answer::default();
    stage.simulate();
    assert_rolls_back_after(&mut stage, TIMEOUT);
}

#[test]
fn phase_has_no_more_time_when_mariadb_recovers() {
    let mut stage = asked(json!({}));
    wants(&mut stage, "2026.1");
    stage.held.insert(Node::Cinder);
    stage.simulate();
    stage.cluster.wait(TIMEOUT / 2);
    stage.held.insert(Node::MariaDb);
    stage.simulate();
    stage.held.remove(&Node::MariaDb);
    stage.simulate();
    assert_eq!(stage.condition("InfrastructureReady").0, "True");
    assert_rolls_back_after(&mut stage, TIMEOUT / 2);
}
