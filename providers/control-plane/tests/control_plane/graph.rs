//! The graph, walked: what waits for what, and for nothing else.

use std::collections::BTreeSet;

use crate::stage::Stage;
use provider_control_plane::graph::{GRAPH, Node, needed_by};
use provider_openstack::SERVICES;
use rstest::rstest;
use serde_json::{Value, json};

/// Everything that a control plane can have.
fn everything() -> Value {
    json!({ "cortex": { "enabled": true }, "tempest": { "enabled": true } })
}

/// Every node that something uses: no service uses Valkey yet.
fn all() -> BTreeSet<Node> {
    let nodes = GRAPH.iter().map(|step| step.node);
    nodes.filter(|node| *node != Node::Valkey).collect()
}

/// A node, and all that can't be made before it is ready.
fn behind(node: Node) -> BTreeSet<Node> {
    let mut behind = BTreeSet::new();
    let mut next = vec![node];
    while let Some(node) = next.pop() {
        for step in needed_by(node) {
            if behind.insert(step.node) {
                next.push(step.node);
            }
        }
    }
    behind
}

#[test]
fn the_graph_is_in_order() {
    for (position, step) in GRAPH.iter().enumerate() {
        assert_eq!(step.node as usize, position);
        for need in step.needs {
            assert!(
                (*need as usize) < position,
                "{} needs what comes later",
                step.name
            );
            assert!(need.step().phase <= step.phase);
        }
    }
}

#[test]
fn services_need_the_databases_and_buses_that_the_registry_gives_them() {
    for service in SERVICES {
        let mut steps = GRAPH.iter();
        let step = steps.find(|step| step.name == service.name).unwrap();
        assert_eq!(
            [Node::MariaDb, Node::RabbitMq].map(|node| step.needs.contains(&node)),
            [!service.databases.is_empty(), !service.buses.is_empty()],
            "{}",
            service.name
        );
    }
}

#[test]
fn infrastructure_exists_only_while_a_service_uses_it() {
    let infrastructure = |stage: &Stage| -> Vec<Node> {
        let nodes = stage.nodes().into_iter();
        nodes.filter(|node| node.step().phase == 1).collect()
    };
    let without_buses = json!({ "services": {
        "nova": { "enabled": false }, "neutron": { "enabled": false }, "cinder": { "enabled": false },
    } });
    let mut stage = Stage::running(without_buses.clone());
    assert_eq!(infrastructure(&stage), [Node::MariaDb, Node::Memcached]);

    stage.want(|spec| spec["services"]["neutron"]["enabled"] = json!(true));
    stage.simulate();
    assert_eq!(stage.condition("Ready").0, "True", "{:#}", stage.status());
    assert_eq!(
        infrastructure(&stage),
        [Node::MariaDb, Node::RabbitMq, Node::Memcached]
    );

    stage.want(|spec| spec["services"] = without_buses["services"].clone());
    stage.simulate();
    assert_eq!(infrastructure(&stage), [Node::MariaDb, Node::Memcached]);
}

#[test]
fn control_plane_is_ready_without_cortex() {
    let mut stage = Stage::new(json!({ "cortex": { "enabled": true } }));
    stage.held.insert(Node::Cortex);
    stage.simulate();
    assert_eq!(stage.condition("Ready").0, "True", "{:#}", stage.status());
    assert_eq!(stage.condition("ServicesReady").0, "True");
    assert_eq!(stage.condition("CortexReady").0, "False");
    assert!(stage.nodes().contains(&Node::Cortex));
    // Another operator may run it.
    stage.held.clear();
    stage.simulate();
    assert_eq!(stage.condition("CortexReady").0, "True");
}

#[test]
fn all_becomes_ready() {
    let stage = Stage::running(everything());
    assert_eq!(stage.nodes(), all());
}

#[rstest]
fn what_needs_a_node_waits_for_it_and_nothing_else_does(
    #[values(
        Node::MariaDb,
        Node::RabbitMq,
        Node::Memcached,
        Node::Keystone,
        Node::Catalogue,
        Node::Glance,
        Node::Placement,
        Node::Ovn,
        Node::Nova,
        Node::Neutron,
        Node::Cinder,
        Node::Cortex,
        Node::Tempest
    )]
    held: Node,
) {
    let mut stage = Stage::new(everything());
    stage.held.insert(held);
    stage.simulate();
    let waiting = behind(held);
    let made: BTreeSet<Node> = all().difference(&waiting).copied().collect();
    assert_eq!(stage.nodes(), made);
    for node in &waiting {
        let (status, reason, message) = stage.condition(node.step().condition);
        assert_eq!(status, "False", "{node:?}");
        assert!(
            reason.starts_with("WaitingFor"),
            "{node:?}: {reason}: {message}"
        );
    }
    let direct = needed_by(held).map(|step| stage.condition(step.condition));
    for (_, reason, message) in direct.filter(|_| held != Node::Catalogue) {
        assert!(
            waiting
                .iter()
                .chain([&held])
                .any(|node| reason == format!("WaitingFor{}", node.step().word)),
            "{reason}: {message}"
        );
    }

    stage.held.clear();
    stage.simulate();
    assert_eq!(stage.nodes(), all());
    assert_eq!(stage.condition("Ready").0, "True", "{:#}", stage.status());
}
