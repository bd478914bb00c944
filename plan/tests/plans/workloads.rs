//! Every workload that operators run bears the checks of linters such as kube-score: it has requests and limits, isn't restarted because it
//! isn't ready, may do no more than it needs, is spread over nodes, is evicted one pod at a time, and has NetworkPolicies.

use std::collections::BTreeMap;

use c5c3_plan::Plan;
use rstest::rstest;
use serde_json::Value;

use crate::given::{ready, ready_with};
use crate::quota::claim;

/// How a probe asks.
const HANDLERS: [&str; 4] = ["exec", "grpc", "httpGet", "tcpSocket"];

/// The least ID of a user or a group that nodes don't have, as linters take it.
const LEAST_ID: u64 = 10_000;

/// A workload, and what else is planned in its namespace.
struct Workload<'a> {
    name: String,
    object: &'a Value,
    template: &'a Value,
    neighbours: Vec<&'a Value>,
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The template of an object's pods.
fn template(object: &Value) -> Option<&Value> {
    let spec = &object["spec"];
    match object["kind"].as_str()? {
        "Deployment" | "StatefulSet" | "DaemonSet" | "Job" => Some(&spec["template"]),
        "CronJob" => Some(&spec["jobTemplate"]["spec"]["template"]),
        _ => None,
    }
}

/// The workloads of a plan.
fn workloads(plan: &Plan) -> Vec<Workload<'_>> {
    let applied = plan.applied.iter();
    let workloads = applied.filter_map(|applied| {
        let object = applied.manifest.value();
        let key = &applied.key;
        let neighbours = plan.applied.iter().filter(|other| {
            other.key.cluster == key.cluster && other.key.namespace == key.namespace
        });
        Some(Workload {
            name: format!("{} {}", key.kind, key.name),
            object,
            template: template(object)?,
            neighbours: neighbours.map(|other| other.manifest.value()).collect(),
        })
    });
    workloads.collect()
}

/// Whether these labels are among those of a pod.
fn has(pod: &Value, labels: &Value) -> bool {
    let mut labels = labels.as_object().into_iter().flatten();
    labels.all(|(label, value)| pod[label] == *value)
}

/// Whether a selector takes a pod with these labels.
fn selects(selector: &Value, pod: &Value) -> bool {
    has(pod, &selector["matchLabels"])
        && list(&selector["matchExpressions"]).all(|expression| {
            assert_eq!(expression["operator"], "In");
            let label = &pod[expression["key"].as_str().unwrap()];
            list(&expression["values"]).any(|value| value == label)
        })
}

/// Requests and limits that a container lacks.
fn missing(container: &Value) -> impl Iterator<Item = String> {
    let amounts = &container["resources"];
    ["requests", "limits"]
        .into_iter()
        .flat_map(|kind| ["cpu", "memory", "ephemeral-storage"].map(|resource| (kind, resource)))
        .filter(move |(kind, resource)| amounts[*kind][*resource].is_null())
        .map(|(kind, resource)| format!("has no {kind}.{resource}"))
}

/// Whether a container is restarted as soon as it isn't ready.
fn is_restarted_when_unready(container: &Value) -> bool {
    let [ready, alive] = ["readinessProbe", "livenessProbe"].map(|probe| &container[probe]);
    HANDLERS
        .iter()
        .any(|handler| !ready[*handler].is_null() && ready[*handler] == alive[*handler])
}

/// Whether a container may do no more than it needs.
fn is_confined(container: &Value, pod: &Value) -> bool {
    let own = &container["securityContext"];
    let either = |field: &str| own.get(field).unwrap_or(&pod["securityContext"][field]);
    let is_high = |field: &str| either(field).as_u64().is_some_and(|id| id >= LEAST_ID);
    own["privileged"] != true
        && own["allowPrivilegeEscalation"] == false
        && own["readOnlyRootFilesystem"] == true
        && either("runAsNonRoot") == true
        && is_high("runAsUser")
        && is_high("runAsGroup")
}

impl Workload<'_> {
    fn pod(&self) -> &Value {
        &self.template["spec"]
    }

    fn labels(&self) -> &Value {
        &self.template["metadata"]["labels"]
    }

    /// The other objects of a kind.
    fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        let neighbours = self.neighbours.iter().copied();
        neighbours.filter(move |object| object["kind"] == kind)
    }

    /// Whether its pods run until they are replaced.
    fn is_running(&self) -> bool {
        ["Deployment", "StatefulSet"].contains(&self.object["kind"].as_str().unwrap())
    }

    /// What is wrong with its containers.
    fn of_containers(&self) -> Vec<String> {
        let pod = self.pod();
        let containers = ["initContainers", "containers"].map(|field| list(&pod[field]));
        let mut found = Vec::new();
        for container in containers.into_iter().flatten() {
            let mut complain =
                |what: &str| found.push(format!("container {} {what}", container["name"]));
            missing(container).for_each(|what| complain(&what));
            if is_restarted_when_unready(container) {
                complain("has the same probe for readiness and liveness");
            }
            if !is_confined(container, pod) {
                complain("may do more than it needs");
            }
        }
        found
    }

    /// Whether some of its pods' rules keep them on different nodes.
    fn is_spread(&self) -> bool {
        let pod = self.pod();
        let apart = &pod["affinity"]["podAntiAffinity"];
        let preferred = list(&apart["preferredDuringSchedulingIgnoredDuringExecution"]);
        let required = list(&apart["requiredDuringSchedulingIgnoredDuringExecution"]);
        list(&pod["topologySpreadConstraints"])
            .chain(preferred.map(|term| &term["podAffinityTerm"]))
            .chain(required)
            .any(|rule| {
                rule["topologyKey"] == "kubernetes.io/hostname"
                    && selects(&rule["labelSelector"], self.labels())
            })
    }

    /// What is wrong with its pods as a whole, where they run until they are replaced.
    fn of_service(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut budgets = self.of_kind("PodDisruptionBudget");
        if !budgets.any(|budget| selects(&budget["spec"]["selector"], self.labels())) {
            found.push("has no PodDisruptionBudget".to_owned());
        }
        if !selects(&self.object["spec"]["selector"], self.labels()) {
            found.push("doesn't select its own pods".to_owned());
        }
        if !self.is_spread() {
            found.push("isn't spread over nodes".to_owned());
        }
        let is_served = self.of_kind("Service").any(|service| {
            let selector = &service["spec"]["selector"];
            selector.is_object() && has(self.labels(), selector)
        });
        let is_probed = list(&self.pod()["containers"])
            .any(|container| container["readinessProbe"].is_object());
        if is_served && !is_probed {
            found.push("has a Service and no readiness probe".to_owned());
        }
        found
    }

    /// Directions of connections that no NetworkPolicy is about.
    fn of_network(&self) -> Vec<String> {
        let is_closed = |direction: &str| {
            let mut policies = self.of_kind("NetworkPolicy").map(|policy| &policy["spec"]);
            policies.any(|policy| {
                list(&policy["policyTypes"]).any(|type_| type_ == direction)
                    && selects(&policy["podSelector"], self.labels())
            })
        };
        let directions = ["Ingress", "Egress"].into_iter();
        directions
            .filter(|direction| !is_closed(direction))
            .map(|direction| format!("has no NetworkPolicy for {direction}"))
            .collect()
    }

    fn problems(&self) -> Vec<String> {
        let of_service = match self.is_running() {
            true => self.of_service(),
            false => Vec::new(),
        };
        let found = [self.of_containers(), of_service, self.of_network()];
        let found = found.into_iter().flatten();
        found.map(|what| format!("{} {what}", self.name)).collect()
    }
}

#[rstest]
#[case::control_plane(&["examples/control-planes/production.yaml"])]
#[case::claims_and_pools(&["examples/claims", "examples/pools"])]
#[case::shared(&["examples/isolation/shared.yaml"])]
#[case::dedicated(&["examples/isolation/dedicated.yaml"])]
#[case::hybrid(&["examples/isolation/hybrid.yaml"])]
#[case::tiered(&["examples/isolation/tiered.yaml"])]
fn every_workload_is_as_linters_want_it(#[case] paths: &[&str]) {
    let plan = ready(paths);
    let workloads = workloads(&plan);
    let problems: Vec<String> = workloads.iter().flat_map(Workload::problems).collect();
    assert_eq!(problems, Vec::<String>::new());
    for name in [
        "StatefulSet openstack-memcached",
        "Deployment keystone",
        "Deployment glance",
    ] {
        assert!(
            workloads.iter().any(|workload| workload.name == name),
            "{name}"
        );
    }
}

/// In staging and development, each size has one of everything.
#[rstest]
fn every_component_has_a_second_replica_in_production_from_medium_on(
    #[values("medium", "large", "xlarge")] size: &str,
) {
    let plan = ready_with("openstack-production", &claim(size));
    let kinds = ["Deployment", "StatefulSet", "MariaDB", "RabbitmqCluster"];
    let objects = plan.applied.iter();
    let components = objects.filter(|applied| kinds.contains(&applied.key.kind.as_str()));
    // Kubernetes' default is one.
    let replicas: BTreeMap<String, u64> = components
        .map(|applied| {
            let name = format!("{} {}", applied.key.kind, applied.key.name);
            let replicas = applied.manifest.spec()["replicas"].as_u64();
            (name, replicas.unwrap_or(1))
        })
        .collect();
    for name in [
        "MariaDB openstack-db",
        "RabbitmqCluster openstack-rabbitmq",
        "StatefulSet openstack-memcached",
        "StatefulSet ovn-sb",
        "StatefulSet cinder-st-volume",
        "Deployment nova-cell1-novncproxy",
        "Deployment neutron-periodic-workers",
    ] {
        assert!(replicas.contains_key(name), "{name}: {replicas:?}");
    }
    let single: Vec<&str> = replicas
        .iter()
        .filter(|(_, replicas)| **replicas < 2)
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(single, Vec::<&str>::new());
}
