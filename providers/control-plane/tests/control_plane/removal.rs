//! Services that are disabled while they run: what their pods use is deleted after them.

use std::collections::BTreeMap;

use provider_control_plane::graph::Node;
use serde_json::json;

use crate::deletion::going;
use crate::stage::network::{allowed, pod, policies};
use crate::stage::{NAMESPACE, Stage, first};

/// What pods of Cinder log in with and connect by: kinds and names.
const OF_CINDER: [(&str, &str); 6] = [
    ("User", "cinder"),
    ("ApplicationCredential", "cinder-1"),
    ("Secret", "cinder-credential-1"),
    ("Secret", "k-orc-cinder-clouds"),
    ("Secret", "cinder-keystone-credentials"),
    ("NetworkPolicy", "connections-cinder"),
];

/// All services that use RabbitMQ.
const WITH_BUS: [Node; 3] = [Node::Nova, Node::Neutron, Node::Cinder];

/// A running control plane in which these services are disabled, and stay until their pods are gone.
fn without(services: &[Node]) -> Stage {
    let mut stage = Stage::running(json!({}));
    for service in services {
        stage.cluster.hold(first(*service).kind);
    }
    stage.want(|spec| {
        for service in services {
            spec["services"][service.step().name] = json!({ "enabled": false });
        }
    });
    stage.simulate();
    stage
}

/// Ends the pods of a service, so that its operator lets it go.
fn end_pods(stage: &mut Stage, service: Node) {
    stage.cluster.release(&first(service));
    stage.settle();
}

fn exists(stage: &Stage, kind: &str, name: &str) -> bool {
    let mut keys = stage.cluster.objects().keys();
    keys.any(|key| key.kind.kind == kind && key.name == name)
}

/// What there is of [`OF_CINDER`].
fn of_cinder(stage: &Stage) -> Vec<(&'static str, &'static str)> {
    let each = OF_CINDER.into_iter();
    each.filter(|&(kind, name)| exists(stage, kind, name))
        .collect()
}

#[test]
fn disabled_service_keeps_its_user_until_its_pods_are_gone() {
    let mut stage = without(&[Node::Cinder]);
    assert_eq!(going(&stage), [first(Node::Cinder)]);
    assert_eq!(of_cinder(&stage), OF_CINDER);
    assert!(
        !exists(&stage, "Endpoint", "cinder-internal"),
        "clients still find it"
    );
    end_pods(&mut stage, Node::Cinder);
    assert_eq!(of_cinder(&stage).first(), None);
}

#[test]
fn message_bus_and_ovn_are_deleted_after_the_pods_of_disabled_services() {
    let mut stage = without(&WITH_BUS);
    let left = |stage: &Stage| {
        let nodes = stage.nodes();
        [Node::RabbitMq, Node::Ovn].map(|node| nodes.contains(&node))
    };
    assert_eq!(left(&stage), [true, true]);
    end_pods(&mut stage, Node::Nova);
    assert_eq!(left(&stage), [true, true]);
    end_pods(&mut stage, Node::Neutron);
    assert_eq!(left(&stage), [true, false]);
    end_pods(&mut stage, Node::Cinder);
    assert_eq!(left(&stage), [false, false]);
}

#[test]
fn pods_of_a_disabled_service_reach_the_message_bus() {
    let mut stage = without(&WITH_BUS);
    let reaches = |stage: &Stage| {
        let policies = policies(stage.cluster.objects().values().map(|object| &**object));
        let program = |name: &str| pod(NAMESPACE, &[("app.kubernetes.io/name", name)]);
        let (cinder, bus) = (program("cinder"), program("openstack-rabbitmq"));
        allowed(&policies, &cinder, &bus, 5671)
    };
    assert!(reaches(&stage));
    end_pods(&mut stage, Node::Cinder);
    assert!(!reaches(&stage));
}

#[test]
fn disabled_services_are_deleted_before_those_that_they_need() {
    let mut stage = without(&[Node::Placement, Node::Nova]);
    assert_eq!(going(&stage), [first(Node::Nova)]);
    assert!(exists(&stage, "Endpoint", "placement-internal"));
    end_pods(&mut stage, Node::Nova);
    assert_eq!(going(&stage), [first(Node::Placement)]);
    assert!(!exists(&stage, "Endpoint", "placement-internal"));
}

#[test]
fn disabled_service_that_cannot_be_read_keeps_what_it_needs() {
    let mut stage = without(&WITH_BUS);
    let cinder = first(Node::Cinder);
    stage.cluster.set_readable(&cinder, false);
    end_pods(&mut stage, Node::Nova);
    end_pods(&mut stage, Node::Neutron);
    assert!(stage.nodes().contains(&Node::RabbitMq));
    assert_eq!(of_cinder(&stage), OF_CINDER);
    stage.cluster.set_readable(&cinder, true);
    end_pods(&mut stage, Node::Cinder);
    assert!(!stage.nodes().contains(&Node::RabbitMq));
    assert_eq!(of_cinder(&stage).first(), None);
}

#[test]
fn disabled_services_are_deleted_where_kinds_of_what_needs_them_are_not_installed() {
    let mut stage = Stage::running(json!({}));
    for node in [Node::Valkey, Node::Cortex, Node::Tempest] {
        stage.cluster.uninstall(first(node).kind);
    }
    stage.cluster.hold(first(Node::Cinder).kind);
    stage.want(|spec| spec["services"]["cinder"] = json!({ "enabled": false }));
    stage.simulate();
    assert_eq!(going(&stage), [first(Node::Cinder)]);
    let (_, _, message) = stage.condition("RemovedPartsDeleted");
    let expected = "being deleted in reverse dependency order; left: Cinder cinder";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn control_plane_is_ready_without_a_part_that_only_a_disabled_service_needs() {
    let mut stage = without(&[Node::Placement, Node::Nova]);
    let unready =
        json!({ "type": "Ready", "status": "False", "reason": "Broken", "message": "it fails" });
    stage.report(Node::Placement, unready);
    assert_eq!(stage.condition("PlacementReady").0, "False");
    for type_ in ["Ready", "ServicesReady", "UpToDate"] {
        let (status, _, message) = stage.condition(type_);
        assert_eq!(status, "True", "{type_}: {message}");
    }
}

#[test]
fn parts_that_are_not_wanted_are_not_created_while_it_is_unknown_whether_they_exist() {
    let services = WITH_BUS.map(|service| (service.step().name, json!({ "enabled": false })));
    let mut stage = Stage::running(json!({ "services": BTreeMap::from(services) }));
    for node in [Node::Neutron, Node::Ovn] {
        stage.cluster.set_readable(&first(node), false);
    }
    stage.settle();
    assert!(!stage.nodes().contains(&Node::Ovn));
}

#[test]
fn control_plane_reports_what_a_disabled_service_waits_for() {
    let mut stage = without(&[Node::Cinder]);
    let why = "being deleted: waits for the pods of Deployment cinder-volume";
    let deleting =
        json!({ "type": "Ready", "status": "False", "reason": "Deleting", "message": why });
    stage.report(Node::Cinder, deleting);
    assert_eq!(stage.condition("Ready").0, "True", "{:#}", stage.status());
    let (status, reason, message) = stage.condition("RemovedPartsDeleted");
    assert_eq!([&*status, &*reason], ["False", "Deleting"]);
    assert!(message.contains("left: Cinder cinder; "), "{message}");
    assert!(message.ends_with(why), "{message}");

    end_pods(&mut stage, Node::Cinder);
    let left = stage.cluster.condition(&stage.key, "RemovedPartsDeleted");
    assert_eq!(left, None);
}
