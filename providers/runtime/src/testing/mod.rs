//! What tests of the runtime share: kinds, an operator, an API server in memory, and a connection that swallows everything.

mod content;
mod hole;
mod server;
mod watch;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use c5c3_api::keystone::KeystoneSpec;
use futures::FutureExt;
use futures::future::{join, join_all};
use k8s_openapi::api::apps::v1::Deployment;
use prometheus_client::registry::Registry;
use provider_composer::{
    Composed, DesiredState, Failure, Metadata, ObservedState, Operator, Owner, Reason, Resource,
    ResourceKind, Use,
};
use provider_composer_testing::conformance::SUBJECT;
use ring::rand::SystemRandom;
use serde_json::{Value, json};
use tokio::time::sleep;

pub(crate) use self::hole::Hole;
pub(crate) use self::server::Server;
use crate::cache::{Cache, follow};
use crate::driver::Driver;
use crate::events::Events;
use crate::external::ExternalSystems;
use crate::lease_guard::LeaseGuard;
use crate::metrics::Metrics;
use crate::reconcile::{Controller, slots};

pub(crate) const SECRET: ResourceKind = ResourceKind::namespaced("", "v1", "Secret", "secrets");
pub(crate) const CONFIG_MAP: ResourceKind =
    ResourceKind::namespaced("", "v1", "ConfigMap", "configmaps");
pub(crate) const THING: ResourceKind = ResourceKind::namespaced("test", "v1", "Thing", "things");

pub(crate) const WIDGET: ResourceKind = ResourceKind::namespaced("test", "v1", "Widget", "widgets");

/// A kind of this project.
pub(crate) const KEYSTONE: ResourceKind = ResourceKind::of::<KeystoneSpec>();

/// A kind of the whole cluster.
pub(crate) const POOL: ResourceKind = ResourceKind::cluster_scoped("test", "v1", "Pool", "pools");

/// Every kind that there is, by the path of its collection.
const KINDS: [(&str, ResourceKind); 10] = [
    ("/api/v1", SECRET),
    ("/api/v1", CONFIG_MAP),
    ("/apis/test/v1", THING),
    ("/apis/test/v1", WIDGET),
    ("/apis/test/v1", POOL),
    ("/apis/test/v1alpha1", SUBJECT),
    ("/apis/keystone.openstack.c5c3.io/v1alpha1", KEYSTONE),
    ("/apis/apiextensions.k8s.io/v1", crate::cache::DEFINITION),
    ("/apis/apps/v1", Deployment::KIND),
    (
        "/apis/coordination.k8s.io/v1",
        ResourceKind::namespaced("coordination.k8s.io", "v1", "Lease", "leases"),
    ),
];

/// Implements what an operator says of itself: its name, the kind of its subjects, the order in which their objects are
/// deleted, and what it uses.
macro_rules! facts {
    ($name:literal, $subject:expr, $deletion:ident, [$($use:expr),*]) => {
        fn name(&self) -> &'static str {
            $name
        }

        fn subject(&self) -> ResourceKind {
            $subject
        }

        fn deletion(&self) -> provider_composer::Deletion {
            provider_composer::Deletion::$deletion
        }

        fn uses(&self) -> Vec<Use> {
            vec![$($use),*]
        }
    };
}
pub(crate) use facts;

/// An operator that composes Secrets, and nothing in fact.
pub(crate) struct Things;

pub(crate) fn things() -> [Box<dyn Operator>; 1] {
    [Box::new(Things)]
}

impl Operator for Things {
    facts! { "things", THING, Unordered, [Use::composes(SECRET), Use::reads(WIDGET)] }

    fn composed(&self, _: &Value, _: &ObservedState<'_>) -> Result<Composed, Failure> {
        Err(Failure::new(Reason::Invalid, "not called in this test"))
    }
}

/// What an operator composes for a Thing.
pub(crate) fn composed(
    thing: &Value,
    desired: DesiredState,
    status: Value,
) -> Result<Composed, Failure> {
    let text = |field: &str| thing["metadata"][field].as_str().map(str::to_owned);
    let metadata = Metadata {
        name: text("name").unwrap_or_default(),
        namespace: text("namespace"),
        ..Metadata::default()
    };
    Ok(Composed {
        desired,
        status,
        failed: BTreeSet::new(),
        owner: Owner::of(THING, &metadata),
    })
}

/// Operators on an API server.
pub(crate) fn controller(
    server: &Server,
    operators: Vec<Box<dyn Operator>>,
    drivers: Vec<Box<dyn Driver>>,
) -> Controller {
    let api = server.api();
    Controller {
        guards: operators.iter().map(|_| LeaseGuard::forever()).collect(),
        cache: Arc::new(Cache::new(&operators, &[])),
        external: ExternalSystems::new(drivers),
        slots: slots(),
        events: Events::new(api.clone(), "test".to_owned()),
        metrics: Metrics::new(&mut Registry::default()),
        random: Box::new(SystemRandom::new()),
        operators,
        api,
    }
}

/// What an API server publishes of Keystones with this schema.
pub(crate) fn published(schema: &Value) -> Value {
    let (group, version, kind) = (KEYSTONE.group, KEYSTONE.version, KEYSTONE.kind);
    let mut schema = schema.clone();
    schema["x-kubernetes-group-version-kind"] =
        json!([{ "group": group, "version": version, "kind": kind }]);
    json!({ "components": { "schemas": { "keystone": schema } } })
}

/// Runs all tasks until a condition is true.
pub(crate) async fn until(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..10_000 {
        if condition() {
            return;
        }
        sleep(Duration::from_millis(50)).await;
    }
    unreachable!("{what} never comes");
}

/// Runs something for as long as something else takes.
pub(crate) async fn during<T>(background: impl Future, foreground: impl Future<Output = T>) -> T {
    tokio::select! {
        done = foreground => done,
        _ = background.map(drop) => unreachable!("the background ends"),
    }
}

/// Follows these kinds and reconciles for as long as something else takes.
pub(crate) async fn working<T>(
    controller: &Controller,
    kinds: &[ResourceKind],
    foreground: impl Future<Output = T>,
) -> T {
    let Controller { cache, api, .. } = controller;
    let watches = kinds.iter().map(|kind| follow(cache, api, *kind, ""));
    during(join(join_all(watches), controller.work()), foreground).await
}
