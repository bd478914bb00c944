//! RabbitMQ's alarms, for which it blocks publishers.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use provider_composer::Dependency;
use provider_composer_testing::secret_with;
use provider_control_plane::credentials::rabbitmq::{
    Access, Alarm, AlarmResource, Answer, Member, Query, SYSTEM,
};
use provider_control_plane::graph::Node;
use rstest::rstest;
use serde_json::{Value, json};

use crate::sizes::running;
use crate::stage::{NAMESPACE, Stage, secret};

/// A control plane whose RabbitMQ can be asked.
pub(crate) fn asked(spec: Value) -> Stage {
    let mut stage = running(spec);
    let user = secret_with(&[("username", "default_user"), ("password", "s3cret")]);
    let certificate = secret_with(&[("ca.crt", "an authority")]);
    for (name, content) in [
        ("openstack-rabbitmq-default-user", user),
        ("openstack-rabbitmq-tls", certificate),
    ] {
        stage.cluster.put(&secret(name), &content);
    }
    stage.settle();
    stage
}

/// An alarm of a member.
pub(crate) fn alarm(resource: AlarmResource, member: u32) -> Alarm {
    let name =
        format!("rabbit@openstack-rabbitmq-server-{member}.openstack-rabbitmq-nodes.{NAMESPACE}");
    let node = Member::try_from(name).unwrap();
    Alarm { resource, node }
}

/// Has RabbitMQ answer this from now on.
pub(crate) fn answer(stage: &mut Stage, answer: Answer) {
    *stage.alarms.borrow_mut() = answer;
    stage.settle();
}

/// A RabbitMQ that doesn't answer.
fn silent() -> Answer {
    Answer::Unknown("RabbitMQ did not answer within 10 s".to_owned())
}

/// Status and reason of what is reported of alarms.
fn reported(stage: &Stage) -> (String, String) {
    let (status, reason, _) = stage.condition("RabbitMQUnblocked");
    (status, reason)
}

fn is(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}

#[test]
fn rabbitmq_is_unready_while_a_member_has_an_alarm() {
    let mut stage = asked(json!({}));
    assert_eq!(stage.condition("Ready").0, "True");
    assert_eq!(reported(&stage), is("True", "Ready"));
    let alarms = BTreeSet::from([
        alarm(AlarmResource::Memory, 0),
        alarm(AlarmResource::Disk, 1),
        alarm(AlarmResource::Disk, 2),
    ]);
    answer(&mut stage, Answer::Alarms(alarms));
    let expected = "RabbitMQ blocks all publishers: free disk space is below the limit on openstack-rabbitmq-server-1, \
                    openstack-rabbitmq-server-2, so raise infrastructure.rabbitmq.storageSize; memory in use is above the limit on \
                    openstack-rabbitmq-server-0, so raise infrastructure.rabbitmq.resources.limits.memory; for a claim, its size in \
                    the Composition's input has these fields. Or delete what fills RabbitMQ, for instance queues that nothing consumes";
    for type_ in ["RabbitMQUnblocked", "InfrastructureReady", "Ready"] {
        let (status, reason, message) = stage.condition(type_);
        assert_eq!((&*status, &*reason), ("False", "ResourceAlarm"), "{type_}");
        assert_eq!(message, expected, "{type_}");
    }
    let soon = stage.cluster.now() + SignedDuration::from_mins(1);
    assert_eq!(stage.reconcile().desired.requeue_at, Some(soon));
    let writes = stage.cluster.writes();
    stage.settle();
    assert_eq!(stage.cluster.writes(), writes);

    answer(&mut stage, Answer::default());
    assert_eq!(stage.condition("InfrastructureReady").0, "True");
    assert_eq!(stage.condition("Ready").0, "True");
    assert_eq!(reported(&stage), is("True", "Ready"));
    let writes = stage.cluster.writes();
    stage.cluster.wait(SignedDuration::from_mins(5));
    stage.settle();
    assert_eq!(stage.cluster.writes(), writes);
}

#[test]
fn rabbitmq_that_does_not_answer_keeps_what_was_said_of_its_alarms_for_a_while() {
    let mut stage = asked(json!({}));
    answer(&mut stage, silent());
    assert_eq!(stage.condition("Ready").0, "True");
    let (status, reason, message) = stage.condition("RabbitMQUnblocked");
    assert_eq!((&*status, &*reason), ("Unknown", "LookupFailed"));
    assert!(
        message.ends_with(": RabbitMQ did not answer within 10 s"),
        "{message}"
    );

    let alarms = BTreeSet::from([alarm(AlarmResource::Disk, 0)]);
    answer(&mut stage, Answer::Alarms(alarms));
    let said = stage.condition("Ready");
    assert_eq!(stage.condition("RabbitMQUnblocked"), said);
    assert_eq!(said.1, "ResourceAlarm");
    answer(&mut stage, silent());
    assert_eq!(stage.condition("Ready"), said);
    let (status, reason, message) = stage.condition("RabbitMQUnblocked");
    assert_eq!((&*status, &*reason), ("Unknown", "ResourceAlarm"));
    let why = ". It isn't known whether this is still so: RabbitMQ did not answer within 10 s";
    assert_eq!(message, format!("{}{why}", said.2));
    let writes = stage.cluster.writes();
    stage.settle();
    assert_eq!(stage.cluster.writes(), writes);
    stage.cluster.wait(SignedDuration::from_mins(14));
    stage.settle();
    assert_eq!(stage.condition("Ready"), said);
    stage.cluster.wait(SignedDuration::from_mins(1));
    stage.settle();
    assert_eq!(stage.condition("Ready").0, "True");
    assert_eq!(reported(&stage), is("Unknown", "LookupFailed"));

    answer(&mut stage, Answer::default());
    assert_eq!(stage.condition("Ready").0, "True");
    assert_eq!(reported(&stage), is("True", "Ready"));
}

#[test]
fn alarm_is_kept_while_mariadb_is_unready_and_rabbitmq_does_not_answer() {
    let mut stage = asked(json!({}));
    let alarms = BTreeSet::from([alarm(AlarmResource::Disk, 0)]);
    answer(&mut stage, Answer::Alarms(alarms));
    let said = stage.condition("InfrastructureReady");
    stage.held.insert(Node::MariaDb);
    stage.simulate();
    assert_eq!(
        stage.condition("InfrastructureReady").1,
        "WaitingForMariaDB"
    );
    answer(&mut stage, silent());
    stage.held.remove(&Node::MariaDb);
    stage.simulate();
    assert_eq!(stage.condition("InfrastructureReady"), said);
}

#[test]
fn alarm_is_kept_while_rabbitmq_is_unready() {
    let mut stage = asked(json!({}));
    let alarms = BTreeSet::from([alarm(AlarmResource::Memory, 0)]);
    answer(&mut stage, Answer::Alarms(alarms));
    let said = stage.condition("InfrastructureReady");
    stage.held.insert(Node::RabbitMq);
    stage.simulate();
    assert_eq!(stage.condition("RabbitMQUnblocked"), said);
    assert_eq!(
        stage.condition("InfrastructureReady").1,
        "WaitingForRabbitMQ"
    );
    answer(&mut stage, silent());
    stage.held.remove(&Node::RabbitMq);
    stage.simulate();
    assert_eq!(stage.condition("InfrastructureReady"), said);
}

#[test]
fn secret_of_rabbitmqs_first_user_without_a_password_refers_to_its_operator() {
    let mut stage = asked(json!({}));
    let user = secret_with(&[("username", "default_user")]);
    let key = secret("openstack-rabbitmq-default-user");
    stage.cluster.put(&key, &user);
    stage.settle();
    let (status, _, message) = stage.condition("RabbitMQUnblocked");
    assert_eq!(status, "Unknown");
    let why = ": Secret openstack-rabbitmq-default-user has no value under the key password: see the cluster-operator of RabbitMQ, which \
               writes the Secret";
    assert!(message.ends_with(why), "{message}");
}

#[rstest]
#[case::encrypted(true, "https", 15671, Some("an authority"))]
#[case::plain(false, "http", 15672, None)]
fn rabbitmq_is_asked_as_its_first_user(
    #[case] is_encrypted: bool,
    #[case] scheme: &str,
    #[case] port: u16,
    #[case] ca: Option<&str>,
) {
    let stage = asked(json!({ "global": { "tls": { "enabled": is_encrypted } } }));
    let mut dependencies = stage.cluster.dependencies().iter();
    let request = dependencies.find_map(|dependency| match dependency {
        Dependency::External(request) if request.system == SYSTEM => Some(request),
        _ => None,
    });
    let query: Query = serde_json::from_str(&request.unwrap().content).unwrap();
    let access = Access {
        url: format!("{scheme}://openstack-rabbitmq.{NAMESPACE}.svc:{port}"),
        login: "ZGVmYXVsdF91c2VyOnMzY3JldA==".to_owned(),
        ca: ca.map(str::to_owned),
    };
    assert!(query == Query { access });
    assert!(!stage.status().to_string().contains("s3cret"));
}
