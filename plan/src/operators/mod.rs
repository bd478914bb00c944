//! The operators of foreign kinds, as far as anybody waits for them: each says that its objects are ready, and makes the
//! Secrets that go with them.

mod catalogue;
mod infrastructure;
mod pools;
mod services;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use provider_operators::control_plane_operators;
use serde_json::{Value, json};

use crate::Error;
use crate::manifest::Manifest;
use crate::resource::CONTROL_PLANE;
use crate::settle::Reconciler;
use crate::store::{Key, MANAGEMENT, Store};

/// A third-party operator, or one that doesn't run here.
#[derive(Clone, Copy)]
struct Operator {
    name: &'static str,
    groups: &'static [&'static str],
    /// The status of an object that is as wanted.
    ready: fn(&Key, &Manifest) -> Value,
    /// The objects that come with an object.
    creates: Creates,
}

/// Returns the Secrets, Pods and Gateways that come with an object. The function given finds another Secret of its namespace.
type Creates = fn(&Manifest, &dyn Fn(&str) -> Option<Value>) -> Vec<Value>;

const OPERATORS: [Operator; 14] = [
    Operator::new("Kubernetes", &[""], infrastructure::kubernetes),
    Operator::new("Kubernetes", &["apps", "batch"], infrastructure::workloads)
        .with(infrastructure::of_workloads),
    Operator::new("Gardener", &["core.gardener.cloud"], pools::gardener),
    Operator::new("Rook", &["ceph.rook.io"], pools::rook),
    Operator::new(
        "hypervisor-pool",
        &["hypervisor.c5c3.io"],
        pools::hypervisor_pool,
    ),
    Operator::new(
        "External Secrets",
        &["external-secrets.io"],
        catalogue::external_secrets,
    )
    .with(catalogue::of_external_secrets),
    Operator::new(
        "cert-manager",
        &["cert-manager.io"],
        catalogue::certificates,
    )
    .with(catalogue::of_certificates),
    Operator::new("K-ORC", &["openstack.k-orc.cloud"], catalogue::korc),
    Operator::new(
        "mariadb-operator",
        &["k8s.mariadb.com"],
        infrastructure::mariadb,
    )
    .with(infrastructure::of_mariadb),
    Operator::new(
        "RabbitMQ's operator",
        &["rabbitmq.com"],
        infrastructure::rabbitmq,
    )
    .with(infrastructure::of_rabbitmq),
    Operator::new(
        "valkey-operator",
        &["cache.cs.sap.com"],
        infrastructure::valkey,
    )
    .with(infrastructure::of_valkey),
    Operator::new(
        "the Gateway's controller",
        &["gateway.networking.k8s.io"],
        infrastructure::gateway,
    )
    .with(infrastructure::of_routes),
    Operator::new(
        "the Ingress controller",
        &["networking.k8s.io"],
        infrastructure::ingress,
    ),
    Operator::new("the service's operator", SERVICES, services::service),
];

const SERVICES: &[&str] = &["cortex.c5c3.io"];

impl Operator {
    const fn new(
        name: &'static str,
        groups: &'static [&'static str],
        ready: fn(&Key, &Manifest) -> Value,
    ) -> Self {
        Self {
            name,
            groups,
            ready,
            creates: |_, _| Vec::new(),
        }
    }

    const fn with(self, creates: Creates) -> Self {
        Self { creates, ..self }
    }
}

/// The operator that an object in a cluster waits for, by its name.
pub fn responsible(manifest: &Manifest) -> Option<&'static str> {
    operator(manifest).map(|operator| operator.name)
}

fn operator(manifest: &Manifest) -> Option<Operator> {
    let group = manifest.group();
    OPERATORS
        .into_iter()
        .filter(|_| !COMPOSED.contains(group))
        .find(|operator| operator.groups.contains(&group))
}

/// The groups of the kinds that this version's operators compose.
static COMPOSED: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    let operators = control_plane_operators();
    operators
        .iter()
        .map(|operator| operator.subject().group)
        .collect()
});

/// Returns the status that a third-party operator or Kubernetes gives an object that is as wanted, and the objects that it
/// creates with it. `beside` finds a Secret of the object's namespace. None where no such operator is simulated.
pub fn simulated(
    object: &Manifest,
    beside: &dyn Fn(&str) -> Option<Value>,
) -> Option<(Value, Vec<Value>)> {
    let operator = operator(object)?;
    let key = Key::of(CONTROL_PLANE, object);
    Some((
        (operator.ready)(&key, object),
        (operator.creates)(object, beside),
    ))
}

/// All those operators. They make ready what goes back to a resource that the filter lets through; Kubernetes makes all
/// its own objects ready, always.
pub struct Operators<F: Fn(&Key) -> bool> {
    /// Says of a claim whether what it composes becomes ready.
    comes_up: F,
    /// How many changes of the store were checked.
    checked: usize,
}

impl<F: Fn(&Key) -> bool> Operators<F> {
    /// The operators, which have reconciled nothing yet.
    pub fn new(comes_up: F) -> Self {
        Self {
            comes_up,
            checked: 0,
        }
    }
}

impl<F: Fn(&Key) -> bool> Reconciler for Operators<F> {
    fn reconcile(&mut self, store: &mut Store) -> Result<(), Error> {
        let checked = std::mem::replace(&mut self.checked, store.moment());
        let changed: BTreeSet<&Key> = store.since(checked).iter().collect();
        // What an object creates may depend on Secrets beside it, and is created again once it is removed.
        let counts = |key: &&&Key| key.kind == "Secret" || store.get(key).is_none();
        let namespace = |key: &Key| [key.cluster.clone(), key.namespace.clone()];
        let around = changed.iter().filter(counts).map(|key| namespace(key));
        let around: BTreeSet<_> = around.collect();
        let ready: Vec<(Key, Value, Vec<Value>)> = store
            .iter()
            .filter(|(key, manifest)| {
                key.cluster != MANAGEMENT || manifest.group() == "external-secrets.io"
            })
            .filter(|(key, _)| changed.contains(key) || around.contains(&namespace(key)))
            .filter_map(|(key, manifest)| {
                let operator = operator(manifest)?;
                let works = manifest.group().is_empty() || (self.comes_up)(store.origin(key));
                let status = || (operator.ready)(key, manifest);
                let beside = |name: &str| {
                    let secret = Key {
                        api_version: "v1".to_owned(),
                        kind: "Secret".to_owned(),
                        name: name.to_owned(),
                        ..key.clone()
                    };
                    store.get(&secret).map(|secret| secret.value().clone())
                };
                works.then(|| (key.clone(), status(), (operator.creates)(manifest, &beside)))
            })
            .collect();
        for (key, status, created) in ready {
            for object in created {
                let object = Manifest::try_from(object)?;
                if store.get(&Key::of(&key.cluster, &object)).is_none() {
                    store.apply(&key.cluster, object, Some(&key));
                }
            }
            store.set_status(&key, status);
        }
        Ok(())
    }
}

/// A condition that is True.
fn condition(type_: &str, reason: &str) -> Value {
    json!({ "type": type_, "status": "True", "reason": reason })
}
