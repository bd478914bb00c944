//! How Prometheus learns of a Keystone, in a small cluster in memory.

use c5c3_api::keystone::KeystoneSpec;
use c5c3_kinds::Manifest;
use c5c3_kinds::prometheus::ServiceMonitor;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use provider_composer::{Custom, Resource};
use provider_openstack_fixtures::{Cluster, shown};
use serde_json::{Value, json};

use crate::stage::{KEYSTONE, MANAGED, ready, running};

type Monitor = Manifest<ServiceMonitor>;

fn switch(cluster: &mut Cluster, monitoring: bool) {
    cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        keystone["spec"]["monitoring"] = json!({ "enabled": monitoring });
    });
    cluster.settle(&KEYSTONE, "keystone");
}

fn monitored() -> Cluster {
    let mut cluster = running(MANAGED);
    switch(&mut cluster, true);
    cluster
}

fn containers(cluster: &Cluster) -> Vec<Value> {
    let deployment = cluster.get::<Deployment>("keystone");
    let containers = deployment
        .and_then(|deployment| deployment["spec"]["template"]["spec"]["containers"].as_array());
    containers.cloned().unwrap_or_default()
}

fn options(container: &Value) -> Vec<&str> {
    let command = container["command"].as_array().into_iter().flatten();
    command.filter_map(Value::as_str).collect()
}

/// Whether labels are all among others.
fn selects(selector: &Value, labels: &Value) -> bool {
    let has = |(label, value): (&String, &Value)| labels[label] == *value;
    selector
        .as_object()
        .is_some_and(|selector| selector.iter().all(has))
}

#[test]
fn a_container_of_its_own_says_what_uwsgi_says() {
    let cluster = monitored();
    let [api, metrics] = &containers(&cluster)[..] else {
        panic!("a pod has two containers");
    };
    assert_eq!(
        (&api["name"], &metrics["name"]),
        (&json!("keystone"), &json!("metrics"))
    );
    let api_options = options(api);
    let said = api_options.windows(2).find(|pair| pair[0] == "--stats");
    assert_eq!(
        said.unwrap()[1],
        "127.0.0.1:1717",
        "nobody outside the pod reads it"
    );
    assert!(
        api_options.contains(&"--stats-no-cores"),
        "there are tokens in it"
    );
    assert_eq!(options(metrics)[3..], ["1717", "9117"]);

    assert_eq!(metrics["image"], api["image"]);
    assert_eq!(metrics["securityContext"], api["securityContext"]);
    assert_eq!(
        metrics["lifecycle"], api["lifecycle"],
        "it answers as long as the API does"
    );
    for nothing in [
        "volumeMounts",
        "env",
        "readinessProbe",
        "livenessProbe",
        "startupProbe",
    ] {
        assert!(
            metrics[nothing].is_null(),
            "{nothing}: {}",
            metrics[nothing]
        );
    }
    let amounts = &metrics["resources"];
    for resource in ["cpu", "memory"] {
        assert_eq!(
            amounts["requests"][resource], amounts["limits"][resource],
            "{amounts}"
        );
    }
}

#[test]
fn prometheus_finds_the_metrics_and_whoever_comes_for_the_api_does_not() {
    let cluster = monitored();
    let monitor = cluster.get::<Monitor>("keystone").unwrap();
    assert_eq!(
        monitor["spec"],
        json!({
            "jobLabel": "app.kubernetes.io/name",
            "selector": { "matchLabels": {
                "app.kubernetes.io/name": "keystone",
                "app.kubernetes.io/instance": "keystone",
                "app.kubernetes.io/component": "api",
                "c5c3.io/port": "metrics",
            } },
            "endpoints": [{ "port": "metrics" }],
        })
    );
    let selector = &monitor["spec"]["selector"]["matchLabels"];
    let services = cluster.all::<Service>();
    let found: Vec<&str> = services
        .iter()
        .filter(|(_, service)| selects(selector, &service["metadata"]["labels"]))
        .map(|(name, _)| *name)
        .collect();
    assert_eq!(found, ["keystone-metrics"]);

    let service = &services["keystone-metrics"]["spec"];
    assert_eq!(
        service["ports"],
        json!([{ "name": "metrics", "port": 9117, "targetPort": "metrics" }])
    );
    assert_eq!(
        containers(&cluster)[1]["ports"],
        json!([{ "name": "metrics", "containerPort": 9117 }])
    );
    let deployment = cluster.get::<Deployment>("keystone").unwrap();
    let labels = &deployment["spec"]["template"]["metadata"]["labels"];
    assert!(selects(&service["selector"], labels));

    let api = services["keystone"]["spec"]["ports"].as_array().unwrap();
    assert_eq!((api.len(), &api[0]["port"]), (1, &json!(5000)));
    let policy = cluster.get::<NetworkPolicy>("keystone").unwrap();
    assert_eq!(
        policy["spec"]["ingress"],
        json!([{ "ports": [{ "port": 5000 }] }]),
        "c5c3-operator allows Prometheus alone"
    );
    assert_eq!(
        cluster.condition(&KEYSTONE, "keystone", "Monitored").0,
        "True"
    );
}

#[test]
fn switched_off_it_is_as_if_it_had_never_been_on() {
    let mut cluster = running(MANAGED);
    let before = cluster.compose(&KEYSTONE, "keystone").unwrap();
    switch(&mut cluster, true);
    switch(&mut cluster, false);
    let after = cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert_eq!(shown(&before)["objects"], shown(&after)["objects"]);
    assert!(cluster.get::<Monitor>("keystone").is_none());
    assert!(cluster.get::<Service>("keystone-metrics").is_none());
}

#[test]
fn without_prometheus_operator_it_serves_all_the_same() {
    let mut cluster = running(MANAGED);
    cluster.set_readable(Monitor::KIND, false);
    switch(&mut cluster, true);
    assert_eq!(ready(&cluster), "True");
    let (status, reason, message) = cluster.condition(&KEYSTONE, "keystone", "Monitored");
    assert_eq!((&*status, &*reason), ("False", "NotMonitored"));
    assert_eq!(
        message,
        "Prometheus isn't told where the metrics are: servicemonitors can't be read; they are at Service keystone-metrics, \
         port 9117, and the service runs all the same"
    );
    assert!(cluster.get::<Monitor>("keystone").is_none());
    assert!(cluster.get::<Service>("keystone-metrics").is_some());

    cluster.set_readable(Monitor::KIND, true);
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(
        cluster.condition(&KEYSTONE, "keystone", "Monitored").0,
        "True"
    );
    assert!(cluster.get::<Monitor>("keystone").is_some());

    cluster.set_readable(Monitor::KIND, false);
    cluster.settle(&KEYSTONE, "keystone");
    assert!(
        cluster.get::<Monitor>("keystone").is_some(),
        "what can't be read isn't deleted"
    );
}
