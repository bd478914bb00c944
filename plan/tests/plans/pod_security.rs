//! Every pod that comes of a control plane meets the Pod Security Standard `restricted`
//! (<https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted>) and says what it needs.

use serde_json::Value;

use crate::given::ready;

/// A pod: where it comes from, what it may do, its containers.
struct Pod<'a> {
    name: String,
    security: &'a Value,
    volumes: Vec<&'a Value>,
    host: bool,
    containers: Vec<&'a Value>,
}

/// The pods that an object makes its controller create.
fn pods<'a>(name: String, object: &'a Value) -> Vec<Pod<'a>> {
    let list = |value: &'a Value| value.as_array().into_iter().flatten();
    let spec = &object["spec"];
    match object["kind"].as_str().unwrap_or_default() {
        "Deployment" | "StatefulSet" | "DaemonSet" | "Job" => {
            let pod = &spec["template"]["spec"];
            let host = ["hostNetwork", "hostPID", "hostIPC"];
            vec![Pod {
                name,
                security: &pod["securityContext"],
                volumes: list(&pod["volumes"]).collect(),
                host: host.iter().any(|field| pod[field] == true),
                containers: list(&pod["containers"])
                    .chain(list(&pod["initContainers"]))
                    .collect(),
            }]
        }
        "MariaDB" => {
            let pod = |name, security, containers| Pod {
                name,
                security,
                volumes: Vec::new(),
                host: false,
                containers,
            };
            let galera = &spec["galera"];
            let exporter = &spec["metrics"]["exporter"];
            vec![
                pod(
                    name.clone(),
                    &spec["podSecurityContext"],
                    // The init container of Galera takes no security context without an image: docs/security.md.
                    vec![spec, &galera["agent"]],
                ),
                pod(
                    format!("{name}'s exporter"),
                    &exporter["podSecurityContext"],
                    vec![exporter],
                ),
            ]
        }
        _ => Vec::new(),
    }
}

/// What of a pod isn't as the standard wants it, and which containers say nothing of their resources.
fn violations(pod: &Pod<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |holds: bool, what: &str| {
        if !holds {
            found.push(format!("{}: {what}", pod.name));
        }
    };
    check(!pod.host, "host namespaces");
    const VOLUMES: [&str; 8] = [
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "persistentVolumeClaim",
        "projected",
        "secret",
    ];
    for volume in &pod.volumes {
        let kinds = volume.as_object().unwrap().keys();
        let mut kinds = kinds.filter(|key| *key != "name");
        check(
            kinds.all(|kind| VOLUMES.contains(&kind.as_str())),
            "volume types",
        );
    }
    check(pod.security["sysctls"].is_null(), "sysctls");
    check(!pod.containers.is_empty(), "containers");
    for container in &pod.containers {
        let own = &container["securityContext"];
        let either = |field: &str| match own.get(field) {
            Some(value) => value,
            None => &pod.security[field],
        };
        check(own["privileged"] != true, "privileged");
        check(
            own["allowPrivilegeEscalation"] == false,
            "allowPrivilegeEscalation",
        );
        check(either("runAsNonRoot") == true, "runAsNonRoot");
        check(either("runAsUser") != 0, "runAsUser");
        let seccomp = &either("seccompProfile")["type"];
        check(
            seccomp == "RuntimeDefault" || seccomp == "Localhost",
            "seccompProfile",
        );
        let drop = own["capabilities"]["drop"].as_array();
        check(
            drop.is_some_and(|all| all.iter().any(|one| one == "ALL")),
            "capabilities.drop",
        );
        let add = own["capabilities"]["add"].as_array();
        let bind = |one: &Value| one == "NET_BIND_SERVICE";
        check(
            add.is_none_or(|all| all.iter().all(bind)),
            "capabilities.add",
        );
        check(
            container["ports"]
                .as_array()
                .is_none_or(|ports| ports.iter().all(|port| port["hostPort"].is_null())),
            "hostPort",
        );
        for kind in ["requests", "limits"] {
            for resource in ["cpu", "memory"] {
                check(
                    !container["resources"][kind][resource].is_null(),
                    &format!("resources.{kind}.{resource}"),
                );
            }
        }
    }
    found
}

#[test]
fn every_pod_is_restricted_and_bounded() {
    let plan = ready(&["examples/control-planes/production.yaml"]);
    let objects = plan.applied.iter().map(|applied| applied.manifest.value());
    let pods: Vec<Pod<'_>> = objects
        .flat_map(|object| {
            let name = format!(
                "{} {}",
                object["kind"].as_str().unwrap(),
                object["metadata"]["name"].as_str().unwrap()
            );
            pods(name, object)
        })
        .collect();
    let violations: Vec<String> = pods.iter().flat_map(violations).collect();
    assert_eq!(violations, Vec::<String>::new());
    for name in [
        "MariaDB openstack-db",
        "StatefulSet openstack-memcached",
        "Deployment keystone",
        "Deployment glance",
    ] {
        assert!(pods.iter().any(|pod| pod.name == name), "{name} has no pod");
    }
}
