//! The CustomResourceDefinitions of the kinds that composed objects are of: what operators reconcile.

use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::control_plane::{ControlPlaneSpec, ControlPlaneStatus};
use crate::hypervisor::{
    HypervisorPoolSpec, HypervisorPoolStatus, HypervisorShareSpec, HypervisorShareStatus,
};
use crate::schema;

/// Every CustomResourceDefinition, apiextensions.k8s.io/v1.
pub fn custom_resources() -> Vec<Value> {
    let hypervisor = "hypervisor.c5c3.io";
    vec![
        definition::<ControlPlaneSpec, ControlPlaneStatus>(&Names {
            group: "c5c3.io",
            kind: "ControlPlane",
            short: "cp",
            scope: "Namespaced",
            description: "One OpenStack control plane.",
        }),
        definition::<HypervisorPoolSpec, HypervisorPoolStatus>(&Names {
            group: hypervisor,
            kind: "HypervisorPool",
            short: "hvp",
            scope: "Cluster",
            description: "How the nodes of this hypervisor cluster are shared.",
        }),
        definition::<HypervisorShareSpec, HypervisorShareStatus>(&Names {
            group: hypervisor,
            kind: "HypervisorShare",
            short: "hvs",
            scope: "Cluster",
            description: "One control plane's part of this hypervisor cluster.",
        }),
    ]
}

struct Names {
    group: &'static str,
    kind: &'static str,
    short: &'static str,
    scope: &'static str,
    description: &'static str,
}

fn definition<S: JsonSchema, T: JsonSchema>(names: &Names) -> Value {
    let singular = names.kind.to_lowercase();
    let plural = format!("{singular}s");
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{}", names.group)},
        "spec": {
            "group": names.group,
            "scope": names.scope,
            "names": {
                "kind": names.kind, "plural": plural, "singular": singular,
                "shortNames": [names.short], "categories": ["openstack"],
            },
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type=='Ready')].status"},
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                ],
                "schema": {"openAPIV3Schema": {
                    "type": "object", "description": names.description, "required": ["spec"],
                    "properties": {
                        "spec": schema::structural::<S>(),
                        "status": schema::observed::<T>(),
                    },
                }},
            }],
        },
    })
}
