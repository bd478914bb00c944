//! What the pods of a control plane request, as docs/operations.md says.

use std::fs;

use rstest::rstest;
use serde_json::{Value, json};

use crate::given::{ready_with, root};
use crate::quota::{Amounts, composed, pods};

/// The pods that run all the time: neither those of Jobs nor those that a rollout adds.
fn running(object: &Value, limits: &Value) -> Vec<Amounts> {
    let spec = &object["spec"];
    let replicas = spec["replicas"].as_f64().unwrap_or(1.0);
    match object["kind"].as_str().unwrap_or_default() {
        "Deployment" | "StatefulSet" => vec![pods(replicas, &spec["template"]["spec"], limits)],
        "RabbitmqCluster" => vec![pods(replicas, &json!({ "containers": [spec] }), limits)],
        "MariaDB" => {
            let agent = &spec["galera"]["agent"];
            let member = match agent.is_null() {
                true => json!({ "containers": [spec] }),
                false => json!({ "containers": [spec, agent] }),
            };
            let metrics = &spec["metrics"];
            let exporter = json!({ "containers": [metrics["exporter"]] });
            let exporters = if metrics["enabled"] == true { 1.0 } else { 0.0 };
            vec![
                pods(replicas, &member, limits),
                pods(exporters, &exporter, limits),
            ]
        }
        _ => Vec::new(),
    }
}

/// The pods, CPUs and GiB of memory of a claim on all services.
fn footprint(composition: &str, size: &str) -> [f64; 3] {
    let claim = format!(
        "
apiVersion: c5c3.io/v1alpha1
kind: OpenStackCluster
metadata: {{name: cloud, namespace: tenant}}
spec: {{region: eu-de-1, size: {size}, hypervisorClusters: [hv], storageClusters: [st]}}
"
    );
    let plan = ready_with(composition, &claim);
    let limits = composed(&plan, "LimitRange");
    let applied = plan.applied.iter();
    let applied = applied.filter(|applied| applied.key.namespace == "openstack-cloud");
    let running: Vec<Amounts> = applied
        .flat_map(|applied| running(applied.manifest.value(), limits))
        .collect();
    let sum = |resource: &str| running.iter().map(|amounts| amounts[resource]).sum::<f64>();
    let gibibyte = f64::from(1 << 30);
    [
        sum("pods"),
        sum("requests.cpu"),
        sum("requests.memory") / gibibyte,
    ]
}

#[rstest]
#[case("openstack-development", "small")]
#[case("openstack-staging", "small")]
#[case("openstack-production", "small")]
#[case("openstack-production", "medium")]
#[case("openstack-production", "large")]
#[case("openstack-production", "xlarge")]
fn footprint_of_a_control_plane_is_as_the_docs_say(#[case] composition: &str, #[case] size: &str) {
    let [pods, cpu, memory] = footprint(composition, size);
    let line = format!("| `{composition}` | `{size}` | {pods} | {cpu:.2} | {memory:.1} |");
    let page = fs::read_to_string(root("docs/operations.md")).unwrap();
    assert!(page.contains(&line), "docs/operations.md lacks {line}");
}

#[test]
fn footprint_of_the_smallest_control_plane_is_within_two_cpus_and_eight_gibibytes() {
    let [_, cpu, memory] = footprint("openstack-development", "small");
    assert!(cpu <= 2.0, "{cpu} CPUs");
    assert!(memory <= 8.0, "{memory} GiB");
}
