//! What is kept of kinds whose objects are many, large, and change all the time.

use provider_composer::ResourceKind;
use serde_json::Value;

/// A field that composers read, and what of it; empty: all.
struct Field(&'static str, &'static [Field]);

/// Annotations with this in their name are this project's.
const PROJECT: &str = "c5c3.io/";

/// The longest message of a container that ended, in bytes (kubernetes, pkg/kubelet/container/runtime.go,
/// `MaxContainerTerminationMessageLength`).
const SAID: usize = 4096;

const METADATA: &[Field] = &[
    Field("name", &[]),
    Field("namespace", &[]),
    Field("uid", &[]),
    Field("resourceVersion", &[]),
    Field("generation", &[]),
    Field("labels", &[]),
    Field("annotations", &[]),
    Field("finalizers", &[]),
    Field("creationTimestamp", &[]),
    Field("deletionTimestamp", &[]),
    Field("ownerReferences", &[]),
];

const CONDITION: &[Field] = &[Field("type", &[]), Field("status", &[])];

/// With the time of its last change, which says how long a node hasn't been Ready. Unlike `lastHeartbeatTime`, it stays the same while
/// the status does (<https://kubernetes.io/docs/reference/node/node-status/#condition>).
const NODE_CONDITION: &[Field] = &[
    Field("type", &[]),
    Field("status", &[]),
    Field("lastTransitionTime", &[]),
];

const NODE: &[Field] = &[
    Field("apiVersion", &[]),
    Field("kind", &[]),
    Field("metadata", METADATA),
    Field("spec", &[Field("unschedulable", &[])]),
    Field(
        "status",
        &[
            Field("addresses", &[]),
            Field("capacity", &[Field("cpu", &[]), Field("memory", &[])]),
            Field("conditions", NODE_CONDITION),
        ],
    ),
];

const TERMINATED: &[Field] = &[Field("terminated", &[])];

const CONTAINER: &[Field] = &[Field("state", TERMINATED), Field("lastState", TERMINATED)];

const POD: &[Field] = &[
    Field("apiVersion", &[]),
    Field("kind", &[]),
    Field("metadata", METADATA),
    Field("spec", &[Field("nodeName", &[])]),
    Field(
        "status",
        &[
            Field("phase", &[]),
            Field("conditions", CONDITION),
            Field("initContainerStatuses", CONTAINER),
            Field("containerStatuses", CONTAINER),
        ],
    ),
];

/// Returns what composers read of a kind; none where all of it is kept.
fn read_of(kind: ResourceKind) -> Option<&'static [Field]> {
    match (kind.group, kind.kind) {
        ("", "Node") => Some(NODE),
        ("", "Pod") => Some(POD),
        _ => None,
    }
}

/// Removes from a Node or a Pod what no composer reads. A composer that reads another field needs it in this file.
pub(super) fn trim(kind: ResourceKind, object: &mut Value) {
    let Some(fields) = read_of(kind) else {
        return;
    };
    keep(object, fields);
    for list in ["initContainerStatuses", "containerStatuses"] {
        let containers = object.pointer_mut(&format!("/status/{list}"));
        let containers = containers.and_then(Value::as_array_mut);
        containers.into_iter().flatten().for_each(shorten);
    }
    let annotations = object.pointer_mut("/metadata/annotations");
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.retain(|name, _| name.contains(PROJECT));
    }
}

/// Cuts what a container said when it ended to what a kubelet keeps of it. Whoever has a node's kubelet may write more.
fn shorten(container: &mut Value) {
    for state in ["state", "lastState"] {
        let said = container.pointer_mut(&format!("/{state}/terminated/message"));
        if let Some(Value::String(said)) = said
            && said.len() > SAID
        {
            said.truncate(said.floor_char_boundary(SAID));
        }
    }
}

/// Keeps these fields of an object, or of each object in a list.
fn keep(value: &mut Value, fields: &[Field]) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| keep(item, fields)),
        Value::Object(object) => object.retain(|name, value| {
            let Some(Field(_, within)) = fields.iter().find(|Field(field, _)| field == name) else {
                return false;
            };
            if !within.is_empty() {
                keep(value, within);
            }
            true
        }),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{Node, Pod};
    use provider_composer::Resource;
    use serde_json::json;

    use crate::cache::Entry;

    use super::*;

    /// A Node as a kubelet, a cloud provider, a CNI plugin and a CSI driver write it.
    fn node(version: &str, heartbeat: &str) -> Value {
        let images: Vec<Value> = (0..50)
            .map(|image| json!({ "names": [format!("registry.example.com/image@sha256:{image:064}")], "sizeBytes": 1_000_000 }))
            .collect();
        let condition = |type_: &str, status: &str| {
            json!({
                "type": type_, "status": status, "reason": "KubeletReady", "message": "kubelet is posting ready status",
                "lastHeartbeatTime": heartbeat, "lastTransitionTime": "2026-01-01T00:00:00Z",
            })
        };
        let capacity = json!({ "cpu": "128", "memory": "1056289392Ki", "pods": "110", "ephemeral-storage": "936137420Ki", "hugepages-1Gi": "0", "hugepages-2Mi": "0" });
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {
                "name": "node-1", "uid": "6a6d4ea4-6f5b-4ba8-9d6d-7d1a3ad7a1a1", "resourceVersion": version,
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "labels": { "kubernetes.io/hostname": "node-1", "node-role.kubernetes.io/hypervisor": "" },
                "annotations": {
                    "csi.volume.kubernetes.io/nodeid": "x".repeat(500), "projectcalico.org/IPv4Address": "10.0.0.1/24",
                    "ovn.c5c3.io/system-id": "one",
                },
                "managedFields": [{ "manager": "kubelet", "operation": "Update", "fieldsV1": { "f:status": {} } }],
            },
            "spec": {
                "podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"], "providerID": "openstack:///1", "unschedulable": true,
                "taints": [{ "key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule" }],
            },
            "status": {
                "addresses": [{ "type": "InternalIP", "address": "10.0.0.1" }],
                "allocatable": capacity, "capacity": capacity,
                "conditions": [condition("MemoryPressure", "False"), condition("Ready", "True")],
                "daemonEndpoints": { "kubeletEndpoint": { "Port": 10250 } }, "images": images,
                "nodeInfo": { "kernelVersion": "6.12.0", "osImage": "Linux" },
                "volumesAttached": [{ "name": "x".repeat(200), "devicePath": "" }],
            },
        })
    }

    #[test]
    fn node_is_kept_as_far_as_it_is_read() {
        let kept = |version, heartbeat| {
            Entry::of(Node::KIND, node(version, heartbeat), true, &[]).unwrap()
        };
        let seen = kept("9", "2026-01-01T00:00:00Z");
        assert_eq!(
            seen.value().unwrap(),
            json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": {
                    "name": "node-1", "uid": "6a6d4ea4-6f5b-4ba8-9d6d-7d1a3ad7a1a1", "resourceVersion": "9",
                    "creationTimestamp": "2026-01-01T00:00:00Z",
                    "labels": { "kubernetes.io/hostname": "node-1", "node-role.kubernetes.io/hypervisor": "" },
                    "annotations": { "ovn.c5c3.io/system-id": "one" },
                },
                "spec": { "unschedulable": true },
                "status": {
                    "addresses": [{ "type": "InternalIP", "address": "10.0.0.1" }],
                    "capacity": { "cpu": "128", "memory": "1056289392Ki" },
                    "conditions": [
                        { "type": "MemoryPressure", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z" },
                        { "type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z" },
                    ],
                },
            })
        );
        assert!(seen.size() < 1000, "{} bytes", seen.size());
        assert!(seen.is_same(&kept("10", "2026-01-01T00:05:00Z")));
    }

    #[test]
    fn pod_is_kept_as_far_as_it_is_read() {
        let terminated = json!({ "terminated": { "exitCode": 1, "message": "modprobe tun", "finishedAt": "2026-01-01T00:00:00Z" } });
        let status = |name: &str, state: &Value| {
            json!({
                "name": name, "image": "registry.example.com/libvirt:1", "imageID": "x".repeat(100), "ready": false,
                "restartCount": 3, "state": state, "lastState": terminated,
            })
        };
        let container = json!({ "name": "libvirtd", "image": "registry.example.com/libvirt:1", "command": ["sh", "-c", "x".repeat(4000)] });
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": "libvirt-abcde", "namespace": "agents-prod", "resourceVersion": "9", "uid": "1",
                "labels": { "app.kubernetes.io/component": "libvirt" },
                "annotations": { "cni.projectcalico.org/podIP": "10.1.0.1/32" },
                "ownerReferences": [{ "kind": "DaemonSet", "name": "libvirt", "uid": "2", "controller": true }],
            },
            "spec": {
                "nodeName": "node-1", "containers": [container], "initContainers": [container],
                "tolerations": [{ "operator": "Exists" }], "volumes": [{ "name": "run", "hostPath": { "path": "/run" } }],
            },
            "status": {
                "phase": "Pending", "podIP": "10.1.0.1", "hostIP": "10.0.0.1",
                "conditions": [{ "type": "Ready", "status": "False", "lastProbeTime": null, "message": "not ready" }],
                "initContainerStatuses": [status("requirements", &json!({ "waiting": { "reason": "CrashLoopBackOff" } }))],
                "containerStatuses": [status("libvirtd", &terminated)],
            },
        });
        let seen = Entry::of(Pod::KIND, pod, true, &[]).unwrap();
        assert_eq!(
            seen.value().unwrap(),
            json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {
                    "name": "libvirt-abcde", "namespace": "agents-prod", "resourceVersion": "9", "uid": "1",
                    "labels": { "app.kubernetes.io/component": "libvirt" },
                    "annotations": {},
                    "ownerReferences": [{ "kind": "DaemonSet", "name": "libvirt", "uid": "2", "controller": true }],
                },
                "spec": { "nodeName": "node-1" },
                "status": {
                    "phase": "Pending",
                    "conditions": [{ "type": "Ready", "status": "False" }],
                    "initContainerStatuses": [{ "state": {}, "lastState": terminated }],
                    "containerStatuses": [{ "state": terminated, "lastState": terminated }],
                },
            })
        );
        assert!(seen.size() < 1200, "{} bytes", seen.size());
    }

    #[test]
    fn messages_of_containers_are_no_longer_than_those_of_a_kubelet() {
        let said = |length| json!({ "terminated": { "message": "é".repeat(length) } });
        let statuses = |length| json!([{ "state": said(length), "lastState": said(length) }]);
        let pod = |length| {
            json!({ "status": {
                "initContainerStatuses": statuses(length), "containerStatuses": statuses(length),
            } })
        };
        let mut seen = pod(SAID);
        trim(Pod::KIND, &mut seen);
        assert_eq!(seen, pod(SAID / 2));
    }
}
