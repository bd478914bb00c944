//! The operator of a share or a pool is killed between any two writes or calls of Nova, and ends where one ends that nothing disturbs.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use k8s_openapi::api::apps::v1::{DaemonSet, StatefulSet};
use provider_composer::Key;
use provider_composer_testing::Cluster;
use provider_composer_testing::killed::{Scene, assert_recovers, comparable};

use provider_hypervisor_pool::nova::{Aggregate, SYSTEM, Service};
use provider_hypervisor_pool::{HypervisorPool, HypervisorShare, SINCE};
use serde_json::{Value, json};

use crate::drain::{cordon, has, node_key, phase, pod};
use crate::fixture::*;
use crate::nova::{Beginning, Nova};

const NODES: [&str; 2] = ["node-a", "node-b"];
/// When a lease began: each is later than the one before, and than what is reported of it.
const DATES: &[&str] = &[SINCE, "since"];

/// When the operator is killed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kill {
    Never,
    /// After so many writes and calls of all its reconciles.
    Once(usize),
    /// In each reconcile, after the first.
    Always,
}

/// A pool with a share, a Nova, and kubelets that run the agents.
struct Stage {
    cluster: Cluster,
    nova: Nova,
}

impl Stage {
    fn new() -> Self {
        let mut cluster = cluster();
        let nova = Nova::default();
        cluster.join(SYSTEM, nova.clone());
        put_clouds(&mut cluster);
        let mut stage = Self { cluster, nova };
        stage.edit("availabilityZone", json!("zone-a"));
        stage.edit(
            "aggregate",
            json!({ "name": "hv-pool-a", "metadata": { "tier": "premium" } }),
        );
        stage
    }

    fn joined() -> Self {
        static JOINED: LazyLock<Beginning> = LazyLock::new(|| {
            let mut stage = Stage::new();
            stage.run(Kill::Never);
            assert_eq!(condition(&stage.cluster, "prod", "Ready")[0], "True");
            Beginning::of(&stage.cluster, &stage.nova)
        });
        let (cluster, nova) = JOINED.copied();
        Self { cluster, nova }
    }

    fn edit(&mut self, field: &str, value: Value) {
        self.cluster
            .edit(&share_key("prod"), |share| share["spec"][field] = value);
    }

    /// Lets everything act until nothing changes. Returns how many writes and calls of the share's operator there were.
    fn run(&mut self, kill: Kill) -> usize {
        let mut total = 0;
        for _ in 0..1_000 {
            let before = self.cluster.writes();
            let left = match kill {
                Kill::Once(after) if total <= after => after - total,
                Kill::Always => 1,
                Kill::Never | Kill::Once(_) => usize::MAX,
            };
            // A failure is in the status, which is compared in the end.
            let key = share_key("prod");
            let _ = self.cluster.reconcile_until(&HypervisorShare, &key, left);
            let written = self.cluster.writes() - before;
            total += written;
            if kill == Kill::Once(total) {
                // Once is enough.
                total += 1;
            }
            self.others();
            if self.cluster.writes() == before && written != left {
                return total;
            }
        }
        unreachable!("it never settles when the operator is killed: {kill:?}");
    }

    /// Does what the pool's operator, the kubelets and nova-compute do.
    fn others(&mut self) {
        let _ = self.cluster.reconcile(&HypervisorPool, &pool_key());
        self.nodes();
    }

    /// Does what the kubelets and nova-compute do.
    fn nodes(&mut self) {
        for node in NODES {
            let leased = lease(&self.cluster, node).as_deref() == Some("prod");
            let phase = phase(&self.cluster, node);
            let is_in = |name: &str| leased && phase.as_deref() == Some(name);
            let runs = has(&self.cluster, "nova-compute")
                && leased
                && (phase.is_none() || is_in("Draining"));
            let drains = has(&self.cluster, "drain") && is_in("Draining");
            let wipes = has(&self.cluster, "wipe") && is_in("Wiping");
            let hold = Key::of::<StatefulSet>("agents-prod", &format!("hold-{node}"));
            let holds = self.cluster.get(&hold).is_some();
            let agents = AGENTS.map(|agent| (agent, runs));
            let others = [("hold", holds), ("drain", drains), ("wipe", wipes)];
            for (component, runs) in agents.into_iter().chain(others) {
                pod(&mut self.cluster, component, node, runs.then_some(true));
            }
            self.nova.set_up(node, runs);
        }
        for agent in AGENTS {
            let key = Key::of::<DaemonSet>("agents-prod", agent);
            let Some(set) = self.cluster.get(&key) else {
                continue;
            };
            let status = json!({
                "observedGeneration": set["metadata"]["generation"], "desiredNumberScheduled": 2, "updatedNumberScheduled": 2,
                "numberReady": 2, "currentNumberScheduled": 2, "numberMisscheduled": 0,
            });
            self.cluster.set_status(&key, status);
        }
    }

    /// Another share, without a Nova, that is due one of the nodes.
    fn put_staging(&mut self) {
        put_share(&mut self.cluster, "staging", json!({}));
        set(&mut self.cluster, "staging", "minHosts", json!(1));
    }

    /// Everything in the cluster and in Nova.
    fn end(
        &self,
    ) -> (
        BTreeMap<Key, Value>,
        BTreeMap<String, Service>,
        Vec<Aggregate>,
    ) {
        let (services, mut aggregates) = self
            .nova
            .change(|state| (state.services.clone(), state.aggregates.clone()));
        aggregates.iter_mut().for_each(|aggregate| aggregate.id = 0);
        (comparable(&self.cluster, DATES), services, aggregates)
    }
}

/// The pool's operator is killed; operators of shares, kubelets and nova-compute aren't.
impl Scene for Stage {
    const DATES: &[&str] = DATES;

    fn cluster(&mut self) -> &mut Cluster {
        &mut self.cluster
    }

    fn simulate(&mut self) {
        for share in ["prod", "staging"] {
            // A failure is in the status, which is compared in the end.
            let _ = self.cluster.reconcile(&HypervisorShare, &share_key(share));
        }
        self.nodes();
    }
}

/// Checks that the pool's operator ends with the same objects, whenever it is killed. Returns the leases.
fn pool_recovers(stage: impl Fn() -> Stage) -> [String; 2] {
    let stage = assert_recovers(&HypervisorPool, &pool_key(), stage);
    NODES.map(|node| lease(&stage.cluster, node).unwrap_or_default())
}

/// Checks that the end is the same, whenever the operator is killed. Returns the end.
fn recovers(stage: impl Fn() -> Stage) -> Stage {
    let mut undisturbed = stage();
    let total = undisturbed.run(Kill::Never);
    let end = undisturbed.end();
    let once = (0..total).map(Kill::Once);
    for kill in once.chain([Kill::Always]) {
        let mut stage = stage();
        stage.run(kill);
        assert_eq!(stage.end(), end, "{kill:?} of {total} writes and calls");
    }
    undisturbed
}

fn aggregates(stage: &Stage) -> Vec<(String, Option<String>, Vec<String>)> {
    let (_, _, aggregates) = stage.end();
    let aggregates = aggregates.into_iter();
    aggregates
        .map(|one| (one.name, one.zone, one.hosts.into_iter().collect()))
        .collect()
}

fn aggregate(name: &str, zone: &str, hosts: &[&str]) -> Vec<(String, Option<String>, Vec<String>)> {
    let hosts = hosts.iter().map(|&host| host.to_owned()).collect();
    vec![(name.to_owned(), Some(zone.to_owned()), hosts)]
}

fn services(stage: &Stage) -> Vec<String> {
    stage.end().1.into_keys().collect()
}

#[test]
fn killed_operator_lets_nodes_join() {
    let stage = recovers(Stage::new);
    assert_eq!(condition(&stage.cluster, "prod", "Ready")[0], "True");
    assert_eq!(aggregates(&stage), aggregate("hv-pool-a", "zone-a", &NODES));
    assert_eq!(services(&stage), NODES);
}

#[test]
fn killed_operator_drains_a_node() {
    let stage = recovers(|| {
        let mut stage = Stage::joined();
        cordon(&mut stage.cluster, "node-b", true);
        stage
    });
    assert_eq!(lease(&stage.cluster, "node-b"), None);
    assert_eq!(
        aggregates(&stage),
        aggregate("hv-pool-a", "zone-a", &["node-a"])
    );
    assert_eq!(services(&stage), ["node-a"]);
}

#[test]
fn killed_operator_deletes_resource_providers_that_nova_leaves() {
    let stage = recovers(|| {
        let mut stage = Stage::joined();
        stage.nova.change(|state| state.leaves_providers = true);
        cordon(&mut stage.cluster, "node-b", true);
        stage
    });
    assert_eq!(lease(&stage.cluster, "node-b"), None);
    assert!(stage.nova.change(|state| state.left.is_empty()));
}

#[test]
fn killed_operator_takes_a_node_back_into_service() {
    let stage = recovers(|| {
        let mut stage = Stage::joined();
        stage.nova.occupy("node-b", 1, 0);
        cordon(&mut stage.cluster, "node-b", true);
        stage.run(Kill::Never);
        assert!(stage.nova.disabled("node-b").is_some());
        cordon(&mut stage.cluster, "node-b", false);
        stage
    });
    assert_eq!(phase(&stage.cluster, "node-b"), None);
    assert_eq!(stage.nova.disabled("node-b"), None);
}

#[test]
fn killed_operator_ends_a_share() {
    let stage = recovers(|| {
        let mut stage = Stage::joined();
        stage.cluster.delete(&share_key("prod"));
        stage
    });
    assert_eq!(stage.cluster.get(&share_key("prod")), None);
    let inside = stage.cluster.objects().keys();
    let inside = inside.filter(|key| key.namespace.as_deref() == Some("agents-prod"));
    assert_eq!(inside.collect::<Vec<_>>(), Vec::<&Key>::new());
    assert_eq!(NODES.map(|node| lease(&stage.cluster, node)), [None, None]);
    assert_eq!(aggregates(&stage), []);
    assert_eq!(services(&stage), Vec::<String>::new());
}

#[test]
fn killed_operator_deletes_what_nova_has_of_a_lost_node() {
    let stage = recovers(|| {
        let mut stage = Stage::joined();
        stage.cluster.delete(&node_key("node-b"));
        stage
    });
    assert_eq!(
        aggregates(&stage),
        aggregate("hv-pool-a", "zone-a", &["node-a"])
    );
    assert_eq!(services(&stage), ["node-a"]);
}

#[test]
fn killed_operator_changes_an_aggregate() {
    let stage = recovers(|| {
        let mut stage = Stage::joined();
        stage.edit("availabilityZone", json!("zone-b"));
        stage.edit("aggregate", json!({ "name": "renamed" }));
        stage
    });
    assert_eq!(aggregates(&stage), aggregate("renamed", "zone-b", &NODES));
}

/// Nova removes no zone, so that the aggregate is created again.
#[test]
fn killed_operator_replaces_an_aggregate() {
    let stage = recovers(|| {
        let mut stage = Stage::joined();
        stage.edit("availabilityZone", json!(null));
        stage
    });
    let hosts = NODES.map(str::to_owned).into();
    assert_eq!(aggregates(&stage), [("hv-pool-a".to_owned(), None, hosts)]);
}

#[test]
fn killed_operator_hands_a_node_over() {
    let stage = recovers(|| {
        let mut stage = Stage::joined();
        stage.put_staging();
        stage
    });
    assert_eq!(lease(&stage.cluster, "node-a").as_deref(), Some("prod"));
    assert_eq!(lease(&stage.cluster, "node-b").as_deref(), Some("staging"));
    assert_eq!(phase(&stage.cluster, "node-b"), None);
    assert_eq!(services(&stage), ["node-a"]);
}

#[test]
fn killed_operator_of_a_pool_divides_its_nodes() {
    let leases = pool_recovers(|| {
        let mut stage = Stage::new();
        stage.put_staging();
        stage
    });
    assert_eq!(leases, ["prod", "staging"]);
}

#[test]
fn killed_operator_of_a_pool_hands_a_node_over() {
    let leases = pool_recovers(|| {
        let mut stage = Stage::joined();
        stage.put_staging();
        stage
    });
    assert_eq!(leases, ["prod", "staging"]);
}

#[test]
fn killed_operator_of_a_pool_hands_all_nodes_of_a_deleted_share_over() {
    let leases = pool_recovers(|| {
        let mut stage = Stage::joined();
        stage.put_staging();
        stage.cluster.delete(&share_key("prod"));
        stage
    });
    assert_eq!(leases, ["staging", "staging"]);
}
