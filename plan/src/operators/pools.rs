//! Gardener, Rook and the leasing of hypervisors.

use serde_json::{Value, json};

use crate::manifest::Manifest;
use crate::store::Key;

/// The status of a Shoot that was given with one; any other Shoot becomes ready.
pub fn gardener(_: &Key, shoot: &Manifest) -> Value {
    if shoot.status()["lastOperation"].is_object() {
        return shoot.status().clone();
    }
    json!({
        "lastOperation": {
            "type": "Create",
            "state": "Succeeded",
            "progress": 100,
            "description": "Shoot cluster has been successfully created.",
        },
    })
}

pub fn rook(_: &Key, manifest: &Manifest) -> Value {
    match manifest.kind() {
        "CephCluster" => json!({ "phase": "Ready", "ceph": { "health": "HEALTH_OK" } }),
        _ => json!({ "phase": "Ready" }),
    }
}

/// A share gets the number of hosts that it needs at least, and one at least.
pub fn hypervisor_pool(key: &Key, manifest: &Manifest) -> Value {
    let conditions = json!([{ "type": "Ready", "status": "True", "reason": "Ready" }]);
    match manifest.kind() {
        "HypervisorShare" => {
            let hosts = manifest.spec()["minHosts"]
                .as_u64()
                .unwrap_or_default()
                .max(1);
            let hosts: Vec<Value> = (1..=hosts)
                .map(|number| json!({ "name": format!("{}-{number}", key.cluster), "phase": "Leased" }))
                .collect();
            json!({ "hosts": hosts, "hostCount": hosts.len(), "conditions": conditions })
        }
        _ => json!({ "conditions": conditions }),
    }
}
