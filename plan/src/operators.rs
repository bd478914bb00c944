//! The operators of foreign kinds, as far as anybody waits for them: each says that its objects are ready.

use serde_json::{Value, json};

use crate::Error;
use crate::manifest::Manifest;
use crate::settle::Reconciler;
use crate::store::{Key, MANAGEMENT, Store};

/// An operator that isn't ours, or that doesn't run here.
#[derive(Clone, Copy)]
struct Operator {
    name: &'static str,
    group: &'static str,
    /// The status of an object that is as wanted.
    ready: fn(&Key, &Manifest) -> Value,
}

const OPERATORS: [Operator; 6] = [
    Operator {
        name: "Kubernetes",
        group: "",
        ready: kubernetes,
    },
    Operator {
        name: "Gardener",
        group: "core.gardener.cloud",
        ready: gardener,
    },
    Operator {
        name: "Rook",
        group: "ceph.rook.io",
        ready: rook,
    },
    Operator {
        name: "External Secrets",
        group: "external-secrets.io",
        ready: external_secrets,
    },
    Operator {
        name: "hypervisor-pool",
        group: "hypervisor.c5c3.io",
        ready: hypervisor_pool,
    },
    Operator {
        name: "c5c3-operator",
        group: "c5c3.io",
        ready: c5c3,
    },
];

/// The operator that an object in a cluster waits for, by its name.
pub fn responsible(manifest: &Manifest) -> Option<&'static str> {
    operator(manifest).map(|operator| operator.name)
}

fn operator(manifest: &Manifest) -> Option<Operator> {
    OPERATORS
        .into_iter()
        .find(|operator| operator.group == manifest.group())
}

/// All those operators. They make ready what goes back to a resource that the filter lets through; Kubernetes makes all
/// its own objects ready, always.
pub struct Operators<F: Fn(&Key) -> bool> {
    /// Says of a claim whether what it composes becomes ready.
    pub comes_up: F,
}

impl<F: Fn(&Key) -> bool> Reconciler for Operators<F> {
    fn reconcile(&mut self, store: &mut Store) -> Result<(), Error> {
        let ready: Vec<(Key, Value)> = store
            .iter()
            .filter(|(key, _)| key.cluster != MANAGEMENT)
            .filter_map(|(key, manifest)| {
                let operator = operator(manifest)?;
                let works = operator.group.is_empty() || (self.comes_up)(store.origin(key));
                works.then(|| (key.clone(), (operator.ready)(key, manifest)))
            })
            .collect();
        for (key, status) in ready {
            store.set_status(&key, status);
        }
        Ok(())
    }
}

fn kubernetes(_: &Key, manifest: &Manifest) -> Value {
    match manifest.kind() {
        "Namespace" => json!({ "phase": "Active" }),
        _ => Value::Null,
    }
}

fn gardener(_: &Key, _: &Manifest) -> Value {
    json!({
        "lastOperation": {
            "type": "Create",
            "state": "Succeeded",
            "progress": 100,
            "description": "Shoot cluster has been successfully created.",
        },
    })
}

fn rook(_: &Key, manifest: &Manifest) -> Value {
    match manifest.kind() {
        "CephCluster" => json!({ "phase": "Ready", "ceph": { "health": "HEALTH_OK" } }),
        _ => json!({ "phase": "Ready" }),
    }
}

fn external_secrets(_: &Key, _: &Manifest) -> Value {
    json!({ "conditions": [{ "type": "Ready", "status": "True", "reason": "Synced" }] })
}

/// A share gets the least that it asks for, and one host at least.
fn hypervisor_pool(key: &Key, manifest: &Manifest) -> Value {
    let conditions = json!([{ "type": "Ready", "status": "True", "reason": "Ready" }]);
    match manifest.kind() {
        "HypervisorShare" => {
            let hosts = manifest.spec()["minHosts"]
                .as_u64()
                .unwrap_or_default()
                .max(1);
            let hosts: Vec<String> = (1..=hosts)
                .map(|number| format!("{}-{number}", key.cluster))
                .collect();
            json!({ "hosts": hosts, "conditions": conditions })
        }
        _ => json!({ "conditions": conditions }),
    }
}

/// Every service that runs answers under its name, in the control plane's namespace.
fn c5c3(_: &Key, manifest: &Manifest) -> Value {
    let services = manifest.spec()["services"].as_object();
    let encrypted = manifest.spec()["global"]["tls"]["enabled"] == true;
    let scheme = if encrypted { "https" } else { "http" };
    let endpoints: serde_json::Map<String, Value> = services
        .into_iter()
        .flatten()
        .filter(|(_, service)| service["enabled"] != false)
        .map(|(name, _)| {
            let url = format!("{scheme}://{name}.{}.svc", manifest.namespace());
            (name.clone(), Value::String(url))
        })
        .collect();
    json!({
        "updatePhase": "Idle",
        "endpoints": endpoints,
        "conditions": [{ "type": "Ready", "status": "True", "reason": "Ready" }],
    })
}
