//! The ResourceQuota of a claim's namespace holds everything of its control plane, also while all of it is updated.

use std::collections::BTreeMap;

use c5c3_api::parts::Quantity;
use c5c3_plan::Plan;
use rstest::rstest;
use serde_json::{Value, json};

use crate::given::ready_with;

/// Amounts by resource, as a ResourceQuota names them.
pub type Amounts = BTreeMap<&'static str, f64>;

/// A claim on every service, with tests, in pools that are assumed to exist.
pub fn claim(size: &str) -> String {
    format!(
        "
apiVersion: c5c3.io/v1alpha1
kind: OpenStackCluster
metadata: {{name: cloud, namespace: tenant}}
spec:
  region: eu-de-1
  size: {size}
  hypervisorClusters: [hv]
  storageClusters: [st]
  cortex: {{enabled: true}}
  verify: {{}}
"
    )
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The number that a quantity stands for.
fn amount(quantity: &Value) -> f64 {
    let text = match quantity {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.parse::<Quantity>().unwrap().amount()
}

/// What a container requests of a resource; without a request it is its limit, and without that what the LimitRange says.
fn requested(container: &Value, resource: &str, limits: &Value) -> f64 {
    let resources = &container["resources"];
    let stated = [
        &resources["requests"][resource],
        &resources["limits"][resource],
        &limits["spec"]["limits"][0]["defaultRequest"][resource],
    ];
    let stated = stated.into_iter().find(|stated| !stated.is_null());
    amount(stated.unwrap())
}

/// What so many pods request: each its containers together, or its largest init container.
pub fn pods(count: f64, pod: &Value, limits: &Value) -> Amounts {
    let of = |resource| {
        let requests = |containers: &'static str| {
            list(&pod[containers]).map(move |container| requested(container, resource, limits))
        };
        let together: f64 = requests("containers").sum();
        count * requests("initContainers").fold(together, f64::max)
    };
    BTreeMap::from([
        ("pods", count),
        ("requests.cpu", of("cpu")),
        ("requests.memory", of("memory")),
    ])
}

fn volumes(count: f64, size: &Value) -> Amounts {
    BTreeMap::from([
        ("persistentvolumeclaims", count),
        ("requests.storage", count * amount(size)),
    ])
}

/// What an object makes its controller create, at most: during a rollout, and with the Jobs of an update beside those that are done.
fn needed(object: &Value, limits: &Value) -> Vec<Amounts> {
    let spec = &object["spec"];
    let replicas = spec["replicas"].as_f64().unwrap_or(1.0);
    let pod = &spec["template"]["spec"];
    match object["kind"].as_str().unwrap() {
        "Deployment" => {
            let surge = spec["strategy"]["rollingUpdate"]["maxSurge"].as_f64();
            // Kubernetes' default is a quarter.
            let surge = surge.unwrap_or_else(|| (replicas / 4.0).ceil());
            vec![pods(replicas + surge, pod, limits)]
        }
        "StatefulSet" => {
            let claims = list(&spec["volumeClaimTemplates"]);
            let claims = claims
                .map(|claim| volumes(replicas, &claim["spec"]["resources"]["requests"]["storage"]));
            [pods(replicas, pod, limits)]
                .into_iter()
                .chain(claims)
                .collect()
        }
        "Job" => vec![pods(2.0, pod, limits)],
        "CronJob" => vec![pods(
            1.0,
            &spec["jobTemplate"]["spec"]["template"]["spec"],
            limits,
        )],
        "PersistentVolumeClaim" => vec![volumes(1.0, &spec["resources"]["requests"]["storage"])],
        "MariaDB" => {
            let member = json!({
                "containers": [spec, spec["galera"]["agent"]],
                "initContainers": [{}],
            });
            let exporter = json!({ "containers": [spec["metrics"]["exporter"]] });
            vec![
                pods(replicas, &member, limits),
                pods(1.0, &exporter, limits),
                volumes(replicas, &spec["storage"]["size"]),
                // Galera's state (https://github.com/mariadb-operator/mariadb-operator/blob/v0.38.1/api/v1alpha1/mariadb_galera_types.go).
                volumes(replicas, &json!("100Mi")),
            ]
        }
        "RabbitmqCluster" => vec![
            pods(replicas, &json!({ "containers": [spec] }), limits),
            volumes(replicas, &spec["persistence"]["storage"]),
        ],
        _ => Vec::new(),
    }
}

/// The manifest of a kind that Crossplane applies.
pub fn composed<'a>(plan: &'a Plan, kind: &str) -> &'a Value {
    let manifests = plan.planned[0].composed.iter();
    let mut manifests = manifests.map(|object| &object.spec()["forProvider"]["manifest"]);
    manifests.find(|manifest| manifest["kind"] == kind).unwrap()
}

#[rstest]
fn a_quota_holds_a_control_plane_of_its_size_while_everything_is_updated(
    #[values("openstack-production", "openstack-staging", "openstack-development")]
    composition: &str,
    #[values("small", "medium", "large", "xlarge")] size: &str,
) {
    assert_quota_holds(&ready_with(composition, &claim(size)));
}

#[test]
fn quota_holds_all_cells_of_a_control_plane() {
    let cells = "  hypervisorClusters: [hv, hv2, hv3]
  cells: [{name: cell2, hypervisorClusters: [hv2]}, {name: cell3, hypervisorClusters: [hv3]}]
";
    let claim = claim("small").replace("  hypervisorClusters: [hv]\n", cells);
    assert!(claim.contains(cells));
    assert_quota_holds(&ready_with("openstack-production", &claim));
}

fn assert_quota_holds(plan: &Plan) {
    let limits = composed(plan, "LimitRange");
    let mut sums = Amounts::new();
    let mut pods_of = BTreeMap::new();
    for applied in &plan.applied {
        if applied.key.namespace != "openstack-cloud" {
            continue;
        }
        let kind = applied.key.kind.as_str();
        for (resource, amount) in needed(applied.manifest.value(), limits)
            .into_iter()
            .flatten()
        {
            *sums.entry(resource).or_default() += amount;
            *pods_of.entry(kind).or_insert(0) += 1;
        }
    }
    for kind in [
        "CronJob",
        "Deployment",
        "Job",
        "MariaDB",
        "RabbitmqCluster",
        "StatefulSet",
    ] {
        assert!(pods_of.contains_key(kind), "{kind}: {pods_of:?}");
    }
    let hard = composed(plan, "ResourceQuota")["spec"]["hard"]
        .as_object()
        .unwrap();
    let resources: Vec<&str> = hard.keys().map(String::as_str).collect();
    assert_eq!(resources, sums.keys().copied().collect::<Vec<_>>());
    for (resource, sum) in sums {
        let allowed = amount(&hard[resource]);
        assert!(sum <= allowed, "{resource}: {sum} of {allowed}");
        // A quota that is far away from what is needed protects nobody.
        assert!(allowed < 6.0 * sum, "{resource}: {sum} of {allowed}");
    }
}
