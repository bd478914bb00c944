//! Every change of a cluster's claim and of its Composition's input, checked by Gardener's validation, which rejects a whole update for
//! one invalid field.

use function_c5c3_fixtures::{Call, examples::POOLS, text};
use lab::{Result, ensure, shoot_faults, shoot_faults_without_gates};
use serde_json::{Value, json};

/// A change of what a cluster is composed from.
struct Change {
    name: &'static str,
    /// Whether it changes the Shoot of at least one pool; else it changes none.
    acts: bool,
    apply: fn(&mut Call),
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

const CHANGES: &[Change] = &[
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

/// What Gardener says of a Shoot whose machines are as wanted, and of one that waits for updates in place.
const STATES: [(&str, bool); 2] = [("settled", false), ("with pending updates", true)];

/// One update: the Shoot as Gardener has it, and as it is composed then.
struct Update {
    name: String,
    seen: Value,
    composed: Value,
}

impl Update {
    fn changes_spec(&self) -> bool {
        self.seen["spec"] != self.composed["spec"]
    }

    fn documents(&self) -> String {
        let mut composed = self.composed.clone();
        composed["metadata"]["resourceVersion"] = json!("1");
        format!("{}\n---\n{composed}", self.seen)
    }
}

/// Checks that Gardener accepts every update, and that each change alters a Shoot exactly where it should.
pub fn are_taken() -> Result<()> {
    let mut updates = Vec::new();
    for change in CHANGES {
        let of_change: Vec<Update> = POOLS
            .iter()
            .flat_map(|pool| STATES.map(|state| update(pool, state, change)))
            .flatten()
            .collect();
        ensure!(
            of_change.iter().any(Update::changes_spec) == change.acts,
            "{}: whether a Shoot changes should be {}",
            change.name,
            change.acts
        );
        updates.extend(of_change);
    }
    let documents: Vec<String> = updates.iter().map(Update::documents).collect();
    let faults: Vec<String> = shoot_faults(&documents.join("\n---\n"))?
        .into_iter()
        .map(|fault| match number(&fault) {
            Some(number) => format!("{}: {fault}", updates[(number - 1) / 2].name),
            None => fault,
        })
        .collect();
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(())
}

/// Checks that a Gardener without feature gates accepts only pools whose machines it replaces.
pub fn gates_are_needed() -> Result<()> {
    for (strategy, is_taken) in [(Value::Null, false), (json!("AutoRollingUpdate"), true)] {
        let mut call = Call::of_pool("hv-pool-a");
        gardener(&mut call)["updateStrategy"] = strategy.clone();
        let faults = shoot_faults_without_gates(&call.run().manifest("shoot").to_string())?;
        ensure!(faults.is_empty() == is_taken, "{strategy}: {faults:?}");
        ensure!(
            faults
                .iter()
                .all(|fault| fault.contains("`InPlaceNodeUpdates` feature gate")),
            "{faults:?}"
        );
    }
    Ok(())
}

/// The update that a change of a running pool causes; none where the function refuses the change.
fn update(pool: &str, (state, is_pending): (&str, bool), change: &Change) -> Option<Update> {
    let mut call = running(pool, is_pending);
    let seen = seen(&mut call).clone();
    (change.apply)(&mut call);
    let outcome = call.run();
    outcome.fatal.is_none().then(|| {
        let mut composed = outcome.manifest("shoot").clone();
        composed["spec"]["seedName"] = seen["spec"]["seedName"].clone();
        Update {
            name: format!("{pool} {state}, {}", change.name),
            seen,
            composed,
        }
    })
}

/// A pool that runs Kubernetes 1.34.2 on version 1877.0.0 of its operating system, as Gardener says it.
fn running(pool: &str, is_pending: bool) -> Call {
    let mut call = Call::of_pool(pool);
    version(&mut call, "1.34.2");
    image(&mut call, "gardenlinux", "1877.0.0");
    let (mut call, _) = call.running();
    let shoot = seen(&mut call);
    // Of a cluster that runs somewhere, Gardener allows fewer changes.
    shoot["spec"]["seedName"] = json!("seed");
    let workers = shoot["spec"]["provider"]["workers"].as_array();
    let pending: Vec<String> = workers
        .into_iter()
        .flatten()
        .filter(|worker| is_pending && worker["updateStrategy"] == "ManualInPlaceUpdate")
        .map(|worker| text(worker, "/name"))
        .collect();
    shoot["status"]["inPlaceUpdates"] =
        json!({"pendingWorkerUpdates": {"manualInPlaceUpdate": pending}});
    call
}

fn seen(call: &mut Call) -> &mut Value {
    let shoot = call.observed.entry("shoot".to_owned()).or_default();
    &mut shoot["status"]["atProvider"]["manifest"]
}

fn spec(call: &mut Call) -> &mut Value {
    &mut call.composite["spec"]
}

fn gardener(call: &mut Call) -> &mut Value {
    &mut call.input.get_or_insert_default()["gardener"]
}

fn version(call: &mut Call, version: impl Into<Value>) {
    spec(call)["kubernetesVersion"] = version.into();
}

fn image(call: &mut Call, name: &str, version: &str) {
    gardener(call)["machineImage"] = json!({"name": name, "version": version});
}

/// The number in `the oldest Gardener: document 12: ...`.
fn number(fault: &str) -> Option<usize> {
    let (_, rest) = fault.split_once("document ")?;
    rest.split_once(':')?.0.parse().ok()
}
