//! Every container that operators run has requests and limits, and none is restarted because it isn't ready.

use rstest::rstest;
use serde_json::Value;

use crate::given::{assuming_ready, planned};

/// How a probe asks.
const HANDLERS: [&str; 4] = ["exec", "grpc", "httpGet", "tcpSocket"];

/// The pod of an object that runs one.
fn pod(object: &Value) -> Option<&Value> {
    let spec = &object["spec"];
    let template = match object["kind"].as_str()? {
        "Deployment" | "StatefulSet" | "DaemonSet" | "Job" => &spec["template"],
        "CronJob" => &spec["jobTemplate"]["spec"]["template"],
        _ => return None,
    };
    Some(&template["spec"])
}

/// Requests and limits that a container lacks.
fn missing(container: &Value) -> Vec<String> {
    let amounts = &container["resources"];
    let kinds = ["requests", "limits"].into_iter();
    kinds
        .flat_map(|kind| ["cpu", "memory", "ephemeral-storage"].map(|resource| (kind, resource)))
        .filter(|(kind, resource)| amounts[kind][resource].is_null())
        .map(|(kind, resource)| format!("has no {kind}.{resource}"))
        .collect()
}

/// Whether a container is restarted as soon as it isn't ready.
fn is_restarted_when_unready(container: &Value) -> bool {
    let [ready, alive] = ["readinessProbe", "livenessProbe"].map(|probe| &container[probe]);
    HANDLERS
        .iter()
        .any(|handler| !ready[handler].is_null() && ready[handler] == alive[handler])
}

#[rstest]
#[case::control_plane(&["examples/control-planes/production.yaml"])]
#[case::claims_and_pools(&["examples/claims", "examples/pools"])]
#[case::shared(&["examples/isolation/shared.yaml"])]
#[case::dedicated(&["examples/isolation/dedicated.yaml"])]
#[case::hybrid(&["examples/isolation/hybrid.yaml"])]
#[case::tiered(&["examples/isolation/tiered.yaml"])]
fn every_container_is_bounded_and_not_restarted_because_it_is_unready(#[case] paths: &[&str]) {
    let plan = planned(paths, &assuming_ready());
    let mut found = Vec::new();
    let mut seen = Vec::new();
    for applied in &plan.applied {
        let object = applied.manifest.value();
        let Some(pod) = pod(object) else {
            continue;
        };
        let name = format!("{} {}", applied.manifest.kind(), applied.manifest.name());
        let containers = ["initContainers", "containers"].map(|list| pod[list].as_array());
        for container in containers.into_iter().flatten().flatten() {
            let of = format!("{name}, container {}", container["name"]);
            let missing = missing(container).into_iter();
            found.extend(missing.map(|what| format!("{of} {what}")));
            if is_restarted_when_unready(container) {
                found.push(format!(
                    "{of} has the same probe for readiness and liveness"
                ));
            }
        }
        seen.push(name);
    }
    assert_eq!(found, Vec::<String>::new());
    for name in [
        "StatefulSet openstack-memcached",
        "Deployment keystone",
        "Deployment glance",
    ] {
        assert!(seen.iter().any(|seen| seen == name), "{name}: {seen:?}");
    }
}
