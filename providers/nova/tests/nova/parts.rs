//! The parts of Nova: how they are configured, scaled, monitored and reached.

use c5c3_kinds::Manifest;
use c5c3_kinds::gateway::HttpRoute;
use c5c3_kinds::prometheus::ServiceMonitor;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use provider_openstack_fixtures::Cluster;
use serde_json::{Value, json};

use crate::{NOVA, change, given, running};

/// An option of the configuration file that the scheduler reads.
fn scheduler_option(cluster: &Cluster, option: &str) -> Option<String> {
    let deployment = cluster.get::<Deployment>("nova-scheduler")?;
    let volumes = deployment["spec"]["template"]["spec"]["volumes"].as_array()?;
    let secret = volumes
        .iter()
        .find_map(|volume| volume["secret"]["secretName"].as_str())?;
    let file = cluster.value(secret, "nova.conf")?;
    let value = file.lines().find_map(|line| line.strip_prefix(option))?;
    Some(value.trim_start_matches(" = ").to_owned())
}

#[test]
fn scheduler_keeps_aggregates_for_projects_and_flavors() {
    let mut cluster = running();
    assert_eq!(
        scheduler_option(&cluster, "enabled_filters").as_deref(),
        Some(
            "ComputeFilter,ComputeCapabilitiesFilter,ImagePropertiesFilter,ServerGroupAntiAffinityFilter,\
             ServerGroupAffinityFilter,AggregateMultiTenancyIsolation,AggregateInstanceExtraSpecsFilter"
        )
    );
    change(&mut cluster, |spec| {
        spec["extraConfig"] = json!({ "filter_scheduler": { "enabled_filters": "ComputeFilter" } });
    });
    cluster.settle(&NOVA, "nova");
    assert_eq!(
        scheduler_option(&cluster, "enabled_filters").as_deref(),
        Some("ComputeFilter")
    );
}

#[test]
fn nova_api_serves_with_threads_or_processes_as_the_release_does() {
    let workers = ["2025.1", "2025.2", "2026.1", "2026.2"].map(|release| {
        let mut cluster = given();
        change(&mut cluster, |spec| spec["release"] = json!(release));
        cluster.settle(&NOVA, "nova");
        ["nova", "nova-metadata"].map(|name| {
            let deployment = cluster.get::<Deployment>(name).unwrap();
            let command = &deployment["spec"]["template"]["spec"]["containers"][0]["command"];
            let words = command.as_array().into_iter().flatten();
            let words: Vec<&str> = words.filter_map(Value::as_str).collect();
            ["--processes", "--threads"].map(|option| {
                let value = words.windows(2).find(|pair| pair[0] == option);
                value.map(|pair| pair[1].to_owned())
            })
        })
    });
    let each = |processes: &str, threads: &str| {
        let values = [processes, threads].map(|value| Some(value.to_owned()));
        [values.clone(), values]
    };
    assert_eq!(
        workers,
        [
            each("3", "1"),
            each("3", "1"),
            each("2", "4"),
            each("2", "4")
        ]
    );
}

#[test]
fn prometheus_finds_both_apis_of_nova() {
    let mut cluster = running();
    change(&mut cluster, |spec| {
        spec["monitoring"] = json!({ "enabled": true })
    });
    cluster.settle(&NOVA, "nova");
    let monitors = cluster.all::<Manifest<ServiceMonitor>>();
    assert_eq!(
        monitors.keys().collect::<Vec<_>>(),
        [&"nova", &"nova-metadata"]
    );
}

#[test]
fn both_apis_of_nova_are_scaled_by_autoscalers() {
    let mut cluster = running();
    let scaled = |most: u32| {
        json!({
            "replicas": 2,
            "autoscaling": { "maxReplicas": most },
            "resources": { "requests": { "cpu": "100m" } },
        })
    };
    change(&mut cluster, |spec| {
        spec["api"] = scaled(6);
        spec["metadata"] = scaled(4);
    });
    cluster.settle(&NOVA, "nova");
    let scalers = cluster.all::<HorizontalPodAutoscaler>();
    let bounds: Vec<_> = scalers
        .iter()
        .map(|(name, scaler)| {
            let spec = &scaler["spec"];
            (
                *name,
                spec["minReplicas"].clone(),
                spec["maxReplicas"].clone(),
            )
        })
        .collect();
    assert_eq!(
        bounds,
        [
            ("nova", json!(2), json!(6)),
            ("nova-metadata", json!(2), json!(4)),
        ]
    );
}

#[test]
fn browsers_reach_consoles_at_the_host_name_of_the_cell() {
    let mut cluster = running();
    let base = |cluster: &Cluster| {
        let file = cluster.value("nova-cell1-compute", "nova.conf").unwrap();
        let mut lines = file.lines();
        let url = lines.find_map(|line| line.strip_prefix("novncproxy_base_url = "));
        url.unwrap().to_owned()
    };
    assert_eq!(
        base(&cluster),
        "https://nova-cell1-novncproxy.openstack.svc.cluster.local:6080/vnc_lite.html"
    );
    change(&mut cluster, |spec| {
        spec["cells"][0]["consoles"] =
            json!({ "hostname": "novnc.example.com", "gateway": { "name": "public" } });
    });
    cluster.settle(&NOVA, "nova");
    assert_eq!(base(&cluster), "https://novnc.example.com/vnc_lite.html");
    let routes = cluster.all::<Manifest<HttpRoute>>();
    let routes: Vec<_> = routes
        .iter()
        .map(|(name, route)| (*name, route["spec"]["rules"][0]["backendRefs"].clone()))
        .collect();
    let proxy = "nova-cell1-novncproxy";
    assert_eq!(routes, [(proxy, json!([{ "name": proxy, "port": 6080 }]))]);
}

#[test]
fn consoles_whose_gateway_is_away_keep_no_nova_unready() {
    let mut cluster = running();
    change(&mut cluster, |spec| {
        spec["cells"][0]["consoles"] =
            json!({ "hostname": "novnc.example.com", "gateway": { "name": "public" } });
    });
    cluster.settle(&NOVA, "nova");
    let (status, _, message) = cluster.condition(&NOVA, "nova", "Exposed");
    let waits = "waits for Gateway public to take HTTPRoute nova-cell1-novncproxy";
    assert_eq!((status.as_str(), message.as_str()), ("False", waits));
    assert_eq!(cluster.condition(&NOVA, "nova", "Ready").0, "True");
}

#[test]
fn daemon_that_finds_no_message_bus_names_it() {
    let mut cluster = given();
    for _ in 0..6 {
        cluster.compose(&NOVA, "nova").unwrap();
        if cluster.get::<Deployment>("nova-conductor").is_some() {
            break;
        }
        cluster.simulate();
    }
    cluster.compose(&NOVA, "nova").unwrap();
    let (status, _, message) = cluster.condition(&NOVA, "nova", "ConductorReady");
    assert_eq!(status, "False");
    let (_, cause) = message.split_once("; a pod is ready once ").unwrap();
    assert_eq!(
        cause,
        "it is connected to the message bus bus.example.com:5672/nova: check that its host name resolves, and that it takes \
         the user and password that the Secret of spec.messaging has"
    );
}
