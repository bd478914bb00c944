//! What Prometheus scrapes of Nova's processes.

use c5c3_kinds::Manifest;
use c5c3_kinds::prometheus::ServiceMonitor;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use provider_openstack_fixtures::{Cluster, shown};
use serde_json::{Value, json};

use crate::{NOVA, change, given, running};

/// Has Prometheus scrape every process.
fn monitor(cluster: &mut Cluster) {
    change(cluster, |spec| {
        spec["monitoring"] = json!({ "enabled": true, "processes": true });
    });
    cluster.settle(&NOVA, "nova");
}

/// The pods of a Deployment.
fn pod(cluster: &Cluster, name: &str) -> Value {
    cluster.get::<Deployment>(name).unwrap()["spec"]["template"]["spec"].clone()
}

/// The environment variables of a container that are for oslo.messaging's reports.
fn reporting(container: &Value) -> Vec<(&str, &str)> {
    let variables = container["env"].as_array().into_iter().flatten();
    let variables = variables.filter_map(|variable| {
        let name = variable["name"].as_str()?;
        let option = name.strip_prefix("OS_OSLO_MESSAGING_METRICS__")?;
        Some((option, variable["value"].as_str()?))
    });
    variables.collect()
}

#[test]
fn prometheus_finds_every_process_of_nova() {
    let mut cluster = running();
    monitor(&mut cluster);
    let all = [
        "nova",
        "nova-cell1-conductor",
        "nova-cell1-novncproxy",
        "nova-conductor",
        "nova-metadata",
        "nova-scheduler",
    ];
    let monitors = cluster.all::<Manifest<ServiceMonitor>>();
    assert_eq!(monitors.into_keys().collect::<Vec<_>>(), all);
    let deployments = cluster.all::<Deployment>();
    assert_eq!(deployments.into_keys().collect::<Vec<_>>(), all);
    for name in all {
        let pod = pod(&cluster, name);
        let metrics = &pod["containers"][1];
        assert_eq!(
            [&metrics["name"], &metrics["ports"]],
            [
                &json!("metrics"),
                &json!([{ "name": "metrics", "containerPort": 9117 }])
            ],
            "{name}"
        );
        let service = cluster.get::<Service>(&format!("{name}-metrics"));
        assert_eq!(service.unwrap()["spec"]["clusterIP"], "None", "{name}");
    }
}

#[test]
fn exporter_of_a_daemon_reads_its_processes_and_takes_its_reports() {
    let mut cluster = running();
    monitor(&mut cluster);
    let pod = pod(&cluster, "nova-scheduler");
    assert_eq!(pod["shareProcessNamespace"], true);
    let calls = json!({ "name": "calls", "emptyDir": {} });
    assert!(pod["volumes"].as_array().unwrap().contains(&calls), "{pod}");

    let [scheduler, metrics] = &pod["containers"].as_array().unwrap()[..] else {
        panic!("a pod has two containers: {pod}");
    };
    let mount = json!({ "name": "calls", "mountPath": "/run/calls" });
    assert!(
        scheduler["volumeMounts"]
            .as_array()
            .unwrap()
            .contains(&mount)
    );
    assert_eq!(metrics["volumeMounts"], json!([mount]));
    assert_eq!(
        reporting(scheduler),
        [
            ("METRICS_ENABLED", "true"),
            ("METRICS_SOCKET_FILE", "/run/calls/socket"),
            ("METRICS_THREAD_STOP_TIMEOUT", "1"),
        ]
    );
    let command = metrics["command"].as_array().unwrap();
    assert_eq!(command[3..], [json!("9117"), json!("/run/calls/socket")]);
    assert_eq!(metrics["image"], scheduler["image"]);
    assert_eq!(metrics["securityContext"], scheduler["securityContext"]);
    for nothing in ["env", "lifecycle", "readinessProbe", "livenessProbe"] {
        assert!(
            metrics[nothing].is_null(),
            "{nothing}: {}",
            metrics[nothing]
        );
    }
    for amount in ["requests", "limits"] {
        let stated = metrics["resources"][amount].as_object().unwrap();
        let stated: Vec<&String> = stated.keys().collect();
        assert_eq!(stated, ["cpu", "ephemeral-storage", "memory"], "{amount}");
    }
}

#[test]
fn processes_of_a_proxy_are_seen_by_its_exporter_alone_where_there_is_one() {
    let mut cluster = running();
    let shared =
        |cluster: &Cluster| pod(cluster, "nova-cell1-novncproxy")["shareProcessNamespace"].clone();
    assert_eq!(shared(&cluster), Value::Null);
    monitor(&mut cluster);
    assert_eq!(shared(&cluster), true);
}

/// oslo.messaging of 2025.1 gives all calls the labels of the first one.
#[test]
fn calls_are_not_reported_before_2025_2() {
    let mut cluster = given();
    change(&mut cluster, |spec| spec["release"] = json!("2025.1"));
    monitor(&mut cluster);
    let pod = pod(&cluster, "nova-conductor");
    assert!(reporting(&pod["containers"][0]).is_empty(), "{pod}");
    let command = pod["containers"][1]["command"].as_array().unwrap();
    assert_eq!(command[3..], [json!("9117")]);
    assert_eq!(pod["containers"][1]["volumeMounts"], Value::Null);
}

#[test]
fn pods_of_daemons_stay_as_they_are_unless_processes_are_monitored() {
    let mut cluster = running();
    let daemons = |cluster: &Cluster| {
        ["nova-conductor", "nova-scheduler", "nova-cell1-novncproxy"].map(|name| pod(cluster, name))
    };
    let before = daemons(&cluster);
    change(&mut cluster, |spec| {
        spec["monitoring"] = json!({ "enabled": true });
    });
    cluster.settle(&NOVA, "nova");
    assert_eq!(daemons(&cluster), before);
}

#[test]
fn processes_that_are_not_monitored_any_more_are_as_if_they_had_never_been() {
    let mut cluster = running();
    let before = cluster.compose(&NOVA, "nova").unwrap();
    monitor(&mut cluster);
    change(&mut cluster, |spec| spec["monitoring"] = json!({}));
    cluster.settle(&NOVA, "nova");
    let after = cluster.compose(&NOVA, "nova").unwrap();
    assert_eq!(shown(&before)["objects"], shown(&after)["objects"]);
}
