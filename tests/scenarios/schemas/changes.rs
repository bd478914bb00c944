//! Every change of a cluster's claim and of its Composition's input.

use function_c5c3_fixtures::{Call, text};
use serde_json::{Value, json};

/// What Gardener does with a pool, and how far it is.
#[derive(Clone, Copy)]
pub struct State {
    /// As it follows the pool's name in a fault.
    pub name: &'static str,
    /// How bare metal is updated; without it as the shipped Compositions have it.
    strategy: Option<&'static str>,
    /// Whether machines wait for updates in place.
    is_pending: bool,
}

/// The states in which each change is tried.
pub const STATES: [State; 5] = [
    State {
        name: "settled",
        strategy: None,
        is_pending: false,
    },
    State {
        name: "with pending updates",
        strategy: None,
        is_pending: true,
    },
    State {
        name: "that Gardener updates in place",
        strategy: Some("AutoInPlaceUpdate"),
        is_pending: false,
    },
    State {
        name: "that Gardener is updating in place",
        strategy: Some("AutoInPlaceUpdate"),
        is_pending: true,
    },
    State {
        name: "whose machines Gardener replaces",
        strategy: Some("AutoRollingUpdate"),
        is_pending: false,
    },
];

impl State {
    /// The call for a pool that runs Kubernetes 1.34.2 on version 1877.0.0 of its operating system, and whose Shoot is in this state.
    pub fn running(self, pool: &str) -> Call {
        let mut call = Call::of_pool(pool);
        version(&mut call, "1.34.2");
        image(&mut call, "gardenlinux", "1877.0.0");
        if let Some(strategy) = self.strategy {
            gardener(&mut call)["updateStrategy"] = json!(strategy);
        }
        let (mut call, _) = call.running();
        let shoot = observed(&mut call);
        // Of a cluster that runs somewhere, Gardener allows fewer changes.
        shoot["spec"]["seedName"] = json!("seed");
        let workers = shoot["spec"]["provider"]["workers"].as_array();
        let pending = |strategy| -> Vec<String> {
            let workers = workers.into_iter().flatten();
            let pending =
                workers.filter(|worker| self.is_pending && worker["updateStrategy"] == strategy);
            pending.map(|worker| text(worker, "/name")).collect()
        };
        shoot["status"]["inPlaceUpdates"] = json!({"pendingWorkerUpdates": {
            "manualInPlaceUpdate": pending("ManualInPlaceUpdate"),
            "autoInPlaceUpdate": pending("AutoInPlaceUpdate"),
        }});
        call
    }
}

/// The Shoot as its Object has observed it.
pub fn observed(call: &mut Call) -> &mut Value {
    let shoot = call.observed.entry("shoot".to_owned()).or_default();
    &mut shoot["status"]["atProvider"]["manifest"]
}

/// A change of what a cluster is composed from.
pub struct Change {
    /// The field that changes and how, for messages.
    pub name: &'static str,
    /// Whether it changes the Shoot of at least one pool; else it changes none.
    pub acts: bool,
    /// Changes the claim or the Composition's input.
    apply: fn(&mut Call),
}

impl Change {
    /// The Shoot that is composed after the change, with the name and Seed of the observed one; none where the function refuses the
    /// change.
    pub fn composed(&self, mut call: Call) -> Option<Value> {
        let observed = observed(&mut call).clone();
        (self.apply)(&mut call);
        let outcome = call.run();
        outcome.fatal.is_none().then(|| {
            let mut shoot = outcome.manifest("shoot").clone();
            shoot["metadata"]["name"] = observed["metadata"]["name"].clone();
            shoot["spec"]["seedName"] = observed["spec"]["seedName"].clone();
            shoot
        })
    }
}

const fn acts(name: &'static str, apply: fn(&mut Call)) -> Change {
    Change {
        name,
        acts: true,
        apply,
    }
}

const fn stays(name: &'static str, apply: fn(&mut Call)) -> Change {
    Change {
        name,
        acts: false,
        apply,
    }
}

/// The changes that are tried in each state.
pub const CHANGES: &[Change] = &[
    stays("nothing", |_| ()),
    acts("the next minor version", |call| version(call, "1.35")),
    acts("a minor version further away", |call| version(call, "1.37")),
    acts("a newer patch", |call| version(call, "1.34.9")),
    stays("an older version", |call| version(call, "1.33")),
    stays("no version", |call| version(call, Value::Null)),
    acts("more machines", |call| {
        for field in ["workers", "maxWorkers"] {
            if let Some(machines) = spec(call)[field].as_u64() {
                spec(call)[field] = json!(machines + 6);
            }
        }
    }),
    acts("fewer machines", |call| {
        let machines = spec(call)["workers"].as_u64().unwrap_or_default();
        spec(call)["workers"] = json!(machines.saturating_sub(1));
    }),
    acts("another machine type", |call| {
        spec(call)["machineType"] = json!("m5.8xlarge")
    }),
    stays("another machine class", |call| {
        spec(call)["ironcore"]["machineClass"] = json!("other")
    }),
    stays("another machine pool", |call| {
        spec(call)["ironcore"]["machinePool"] = json!("other")
    }),
    acts("a larger volume", |call| {
        spec(call)["volumeSize"] = json!("400Gi")
    }),
    stays("no high availability", |call| {
        spec(call)["highAvailability"] = json!(false)
    }),
    stays("other networks", |call| {
        spec(call)["network"] =
            json!({"nodes": "10.20.0.0/16", "pods": "10.32.0.0/12", "services": "10.64.0.0/16"});
    }),
    acts("a newer image", |call| {
        image(call, "gardenlinux", "1900.0.0")
    }),
    stays("an older image", |call| {
        image(call, "gardenlinux", "1800.0.0")
    }),
    acts("another image", |call| image(call, "flatcar", "4000.0.0")),
    stays("another strategy", |call| {
        gardener(call)["updateStrategy"] = json!("AutoRollingUpdate")
    }),
    acts("a larger system disk", |call| {
        gardener(call)["volume"] = json!({"type": "local", "size": "1920Gi"});
    }),
    acts("more machines of the system", |call| {
        if !gardener(call)["systemMachines"].is_null() {
            gardener(call)["systemMachines"]["maximum"] = json!(9);
        }
    }),
    acts("no machines of the system", |call| {
        gardener(call)["systemMachines"] = Value::Null
    }),
];

/// The claim's spec.
pub fn spec(call: &mut Call) -> &mut Value {
    &mut call.composite["spec"]
}

/// What the Composition's input says of Gardener.
pub fn gardener(call: &mut Call) -> &mut Value {
    &mut call.input.get_or_insert_default()["gardener"]
}

/// Asks for a version of Kubernetes.
pub fn version(call: &mut Call, version: impl Into<Value>) {
    spec(call)["kubernetesVersion"] = version.into();
}

/// Asks for an image of the operating system.
pub fn image(call: &mut Call, name: &str, version: &str) {
    gardener(call)["machineImage"] = json!({"name": name, "version": version});
}
