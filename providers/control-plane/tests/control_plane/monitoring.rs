//! What Prometheus scrapes of a control plane's infrastructure.

use c5c3_kinds::Manifest;
use c5c3_kinds::prometheus::ServiceMonitor;
use provider_composer::{Key, Resource};
use provider_control_plane::graph::Node;
use serde_json::json;

use crate::stage::{NAMESPACE, Stage};

#[test]
fn rabbitmq_is_scraped_while_monitoring_is_enabled() {
    let mut stage = Stage::running(json!({ "global": { "monitoring": { "enabled": true } } }));
    let key = Key::of::<Manifest<ServiceMonitor>>(NAMESPACE, "openstack-rabbitmq");
    let spec = &stage.cluster.get(&key).unwrap()["spec"];
    // Its operator's Service has no other port of metrics where connections are encrypted.
    let verified = json!({
        "ca": { "secret": { "name": "openstack-rabbitmq-tls", "key": "ca.crt" } },
        "serverName": format!("openstack-rabbitmq.{NAMESPACE}.svc"),
    });
    assert_eq!(
        spec["endpoints"],
        json!([{ "port": "prometheus-tls", "scheme": "https", "tlsConfig": verified }])
    );
    assert_eq!(
        spec["selector"]["matchLabels"],
        json!({ "app.kubernetes.io/name": "openstack-rabbitmq" })
    );
    assert_eq!(stage.condition("Monitored").0, "True");

    let kind = Manifest::<ServiceMonitor>::KIND;
    stage.cluster.set_kind_readable(kind, false);
    stage.settle();
    let (status, reason, message) = stage.condition("Monitored");
    assert_eq!((&*status, &*reason), ("False", "NotMonitored"));
    let expected = "they are at Service openstack-rabbitmq, port prometheus-tls";
    assert!(message.ends_with(expected), "{message}");
    assert_eq!(stage.condition("Ready").0, "True");
    assert!(stage.cluster.get(&key).is_some());

    stage.cluster.set_kind_readable(kind, true);
    stage.want(|spec| spec["global"]["monitoring"] = json!({ "enabled": false }));
    stage.settle();
    assert!(stage.cluster.get(&key).is_none());
}

#[test]
fn queues_of_rabbitmq_are_scraped_where_processes_are_monitored() {
    let mut stage = Stage::running(json!({
        "global": { "monitoring": { "enabled": true, "processes": true }, "tls": { "enabled": false } },
    }));
    let key = Key::of::<Manifest<ServiceMonitor>>(NAMESPACE, "openstack-rabbitmq");
    let endpoints = |stage: &Stage| stage.cluster.get(&key).unwrap()["spec"]["endpoints"].clone();
    assert_eq!(
        endpoints(&stage),
        json!([
            { "port": "prometheus" },
            {
                "port": "prometheus",
                "path": "/metrics/detailed",
                "params": { "family": ["queue_coarse_metrics", "queue_consumer_count"] },
                "relabelings": [{ "targetLabel": "endpoint", "replacement": "queues" }],
                "metricRelabelings": [
                    {
                        "action": "keep",
                        "sourceLabels": ["__name__"],
                        "regex": "rabbitmq_detailed_queue_(consumers|messages_ready|messages_unacked)",
                    },
                    { "action": "drop", "sourceLabels": ["queue"], "regex": "reply_.*|.*_fanout_.*" },
                ],
            },
        ])
    );
    let nova = |stage: &Stage| stage.object(Node::Nova).unwrap()["spec"]["monitoring"].clone();
    assert_eq!(nova(&stage), json!({ "enabled": true, "processes": true }));
    stage.want(|spec| spec["global"]["monitoring"] = json!({ "enabled": true }));
    stage.simulate();
    assert_eq!(endpoints(&stage), json!([{ "port": "prometheus" }]));
    assert_eq!(nova(&stage), json!({ "enabled": true }));
}

#[test]
fn rabbitmq_is_scraped_without_tls_where_connections_are_not_encrypted() {
    let stage = Stage::running(json!({
        "global": { "monitoring": { "enabled": true }, "tls": { "enabled": false } },
    }));
    let key = Key::of::<Manifest<ServiceMonitor>>(NAMESPACE, "openstack-rabbitmq");
    let endpoints = &stage.cluster.get(&key).unwrap()["spec"]["endpoints"];
    assert_eq!(*endpoints, json!([{ "port": "prometheus" }]));
}
