//! A service that isn't in the registry, and what derives from its definition.

use c5c3_kinds::{Manifest, mariadb, rabbitmq};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use provider_composer::{Custom, Key};
use provider_openstack::graph::graph;
use provider_openstack::table::{REGISTRY, RELEASES};
use provider_openstack::{Node, SERVICES, ServiceDefinition, TEMPEST};
use provider_openstack_fixtures::{Cluster, NAMESPACE, TOY, Toy, ToySpec, documents};

#[test]
fn toy_service_runs_with_its_database_bus_policies_and_ports() {
    let mut cluster = Cluster::with_infrastructure();
    cluster.credentials(&TOY);
    cluster.keystone(true);
    cluster.put_document::<Custom<ToySpec>>(documents::TOY);
    cluster.settle(&Toy, "toy");
    for condition in ["Ready", "APIReady", "WorkerReady"] {
        let (status, _, message) = cluster.condition(&Toy, "toy", condition);
        assert_eq!(status, "True", "{condition}: {message}");
    }
    for name in ["toy", "toy-worker"] {
        let deployment = cluster.get::<Deployment>(name).unwrap();
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["image"], format!("{REGISTRY}/toy:2.0.0"));
        assert!(cluster.get::<NetworkPolicy>(name).is_some(), "{name}");
        let budget = cluster.get::<PodDisruptionBudget>(name).unwrap();
        assert_eq!(
            budget["spec"]["unhealthyPodEvictionPolicy"], "AlwaysAllow",
            "{name}"
        );
    }
    let service = cluster.get::<Service>("toy").unwrap();
    assert_eq!(service["spec"]["ports"][0]["port"], 9999);
    assert!(cluster.get::<Manifest<mariadb::Database>>("toy").is_some());
    assert!(cluster.get::<Manifest<rabbitmq::Vhost>>("toy").is_some());
}

#[test]
fn toy_service_is_a_step_of_the_graph() {
    let in_place = |service: &'static ServiceDefinition| {
        if service.node == TOY.node {
            &TOY
        } else {
            service
        }
    };
    let graph = graph(SERVICES.into_iter().map(in_place).chain([&TEMPEST]));
    let step = graph.iter().find(|step| step.node == TOY.node).unwrap();
    assert_eq!(
        (step.name, step.word, step.phase, step.condition),
        ("toy", "Toy", 4, "ToyReady")
    );
    let connects: Vec<Node> = step.connects().collect();
    assert_eq!(
        connects,
        [
            Node::Keystone,
            Node::Catalogue,
            Node::MariaDb,
            Node::RabbitMq,
            Node::Memcached
        ]
    );
    let keys: Vec<Key> = step.keys(NAMESPACE).collect();
    assert_eq!(keys, [Key::of::<Custom<ToySpec>>(NAMESPACE, "toy")]);
}

#[test]
fn toy_service_has_an_image_for_each_release() {
    let images = RELEASES.map(|release| release.of_service(&TOY).reference(None));
    let expected = TOY.tags.map(|tag| format!("{REGISTRY}/toy:{tag}"));
    assert_eq!(images, expected);
}
